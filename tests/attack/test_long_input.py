"""Hostile input of great size is read, or refused, for what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veridical.core.messages import LlmError
from veridical.core.records import Record
from veridical.errors import UsageError
from veridical.io import open_source
from veridical.io.columns import Columns
from veridical.llm.structured import read_json
from veridical.retrieval.corpus.html import read_html
from veridical.text.final_number import final_number


def only(path: Path) -> Record:
    (row,) = open_source(path).rows()
    assert isinstance(row, Record)
    return row


def test_a_table_of_fifty_thousand_columns(tmp_path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(50_000))
    path = tmp_path / "wide.csv"
    path.write_text(f"response,{names}\nx{',1' * 50_000}\n")
    assert len(only(path).meta) == 50_000
    path.write_text(f"response,{names},c77\nx{',1' * 50_001}\n")
    with pytest.raises(UsageError, match="column 'c77' is there twice"):
        list(open_source(path).rows())


def test_rows_of_ever_new_columns_are_not_remembered() -> None:
    columns = Columns()
    for n in range(3):
        row = {"response": "x", **{f"{n} {i}": i for i in range(2_000)}}
        assert len(columns.record(row, n).meta) == 2_000
    assert not columns._plans
    columns.record({"response": "x", "a": 1}, 3)
    assert len(columns._plans) == 1


def test_a_million_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"\n" * 1_000_000 + json.dumps({"response": "x"}).encode())
    assert only(path).response == "x"


@pytest.mark.parametrize("markup", ["<a ", "<!-- ", "<![", "<![x ]>", "<a b='", "<svg></p>"])
def test_markup_that_never_ends_is_read(markup: str) -> None:
    title, text = read_html("<title>T</title><p>One</p>" + markup * 20_000)
    assert title == "T" and text.startswith("One")


def test_markup_that_ends_is_read_as_ever() -> None:
    page = "<p>a<!-- x --> b <![if IE]> c<![endif]> d <3 e</p> f < g <!-- h"
    assert read_html(page)[1] == "a b c d <3 e\n\nf < g <!-- h"


@pytest.mark.parametrize("piece", ["\n", "```\n", "\n ", "11,", "111 ", "minus ", "hundred "])
def test_a_number_after_what_looks_like_many(piece: str) -> None:
    number, _ = final_number(piece * 5_000 + ". The answer is 7")
    assert number is not None and number.value == 7


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("```json\n[1]\n```", [1]),
        ("```\r\n[1]\r\n ```", [1]),
        ("```\n[1]```", [1]),
        ("```\n" + " " * 50_000 + "[1]" + " " * 50_000 + "\n```", [1]),
        ("```[1]```", None),
        ("```\n[1]", None),
        ("```\n```", None),
    ],
)
def test_a_code_fence_is_taken_off(text: str, value: object) -> None:
    if value is None:
        with pytest.raises(LlmError):
            read_json(text, {})
    else:
        assert read_json(text, {}) == value
