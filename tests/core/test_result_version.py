"""The shape of a result line does not change without its version."""

from __future__ import annotations

import json

import pytest
from places import ROOT
from pydantic import BaseModel

from veridical.core.records import Source
from veridical.core.scores import RESULT_VERSION, EvidenceItem, Result, Score, Unit
from veridical.text.spans import Span

#: Fields of each version; later ones have these and may have more.
FIELDS: dict[int, dict[type[BaseModel], set[str]]] = {
    2: {
        Result: {
            *("id", "row", "risk", "by", "verdict", "reason", "decision", "why", "selected"),
            *("repair", "scores"),
        },
        Score: {"risk", "raw", "status", "reason", "units", "signature"},
        Unit: {
            *("level", "start", "end", "text", "risk", "raw", "label", "probabilities"),
            "evidence",
        },
        EvidenceItem: {"kind", "index", "context", "start", "end", "text", "probability"},
    }
}


@pytest.mark.parametrize("model", FIELDS[2], ids=lambda model: model.__name__)
def test_no_field_goes_without_a_new_version(model: type[BaseModel]) -> None:
    assert set(model.model_fields) >= FIELDS[RESULT_VERSION][model]


def test_the_schema_and_the_guide_name_the_version() -> None:
    schema = json.loads((ROOT / "docs/result.schema.json").read_text("utf-8"))
    assert schema["$id"] == f"urn:veridical:result:{RESULT_VERSION}"
    guide = (ROOT / "docs/guide.md").read_text("utf-8")
    assert f"version of the shape, now {RESULT_VERSION}" in guide
    assert f"**From version {RESULT_VERSION - 1} to {RESULT_VERSION}:**" in guide
    upgrading = (ROOT / "docs/upgrading.md").read_text("utf-8")
    assert f"## Result lines, from version {RESULT_VERSION - 1} to {RESULT_VERSION}" in upgrading
    assert f"now {RESULT_VERSION} " in upgrading


def test_kinds_and_derivations_stand_in_a_line_only_where_they_are_known() -> None:
    source, span = Source("context", 0, "30 and 12"), Span(0, 2, "42")
    plain = Unit.of(span, 0.5, evidence=[EvidenceItem.at(source, 0, 2)])
    assert not {"kind", "computed"} & set(json.loads(plain.model_dump_json()))
    assert "computed" not in plain.model_dump_json()
    item = EvidenceItem.at(source, 0, 9, computed="30 + 12 = 42")
    known = Unit.of(span, 0.5, kind="figure", evidence=[item])
    line = json.loads(known.model_dump_json())
    assert (line["kind"], line["evidence"][0]["computed"]) == ("figure", "30 + 12 = 42")
    assert Unit.model_validate(line) == known


def test_a_line_of_version_1_is_read_and_is_unchecked() -> None:
    score = {"risk": 0.1, "raw": 0.1, "status": "scored", "reason": None, "units": []}
    line = {"id": 1, "row": 0, "risk": 0.1, "by": "a", "decision": None, "scores": {"a": score}}
    result = Result.model_validate(line)
    assert (result.verdict, result.reason) == ("unchecked", "earlier_version")
