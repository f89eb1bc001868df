"""The answer of the most probable meaning, as UQLM's ``use_best`` takes it, by the real model."""

from __future__ import annotations

from typing import Any

import pytest

import veridical
from veridical.core.scores import Result
from veridical.errors import UsageError

ROWS: list[dict[str, Any]] = [
    {
        "prompt": "What is the capital of France?",
        "response": "Lyon",
        "samples": ["Paris", "It is Paris.", "Paris", "Lyon"],
    },
    {"prompt": "Who?", "response": "alone"},
    {"prompt": "Who?", "response": "Anna", "samples": ["Anna", "Anna"]},
]


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return list(veridical.check(ROWS, "exact_match", select="cluster", store=None))


def test_the_most_probable_meaning_is_selected(results: list[Result]) -> None:
    first, alone, same = results
    assert first.selected is not None
    assert (first.selected.kind, first.selected.index) == ("sample", 0)
    assert first.selected.text == "Paris"
    # its risk is its own, judged by the others, and those of all are told
    (judged,) = veridical.check(
        [{**ROWS[0], "response": "Paris", "samples": ["Lyon", "It is Paris.", "Paris", "Lyon"]}],
        "exact_match, cluster_probability",
        store=None,
    )
    assert first.selected.risk == pytest.approx(judged.risk)
    assert len(first.selected.risks) == 5 and first.selected.risks[0] == first.risk
    assert alone.selected is not None and alone.selected.kind is None  # nothing to compare
    assert same.selected is not None and same.selected.kind == "response"


def test_it_adds_the_scorer_it_goes_by(results: list[Result]) -> None:
    assert "cluster_probability" in results[0].scores
    named = "exact_match, cluster_probability(cluster=either, weights=discrete)"
    (result,) = veridical.check(ROWS[:1], named, select="cluster", store=None)
    assert [k for k in result.scores if k.startswith("cluster")] == [
        "cluster_probability(cluster=either,weights=discrete)"
    ]
    assert result.selected is not None and result.selected.text == "Paris"


def test_by_a_part_of_each_answer() -> None:
    row = {"response": "I get 5", "samples": ["so 7", "7 it is, I think", "well, 7"]}
    (result,) = veridical.check([row], "exact_match", select="cluster", answer="number", store=None)
    assert "cluster_probability(answer=number)" in result.scores
    assert result.selected is not None and result.selected.text == "7 it is, I think"


def test_the_plan_counts_what_the_run_does() -> None:
    plan = veridical.plan(ROWS, "exact_match", select="cluster", store=None, processes=0)
    # distinct texts besides the response: Paris, It is Paris.; none; none
    assert plan["steps"] == [{"step": "selected", "answers": 2, "least": 2}]


def test_the_selected_answer_is_repaired() -> None:
    row = {
        "response": "The tower is 70 m tall. It is red.",
        "samples": ["The tower is 57 m tall. It is blue.", "The tower is 57 m tall. It is blue."],
        "contexts": "The tower is 57 m tall.",
    }
    (result,) = veridical.check(
        [row], "support(against=contexts)", select="cluster", repair="drop", store=None
    )
    assert result.selected is not None and result.selected.kind == "sample"
    assert result.repair is not None and result.repair.of == "selected"


def test_other_ways_are_refused() -> None:
    with pytest.raises(UsageError, match="cluster"):
        veridical.check(ROWS, "exact_match", select="clusters")  # type: ignore[arg-type]
