"""Labels that are written as words, in tables and in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veridical.core.records import Record
from veridical.errors import RowError
from veridical.io import open_source

PAIRS = [
    ("right", "wrong"),
    ("yes", "no"),
    ("pass", "fail"),
    ("correct", "incorrect"),
    ("good", "bad"),
    ("0", "1"),
    ("false", "TRUE"),
]


def labels(path: Path, mapping: dict[str, str] | None = None) -> list[float | None]:
    rows = list(open_source(path, mapping=mapping).rows())
    assert all(isinstance(row, Record) for row in rows), rows
    return [row.label for row in rows if isinstance(row, Record)]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("pair", PAIRS)
def test_words_are_labels(tmp_path: Path, pair: tuple[str, str], form: str) -> None:
    path = tmp_path / f"rows.{form}"
    written = [*pair, f" {pair[0].title()} ", ""]
    if form == "csv":
        path.write_text("answer,label\n" + "".join(f"a,{word}\n" for word in written), "utf-8")
    else:
        rows = (json.dumps({"answer": "a", "label": word}) for word in written)
        path.write_text("\n".join(rows), "utf-8")
    assert labels(path) == [0.0, 1.0, 0.0, None]


@pytest.mark.parametrize(
    ("column", "yes"), [("is_wrong", 1.0), ("Hallucinated?", 1.0), ("supported", 0.0), ("ok", 0.0)]
)
def test_yes_says_what_its_column_asks(tmp_path: Path, column: str, yes: float) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"answer,{column}\na,yes\na,no\n", "utf-8")
    assert labels(path, {"label": column}) == [yes, 1 - yes]


def test_a_word_that_is_no_label_is_named_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("answer,label\na,nope\n", "utf-8")
    (row,) = open_source(path).rows()
    assert isinstance(row, RowError) and (row.field, row.line) == ("label", 2)
    assert "right/wrong" in row.error and row.error.endswith("got 'nope'")
