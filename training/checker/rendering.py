"""Documents that show a world: tables, records, code and prose."""

from __future__ import annotations

import csv
import datetime as dt
import html
import io
import json
import random
import re
from collections.abc import Callable
from decimal import Decimal

from nli_facts import MONTHS

from checker.worlds import Column, Value, World

_CURRENCIES = "€$£"


def number(value: Decimal, commas: bool = False) -> str:
    """Return a number without trailing zeros of whole numbers."""
    value = value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()
    return f"{value:,f}" if commas else f"{value:f}"


def clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def date_text(value: dt.date, style: int = 0) -> str:
    """Return a date as ISO, day first or month first."""
    month = MONTHS[value.month - 1]
    return (value.isoformat(), f"{value.day} {month} {value.year}",
            f"{month} {value.day}, {value.year}")[style]  # fmt: skip


def with_unit(value: str, unit: str) -> str:
    """Return a number with its unit: "€ 5" before, "%" at once after, others after a space."""
    if unit and unit[-1] in _CURRENCIES:
        scale = unit[:-1].strip()
        return f"{unit[-1]}{value} {scale}".rstrip()
    return f"{value}{'' if unit == '%' else ' '}{unit}".rstrip()


def is_quantity(column: Column) -> bool:
    """Return True if larger and smaller mean something, which they do not of numbers of rooms."""
    return not any(w in column.label for w in ("extension", "platform", "seal", "founding"))


def said(value: Value, column: Column, rng: random.Random) -> str:
    """Return a value as prose says it."""
    if isinstance(value, Decimal):
        commas = is_quantity(column) and (value >= 10000 or rng.random() < 0.3)
        return with_unit(number(value, commas), column.unit)
    if isinstance(value, dt.date):
        return date_text(value, rng.choice([0, 1, 1, 2]))
    return clock(value) if isinstance(value, int) else value


def bare(value: Value) -> str:
    """Return a value as a table holds it, without its unit."""
    if isinstance(value, Decimal):
        return number(value)
    return said(value, Column("", ""), random.Random(0)) if isinstance(value, int) else str(value)


def key_of(text: str, rng: random.Random | None = None) -> str:
    """Return a key for a label: snake case, or camel case at times."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    if rng is not None and rng.random() < 0.3:
        return words[0].lower() + "".join(w.capitalize() for w in words[1:])
    return "_".join(w.lower() for w in words)


def heads(world: World) -> list[str]:
    return [f"{c.label} ({c.unit})" if c.unit else c.label for c in world.columns]


def cells(world: World) -> list[list[str]]:
    """Return the rows of a table, the name first."""
    return [
        [name, *(bare(row[c.label]) for c in world.columns)] for name, row in world.rows.items()
    ]


def markdown(world: World, rng: random.Random) -> str:
    top = [world.noun, *heads(world)]
    lines = [top, ["---"] * len(top), *cells(world)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def turned(world: World, rng: random.Random) -> str:
    """Render a Markdown table with a column for each thing."""
    table = [[world.noun, *heads(world)], *cells(world)]
    lines = [list(line) for line in zip(*table, strict=True)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def separated(world: World, rng: random.Random) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=rng.choice([",", ",", ";", "\t"]), lineterminator="\n")
    writer.writerow([world.noun, *heads(world)])
    writer.writerows(cells(world))
    return out.getvalue().rstrip("\n")


def html_table(world: World, rng: random.Random) -> str:
    def line(tag: str, texts: list[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(t)}</{tag}>" for t in texts) + "</tr>"

    body = "\n".join(line("td", row) for row in cells(world))
    return f"<table>\n{line('th', [world.noun, *heads(world)])}\n{body}\n</table>"


def _plain(value: Value) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return bare(value)


def keyed(world: World, rng: random.Random) -> dict[str, str]:
    """Return a key of each column, its unit in the name."""
    camel = rng.random() < 0.3
    found = {}
    for column in world.columns:
        unit = column.unit.replace("€", "eur").replace("$", "usd").replace("£", "gbp")
        unit = unit.replace("%", "percent").replace("°C", "celsius").replace("m³", "cubic metres")
        if unit.lower() in column.label.lower():
            unit = ""
        key = key_of(f"{column.label} {unit}")
        words = key.split("_")
        found[column.label] = (
            words[0] + "".join(w.capitalize() for w in words[1:]) if camel else key
        )
    return found


def entries(world: World, rng: random.Random) -> list[dict[str, object]]:
    keys = keyed(world, rng)
    return [
        {"name": name, **{keys[c.label]: _plain(row[c.label]) for c in world.columns}}
        for name, row in world.rows.items()
    ]


def json_text(world: World, rng: random.Random) -> str:
    rows = entries(world, rng)
    root = key_of(world.plural)
    shape = rng.randrange(3)
    if shape == 0:
        whole: object = rows
    elif shape == 1:
        whole = {root: rows, "count": len(rows)}
    else:
        whole = {root: {str(row.pop("name")): row for row in rows}}
    return json.dumps(whole, ensure_ascii=False, indent=rng.choice([None, 1, 2]))


def yaml_text(world: World, rng: random.Random) -> str:
    lines = [f"{key_of(world.plural)}:"]
    for row in entries(world, rng):
        for i, (key, value) in enumerate(row.items()):
            shown = f'"{value}"' if isinstance(value, str) and ":" in value else value
            lines.append(f"{'  - ' if i == 0 else '    '}{key}: {shown}")
    return "\n".join(lines)


def toml_text(world: World, rng: random.Random) -> str:
    parts = []
    for row in entries(world, rng):
        pairs = [f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in row.items()]
        parts.append("\n".join([f"[[{key_of(world.noun)}]]", *pairs]))
    return "\n\n".join(parts)


def key_values(world: World, rng: random.Random) -> str:
    """Render a block of "Label: value" lines for each thing."""
    mark = rng.choice([": ", ": ", " = ", " .... "])
    blocks = []
    for name, row in world.rows.items():
        lines = [f"{world.noun.capitalize()}{mark}{name}"]
        lines += [
            f"{c.label.capitalize()}{mark}{said(row[c.label], c, rng)}" for c in world.columns
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def python_code(world: World, rng: random.Random) -> str:
    rows = [f"    {row!r}," for row in entries(world, rng)]
    return "\n".join([f"{key_of(world.plural).upper()} = [", *rows, "]"])


def sql(world: World, rng: random.Random) -> str:
    table = key_of(world.plural)
    lines = []
    for row in entries(world, rng):
        values = ", ".join(f"'{v}'" if isinstance(v, str) else str(v) for v in row.values())
        lines.append(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values});")
    return "\n".join(lines)


def xml(world: World, rng: random.Random) -> str:
    tag = key_of(world.noun)
    lines = [f"<{key_of(world.plural)}>"]
    for row in entries(world, rng):
        inner = "".join(f"<{k}>{html.escape(str(v))}</{k}>" for k, v in row.items() if k != "name")
        lines.append(f'  <{tag} name="{html.escape(str(row["name"]))}">{inner}</{tag}>')
    return "\n".join([*lines, f"</{key_of(world.plural)}>"])


def prose(world: World, rng: random.Random) -> str:
    """Render a paragraph for each thing, its properties in any order."""
    parts = []
    for name, row in world.rows.items():
        facts = []
        for c in rng.sample(world.columns, len(world.columns)):
            value, counts = said(row[c.label], c, rng), c.kind == "number"
            wordings = [
                f"The {c.label} is {value}.",
                f"Its {c.label} is {value}." if counts else f"As {c.label}, it has {value}.",
                f"For the {c.label}, {value} is on record.",
                f"The {c.label} comes to {value}." if counts else f"The {c.label}: {value}.",
            ]
            facts.append(rng.choice(wordings))
        opening = rng.choice([
            f"{name} is one of the {world.plural} listed here.",
            f"Next is the {world.noun} {name}.",
            f"About {name}:",
            f"{name}, another {world.noun}." if parts else f"{name}, a first {world.noun}.",
        ])  # fmt: skip
        parts.append(" ".join([opening, *facts]))
    return rng.choice(["\n\n", "\n", " "]).join(parts)


Shape = Callable[[World, random.Random], str]
TABLES: dict[str, Shape] = {
    "markdown": markdown, "turned": turned, "csv": separated, "html": html_table,
}  # fmt: skip
RECORDS: dict[str, Shape] = {
    "json": json_text, "yaml": yaml_text, "toml": toml_text, "key_values": key_values,
    "python": python_code, "sql": sql, "xml": xml,
}  # fmt: skip
PROSE: dict[str, Shape] = {"prose": prose}
