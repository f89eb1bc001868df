"""Columns set apart by spaces."""

from __future__ import annotations

from veridical.text.columns import column_spans, groups_thousands, header_spans
from veridical.text.structure.reading import read_structure
from veridical.text.values.places import placed

PLAN = (
    "Winter timetable\nNo  Train        From    Dep      Days\n"
    "1   IR 40        Elm     06:12    Mon-Fri\n2   RE 5 north   Ulm     06:40    daily\n"
    "Tickets on board.\n"
)


def cells(line: str) -> list[str]:
    return [line[s:e] for s, e in column_spans(line)]


def test_cells_are_set_apart_by_two_spaces() -> None:
    assert cells("  7   IR 40      Elm  ") == ["7", "IR 40", "Elm"]
    assert cells("A sentence.  Another one.  A third one.") == []
    assert cells("key:      value") == []
    assert cells("x" * 500 + "   a   b") == []


def test_header_words_belong_to_the_column_below() -> None:
    line = "No Name            Price"
    rows = [column_spans("1  Chair, grey     4.50"), column_spans("2  Table, round   14.50")]
    assert [line[s:e] for s, e in header_spans(line, rows)] == ["No", "Name", "Price"]
    assert header_spans("", rows) == [(0, 0)] * 3


def test_such_tables_are_read_row_by_row() -> None:
    found = read_structure(PLAN)
    assert found is not None and [b.kind for b in found.blocks] == ["table"]
    texts = [row.text for row in found.blocks[0].rows]
    assert any("RE 5 north" in t and "06:40" in t and "daily" in t for t in texts)
    assert "Winter" not in " ".join(texts)


def test_commas_of_thousands_are_no_borders_of_cells() -> None:
    text = "Total assets: 402,115\nLong-term debt: 96,500\nEquity: 187,320"
    assert all(groups_thousands(line) for line in text.split("\n"))
    assert not groups_thousands("Heron,4,120") and not groups_thousands("12,400")
    assert [text[v.start : v.end] for v in placed(text).values] == ["402,115", "96,500", "187,320"]


def test_lines_of_different_widths_are_no_table() -> None:
    assert read_structure("a   b   c\n1   2   3\n1   2   3   4\n") is None
