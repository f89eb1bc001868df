"""Verdicts on fields of structured answers."""

from __future__ import annotations

import json
from typing import Any

import veridical
from veridical.core.records import Record
from veridical.core.scores import Result, ResultSummary
from veridical.engine.fields import fields_of
from veridical.report.payload import detail


def unit(text: str, value: str, label: str, risk: float, level: str = "sentence") -> dict[str, Any]:
    start = text.index(value)
    evidence = [{"kind": "context", "index": 0, "start": 0, "end": 3, "text": "The"}]
    return {
        "level": level,
        "start": start,
        "end": start + len(value),
        "label": label,
        "risk": risk,
        "evidence": evidence if label != "entailment" else [],
    }


def test_each_value_has_the_verdict_of_its_unit() -> None:
    text = 'Here you are:\n```json\n{"total": 120.5, "to": {"name": "Ann"}, "note": null}\n```'
    record = Record(response=text)
    score = {
        "units": [
            unit(text, "Here you are:", "contradiction", 0.9),
            unit(text, "120.5", "contradiction", 0.8),
            unit(text, "120", "unsupported", 0.9, level="span"),
            unit(text, "Ann", "entailment", 0.1),
        ]
    }
    found = fields_of(record, score, (), "contradicted")
    assert found is not None
    assert [(f["path"], f["value"], f["verdict"], f["risk"]) for f in found] == [
        ("total", "120.5", "contradicted", 0.8),
        ("to.name", "Ann", "supported", 0.1),
        ("note", "null", "unchecked", None),
    ]
    assert all(text[f["start"] : f["end"]] == f["value"] for f in found)
    assert found[0]["evidence"][0]["text"] == "The"
    line = Result.line(1, 0, 0.8, "claims", ("contradicted", None), {}, found)
    result = Result.model_validate_json(line)
    assert result.fields is not None and result.fields[0].evidence[0].text == "The"
    paths = [f.path for f in ResultSummary.model_validate_json(line).fields]
    assert paths == ["total", "to.name", "note"]


def test_a_value_of_several_sentences_has_the_worst_verdict() -> None:
    text = '{"answer": "It opens at ten. It closes at six."}'
    score = {
        "units": [
            unit(text, "It opens at ten.", "entailment", 0.1),
            unit(text, "It closes at six.", "neutral", 0.7),
        ]
    }
    found = fields_of(Record(response=text), score, (), "unsupported")
    assert found is not None
    assert [(f["path"], f["verdict"], f["risk"]) for f in found] == [("answer", "unsupported", 0.7)]


def test_a_unit_that_is_larger_than_a_value_holds_for_it() -> None:
    text = "Plan,Price\nPro,$45\nTeam,$90"
    score = {"units": [unit(text, "Pro,$45", "neutral", 0.6)]}
    found = fields_of(Record(response=text), score, (), "unsupported")
    assert found is not None
    assert [f["verdict"] for f in found] == ["unsupported", "unsupported", "unchecked", "unchecked"]


def test_prose_has_no_fields() -> None:
    assert fields_of(Record(response="The sea is blue."), {"units": []}, (), "supported") is None
    assert fields_of(Record(response="Price: 45\nSeats: 5"), None, (), "supported") is None
    line = Result.line(1, 0, None, None, ("unchecked", "nothing_to_check"), {})
    assert "fields" not in json.loads(line)


def test_fields_of_an_unchecked_answer_are_unchecked() -> None:
    found = fields_of(Record(response='{"a": 1}'), None, (), "unchecked")
    assert found is not None
    assert [(f["verdict"], f["risk"], f["evidence"]) for f in found] == [("unchecked", None, [])]


def test_explanation_and_report_show_the_fields() -> None:
    row = {
        "response": '{"invoice": {"total": 120.5, "items": 3}}',
        "contexts": ["Invoice: total 102.5, items 3."],
    }
    (result,) = veridical.check([row], "support", store=None)
    told = result.explain()
    assert ">>> invoice.total: 120.5" in told and "    invoice.items: 3" in told
    shown = detail(Record.model_validate(row), result)["fields"]
    assert [field[:2] for field in shown] == [["invoice.total", "120.5"], ["invoice.items", "3"]]
