"""Structured texts: paths, values and places against hand-written ones and the library readers."""

from __future__ import annotations

import csv
import io
import json
from html import unescape

import pytest
from growing import MOST, growth
from hostile_texts import repeated
from hypothesis import given
from hypothesis import strategies as st

from veridical.text.passages import passages
from veridical.text.structure import answer_units, read_structure, source_pieces


def leaves(text: str) -> dict[str, str]:
    found = read_structure(text)
    assert found is not None
    for leaf in found.leaves:
        raw = text[leaf.start : leaf.end]
        assert raw == leaf.value or "\\" in raw or "&" in raw or "*" in raw or "\n" in raw
    return {leaf.path: leaf.value for leaf in found.leaves}


def statements(text: str) -> list[str]:
    return [u.statement.text if u.statement else u.span.text for u in answer_units(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": {"b c": [1, {"x": "y"}]}}', {'a["b c"][0]': "1", 'a["b c"][1].x': "y"}),
        ('Here it is:\n```json\n{"total": 12}\n```\nDone.', {"total": "12"}),
        ('{"day": "Mon"}\n{"day": "Tue"}', {"day": "Tue"}),
        ('```json\n{"a": 1, "b": "cut of', {"a": "1", "b": "cut of"}),
        ("a: 1\nb:\n  - x\n  - y: 2\n    z: '3'",
         {"a": "1", "b[0]": "x", "b[1].y": "2", "b[1].z": "3"}),
        ("```yaml\nnote: |\n  one\n  two\nsize: 4 # cm\n```", {"note": "one\ntwo", "size": "4"}),
        ("<cat><name>Mia &amp; Tom</name><age>3</age></cat>",
         {"cat.name": "Mia & Tom", "cat.age": "3"}),
        ("<r><n>1</n><n>2</n></r>", {"r.n[0]": "1", "r.n[1]": "2"}),
        ("City,Rain mm\nOslo,4\nRome,0", {"row[0].City": "Oslo", 'row[0]["Rain mm"]': "4",
                                          "row[1].City": "Rome", 'row[1]["Rain mm"]': "0"}),
        ("City\tRain\nOslo\t4", {"row[0].City": "Oslo", "row[0].Rain": "4"}),
        ("City;Rain\nOslo;4\nRome;0,5", {"row[0].City": "Oslo", "row[0].Rain": "4",
                                         "row[1].City": "Rome", "row[1].Rain": "0,5"}),
        ("| City | Rain |\n|---|--:|\n| **Oslo** | 4 |",
         {"row[0].City": "Oslo", "row[0].Rain": "4"}),
        ("<table><tr><th>City</th><th>Rain</th></tr><tr><td>Oslo</td><td>4</td></tr></table>",
         {"row[0].City": "Oslo", "row[0].Rain": "4"}),
        ("Price: 45\nSeats: 5", {"Price": "45", "Seats": "5"}),
        ("[door]\nopens = 10\n[gate]\nopens = 11", {"door.opens": "10", "gate.opens": "11"}),
        ("Soup ........ 4.50", {"Soup": "4.50"}),
    ],
)  # fmt: skip
def test_values_have_paths(text: str, wanted: dict[str, str]) -> None:
    assert leaves(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "The museum opens at 10 am and closes at 6 pm. Entry costs 12 euros.",
        "Hello, world\nGood night, moon",
        "Dear Ann,\nthank you, and all the best,\nBo",
        "As shown in [1] and [2, 3], rates rose (see {x}).",
        "<p>The <b>museum</b> opens at ten.</p>",
        "1. Boil the water.\n2. Add the rice.",
        "```python\nx = {'a': 1}\n```",
        "[" * 300,
        "",
    ],
)
def test_prose_is_not_structured(text: str) -> None:
    assert read_structure(text) is None


def test_statements_name_what_a_value_belongs_to() -> None:
    table = "| Plan | Price | Trial |\n|---|---|---|\n| Pro | $45 | no |\n| Team | – | yes |"
    assert statements(table) == ["Pro, price: $45.", "Pro, trial: no.", "Team, trial: yes."]
    record = '{"name": "Alto 3", "weight_g": 940, "lidIncluded": false, "colour": null}'
    assert statements(record) == [
        "Name: Alto 3.",
        "Alto 3, weight: 940 g.",
        "Alto 3, lid is not included.",
    ]
    assert statements('{"due": "2031-04-09", "fee_eur": 1250}') == [
        "Due: 9 April 2031.",
        "Fee: 1,250 euros.",
    ]
    assert statements('{"answer": "It opens at ten.", "sources": ["guide.pdf"]}') == [
        "It opens at ten."
    ]
    # what only looks like a locator states something
    assert statements('{"source": "The river rises in the Harz."}') == [
        "The river rises in the Harz."
    ]


def test_a_long_value_is_judged_by_sentence() -> None:
    text = 'Sure:\n\n{"answer": "It opens at ten.\\nIt closes at six."}\n\nThanks.'
    units = answer_units(text)
    assert [u.span.text for u in units] == [
        "Sure:",
        "It opens at ten.",
        "It closes at six.",
        "Thanks.",
    ]
    assert all(text[u.span.start : u.span.end] == u.span.text for u in units)


def test_rows_of_sources_are_worded_and_placed() -> None:
    source = "Prices follow.\n\nPlan,Price\nPro,$45\nTeam,$90\n\nAsk us for more."
    pieces = source_pieces(source)
    assert [s.text for s, _ in pieces] == [
        "Prices follow.",
        "The table has 2 rows: Pro, Team.",
        "Pro: price $45.",
        "Team: price $90.",
        "Ask us for more.",
    ]
    assert source[pieces[3][0].start : pieces[3][0].end] == "Team,$90"
    (window,) = passages(source)
    assert "Team: price $90." in window.text
    rows = read_structure('{"legs": [{"from": "A", "to": "B"}, {"from": "B", "to": "C"}], "km": 7}')
    assert rows is not None
    assert [r.text for b in rows.blocks for r in b.rows] == [
        "Legs A: to B.",
        "Legs B: to C.",
        "Km 7.",
    ]


def test_windows_of_a_long_table_hold_every_row() -> None:
    text = "Id,Name,Size\n" + "\n".join(f"{i},n{i},{i * 3}" for i in range(1, 1001))
    cut = passages(text, size=400)
    rows = [s for p in cut for s in p.sentences]
    assert len(rows) == 1001
    assert all(len(p.text) <= 400 for p in cut)
    assert text[rows[-1].start : rows[-1].end] == "1000,n1000,3000"


def test_entities_are_not_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><x><y>&a;&a;</y></x>'
    found = read_structure(bomb)
    assert found is None or all(leaf.value in ("&a;&a;",) for leaf in found.leaves)


_NAMES = st.text(st.characters(categories=["L"]), min_size=1, max_size=6)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9999, 9999) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_NAMES, _JSON, min_size=1, max_size=4), st.sampled_from([None, 2]))
def test_json_values_stand_where_they_are_said_to(
    data: dict[str, object], indent: int | None
) -> None:
    text = json.dumps(data, indent=indent)
    found = read_structure(text)
    wanted = list(_leaf_values(data))
    got = (
        []
        if found is None
        else [text[x.start : x.end] for x in sorted(found.leaves, key=lambda x: x.start)]
    )
    if found is not None and found.whole:
        assert got == wanted


def _leaf_values(data: object) -> list[str]:
    if isinstance(data, dict):
        return [x for v in data.values() for x in _leaf_values(v)]
    if isinstance(data, list):
        return [x for v in data for x in _leaf_values(v)]
    return [json.dumps(data)[1:-1] if isinstance(data, str) else json.dumps(data)]


@given(st.lists(st.tuples(_NAMES, st.integers(0, 99), _NAMES), min_size=2, max_size=6))
def test_csv_cells_stand_where_they_are_said_to(rows: list[tuple[str, int, str]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([("Thing", "Count", "Place"), *rows])
    text = out.getvalue()
    found = read_structure(text)
    assert found is not None
    assert [text[x.start : x.end] for x in found.leaves] == [str(v) for row in rows for v in row]


@given(st.text(st.sampled_from('{}[]":,|-\n<>ab1 \\`=.;&#'), max_size=80))
def test_any_text_is_read(text: str) -> None:
    found = read_structure(text)
    for block in found.blocks if found else ():
        assert 0 <= block.start <= block.end <= len(text)
        for leaf in block.leaves:
            assert block.start <= leaf.start <= leaf.end <= block.end
    assert all(text[u.span.start : u.span.end] == u.span.text for u in answer_units(text))
    assert all(0 <= s.start <= s.end <= len(text) for s, _ in source_pieces(text))


@pytest.mark.parametrize(
    "piece",
    [
        "[", "{", '{"a":', '{"a":[', '[{"', "{}", "<a>", "<a", "<!--", "<table><tr>", "```\n",
        "a: ", "a:\n ", "- ", "- - ", "|a|b|\n", "|-|-|\n", "a,b\n", "a\tb\n", "a = b\n",
        "a..", ". . ", "a ... b\n", '"', "&amp;", "a: b\n", '{"a":1}', "\\", "|", "x=1;", "[a]\n",
    ],
)  # fmt: skip
def test_time_is_linear(piece: str) -> None:
    assert growth(read_structure, repeated(piece)) < MOST


def test_html_cells_are_unescaped() -> None:
    text = "<table><tr><td>A &lt; B</td><td>x<br>y</td></tr><tr><td>C</td><td>z</td></tr></table>"
    found = read_structure(text)
    assert found is not None
    first = found.leaves[0]
    assert unescape(text[first.start : first.end]) == first.value or first.value == "C"
