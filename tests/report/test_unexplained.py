"""Why a unit has no evidence, in words."""

from __future__ import annotations

from typing import Any

import pytest

from veridical.core.records import Record, Source
from veridical.core.scores import EvidenceItem, Result, Score, Unit
from veridical.report.payload import detail
from veridical.report.unexplained import Unexplained
from veridical.text.spans import Span

TEXT = "Ada wrote 3 books."
PROBABILITIES = "It is judged by the answer's own probabilities, without a source."


def why(fields: dict[str, Any], signature: str = "", risk: float | None = 0.9, **more: Any) -> str:
    record = Record(response=TEXT, **fields)
    unit = Unit.of(Span(0, len(TEXT), TEXT), risk, **more)
    score = Score.of(0.9, units=[unit]).model_copy(update={"signature": signature})
    return Unexplained(record).why(score, unit)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"samples": ["Other."] * 10}, "It is in none of the 10 samples."),
        ({"samples": ["Other."]}, "It is not in the sample."),
        ({"contexts": ["It rained."]}, "No passage shares a word with it, common words aside."),
        ({"contexts": ["The books.", "b"]}, "None of the 2 passages supports it."),
        ({"contexts": ["In 3 days."]}, "The passage does not support it."),
        (
            {"reference": ["It rained."]},
            "The reference does not share a word with it, common words aside.",
        ),
        ({"reference": ["Books."]}, "The reference does not support it."),
        ({}, PROBABILITIES),
    ],
)
def test_what_was_looked_through_in_vain(fields: dict[str, Any], expected: str) -> None:
    assert why(fields) == expected


def test_only_the_field_that_the_score_compares_with_is_told() -> None:
    fields = {"samples": ["a", "b"], "contexts": ["It rained."]}
    assert why(fields, "x|v1|against:samples") == "It is in none of the 2 samples."
    assert why(fields, "x|v1|against:contexts").startswith("No passage shares a word")
    assert why(fields, "x|v1|against:auto").count(".") == 2  # both, as it cannot be told


def test_units_that_nothing_speaks_against() -> None:
    fields = {"samples": ["Other."] * 10}
    assert (
        why(fields, risk=0.1)
        == why(fields, label="entailment")
        == ("This scorer reports no passages.")
    )
    assert why(fields, risk=0.1, label="neutral") == "It is in none of the 10 samples."
    assert why(fields, risk=None) == "It was not judged."
    assert why(fields, level="token") == PROBABILITIES


def test_evidence_of_other_units_tells_what_was_compared() -> None:
    record = Record(response=TEXT, samples=["Ada wrote."], contexts=["It rained."])
    item = EvidenceItem.at(Source("sample", 0, "Ada wrote."), 0, 3)
    units = [
        Unit.of(Span(0, 3, "Ada"), 0.1, evidence=[item]),
        Unit.of(Span(4, len(TEXT), TEXT[4:]), 0.9),
    ]
    scores = {"a": Score.of(0.9, units=units)}
    shown = detail(record, Result(id=0, row=0, risk=0.9, by="a", scores=scores))
    first, second = shown["scores"][0]["units"]
    assert "none" not in first
    assert second["none"] == "It is not in the sample."
