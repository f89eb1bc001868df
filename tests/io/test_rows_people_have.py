"""Rows as people and other tools write them, in memory and in files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

import veridical
from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.io.source import open_source


def only(rows: Any, **options: Any) -> Record:
    (item,) = open_source(rows, **options).rows()
    assert isinstance(item, Record), item
    return item


def record(**row: Any) -> Record:
    return only([{"response": "r", **row}])


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (42, ("42",)),
        (42.0, ("42",)),
        (-0.5, ("-0.5",)),
        (1e300, ("1e+300",)),
        (True, ("true",)),
        (False, ("false",)),
        ([1, 2.5, True, "x"], ("1", "2.5", "true", "x")),
        (np.int64(7), ("7",)),
        (np.array([1, 2]), ("1", "2")),
        (None, ()),
        ([], ()),
    ],
)
def test_references_that_are_numbers(given: Any, texts: tuple[str, ...]) -> None:
    assert record(reference=given).reference == texts


def test_references_that_are_none_name_field_and_row() -> None:
    _, item = open_source([{"response": "r"}, {"response": "r", "reference": [{"a": 1}]}]).rows()
    assert isinstance(item, RowError)
    assert (item.row, item.field) == (1, "reference[0]") and "must be text" in item.error


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv"])
def test_numbers_and_nulls_in_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{suffix}"
    rows = [{"answer": "r", "gold": [1, True], "contexts": ["a", None, "b"], "x": math.nan}]
    if suffix == "csv":
        cells = {k: json.dumps(v) if isinstance(v, list) else v for k, v in rows[0].items()}
        pd.DataFrame([cells]).to_csv(path, index=False)
    else:
        text = json.dumps(rows if suffix == "json" else rows[0])
        assert "NaN" in text
        path.write_text(text)
    read = only(path)
    assert read.reference == ("1", "true")
    assert [(s.index, s.text) for s in read.against("contexts")] == [(0, "a"), (2, "b")]
    assert read.meta["x"] in (None, "")


def test_nulls_keep_the_places_of_the_others() -> None:
    read = record(
        contexts=[None, "c", {"id": "k", "text": "d"}],
        samples=[None, "s", {"text": None, "finish_reason": "length"}, "t"],
        reference=[None, "g"],
    )
    assert [(s.index, s.text) for s in read.against("contexts")] == [(1, "c"), (2, "d")]
    assert [(s.index, s.text) for s in read.against("samples")] == [(1, "s"), (3, "t")]
    assert [(s.index, s.text) for s in read.against("reference")] == [(1, "g")]
    assert read.sample_texts == ["s", "t"]
    again = Record.model_validate(read.model_dump(by_alias=True))
    assert again == read


@pytest.mark.parametrize("field", ["contexts", "samples", "reference"])
def test_nulls_alone_are_nothing(field: str) -> None:
    read = record(**{field: [None, None]})
    assert not read.has(field)
    (result,) = veridical.check([read])
    assert (result.verdict, result.reason) == ("unchecked", "nothing_to_check")


@pytest.mark.parametrize("contexts", ["", "  ", [""], ["\n", " \t"], [None, " "]])
def test_blank_contexts_are_nothing_to_check_against(contexts: Any) -> None:
    (result,) = veridical.check([{"response": "It is 57 m tall.", "contexts": contexts}])
    assert (result.verdict, result.reason) == ("unchecked", "nothing_to_check")
    result = veridical.check_one("It is 57 m tall.", contexts=contexts)
    assert (result.verdict, result.reason, result.risk) == ("unchecked", "nothing_to_check", None)


def test_blank_contexts_do_not_hide_other_fields() -> None:
    row = {"response": "It is 57 m tall.", "contexts": [" "], "reference": "It is 57 m tall."}
    (result,) = veridical.check([row])
    assert result.verdict == "supported"


def test_log_probabilities_that_are_null() -> None:
    tokens = [
        {"token": "It", "logprob": None, "top": None},
        None,
        {"token": " is", "logprob": -0.5, "top": [None, {"token": " was", "logprob": None}]},
        {"token": " red", "logprob": -4.0},
    ]
    row = {"response": "It is red", "logprobs": tokens}
    (result,) = veridical.check([row], "min_probability, avg_logprob")
    assert result.scores["avg_logprob"].raw == pytest.approx(2.25)
    items = [e for u in result.scores["avg_logprob"].units for e in u.evidence]
    assert items and all(e.text == "It is red"[e.start : e.end] for e in items)
    assert {e.index for e in items} <= {2, 3}  # positions in the list that was given
    (nothing,) = veridical.check([{"response": "It is red.", "logprobs": [None]}])
    assert (nothing.verdict, nothing.reason) == ("unchecked", "nothing_to_check")


def test_nan_in_columns_that_are_not_used() -> None:
    frame = pd.DataFrame(
        {
            "answer": ["a", "b"],
            "reference": [1.0, math.nan],
            "score": [math.nan, 2.0],
            "more": [{"x": math.nan, "y": [math.inf]}, None],
        }
    )
    first, second = open_source(frame).rows()
    assert isinstance(first, Record) and isinstance(second, Record)
    assert first.reference == ("1",) and second.reference == ()
    assert first.meta == {"score": None, "more": {"x": None, "y": [None]}}


def test_a_dict_of_lists_is_a_table() -> None:
    columns = {"question": ["q", "r"], "answer": ["a", "b"], "contexts": [["c"], ["d", "e"]]}
    first, second = open_source(columns).rows()
    assert isinstance(first, Record) and isinstance(second, Record)
    assert (first.row, first.prompt, first.response) == (0, "q", "a")
    assert (second.row, [c.text for c in second.contexts]) == (1, ["d", "e"])
    arrays = {"answer": np.array(["a", "b"]), "n": pd.Series([1, 2])}
    assert [r.meta["n"] for r in open_source(arrays).rows() if isinstance(r, Record)] == [1, 2]
    prompts = open_source({"prompt": ["q", "r"]}, prompts=True).rows()
    assert [getattr(r, "prompt", None) for r in prompts] == ["q", "r"]


def test_a_dict_of_lists_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "columns.json"
    path.write_text(json.dumps({"answer": ["a", "b"], "contexts": [["c"], ["d"]]}))
    assert [getattr(r, "response", None) for r in open_source(path).rows()] == ["a", "b"]
    path.write_text(json.dumps({"answer": ["a", "b"], "contexts": [["c"]]}))
    with pytest.raises(UsageError, match="equal lengths: 'answer' has 2, 'contexts' has 1"):
        open_source(path).count_all()


def test_a_dict_that_is_one_row_stays_one() -> None:
    assert only({"answer": "a", "contexts": ["c", "d"]}).response == "a"


def test_columns_of_unequal_length_are_named() -> None:
    with pytest.raises(UsageError, match="equal lengths: 'answer' has 2, 'contexts' has 1"):
        open_source({"answer": ["a", "b"], "contexts": [["c"]]})
    with pytest.raises(UsageError, match="column 'question' must be a list"):
        open_source({"answer": ["a", "b"], "question": "q"})


@pytest.mark.parametrize(
    "row",
    [
        {"inputs": "q", "outputs": "a", "targets": "t"},
        {"inputs": {"question": "q"}, "outputs": {"answer": "a"}, "targets": {"answer": "t"}},
        {"inputs": {"messages": "q"}, "outputs": "a", "expectations": {"expected_response": "t"}},
        {"inputs": {"text": "q"}, "outputs": {"text": "a"}, "reference_outputs": {"answer": "t"}},
        {"Question": "q", "Answer": "a", "Ground Truth": "t"},
        {"USER_INPUT": "q", "Actual-Output": "a", "expectedOutput": "t"},
    ],
)
def test_columns_of_other_tools_and_in_capitals(row: dict[str, Any]) -> None:
    read = only([row])
    assert (read.prompt, read.response, read.reference) == ("q", "a", ("t",))


def test_contexts_inside_inputs_and_outputs() -> None:
    inside = {"inputs": {"question": "q", "context": "c"}, "outputs": {"answer": "a"}}
    assert [c.text for c in only([inside]).contexts] == ["c"]
    outside = {"inputs": "q", "outputs": {"answer": "a", "contexts": ["d"]}}
    assert [c.text for c in only([outside]).contexts] == ["d"]
    for name in ("Retrieved Contexts", "source_documents", "retrieved_docs", "Contexts"):
        assert [c.text for c in only([{"answer": "a", name: ["c"]}]).contexts] == ["c"]


def test_exact_names_go_before_those_of_tools() -> None:
    read = only([{"answer": "a", "outputs": "o", "Answer": "b", "inputs": {"k": 1}}])
    assert read.response == "a" and read.prompt is None
    assert read.meta == {"outputs": "o", "Answer": "b", "inputs": {"k": 1}}


def test_capitals_that_contradict_each_other_are_named() -> None:
    (item,) = open_source([{"Answer": "a", "Response": "b"}]).rows()
    assert isinstance(item, RowError) and "both mean response and differ" in item.error


def test_common_metadata_in_capitals_is_no_field() -> None:
    read = only([{"answer": "a", "Source": "web", "Label": "bad", "ID": "x"}])
    assert read.contexts == () and read.label is None
    assert read.meta == {"Source": "web", "Label": "bad", "ID": "x"}


class Document(BaseModel):
    """As LangChain has it."""

    page_content: str
    metadata: dict[str, Any] = {}
    id: str | None = None
    type: str = "Document"


@pytest.mark.parametrize(
    "document",
    [
        Document(page_content="It is 57 m tall.", metadata={"page": 3}),
        SimpleNamespace(page_content="It is 57 m tall.", metadata={"page": 3}),
        {"page_content": "It is 57 m tall.", "metadata": {"page": 3}, "type": "Document"},
        {"lc": 1, "id": ["x", "Document"], "kwargs": {"page_content": "It is 57 m tall."}},
    ],
)
def test_documents_of_langchain(document: Any) -> None:
    read = only([{"answer": "a", "source_documents": [document, "more"]}])
    assert [c.text for c in read.contexts] == ["It is 57 m tall.", "more"]
    result = veridical.check_one("It is 57 m tall.", contexts=[document])
    assert result.verdict == "supported"
    assert veridical.check_one("It is 57 m tall.", contexts=document).verdict == "supported"


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (Document(page_content="a", metadata={"source": "faq.md"}, id="0b1c"), "faq.md"),
        ({"page_content": "a", "metadata": {"source": "faq.md"}}, "faq.md"),
        ({"lc": 1, "id": ["x"], "kwargs": {"page_content": "a", "metadata": {"source": 3}}}, 3),
        ({"page_content": "a", "id": "0b1c", "metadata": {"source": None}}, "0b1c"),
        ({"text": "a", "id": "d1", "metadata": {"source": "faq.md"}}, "d1"),
        ({"text": "a", "metadata": {"source": "faq.md"}}, "faq.md"),
        ({"text": "a", "metadata": {"source": ["x"]}}, None),
    ],
)
def test_the_source_of_a_document_names_it(document: Any, name: str | int | None) -> None:
    (context,) = only([{"answer": "a", "contexts": [document]}]).contexts
    assert context.id == name


def test_check_one_takes_numbers_and_nulls() -> None:
    result = veridical.check_one("The sum is 42.", question="What is the sum?", reference=42)
    assert result.verdict == "supported"
    result = veridical.check_one("It is 57 m tall.", contexts=[None, "It is 57 m tall."])
    (unit,) = result.spans
    assert unit.evidence[0].index == 1
    with pytest.raises(UsageError, match=r"contexts\[1\] must be text"):
        veridical.check_one("a", contexts=["c", 3])
