"""Hostile input of great size is read, or refused, for what it is."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import veridical
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
    with pytest.raises(UsageError, match="column 'c77' occurs twice"):
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


def many_values(form: str, count: int) -> str:
    """An answer of so many values."""
    if form == "list":
        return "[" + "1," * (count - 1) + "1]"
    if form == "objects":
        return "[" + ",".join('{"a": 1, "b": [2, 3]}' for _ in range(count // 3)) + "]"
    if form == "nested":
        return "[" * 60 + "1," * (count - 1) + "1" + "]" * 60
    if form == "csv":
        return "name,a,b\n" + "x,1,2\n" * (count // 3)
    if form == "html":
        row = "<tr><td>1</td><td>2</td></tr>"
        return f"<table>{row * (count // 4)}<tr><td><table>{row * (count // 4)}</table></td></tr>"
    return "".join(f"k{i}: 1\n" for i in range(count))


FORMS = ("list", "objects", "nested", "csv", "html", "yaml")


@pytest.mark.parametrize("field", ["response", "samples"])
@pytest.mark.parametrize("form", FORMS)
def test_an_answer_of_a_million_values_is_refused(form: str, field: str) -> None:
    text = many_values(form, 1_000_000)
    values: dict[str, Any] = {"response": "x", field: text if field == "response" else [text]}
    tracemalloc.start()
    with pytest.raises(
        ValidationError, match=r"\d+ values, more than the 50000 that can be judged; split"
    ):
        Record(**values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("form", ["list", "objects", "csv"])
def test_values_of_a_structured_answer_are_counted(form: str) -> None:
    with pytest.raises(ValidationError, match=r"1[12]\d{3} values, more than the 10000 that can"):
        Record(response=many_values(form, 12_000))
    assert Record(response=many_values(form, 9_000)).response


def test_long_prose_and_code_are_no_values() -> None:
    prose = "She came, saw, and left; nobody knew why.\n" * 9_000
    code = "```python\n" + "call(a, b, c)  # x\n" * 9_000 + "```"
    assert Record(response=prose).response and Record(response=code).response


def test_an_answer_of_too_many_values_never_passes(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    rows = [
        {"response": many_values("list", 1_000_000), "contexts": "1"},
        {"response": "It is 1.", "contexts": "It is 1."},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    results = veridical.check(path, out=tmp_path / "run", store=None, preset="fast")
    assert [r.row for r in results] == [1]
    (error,) = results.errors()
    assert (error.row, error.field) == (0, "response") and "split the answer" in error.error


@pytest.mark.parametrize("number", ["9" * 100_000, "0." + "3" * 100_000, "1" + ",000" * 500])
@pytest.mark.parametrize("form", ["The fee is {} euros.", '{{"fee": {}}}', "fee\n{}\n", "{}"])
def test_numbers_of_a_hundred_thousand_digits(form: str, number: str) -> None:
    text = form.format(number)
    result = veridical.check_one(text, contexts="The fee is 25 euros.", nli="mini")
    assert result.verdict not in ("supported", "consistent")
    copied = veridical.check_one("The fee is 25 euros.", contexts=text, nli="mini")
    assert copied.verdict not in ("supported", "consistent")
