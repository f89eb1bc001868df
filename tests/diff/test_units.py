"""Independent pairs of a comparison; a gate that can fail for every log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from result_lines import write_lines

from veridical import check
from veridical.decide.gates import Gates, Tally
from veridical.diff import Diff, diff

TOWNS = [f"Town {chr(65 + i // 26)}{chr(65 + i % 26)}" for i in range(40)]


def rows(wrong: int, **more: Any) -> list[dict[str, Any]]:
    """Forty answers to one question about forty contexts, of which ``wrong`` are wrong."""
    return [
        {
            "id": f"r{i}",
            "prompt": "Where is it?",
            "contexts": [f"The parcel is in {town}."],
            "response": f"The parcel is {'not ' if i < wrong else ''}in {town}.",
            **{key: value(i) if callable(value) else value for key, value in more.items()},
        }
        for i, town in enumerate(TOWNS)
    ]


def compared(folder: Path, before: list[Any], now: list[Any]) -> Diff:
    sides = [folder / name for name in ("before", "now")]
    for side, given in zip(sides, (before, now), strict=True):
        check(write_lines(side.with_suffix(".jsonl"), given), "nli_grounding", out=side)
    return diff(*sides)


@pytest.mark.parametrize("prompt", ["Where is it?", "Summarise the text."])
def test_one_prompt_about_many_contexts_is_many_units(tmp_path: Path, prompt: str) -> None:
    made = compared(tmp_path, rows(0, prompt=prompt), rows(20, prompt=prompt))
    assert made.gate is not None and made.gate.worse
    assert (made.n_groups, made.gate.n, made.gate.test) == (40, 40, "mcnemar")
    assert made.gate.p == pytest.approx(0.5**20)
    assert made.notes == []


def test_contexts_that_changed_between_the_runs_part_pairs_as_well(tmp_path: Path) -> None:
    """A retrieval that returns the same passage for all: the gate can still fail."""
    same = [" ".join(f"The parcel is in {town}." for town in TOWNS)]
    made = compared(tmp_path, rows(0), rows(20, contexts=same))
    assert made.gate is not None and made.gate.worse and made.n_groups == 40


def test_answers_to_too_few_prompts_are_tested_as_answers(tmp_path: Path) -> None:
    """Units that cannot show any rise would let everything pass."""
    context = [" ".join(f"The parcel is in {town}." for town in TOWNS[:2])]
    made = compared(tmp_path, rows(0, contexts=context), rows(20, contexts=context))
    assert made.gate is not None and made.n_groups == 1
    assert made.gate.n == 40 and made.gate.test == "mcnemar"
    assert "40 pairs are of 1 independent unit" in made.notes[0]
    assert "hold for these prompts only" in made.notes[0]


def test_a_group_names_what_belongs_together(tmp_path: Path) -> None:
    sides = [rows(n, group=lambda i: f"thread {i // 4}") for n in (0, 4)]
    made = compared(tmp_path, *sides)
    assert made.gate is not None and not made.gate.worse
    assert (made.n_groups, made.gate.test) == (10, "permutation")
    assert made.gate.p == pytest.approx(0.5)  # one thread of ten changed
    assert "tests treat the answers of a unit together" in made.notes[0]


def test_a_gate_of_one_run_counts_each_answer_to_a_shared_prompt(tmp_path: Path) -> None:
    """A summarizer's log: twenty wrong answers of forty are half, not one question of one."""
    path = write_lines(tmp_path / "log.jsonl", rows(20, prompt="Summarise the text."))
    results = check(path, "nli_grounding", out=tmp_path / "run")
    tallies = [Tally(Gates.parse("contradicted", max_share=share)) for share in ("49%", "50%")]
    for _, result in results.summaries():
        for tally in tallies:
            tally.add(result)
    assert [tally.failing for tally in tallies] == [20, 20]
    assert [tally.failed for tally in tallies] == [True, False]
    assert tallies[0].lines()[0].startswith("gate failed: 20 of 40 answers")
