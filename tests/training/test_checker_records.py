"""Rows about invented records: every label found again by reading the document another way."""

from __future__ import annotations

import ast
import csv
import datetime as dt
import io
import json
import random
import re
import sqlite3
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from decimal import Decimal
from html.parser import HTMLParser
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import tomllib
from training_scripts import training_script

Table = list[list[str]]


@pytest.fixture(scope="module")
def parts() -> Iterator[Any]:
    with training_script("checker.records") as records:
        import checker.claims as claims  # type: ignore[import-not-found]
        import checker.rendering as rendering  # type: ignore[import-not-found]
        import checker.worlds as worlds  # type: ignore[import-not-found]

        yield SimpleNamespace(records=records, claims=claims, rendering=rendering, worlds=worlds)


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.table: Table = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.table.append([])
        elif tag in ("td", "th"):
            self.table[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.table and self.table[-1]:
            self.table[-1][-1] += data.strip("\n")


def read(document: str, source: str) -> Table:
    """The table of a document: heads, then rows, the name first."""
    shape = source.split("/")[1]
    if shape == "html":
        parser = Cells()
        parser.feed(document)
        return parser.table
    if shape in ("markdown", "turned"):
        lines = [line for line in document.splitlines() if line.startswith("|")]
        rows = [[c.strip() for c in line.strip("| ").split(" | ")] for line in lines]
        rows = [row for row in rows if set("".join(row)) != {"-"}]
        return [list(r) for r in zip(*rows, strict=True)] if shape == "turned" else rows
    body = document.split("\n\n")[-1]
    mark = max(",;\t", key=body.splitlines()[0].count)
    return list(csv.reader(io.StringIO(body), delimiter=mark))


def column(table: Table, label: str) -> dict[str, str] | None:
    heads = [re.sub(r" \([^)]*\)$", "", h) for h in table[0]]
    if label not in heads:
        return None
    at = heads.index(label)
    return {row[0]: row[at] for row in table[1:]}


def amount(text: str) -> Decimal:
    found = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    assert found
    return Decimal(found[0].replace(",", ""))


def rows(parts: Any, kind: str, most: int = 400) -> list[Any]:
    make = getattr(parts.claims, kind)
    rng = random.Random(kind)
    found = parts.records.record_rows("t", (make,), "table", rng, most)
    return [r for r in found if r.source.endswith(f"/{kind}")]


def label_of(parts: Any, statement: str) -> str:
    """The longest label of any column that the statement has."""
    labels = {
        text.split("|")[0].lstrip("+") for _, _, _, own in parts.worlds.domains() for text in own
    }
    return max((x for x in labels if x in statement), key=len)


def verdicts(parts: Any, kind: str, decide: Any, least: int = 60) -> None:
    """Compare each label with what ``decide`` finds in the parsed document."""
    seen: dict[str, int] = {}
    for row in rows(parts, kind):
        table = read(row.document, row.source)
        values = column(table, label_of(parts, row.statement))
        names = [n for n in (values or {}) if n in row.statement]
        truth = None if values is None else decide(row.statement, values, names)
        wanted = {None: "not_stated", True: "supported", False: "contradicted"}[truth]
        assert row.label == wanted, (row.document, row.statement)
        seen[row.label] = seen.get(row.label, 0) + 1
    assert len(seen) == 3 and sum(seen.values()) >= least, seen


def test_totals(parts: Any) -> None:
    def decide(statement: str, values: dict[str, str], names: list[str]) -> bool:
        said = statement.rpartition(" to ")[2] if "come to" in statement else statement
        shown = re.findall(r"\d[\d,]*(?:\.\d+)?", said)
        return sum(map(amount, values.values()), Decimal(0)) in [amount(s) for s in shown]

    verdicts(parts, "total", decide)


def test_extremes(parts: Any) -> None:
    def decide(statement: str, values: dict[str, str], names: list[str]) -> bool:
        order = sorted(values, key=lambda n: amount(values[n]), reverse="highest" in statement)
        place = 1 if "second " in statement else 0
        name = max(names, key=len)
        numbers = [amount(values[n]) for n in order]
        return amount(values[name]) == numbers[place] and (place == 0 or numbers[0] != numbers[1])

    verdicts(parts, "extreme", decide)


def test_comparisons(parts: Any) -> None:
    def decide(statement: str, values: dict[str, str], names: list[str]) -> bool | None:
        if len(names) < 2:
            return None  # one of the things was taken out
        one, other = sorted(names, key=statement.index)
        a, b = amount(values[one]), amount(values[other])
        up = re.search(r"higher|greater|above|exceeds", statement)
        return a > b if up else a < b

    verdicts(parts, "compared", decide)


def test_sums_of_some(parts: Any) -> None:
    def decide(statement: str, values: dict[str, str], names: list[str]) -> bool | None:
        if not all(n in values for n in listed(statement)):
            return None
        text = statement
        for name in names:
            text = text.replace(name, "")
        return sum(amount(values[n]) for n in names) == amount(text)

    def listed(statement: str) -> list[str]:
        text = statement.replace(label_of(parts, statement), "LABEL")
        start = re.sub(r"^(Taken together, the|Adding the) LABEL of ", "", text)
        return re.split(r", | and ", re.split(r" comes to| add up| gives", start)[0])

    verdicts(parts, "pair_total", decide, 30)


def test_days_and_minutes(parts: Any) -> None:
    def at(text: str) -> int:
        if ":" in text:
            hours, minutes = text.split(":")
            return 60 * int(hours) + int(minutes)
        return dt.date.fromisoformat(text).toordinal()

    def decide(statement: str, values: dict[str, str], names: list[str]) -> bool | None:
        if len(names) < 2:
            return None
        gap = abs(at(values[names[0]]) - at(values[names[1]]))
        said = re.search(r"(\d+) (?:day|minute)s?\b", statement)
        assert said
        return gap == int(said[1])

    verdicts(parts, "apart", decide, 30)


def test_every_claim_holds_where_it_was_drawn_and_fails_where_it_is_false(parts: Any) -> None:
    rng = random.Random(1)
    for make in (*parts.claims.LOOKUPS, *parts.claims.COMPUTED):
        for _ in range(25):
            world = parts.worlds.make_world(rng)
            claim = make(world, rng)
            if claim is not None:
                assert claim.holds(world) and not claim.fails(world), claim
                assert claim.text[0].isupper() or not claim.text[0].isalpha()
                assert set(claim.columns) <= {c.label for c in world.columns}
            found = parts.records.false_claim((make,), world, rng)
            if found:
                assert not found[0].holds(world) and found[0].holds(found[1])


def test_records_read_back(parts: Any) -> None:
    """Each shape holds every value once more, read by its own parser."""
    pytest.importorskip("tomllib")
    for seed in range(40):
        world = parts.worlds.make_world(random.Random(seed))

        def shape(name: str, seed: int = seed, world: Any = world) -> str:
            return str(parts.rendering.RECORDS[name](world, random.Random(seed)))

        def keys(seed: int = seed, world: Any = world) -> list[dict[str, Any]]:
            return list(parts.rendering.entries(world, random.Random(seed)))

        wanted = keys()
        assert [w["name"] for w in wanted] == list(world.rows)
        whole = json.loads(shape("json"))
        found = whole if isinstance(whole, list) else next(iter(whole.values()))
        if isinstance(found, dict):
            found = [{"name": n, **row} for n, row in found.items()]
        assert [list(f.values()) for f in found] == [list(w.values()) for w in wanted]
        (tables,) = tomllib.loads(shape("toml")).values()
        assert tables == wanted
        assert ast.literal_eval(shape("python").partition(" = ")[2]) == wanted
        root = ET.fromstring(shape("xml"))
        assert [list(e.attrib.values()) + [c.text for c in e] for e in root] == [
            [str(v) for v in w.values()] for w in wanted
        ]
        base = sqlite3.connect(":memory:")
        heads = ", ".join(wanted[0])
        name = shape("sql").split()[2]
        base.execute(f"CREATE TABLE {name} ({heads})")
        base.executescript(shape("sql"))
        assert [list(r) for r in base.execute(f"SELECT * FROM {name}")] == [
            list(w.values()) for w in wanted
        ]
        base.close()
        for row in wanted:
            assert all(str(value) in shape("yaml") for value in row.values())


def test_an_abstention_is_right_only_where_the_value_is_missing(parts: Any) -> None:
    found = list(parts.records.abstentions(random.Random(0), 200))
    pairs = list(zip(found[::2], found[1::2], strict=True))
    assert len(pairs) > 80
    for right, wrong in pairs:
        assert right.statement == wrong.statement and right.group == wrong.group
        assert (right.label, wrong.label) == ("supported", "contradicted")
        assert right.document != wrong.document


def test_an_answer_as_data_has_one_wrong_value(parts: Any) -> None:
    found = [
        r for r in parts.records.data_answers(random.Random(0), 300) if r.source.endswith("json")
    ]
    assert len(found) > 40
    for right, wrong in zip(found[::2], found[1::2], strict=True):
        a, b = json.loads(right.statement), json.loads(wrong.statement)
        assert (right.label, wrong.label) == ("supported", "contradicted")
        assert list(a) == list(b) and sum(a[k] != b[k] for k in a) == 1
        assert right.document == wrong.document


def test_statements_of_both_labels_are_drawn_alike(parts: Any) -> None:
    with training_script("checker.balancing") as balancing:
        rng = random.Random(3)
        found = [
            *parts.records.tables(rng, 600), *parts.records.told(rng, 400),
            *parts.records.abstentions(rng, 300), *parts.records.data_answers(rng, 300),
        ]  # fmt: skip
        assert 0.42 < balancing.statement_only(found) < 0.58
        right = sum(r.right for r in found) / len(found)
        assert 0.44 < right < 0.6


def test_same_seed_same_rows(parts: Any) -> None:
    one, two = ([*parts.records.tables(random.Random(5), 80)] for _ in range(2))
    assert one == two


def test_identifiers_have_no_thousands_mark(parts: Any) -> None:
    column_: ModuleType = parts.worlds
    year = column_.Column("founding year", "number")
    weight = column_.Column("weight", "number", "kg")
    for seed in range(20):
        rng = random.Random(seed)
        assert parts.rendering.said(Decimal(1930), year, rng) == "1930"
        assert parts.rendering.said(Decimal(1930), weight, rng) in ("1930 kg", "1,930 kg")
