"""The committed example answers: real, whole, consistent with themselves, graded as they stand."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from places import ROOT

from veridical.core.records import Record

EXAMPLES = ROOT / "examples"


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(x) for x in (EXAMPLES / name).read_text(encoding="utf-8").splitlines()]


ROWS = read("answers.jsonl")
GRADES = read("grades.jsonl")
each_row = pytest.mark.parametrize("row", ROWS, ids=[r["id"] for r in ROWS])


def test_the_file_is_small_and_answers_every_prompt() -> None:
    assert len(ROWS) >= 40
    assert [r["id"] for r in ROWS] == [p["id"] for p in read("prompts.jsonl")]
    assert (EXAMPLES / "answers.jsonl").stat().st_size < 2_500_000


def test_at_least_ten_are_grounded_in_a_passage_their_prompt_quotes() -> None:
    grounded = [r for r in ROWS if r.get("contexts")]
    assert len(grounded) >= 10
    assert all(passage in r["prompt"] for r in grounded for passage in r["contexts"])


@each_row
def test_row_is_a_record(row: dict[str, Any]) -> None:
    record = Record(**row)
    assert record.response.strip()
    assert record.reference
    assert len(record.samples) == 10


@each_row
def test_tokens_join_to_the_texts(row: dict[str, Any]) -> None:
    record = Record(**row)
    assert record.logprobs
    assert "".join(t.token for t in record.logprobs) == record.response
    for sample in record.samples:
        assert sample.logprobs is not None
        assert "".join(t.token for t in sample.logprobs) == sample.text
        assert sample.finish_reason in ("stop", "length")


@each_row
def test_a_greedy_answer_takes_the_likeliest_token_at_each_place(row: dict[str, Any]) -> None:
    # Top-5 lists of a greedy answer begin with the token taken; equal log-probabilities
    # after rounding may stand in either order.
    for token in Record(**row).logprobs or ():
        if token.top:
            assert token.logprob == max(t.logprob for t in token.top)
            assert len(token.top) == 5


def test_samples_vary_and_some_agree_with_the_response() -> None:
    differ = [sum(s["text"] != r["response"] for s in r["samples"]) for r in ROWS]
    assert max(differ) == 10  # somewhere no sample repeats the response
    assert min(differ) <= 2  # and somewhere nearly all do


def test_both_classes_are_there() -> None:
    labels = [r["label"] for r in ROWS]
    assert sum(x < 0.5 for x in labels) >= 10
    assert sum(x >= 0.5 for x in labels) >= 10


@each_row
def test_the_grade_is_of_this_response(row: dict[str, Any]) -> None:
    digest = hashlib.sha256(row["response"].encode()).hexdigest()[:16]
    (grade,) = [g for g in GRADES if g["id"] == row["id"] and g["response_hash"] == digest]
    assert row["label"] == grade["label"]
    assert 0 <= row["label"] <= 1
    assert row.get("unit_labels") == grade.get("unit_labels")
    assert row["meta"]["graded_by"] == "the veridical project"
    assert row["meta"]["grading_note"] == grade["note"]


@each_row
def test_unit_labels_cover_text_in_order(row: dict[str, Any]) -> None:
    before = 0
    for unit in row.get("unit_labels", []):
        assert before <= unit["start"] < unit["end"] <= len(row["response"])
        text = row["response"][unit["start"] : unit["end"]]
        assert text == text.strip()
        before = unit["end"]


@pytest.fixture
def generate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    # a benchmark has the same name
    monkeypatch.delitem(sys.modules, "local_llm", raising=False)
    yield importlib.import_module("generate")
    for name in ("generate", "local_llm"):
        sys.modules.pop(name, None)


def piece(data: bytes, logprob: float) -> dict[str, Any]:
    text = data.decode(errors="replace")
    return {
        "bytes": list(data),
        "logprob": logprob,
        "top_logprobs": [{"token": text, "logprob": logprob}],
    }


def test_a_character_split_over_tokens_becomes_one_token(generate: Any) -> None:
    content = [
        piece(b" caf", -0.25),
        piece(b"\xc3", -1.0),  # first half of an e with acute accent
        piece(b"\xa9", -0.5),
        piece(b"", -0.125),  # end of turn
        piece(b"\xe6\x97", -2.0),  # cut off by the limit
    ]
    tokens = generate.token_logprobs(content, top=5)
    assert [(t["token"], t["logprob"]) for t in tokens] == [(" caf", -0.25), ("\xe9", -1.5)]
    assert ["top" in t for t in tokens] == [True, False]
    assert [t["token"] for t in generate.trimmed(tokens)] == ["caf", "\xe9"]


def test_a_grade_is_not_given_to_another_text(generate: Any) -> None:
    row = {"id": "a", "response": "Paris.", "meta": {}}
    grade = {"id": "a", "response_hash": generate.response_hash("Paris."), "label": 0, "note": "n"}
    (same,) = generate.graded([row], [grade])
    (other,) = generate.graded([{**same, "response": "Rome."}], [grade])
    assert (same["label"], same["meta"]["grading_note"]) == (0, "n")
    assert "label" not in other
    assert other["meta"] == {}
