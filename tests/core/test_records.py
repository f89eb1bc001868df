from __future__ import annotations

import pytest
from pydantic import ValidationError

from veridical.core.records import Record, Sample
from veridical.core.scores import EvidenceItem, Score, Unit
from veridical.errors import NotApplicable


def test_shapes_of_the_contract() -> None:
    record = Record.model_validate(
        {
            "response": "Ab. Cd.",
            "samples": ["x", {"text": "y", "logprobs": [{"token": "y", "logprob": -0.1}]}],
            "contexts": [{"id": "d1", "text": "c"}, "e"],
            "reference": "gold",
            "sentences": [[0, 3], [4, 7]],
            "label": True,
            "unit_labels": [{"start": 0, "end": 3, "label": 1}],
        }
    )
    assert record.sample_texts == ["x", "y"]
    assert [(s.kind, s.index, s.text) for s in record.against("contexts")] == [
        ("context", 0, "c"),
        ("context", 1, "e"),
    ]
    assert [s.text for s in record.sentences] == ["Ab.", "Cd."]
    assert record.reference == ("gold",) and record.label == 1.0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"response": "a\x00b"}, "NUL character at offset 1"),
        ({"response": "\ud800"}, "surrogate"),
        ({"response": "a", "samples": ["\udfff"]}, "surrogate"),
        ({"response": "a", "prompt": [{"role": "user", "content": "\x00"}]}, "NUL"),
        ({"response": "abc", "sentences": [[0, 4]]}, "outside the response"),
        ({"response": "abc", "sentences": [[0, 2], [1, 3]]}, "overlaps"),
        ({"response": "abc", "unit_labels": [{"start": 2, "end": 9, "label": 1}]}, "outside"),
        ({"response": "a", "label": "1"}, "number from 0"),
        ({"response": "a", "label": 1.5}, "less than or equal to 1"),
        ({"response": "a", "samples": [{}]}, "'text' or 'image'"),
        ({"response": "a", "logprobs": [{"token": "a", "logprob": 0.5}]}, "less than or equal"),
        ({"response": None}, "valid string"),
        ({"response": "a", "answer_": 1}, "not permitted"),
    ],
)
def test_bad_values_are_refused_with_a_reason(row: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Record.model_validate(row)


def test_offsets_are_code_points() -> None:
    record = Record.model_validate({"response": "👩‍🚀 ok. 好", "sentences": [[0, 7], [8, 9]]})
    assert [s.text for s in record.sentences] == ["👩‍🚀 ok.", "好"]


def test_blank_texts_are_nothing_to_compare_with() -> None:
    record = Record(response=" \n", samples=(Sample(text=""),))
    with pytest.raises(NotApplicable, match="no samples"):
        record.against("samples")
    with pytest.raises(NotApplicable, match="empty"):
        record.need_response()


def test_scores_hold_no_nan_and_no_risk_outside_the_unit_interval() -> None:
    for bad in (float("nan"), float("inf"), -0.1, 1.1):
        with pytest.raises(ValidationError):
            Score.of(bad)
        with pytest.raises(ValidationError):
            Unit(level="sentence", start=0, end=1, text="a", risk=bad)
    with pytest.raises(ValidationError):
        Score.of(0.5, raw=float("nan"))
    assert Score.failed("why").risk is None


def test_evidence_is_a_slice_and_names_its_context() -> None:
    record = Record(response="a", contexts=({"text": "The tower is 57 m tall."},))  # type: ignore[arg-type]
    (source,) = record.against("contexts")
    item = EvidenceItem.at(source, 13, 17, 0.5)
    assert item.model_dump() == {
        "kind": "context",
        "index": 0,
        "context": 0,
        "start": 13,
        "end": 17,
        "text": "57 m",
        "probability": 0.5,
    }
    (source,) = Record(response="a", samples=("s",)).against("samples")  # type: ignore[arg-type]
    assert "context" not in EvidenceItem.at(source, 0, 1).model_dump()
