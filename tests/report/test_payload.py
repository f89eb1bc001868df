"""What of a record goes into the page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import assorted, hostile

from veridical.core.records import Record, Source
from veridical.core.scores import EvidenceItem, Result, Score, Unit
from veridical.report import payload
from veridical.report.payload import detail, heat_map, index_row, search_text, shorten, show
from veridical.text.spans import Span


def result(record: Record, **scores: Score) -> Result:
    return Result(id=record.id or 0, row=record.row, risk=None, by=None, scores=scores)


def test_index_row_begins_with_the_riskiest_statement() -> None:
    text = "It is  one\n\thundred. It is two."
    record = Record(row=5, id="x", prompt="How much\nis it?", response=text)
    units = [Unit.of(Span(0, 19, text[:19]), 0.2), Unit.of(Span(20, 30, text[20:]), 0.7)]
    made = Result(
        id="x",
        row=5,
        risk=0.123456,
        by="a",
        verdict="unsupported",
        reason=None,
        decision="review",
        scores={
            "a": Score.of(0.5, units=units),
            "b": Score.failed("why"),
            "c": Score.not_applicable("why"),
        },
    )
    asked = "How much is it?"
    assert index_row(record, made) == [
        *(5, "x", 0.123456, "unsupported", "review", asked, "… It is two.", 1)
    ]
    plain = made.model_copy(update={"scores": {"a": Score.of(0.5)}})
    assert index_row(record, plain)[6] == "It is one hundred. It is two."


def test_evidence_that_is_a_slice_is_not_carried_twice() -> None:
    record = Record(response="Paris.", samples=["🙂 Lyon, not Paris."])
    source = Source("sample", 0, record.sample_texts[0])
    items = [
        EvidenceItem.at(source, 2, 6, 0.5),
        EvidenceItem(kind="sample", index=0, start=0, end=4, text="other words"),
        EvidenceItem(kind="context", index=3, start=0, end=4, text="gone"),
        EvidenceItem(kind="token", index=1, start=0, end=4, text="Pari"),
    ]
    unit = Unit.of(Span(0, 6, "Paris."), 0.5, evidence=items)
    units = detail(record, result(record, a=Score.of(0.5, units=[unit])))["scores"][0]["units"]
    assert units[0]["evidence"] == [
        {"kind": "sample", "index": 0, "p": 0.5, "start": 2, "end": 6},
        {"kind": "sample", "index": 0, "text": "other words"},
        {"kind": "context", "index": 3, "text": "gone"},
        {"kind": "token", "index": 1, "text": "Pari"},
    ]
    assert "text" not in units[0]


def test_a_unit_whose_text_is_not_its_slice_carries_its_own_text() -> None:
    record = Record(response="Paris.")
    unit = Unit.of(Span(90, 99, "claimed"), None)
    found = detail(record, result(record, a=Score.of(0.5, units=[unit])))
    assert found["scores"][0]["units"][0]["text"] == "claimed"


def test_answers_that_are_images_are_named_and_not_shown() -> None:
    url = "data:image/png;base64,AA"
    record = Record(response="", response_image=url, samples=["a", {"image": url}])
    found = detail(record, result(record))
    assert found["response"] == index_row(record, result(record))[6] == "[image, not shown]"
    assert found["samples"] == ["a", None]
    assert found["notes"] == ["samples that are images are not shown: 1"]
    assert "base64" not in json.dumps(found)
    assert detail(Record(response=""), result(Record(response="")))["response"] == ""


def test_chat_messages_images_and_odd_prompts() -> None:
    prompt: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": "https://example.invalid/x.png"}},
                7,
            ],
        },
        {"content": None},
    ]
    record = Record(response="x", prompt=prompt)
    assert detail(record, result(record))["prompt"] == [
        {"role": "system", "text": "Be brief."},
        {"role": "user", "text": "What is it?\n[image, not shown]\n[part, not shown]"},
        {"role": None, "text": ""},
    ]
    assert detail(Record(response="x"), result(Record(response="x")))["prompt"] == []


def test_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "MAX_ITEMS", 3)
    monkeypatch.setattr(payload, "MAX_UNITS", 2)
    record = Record(response="abc", samples=list("12345"), contexts=list("1234"))
    units = [Unit.of(Span(0, 1, "a"), 0.1)] * 4
    found = detail(record, result(record, a=Score.of(0.5, units=units)))
    assert len(found["samples"]) == len(found["contexts"]) == 3
    assert found["notes"] == [
        "3 of 5 samples are shown",
        "3 of 4 contexts are shown",
        "2 of 4 units of a are shown",
    ]
    assert shorten("🙂" * 5, 2) == "🙂🙂\n[... 3 more characters are not shown]"
    assert shorten("ab", 2) == "ab"


def test_show_makes_text_of_anything() -> None:
    assert show("as it is") == "as it is"
    assert show(0.1234567) == "0.12346"
    assert show(True) == "true"
    assert show({"a": [1, None, float("nan"), b"x", {1}]}) == (
        '{ "a": [ 1, null, "nan", "b\'x\'", [ 1 ] ] }'
    )
    deep: Any = "end"
    for _ in range(50):
        deep = [deep]
    assert "..." in show(deep)


def test_raw_values_are_brief() -> None:
    raw = {
        "value": 0.5,
        "m": [[1.0, 2.0]] * 3,
        "many": list(range(9)),
        "few": [0.25, 1.0],
        "none": [],
    }
    record = Record(response="x")
    found = detail(record, result(record, a=Score.of(0.5, raw={**raw, "c": {"mean": 0.5}})))
    assert found["scores"][0]["raw"] == [
        ["value", "0.5"],
        ["m", "3 × 2 values"],
        ["many", "9 values"],
        ["few", "0.25, 1"],
        ["none", "[]"],
        ["c", "mean 0.5"],
    ]
    plain = detail(record, result(record, a=Score.of(0.5, raw=2.5), b=Score.failed("x")))
    assert [s["raw"] for s in plain["scores"]] == [[["", "2.5"]], []]


def test_a_unit_shows_what_kind_of_error_it_is() -> None:
    record = Record(response="It is 70 m.", contexts=["It is 57 m."])
    wrong = Unit.of(Span(0, 11, "It is 70 m."), 0.9, label="contradiction", kind="figure")
    right = Unit.of(Span(0, 2, "It"), 0.1, label="entailment")
    found = detail(record, result(record, a=Score.of(0.9, units=[wrong, right])))
    assert [u.get("kind") for u in found["scores"][0]["units"]] == ["figure", None]


def test_findings_of_a_score_are_a_table() -> None:
    rows = [
        {"name": "book", "argument": "day", "value": None, "risk": 1.0},
        {"name": "book", "label": "unstated"},
    ]
    record = Record(response="x")
    found = detail(record, result(record, a=Score.of(1.0, raw={"calls": 1, "findings": rows})))
    assert found["scores"][0]["raw"] == [["calls", "1"]]
    assert found["scores"][0]["findings"] == {
        "columns": ["name", "argument", "value", "risk", "label"],
        "rows": [["book", "day", "", "1", ""], ["book", "", "", "", "unstated"]],
    }
    for other in ([], ["text"], {"a": 1}, None):
        plain = detail(record, result(record, a=Score.of(1.0, raw={"findings": other})))
        assert "findings" not in plain["scores"][0]


ORDER = ["response", "sample 0", "sample 1", "reference 0"]
SQUARE = [[1.0, 0.5, 0.4, 0.3], [0.5, 1.0, 0.2, 0.1], [0.4, 0.2, 1.0, 0.6], [0.3, 0.1, 0.6, 1.0]]


@pytest.mark.parametrize("key", ["matrix", "cosine"])
def test_heat_map(key: str) -> None:
    found = heat_map({key: SQUARE, "order": ORDER, "mean": 0.2, "outlier": [0.1, 0.2]})
    assert found == {
        "labels": ORDER,
        "cells": SQUARE,
        "outlier": [None, 0.1, 0.2, None],
        "of": 4,
        "facts": [["mean", 0.2]],
    }


def test_heat_map_with_facts_apart_and_outliers_of_all_answers() -> None:
    raw = {"matrix": SQUARE, "order": ORDER, "cosine": {"mean": 0.0, "std": 0.1}}
    found = heat_map({**raw, "outlier": [0.3, 0.1, 0.2]})
    assert found is not None
    assert found["outlier"] == [0.3, 0.1, 0.2, None]
    assert found["facts"] == [["mean", 0.0], ["std", 0.1]]


def test_heat_map_bears_bad_parts() -> None:
    odd = heat_map({"cosine": [[1, "x"], [True, float("nan")]], "order": ["a"], "outlier": [1, 2]})
    assert odd is not None
    assert odd["cells"] == [[1.0, None], [None, None]]
    assert odd["labels"] == ["0", "1"]
    assert odd["outlier"] == [1.0, 2.0]
    big = heat_map({"cosine": [[0.5] * 50] * 50})
    assert big is not None
    assert (len(big["cells"]), len(big["cells"][0]), len(big["labels"]), big["of"]) == (
        32,
        32,
        32,
        50,
    )


@pytest.mark.parametrize(
    "raw",
    [
        None,
        0.5,
        {},
        {"cosine": 3},
        {"cosine": []},
        {"cosine": [[1.0]]},
        {"cosine": [[1, 2], [3]]},
        {"cosine": [1, 2]},
        {"cosine": [[None, "a"], [None, None]]},
    ],
)
def test_no_heat_map_of_anything_else(raw: Any) -> None:
    assert heat_map(raw) is None


def test_everything_is_strict_json() -> None:
    for record, made in [*hostile()[0], *assorted()]:
        for value in (detail(record, made), index_row(record, made)):
            assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_search_text_has_id_prompt_and_response() -> None:
    record, made = assorted()[0]
    assert search_text(record, made) == f"case-10\nQuestion 0?\n{record.response}"
