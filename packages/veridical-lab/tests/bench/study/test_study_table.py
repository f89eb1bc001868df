"""Reading the table of a study: forms, words, sizes, and broken rows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from veridical.errors import UsageError
from veridical.io.problems import RowProblem
from veridical_lab.bench.study.table import Table, read_table
from veridical_lab.sampling.levels import billions, bin_names, family_of, is_instruct

ROW: dict[str, Any] = {
    "model": "llama-7b",
    "size": 7,
    "tuning": "base",
    "decoding": "greedy",
    "item": "q1",
    "scorer": "rouge",
    "value": 0.5,
}


def row(**changes: Any) -> dict[str, Any]:
    return {k: v for k, v in {**ROW, **changes}.items() if v is not ...}


def wide(**changes: Any) -> dict[str, Any]:
    return row(scorer=..., value=..., **changes)


def content(table: Table) -> list[tuple[Any, ...]]:
    """The rows of a table, in a fixed order."""
    words = (table.dataset, table.scorer, table.model, table.family, table.decoding, table.item)
    columns = [[c.names[code] for code in c.codes] for c in words]
    numbers = [table.size.tolist(), table.instruct.tolist(), table.value.tolist()]
    return sorted(zip(*columns, *numbers, strict=True))


ROWS = [
    row(),
    row(item="q2", value=0.25, size="7B"),
    row(model="llama-7b-chat", tuning="chat", value=1, item="q2"),
    row(scorer="judge", value=1.0),
]


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "json", "parquet", "frame", "rows"])
def test_all_forms_say_the_same(form: str, tmp_path: Path) -> None:
    import pandas

    path = tmp_path / f"table.{form}"
    rows = [{**r, "size": 7} for r in ROWS]
    frame = pandas.DataFrame(rows)
    given: Any = path
    if form == "jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    elif form == "json":
        path.write_text(json.dumps(ROWS))
    elif form in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if form == "csv" else "\t")
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        given = frame if form == "frame" else ROWS
    assert content(read_table(given)) == [
        ("all", "judge", "llama-7b", "llama", "greedy", "q1", 7.0, 0, 1.0),
        ("all", "rouge", "llama-7b", "llama", "greedy", "q1", 7.0, 0, 0.5),
        ("all", "rouge", "llama-7b", "llama", "greedy", "q2", 7.0, 0, 0.25),
        ("all", "rouge", "llama-7b-chat", "llama", "greedy", "q2", 7.0, 1, 1.0),
    ]


def test_wide_form_takes_the_columns_of_numbers(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(
        "dataset,model,family,size,tuning,decoding,item,response,rouge,judge\n"
        "truthfulqa,m1,F,125M,pretrained,greedy,1,some text,0.5,true\n"
        "truthfulqa,m1,F,125M,pretrained,greedy,2,42,,false\n"
        "truthfulqa,m1,F,125M,pretrained,greedy,3,more text,nan,true\n"
    )
    table = read_table(path)
    head = ("m1", "F", "greedy")
    assert content(table) == [
        ("truthfulqa", "judge", *head, "1", 0.125, 0, 1.0),
        ("truthfulqa", "judge", *head, "2", 0.125, 0, 0.0),
        ("truthfulqa", "judge", *head, "3", 0.125, 0, 1.0),
        ("truthfulqa", "rouge", *head, "1", 0.125, 0, 0.5),
    ]
    assert table.notes == (
        "scorers are the columns rouge, judge",
        "2 of 6 values are missing and left out",
    )


@pytest.mark.parametrize(
    ("changes", "field", "why"),
    [
        ({"size": "large"}, "size", "must be a size in billions .* got 'large'"),
        ({"size": -1}, "size", "must be a size in billions"),
        ({"size": True}, "size", "must be a size in billions .* got true"),
        ({"size": "8x7B"}, "size", "must be a size in billions"),
        ({"size": 7_000_000_000}, "size", "is in billions of parameters, and 7000000000 is too"),
        ({"size": None}, "size", "is missing"),
        ({"tuning": "tuned-ish"}, "tuning", "must be one of pretrained, .*; or instruct, .*chat"),
        ({"tuning": ...}, "tuning", "is missing"),
        ({"decoding": " "}, "decoding", "is missing"),
        ({"item": ["q1"]}, "item", "must be text or a number, got a list of 1"),
        ({"model": ...}, "model", "is missing"),
        ({"value": "high"}, "value", "must be a number, got 'high'"),
        ({"value": "inf"}, "value", "must be a finite number"),
        ({"value": [1]}, "value", "must be a number, got a list of 1"),
        ({"scorer": None}, "scorer", "is missing"),
    ],
)
def test_a_broken_row_is_named(
    changes: dict[str, Any], field: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in (row(), row(**changes))))
    with pytest.raises(UsageError, match=f"table.jsonl:2: row 1: field '{field}': {why}"):
        read_table(path)


def test_a_few_broken_rows_are_shown_and_all_counted() -> None:
    with pytest.raises(UsageError, match=r"<rows>: row 0: .*row 4: .*and 4 more; a row needs"):
        read_table([row(size="x")] * 9)


def test_broken_lines_and_empty_tables(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text(json.dumps(row()) + "\n{oops\n")
    with pytest.raises(UsageError, match=r"table.jsonl:2: row 1: not JSON"):
        read_table(path)
    path.write_text("")
    with pytest.raises(UsageError, match="the table has no rows; a row needs model, size"):
        read_table(path)
    with pytest.raises(UsageError, match="the table has no rows"):
        read_table([])
    with pytest.raises(UsageError, match="field 'value': is required with 'scorer'"):
        read_table([row(value=...)])
    with pytest.raises(UsageError, match="field 'scorer': is required with 'value'"):
        read_table([row(scorer=...)])
    with pytest.raises(UsageError, match="the table has no scorer"):
        read_table([wide(text="one"), wide(text="two")])
    with pytest.raises(UsageError, match="a table is a path or a list of rows, got 3"):
        read_table(3)


def test_a_mostly_numeric_column_with_a_slip_is_an_error_not_a_text() -> None:
    rows = [wide(item=i, rouge=0.5) for i in range(9)] + [wide(item=9, rouge="0,5")]
    with pytest.raises(UsageError, match="row 9: field 'rouge': must be a number, got '0,5'"):
        read_table(rows)


def test_whole_floats_name_the_same_item() -> None:
    assert read_table([row(item=3), row(item=3.0), row(item=" 3")]).item.names == ("3",)


@pytest.mark.parametrize(
    ("text", "size"),
    [("7B", 7), ("125M", 0.125), ("1.3b", 1.3), (" 70 billion ", 70), ("350 m", 0.35), ("13", 13)],
)
def test_sizes(text: str, size: float) -> None:
    assert billions(text) == pytest.approx(size)


@pytest.mark.parametrize("value", [math.nan, math.inf, 0, "0B", "", None, "B", 10**400])
def test_no_sizes(value: object) -> None:
    with pytest.raises(RowProblem):
        billions(value)


@pytest.mark.parametrize(
    "word", ["Instruct", "chat", "it", "instruction tuned", "Instruction_Tuned"]
)
def test_words_for_instruction_tuning(word: str) -> None:
    assert is_instruct(word)


@pytest.mark.parametrize("word", ["pretrained", "Pre-trained", "base", "PT"])
def test_words_for_no_tuning(word: str) -> None:
    assert not is_instruct(word)


@pytest.mark.parametrize(
    ("base", "tuned"),
    [
        ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-7b-chat-hf"),
        ("google/gemma-2b", "google/gemma-2b-it"),
        ("allenai/OLMo-7B", "allenai/OLMo-7B-Instruct"),
        ("Meta-Llama-3.1-70B", "Meta-Llama-3.1-70B-Instruct"),
    ],
)
def test_families_from_names(base: str, tuned: str) -> None:
    assert family_of(base) == family_of(tuned)
    assert family_of("gemma-1.1-2b-it") != family_of("gemma-2b")
    assert family_of("llama-2-7b") != family_of("llama-3-7b")


def test_bins() -> None:
    assert bin_names((0.5, 4, 20, 70)) == ["<0.5B", "0.5-4B", "4-20B", "20-70B", ">=70B"]
    assert bin_names([7]) == ["<7B", ">=7B"]
    for wrong in ([], [0, 1], [4, 4], [2, 1], [1, math.inf], [math.nan]):
        with pytest.raises(UsageError, match="size bins must be positive and increasing"):
            bin_names(wrong)
