"""Named readers against the verified counts of the published data, and hand-made rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.io import open_source
from veridical.io.readers import READERS


def records(path: Path, reader: str, **mapping: str) -> list[Record]:
    items = list(open_source(path, reader=reader, mapping=mapping).rows())
    assert [x for x in items if isinstance(x, RowError)] == []
    return items  # type: ignore[return-value]


def labels(found: list[Record]) -> dict[float | None, int]:
    return dict(Counter(r.label for r in found))


@pytest.mark.data
def test_wikibio(shared_data: Path) -> None:
    found = records(shared_data / "wikibio_gpt3" / "wikibio_gpt3.jsonl", "wikibio")
    assert len(found) == 238 and len({r.id for r in found}) == 238
    units = [u for r in found for u in r.unit_labels or ()]
    assert Counter(u.label for u in units) == {1.0: 761, 0.5: 631, 0.0: 516}
    assert {len(r.samples) for r in found} == {20}
    assert sum(bool(r.reference) for r in found) == 119 and not any(r.contexts for r in found)
    for r in found:
        assert [(s.start, s.end) for s in r.sentences] == [(u.start, u.end) for u in r.unit_labels]
        assert r.label == pytest.approx(sum(u.label for u in r.unit_labels) / len(r.unit_labels))
    assert found[0].sentences[0].text.startswith("John Russell Reynolds (1820–1876) was")


@pytest.mark.data
@pytest.mark.parametrize(
    ("kind", "column"),
    [("qa", "answer"), ("dialogue", "response"), ("summarization", "summary")],
)
def test_halueval_pairs(kind: str, column: str, shared_data: Path) -> None:
    import json

    path = shared_data / "halueval" / f"dataset_halueval_{kind}.jsonl"
    found = records(path, "halueval")
    assert labels(found) == {0.0: 10_000, 1.0: 10_000}
    with path.open(encoding="utf-8", newline="\n") as f:
        raw = [json.loads(line) for line in f]
    for i in (0, 1, 4999, 9999):
        right, wrong = found[2 * i], found[2 * i + 1]
        assert right.response == raw[i][f"right_{column}"]
        assert wrong.response == raw[i][f"hallucinated_{column}"]
        assert right.id == wrong.id and right.contexts == wrong.contexts
        assert right.contexts[0].text == raw[i].get("knowledge", raw[i].get("document"))
        assert right.prompt == raw[i].get("question", raw[i].get("dialogue_history"))
        assert not right.reference


@pytest.mark.data
def test_halueval_general(shared_data: Path) -> None:
    found = records(shared_data / "halueval" / "general_data.jsonl", "halueval")
    assert labels(found) == {0.0: 3692, 1.0: 815}
    assert all("hallucination_spans" in r.meta for r in found)


@pytest.mark.data
def test_ragtruth(shared_data: Path) -> None:
    found = records(shared_data / "ragtruth_test" / "response.jsonl", "ragtruth")
    assert labels(found) == {0.0: 2700 - 943, 1.0: 943}
    spans = [(r, u, s) for r in found for u, s in zip(r.unit_labels, r.meta["labels"], strict=True)]
    assert len(spans) == 1533
    assert all(r.response[u.start : u.end] == s["text"] for r, u, s in spans)
    assert len({r.meta["source_id"] for r in found}) == 450


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("dev_cmu", {1.0: 278, None: 79, 0.0: 59}),
        ("dev_tc", {0.0: 74, 1.0: 307, None: 2}),
        ("dev_wow", {0.0: 180, 1.0: 250}),
        ("test_wow", {1.0: 2209, 0.0: 1392, None: 6}),
        ("v1_dev_05_24_21", {0.0: 282, None: 231, 1.0: 267 + 51 + 5}),
        ("v1_test_05_24_21", {0.0: 2762, None: 1306, 1.0: 496 + 1867 + 43}),
    ],
)
def test_begin(name: str, counts: dict[float | None, int], shared_data: Path) -> None:
    found = records(shared_data / "begin" / f"{name}.tsv", "begin")
    assert labels(found) == counts
    # The files quote nothing: a quotation mark in a cell is the text's own.
    text = (shared_data / "begin" / f"{name}.tsv").read_text(encoding="utf-8")
    parts = [t for r in found for t in (r.prompt, r.response, r.contexts[0].text)]
    assert sum(t.count('"') for t in parts) == text.count('"')
    assert all(r.meta.get("begin_label") or r.meta.get("gold label") for r in found)


@pytest.mark.data
def test_refchecker(shared_data: Path) -> None:
    found = records(shared_data / "refchecker" / "claims.jsonl", "refchecker")
    assert labels(found) == {0.0: 7176, 0.5: 2622, 1.0: 935}
    assert found[0].response == "Love Blind song from album The Story of June"
    assert found[0].meta["response"].startswith("\nLove Blind, Elevator Men")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "questions"),
    [("TruthfulQA.csv", 790), ("TruthfulQA_generation.jsonl", 817), ("bigbench_task_mc.json", 299)],
)
def test_truthfulqa(name: str, questions: int, shared_data: Path) -> None:
    found = records(shared_data / "truthfulqa" / name, "truthfulqa")
    assert len({r.id for r in found}) == questions
    assert set(labels(found)) == {0.0, 1.0}
    for r in found:
        assert r.response not in r.reference and r.prompt
    first = [r for r in found if r.id == found[0].id]
    assert "You grow watermelons in your stomach" in {
        r.response.rstrip(".") for r in first if r.label
    }


@pytest.mark.data
def test_start_within_rows_of_several_records(shared_data: Path) -> None:
    source = open_source(shared_data / "truthfulqa" / "TruthfulQA.csv", reader="truthfulqa")
    whole = list(source.rows())
    for start in (1, 7, 100, len(whole) - 1):
        assert list(source.rows(start)) == whole[start:]


def test_aggrefact_polarity() -> None:
    rows: list[dict[str, Any]] = [
        {"dataset": "Wice", "doc": "d", "claim": "c", "label": 1},
        {"dataset": "Wice", "doc": "d", "claim": "c", "label": "0"},
        {"dataset": "Wice", "doc": "d", "claim": "c", "label": 2},
    ]
    a, b, c = open_source(rows, reader="aggrefact").rows()
    assert (a.label, b.label, a.contexts[0].text, a.meta) == (0.0, 1.0, "d", {"dataset": "Wice"})
    assert isinstance(c, RowError) and c.field == "label"


def test_mapping_looks_into_the_row_the_reader_was_given() -> None:
    row = {"id": 1, "response": "ab", "labels": [], "info": {"passages": ["p"]}}
    (r,) = open_source([row], reader="ragtruth", mapping={"contexts": "info.passages"}).rows()
    assert [c.text for c in r.contexts] == ["p"] and r.label == 0.0


@pytest.mark.parametrize(
    ("reader", "row", "field", "why"),
    [
        ("wikibio", {"response": "a"}, "gpt3_text", "is missing; the row has 'response'"),
        ("wikibio", {"gpt3_text": "a"}, "gpt3_sentences", "missing"),
        (
            "wikibio",
            {"gpt3_text": "a b", "gpt3_sentences": ["b", "a"], "annotation": ["accurate"] * 2},
            "gpt3_sentences[1]",
            "does not follow",
        ),
        (
            "wikibio",
            {"gpt3_text": "a", "gpt3_sentences": ["a"], "annotation": ["good"]},
            "annotation[0]",
            "one of 'accurate', 'minor_inaccurate', 'major_inaccurate', got 'good'",
        ),
        (
            "wikibio",
            {"gpt3_text": "a", "gpt3_sentences": ["a"], "annotation": []},
            "annotation",
            "0",
        ),
        ("halueval", {"response": "a"}, None, "not a HaluEval row"),
        ("halueval", {"right_answer": "a", "knowledge": "k"}, "hallucinated_answer", "missing"),
        ("halueval", {"chatgpt_response": "a", "hallucination": 1}, "hallucination", "yes"),
        ("ragtruth", {"response": "a", "labels": "x"}, "labels", "must be a list"),
        ("ragtruth", {"response": "a", "labels": [{"start": 0, "end": 2}]}, "labels[0]", "inside"),
        (
            "ragtruth",
            {"response": "ab", "labels": [{"start": 0, "end": 1, "text": "b"}]},
            "labels[0]",
            "is not response",
        ),
        ("begin", {"message": "m", "response": "r", "knowledge": "k"}, "begin_label", "one of"),
        ("begin", {"message": 1}, "message", "must be text, got 1"),
        ("refchecker", {"triplet": ["a", 1]}, "triplet", "list of texts"),
        ("truthfulqa", {"input": "q", "target_scores": {"a": 2}}, "target_scores", "0 or 1"),
        (
            "truthfulqa",
            {"question": "q", "correct_answers": [], "incorrect_answers": []},
            "correct_answers",
            "no answers",
        ),
        ("truthfulqa", {}, "correct_answers", "no columns"),
    ],
)
def test_rows_of_another_shape(
    reader: str, row: dict[str, Any], field: str | None, why: str
) -> None:
    items = list(open_source([row], reader=reader).rows())
    bad = items[-1]
    assert isinstance(bad, RowError)
    assert bad.field == field and why in bad.error


def test_unknown_reader_and_summaries() -> None:
    with pytest.raises(UsageError, match=r"unknown reader 'ragtrut'; did you mean 'ragtruth'"):
        open_source([{}], reader="ragtrut")
    with pytest.raises(UsageError, match=r"unknown reader 'rag\\x1btruth'"):  # escaped once
        open_source([{}], reader="rag\x1btruth")
    with pytest.raises(UsageError, match=r"^reader 'otel\(\\x1b\)': otel has "):
        open_source([{}], reader="otel(\x1b)")
    assert {"wikibio", "halueval", "ragtruth", "begin", "refchecker", "aggrefact"} <= set(READERS)
    assert all(r.summary for r in READERS.values())
