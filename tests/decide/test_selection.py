"""Best of k: each answer judged by the others, against records made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from image_files import DOT

import veridical
from veridical.core.scores import Selected
from veridical.errors import UsageError

ROWS: list[dict[str, Any]] = [
    {"id": "a", "response": "B", "samples": ["A", "A", "C"]},
    {"id": "b", "response": "It is 7 km.", "samples": ["It is 9 km.", "It is 9 km or so."]},
    {"id": "c", "response": "alone"},
    {"id": "d", "response": "same", "samples": ["same", "same"]},
    {"id": "e", "response": "", "samples": ["A", "A", ""]},
    {"id": "f", "response": "x y", "samples": ["x y", {"image": DOT}, "x z"]},
]


def selected(rows: Any, scorers: str, **settings: Any) -> list[Selected | None]:
    return [r.selected for r in veridical.check(rows, scorers, select="best", **settings)]


def by_hand(row: dict[str, Any], scorers: str) -> list[float | None]:
    """The risk of every answer with text, each in the place of the response."""
    answers = [row["response"], *row.get("samples", [])]
    records = [
        {"response": a, "samples": answers[:i] + answers[i + 1 :]}
        for i, a in enumerate(answers)
        if isinstance(a, str)
    ]
    found = iter(r.risk for r in veridical.check(records, scorers))
    return [next(found) if isinstance(a, str) else None for a in answers]


@pytest.mark.parametrize("scorers", ["exact_match", "ngram_presence, support(against=samples)"])
def test_every_answer_is_judged_by_all_others(scorers: str) -> None:
    for row, told in zip(ROWS, selected(ROWS, scorers), strict=True):
        expected = by_hand(row, scorers)
        assert told is not None
        assert told.risks == pytest.approx(expected, abs=1e-12), row
        answers = [row["response"], *row.get("samples", [])]
        known = [(r, i) for i, r in enumerate(expected) if r is not None]
        if not known:
            assert (told.kind, told.index, told.text, told.risk) == (None, None, None, None)
            continue
        risk, place = min(known)
        assert told.risk == pytest.approx(risk)
        assert told.text == answers[place]
        assert (told.kind, told.index) == (("sample", place - 1) if place else ("response", 0))


def test_the_majority_wins_by_hand() -> None:
    first = selected(ROWS[:1], "exact_match")[0]
    # "B" equals none of three, "A" one of three, "C" none of three
    assert first is not None
    assert first.risks == pytest.approx((1, 2 / 3, 2 / 3, 1))
    assert (first.kind, first.index, first.text, first.by) == ("sample", 0, "A", "exact_match")


def test_only_the_samples_in_use_take_part() -> None:
    (told,) = selected(ROWS[:1], "exact_match", samples=1)
    assert told is not None and told.risks == pytest.approx((1, 1)) and told.kind == "response"


def test_contexts_stay_and_labels_go() -> None:
    row = {
        "response": "The tower is 70 m tall.",
        "sentences": [[0, 23]],
        "label": 1,
        "samples": ["The tower is 57 m tall, they say."],
        "contexts": "The tower is 57 m tall.",
    }
    (told,) = selected([row], "support(against=contexts)")
    assert told is not None and (told.kind, told.index) == ("sample", 0)


def test_the_choice_is_kept_resumed_and_forgotten(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = veridical.check(ROWS, "exact_match", select="best", out=out)
    lines = list(first.lines())
    scored = next(out.glob("selected-*/results.jsonl"))
    before = scored.stat().st_mtime_ns
    again = veridical.check(ROWS, "exact_match", select="best", out=out)
    assert list(again.lines()) == lines
    assert scored.stat().st_mtime_ns == before
    plain = veridical.check(ROWS, "exact_match", out=out)
    assert all("selected" not in json.loads(line) for line in plain.lines())


def test_bad_rows_and_limits_do_not_shift_the_choice(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    bad = '{"prompt": "no answer"}\n'
    path.write_text(bad + "".join(json.dumps(r) + "\n" + bad for r in ROWS[:4]), "utf-8")
    results = list(veridical.check(path, "exact_match", select="best", limit=6))
    assert [r.row for r in results] == [1, 3, 5]
    alone = selected(ROWS[:3], "exact_match")
    assert [r.selected for r in results] == alone


def test_another_way_to_select_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown way to select 'worst'"):
        veridical.check(ROWS, "exact_match", select="worst")
