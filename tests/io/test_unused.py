"""Columns that feed no field, and what they are likely to mean; tables without answers."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veridical
from veridical.api import reopen
from veridical.core.records import Record
from veridical.errors import RowError, UsageError, typed_options
from veridical.io import open_source

Row = dict[str, Any]
ROW: Row = {"question": "Where is the Louvre?", "answer": "In Paris, France."}
TEXT = "The Louvre is a museum in Paris, the capital of France. " * 2


def guessed(row: Row, **options: Any) -> dict[str, str | None]:
    return {u.column: u.meaning for u in open_source([row], **options).unused_columns()}


@pytest.mark.parametrize(
    ("names", "field", "value"),
    [
        ("ctx ctxs docs chunks evidence snippets contxts retrieved_chunks", "contexts", 1),
        (
            "doc_text ctx_1 my_context wiki_passages",
            "contexts",
            1,
        ),
        ("ref refs gt gold_answer expected_answer target best_answer", "reference", 0),
    ],
)
def test_names_of_fields(names: str, field: str, value: int) -> None:
    for name in names.split():
        given = [TEXT] if value else "Paris."
        assert guessed({**ROW, name: given}) == {name: field}, name


@pytest.mark.parametrize(
    ("names", "field"),
    [
        ("resp ans completion generation llm_output model_answer Reply respnse", "response"),
        ("q user_query instruction questoin", "prompt"),
    ],
)
def test_names_of_answers_and_prompts(names: str, field: str) -> None:
    for name in names.split():
        assert guessed({name: "Paris."}) == {name: field}, name


def test_ids_and_metadata_are_left_out() -> None:
    metadata = {
        "doc_id": "d1",
        "model": "gpt",
        "source_url": "http://h",
        "topic": ["museums", "travel"],
        "n_tokens": 3,
        "context_score": 0.4,
        "created": "2026-01-01",
        "row_idx": 3,
    }
    assert guessed({**ROW, **metadata}) == {}
    # Nor is what is no text taken for one, whatever its name.
    assert guessed({**ROW, "evidence": 3, "gold": {"a": 1}, "custom": True}) == {
        "evidence": None,
        "custom": None,
    }


def test_shapes_of_values() -> None:
    passages = [TEXT, TEXT.upper()]
    assert guessed({**ROW, "blob": passages}) == {"blob": "contexts"}
    assert guessed({**ROW, "blob": json.dumps(passages)}) == {"blob": "contexts"}
    assert guessed({**ROW, "blob": [{"page_content": TEXT}]}) == {"blob": "contexts"}
    assert guessed({**ROW, "blob": TEXT * 3}) == {"blob": "contexts"}
    drawn = ["It is in Paris.", "In Paris, France", "In Lyon, I think."]
    assert guessed({**ROW, "others": drawn}) == {"others": "samples"}
    assert guessed({"answer": "Paris.", "text": "Where is it?"}) == {"text": "prompt"}
    assert guessed({**ROW, "blob": ["x", "y"], "nothing": None}) == {"blob": None, "nothing": None}
    # A field that is there already is not offered again.
    assert guessed({**ROW, "contexts": [TEXT], "ctx": [TEXT]}) == {"ctx": None}
    assert guessed({**ROW, "other": [TEXT]}, mapping={"contexts": "question"}) == {"other": None}


def test_fields_inside_objects_are_named_by_their_path() -> None:
    row = {"asked": {"question": "Where?"}, "told": {"answer": "Paris.", "n": 1}}
    assert guessed(row) == {"asked.question": "prompt", "told.answer": "response"}
    mapping = {"prompt": "asked.question", "response": "told.answer"}
    assert guessed(row, mapping=mapping) == {}
    assert guessed({"inputs": {"question": "Where?"}, "outputs": {"answer": "Paris."}}) == {}


def write_rows(path: Path, rows: list[Row]) -> Any:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1))
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            cells = [
                {k: v if type(v) is str else json.dumps(v) for k, v in r.items()} for r in rows
            ]
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(cells)
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


SHAPES: dict[str, Callable[[Path, list[Row]], Any]] = {
    **{kind: lambda p, r, k=kind: write_rows(p / f"a.{k}", r) for kind in ("jsonl", "json")},
    **{kind: lambda p, r, k=kind: write_rows(p / f"a.{k}", r) for kind in ("csv", "parquet")},
    "two files": lambda p, r: [write_rows(p / f"{i}.jsonl", r) for i in range(2)],
    "dicts": lambda p, r: r,
    "pandas": lambda p, r: pd.DataFrame(r),
    "polars": lambda p, r: pl.DataFrame(r),
    "pyarrow": lambda p, r: pa.Table.from_pylist(r),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_of_input_and_a_stored_run(shape: str, tmp_path: Path) -> None:
    rows = [{**ROW, "ctx": [TEXT], "uid": "a"} for _ in range(70)]
    source = open_source(SHAPES[shape](tmp_path, rows))
    reading = source.rows()
    for _ in range(3):
        next(reading)
    passed = source.fraction()
    (unused,) = source.unused_columns()
    assert unused[:2] == ("ctx", "contexts")
    assert unused.hint == "mapping={'contexts': 'ctx'}"
    assert source.fraction() == passed  # the reading under way goes on as it was
    n_read = 3 + sum(1 for _ in reading)
    assert n_read == (140 if shape == "two files" else 70)
    with typed_options():
        (unused,) = source.unused_columns()
    assert unused.sentence == (
        "column 'ctx' is not used; did you mean contexts? --map contexts=ctx"
    )


def test_of_a_run_that_is_opened_again(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", [{**ROW, "my ctx": [TEXT]}])
    results = veridical.check(path, preset="fast", out=tmp_path / "run")
    again = reopen(tmp_path / "run")
    with typed_options():
        sentences = [u.sentence for u in results.unused_columns()]
        assert sentences == [u.sentence for u in again.unused_columns()]
    assert sentences == [
        "column 'my ctx' is not used; did you mean contexts? --map 'contexts=my ctx'"
    ]


def test_no_columns_of_records_readers_and_streams() -> None:
    assert open_source([Record(response="a", meta={"ctx": "b"})]).unused_columns() == []
    row = {"claim": "a", "doc": "b", "label": 1, "dataset": "d"}
    assert open_source([row], reader="aggrefact").unused_columns() == []
    with pytest.raises(UsageError, match="only once"):
        open_source(iter([ROW])).unused_columns()


def test_a_row_without_a_response_names_the_likeliest() -> None:
    (error,) = open_source([{"q": "a", "llm_answer": "b"}]).rows()
    assert isinstance(error, RowError) and error.field == "response"
    assert error.error == (
        "is missing; the row has 'q', 'llm_answer'; did you mean 'llm_answer'? "
        "mapping={'response': 'llm_answer'}"
    )
    with typed_options():
        (error,) = open_source([{"prompt": "a"}]).rows()
    assert isinstance(error, RowError)
    assert "--map response=COLUMN" in error.error and "--llm NAME" in error.error


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_without_answers(make: Any) -> None:
    with pytest.raises(UsageError) as e:
        open_source(make({"q": ["a"], "completion": ["b"]}))
    assert str(e.value) == (
        "the table has no answer column; it has 'q', 'completion'; did you mean "
        "'completion'? mapping={'response': 'completion'}"
    )
    with pytest.raises(UsageError, match="llm=NAME"):
        open_source(make({"question": ["a"]}))
    with pytest.raises(UsageError, match=r"mapping=.'response': 'COLUMN'"):
        open_source(make({"x": ["a"]}))
    assert len(list(open_source(make({"question": ["a"]}), prompts=True).rows())) == 1
    mapped = open_source(make({"x": ["a"]}), mapping={"response": "x"})
    assert [r.response for r in mapped.rows() if isinstance(r, Record)] == ["a"]


@pytest.mark.parametrize("shape", [s for s in SHAPES if s not in ("csv",)])
def test_a_mapped_column_that_is_not_there(shape: str, tmp_path: Path) -> None:
    rows = [dict(ROW) for _ in range(100)] + [{**ROW, "ctx": [TEXT]}]
    if shape == "polars":  # which tells a column's type by its first rows
        rows = rows[-1:]
    made = SHAPES[shape](tmp_path, [{"ctx": None, **r} for r in rows])
    open_source(made, mapping={"contexts": "ctx"}).check_mapping()
    open_source(made, mapping={"contexts": "ctx.0"}).check_mapping()  # in the last row alone
    with pytest.raises(UsageError) as e:
        open_source(made, mapping={"contexts": "ctxs"}).check_mapping()
    assert "no row has a column 'ctxs'" in str(e.value) and "mean 'ctx'?" in str(e.value)
    assert "'answer'" in str(e.value)


def test_one_record_alone() -> None:
    for one in (ROW, Record(prompt=ROW["question"], response=ROW["answer"])):
        (record,) = open_source(one).rows()
        assert isinstance(record, Record) and record.response == ROW["answer"]
    (result,) = veridical.check({**ROW, "contexts": [TEXT]}, preset="fast")
    assert result.row == 0 and result.risk is not None


PYTHON_LISTS = [str([TEXT, "it's"]), str(['say "x"\n\t\\ \x01é\xa0\U0001f600\u2028'])]


def test_lists_written_as_text_are_read_and_told_with_a_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame(
        {"answer": "Paris.", "contexts": [*PYTHON_LISTS, json.dumps([TEXT]), "[]"]}
    )
    source = open_source(frame)
    contexts = [[c.text for c in r.contexts] for r in source.rows() if isinstance(r, Record)]
    assert contexts == [[TEXT, "it's"], ['say "x"\n\t\\ \x01é\xa0\U0001f600\u2028'], [TEXT], []]
    python, as_json = source.warnings()
    assert "'contexts'" in python and "in 2 rows (first row 0)" in python
    assert "in 2 rows (first row 2)" in as_json and "read as a list" in as_json
    path = tmp_path / "saved.csv"
    frame[:1].to_csv(path, index=False)
    for inputs in (path, frame[:1]):
        veridical.check(inputs, preset="fast")
        assert capsys.readouterr().err.count("written as text in 1 row (first row 0)") <= 1
    (record,) = open_source(path).rows()
    assert isinstance(record, Record) and [c.text for c in record.contexts] == [TEXT, "it's"]


def test_what_may_be_no_list_stays_one_text() -> None:
    for text in ("['a' 'b']", "['a'] and ['b']", "['a\\q']"):
        source = open_source([{"answer": "b", "contexts": text}])
        (record,) = source.rows()
        assert isinstance(record, Record) and [c.text for c in record.contexts] == [text]
        (warning,) = source.warnings()
        assert "read as one text" in warning
    for text in ("[1] a footnote", "['a', 1]", "[1, 2]"):
        source = open_source([{"answer": "b", "contexts": text}])
        (record,) = source.rows()
        assert isinstance(record, Record) and record.contexts[0].text == text
        assert source.warnings() == []


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a"])
def test_cells_may_be_separated_otherwise(mark: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    rows = [["question", "answer", "context"], ["Where, when?", 'In "Paris", 1793', "a; b|c\td"]]
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=mark).writerows(rows)
    if name == "a" and mark == "|":
        return  # no mark by which a file without a name's ending is told
    (record,) = open_source(path).rows()
    assert isinstance(record, Record)
    assert (record.prompt, record.response, record.contexts[0].text) == tuple(rows[1])


def test_a_header_of_commas_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("answer,a;b;c\nx;y,z\n")
    (record,) = open_source(path).rows()
    assert isinstance(record, Record) and record.response == "x;y"
    assert record.meta == {"a;b;c": "z"}


@pytest.mark.parametrize("indent", [None, 1])
def test_a_json_list_in_a_file_of_lines(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n" + json.dumps([ROW, ROW], indent=indent) + "\n")
    assert [type(row) for row in open_source(path).rows()] == [Record, Record]
    path.write_text("[\n{}\n")  # which is no list either
    assert [type(row) for row in open_source(path).rows()] == [RowError, RowError]
    path.write_text('[1]\n{"answer": "a"}\n')  # a bad row among good ones
    assert [type(row) for row in open_source(path).rows()] == [RowError, Record]
