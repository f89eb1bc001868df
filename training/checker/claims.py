"""Statements about a world, each with a function that decides it."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal

from checker.rendering import clock, date_text, is_quantity, number, said, with_unit
from checker.worlds import Column, Value, World

ABOUT_TOLERANCE = Decimal("0.06")
#: Beyond this relative distance a rounded amount is false.
ABOUT_MARGIN = Decimal("0.2")


@dataclass(frozen=True)
class Claim:
    """A statement about a world.

    Attributes:
        kind: name of the operation.
        columns: labels that it needs.
        rows: names that it needs; empty if it is about all things.
        holds: decides it in a world with the same names and columns.
        near: whether it is too close to holding to be called false, where that can be.
    """

    text: str
    kind: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    holds: Callable[[World], bool]
    near: Callable[[World], bool] | None = None

    def fails(self, world: World) -> bool:
        """Return True if the claim is clearly false in a world."""
        return not (self.holds(world) or (self.near is not None and self.near(world)))


Maker = Callable[[World, random.Random], Claim | None]

#: Units in which an amount can be given again: factor and unit.
_AGAIN = {
    "minutes": ((Decimal(60), "hours", True),),
    "kg": ((Decimal(1000), "g", False), (Decimal(1000), "tonnes", True)),
    "g": ((Decimal(1000), "kg", True),),
    "m": ((Decimal(1000), "km", True), (Decimal(100), "cm", False)),
    "km": ((Decimal(1000), "m", False),),
    "cm": ((Decimal(100), "m", True),),
    "GB": ((Decimal(1024), "MB", False),),
    "weeks": ((Decimal(7), "days", False),),
    "months": ((Decimal(12), "years", True),),
    "MW": ((Decimal(1000), "kW", False),),
    "litres": ((Decimal(1000), "millilitres", False),),
}


def sentence(text: str) -> str:
    """Return the text with a capital and a full stop."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def listed(items: Iterable[str]) -> str:
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def _number_column(world: World, rng: random.Random, adds: bool = False) -> Column | None:
    found = [c for c in world.of_kind("number") if c.adds or not adds]
    return rng.choice(found) if found else None


def _amount(value: Decimal, column: Column, rng: random.Random) -> str:
    """Return a number with its unit, in another unit at times."""
    if rng.random() < 0.25:
        for factor, unit, divide in rng.sample(
            _AGAIN.get(column.unit, ()), len(_AGAIN.get(column.unit, ()))
        ):
            again = value / factor if divide else value * factor
            if again == again.quantize(Decimal("0.01")) and again < 10**8:
                return with_unit(number(again, commas=rng.random() < 0.6), unit)
    return said(value, column, rng)


# --- one thing ------------------------------------------------------------------------------


def lookup(world: World, rng: random.Random) -> Claim | None:
    column = rng.choice(world.columns)
    name = rng.choice(list(world.rows))
    value = world.rows[name][column.label]
    label = column.label
    shown = _amount(value, column, rng) if isinstance(value, Decimal) else said(value, column, rng)
    text = rng.choice([
        f"the {label} of {name} is {shown}",
        f"{name} has {shown} as its {label}",
        f"for {name}, the {label} is {shown}",
        f"{shown} is what is given as the {label} of {name}",
        f"{name}'s {label} is {shown}",
    ])  # fmt: skip
    return Claim(
        sentence(text), "lookup", (label,), (name,), lambda w: w.rows[name][label] == value
    )


def about(world: World, rng: random.Random) -> Claim | None:
    """Make a claim about a rounded amount."""
    column = _number_column(world, rng)
    if column is None or not is_quantity(column):
        return None
    name = rng.choice(list(world.rows))
    value = world.rows[name][column.label]
    assert isinstance(value, Decimal)
    if value < 100:
        return None
    size = Decimal(10) ** (value.adjusted() - 1)
    near = (value / size).to_integral_value() * size
    shown = with_unit(number(near, commas=near >= 10000), column.unit)
    word = rng.choice(["about", "roughly", "around", "some", "approximately"])
    text = rng.choice([
        f"the {column.label} of {name} is {word} {shown}",
        f"{name} has a {column.label} of {word} {shown}",
    ])  # fmt: skip
    return Claim(
        sentence(text), "about", (column.label,), (name,),
        lambda w: abs(_of(w, name, column) - near) <= ABOUT_TOLERANCE * near,
        lambda w: abs(_of(w, name, column) - near) <= ABOUT_MARGIN * near,
    )  # fmt: skip


def denied(world: World, rng: random.Random) -> Claim | None:
    """Make a claim that a thing does not have another thing's value."""
    column = rng.choice(world.columns)
    name = rng.choice(list(world.rows))
    others = sorted(
        {str(v) for n, v in world.column(column).items() if v != world.rows[name][column.label]}
    )
    if not others:
        return None
    other = rng.choice(others)
    value = next(v for v in world.column(column).values() if str(v) == other)
    shown = said(value, column, rng)
    text = rng.choice([
        f"the {column.label} of {name} is not {shown}",
        f"{name} does not have {shown} as its {column.label}",
    ])  # fmt: skip
    label = column.label
    return Claim(
        sentence(text), "denied", (label,), (name,), lambda w: w.rows[name][label] != value
    )


def two_facts(world: World, rng: random.Random) -> Claim | None:
    if len(world.columns) < 2:
        return None
    one, other = rng.sample(world.columns, 2)
    name = rng.choice(list(world.rows))
    first, second = world.rows[name][one.label], world.rows[name][other.label]
    a, b = said(first, one, rng), said(second, other, rng)
    text = rng.choice([
        f"the {one.label} of {name} is {a} and its {other.label} is {b}",
        f"{name} has {a} as its {one.label}, with {b} as its {other.label}",
        f"of the {world.plural}, {name} is the one with {one.label} {a} and {other.label} {b}",
    ])  # fmt: skip
    return Claim(
        sentence(text), "two_facts", (one.label, other.label), (name,),
        lambda w: w.rows[name][one.label] == first and w.rows[name][other.label] == second,
    )  # fmt: skip


# --- two things -----------------------------------------------------------------------------


def _of(world: World, name: str, column: Column) -> Decimal:
    value = world.rows[name][column.label]
    assert isinstance(value, Decimal)
    return value


def _two(world: World, rng: random.Random) -> tuple[str, str]:
    one, other = rng.sample(list(world.rows), 2)
    return one, other


def compared(world: World, rng: random.Random) -> Claim | None:
    column = _number_column(world, rng)
    one, other = _two(world, rng)
    if column is None or not is_quantity(column):
        return None
    up = _of(world, one, column) > _of(world, other, column)
    if _of(world, one, column) == _of(world, other, column):
        return None
    text = rng.choice([
        f"{one} has a {'higher' if up else 'lower'} {column.label} than {other}",
        f"the {column.label} of {one} is {'greater' if up else 'smaller'} than that of {other}",
        f"in {column.label}, {one} is {'above' if up else 'below'} {other}",
        f"{other} {'falls short of' if up else 'exceeds'} {one} in {column.label}",
    ])  # fmt: skip

    def holds(w: World) -> bool:
        a, b = _of(w, one, column), _of(w, other, column)
        return a > b if up else a < b

    return Claim(sentence(text), "compared", (column.label,), (one, other), holds)


def difference(world: World, rng: random.Random) -> Claim | None:
    column = _number_column(world, rng)
    one, other = _two(world, rng)
    if column is None or not is_quantity(column):
        return None
    gap = _of(world, one, column) - _of(world, other, column)
    if not gap:
        return None
    unit = "percentage points" if column.unit == "%" else column.unit
    shown = with_unit(number(abs(gap), commas=rng.random() < 0.4), unit)
    more = gap > 0
    text = rng.choice([
        f"by {shown}, {one} has a {'higher' if more else 'lower'} {column.label} than {other}",
        f"{one} is {shown} {'ahead of' if more else 'behind'} {other} in {column.label}",
        f"between {one} and {other}, the {column.label} differs by {shown}",
    ])  # fmt: skip
    signed = "differs" not in text

    def holds(w: World) -> bool:
        found = _of(w, one, column) - _of(w, other, column)
        return found == gap if signed else abs(found) == abs(gap)

    return Claim(sentence(text), "difference", (column.label,), (one, other), holds)


def ratio(world: World, rng: random.Random) -> Claim | None:
    """Make a claim about a whole multiple, or a share in whole per cent."""
    column = _number_column(world, rng)
    if column is None or not is_quantity(column) or column.unit in ("°C", "%"):
        return None
    names = list(itertools.permutations(world.rows, 2))
    for one, other in rng.sample(names, min(12, len(names))):
        share = _percentage(world, one, other, column)
        if share is None or share % 5 or share in (0, 100) or share >= 900:
            continue
        times = int(share) // 100
        size = {2: "twice", 3: "three times"}.get(times, f"{times} times")
        if share % 100:
            size = f"{int(share)} % of"
        text = f"the {column.label} of {one} is {size} that of {other}"
        holds = functools.partial(_has_percentage, one, other, column, share)
        return Claim(sentence(text), "ratio", (column.label,), (one, other), holds)
    return None


def _percentage(world: World, one: str, other: str, column: Column) -> Decimal | None:
    base = _of(world, other, column)
    return 100 * _of(world, one, column) / base if base else None


def _has_percentage(one: str, other: str, column: Column, share: Decimal, world: World) -> bool:
    return _percentage(world, one, other, column) == share


def pair_total(world: World, rng: random.Random) -> Claim | None:
    column = _number_column(world, rng, adds=True)
    if column is None:
        return None
    names = tuple(rng.sample(list(world.rows), rng.choice([2, 2, min(3, len(world.rows))])))
    total = sum((_of(world, n, column) for n in names), Decimal(0))
    shown = with_unit(number(total, commas=rng.random() < 0.4), column.unit)
    text = rng.choice([
        f"taken together, the {column.label} of {listed(names)} comes to {shown}",
        f"{listed(names)} add up to {shown} in {column.label}",
        f"adding the {column.label} of {listed(names)} gives {shown}",
    ])  # fmt: skip
    return Claim(
        sentence(text), "pair_total", (column.label,), names,
        lambda w: sum((_of(w, n, column) for n in names), Decimal(0)) == total,
    )  # fmt: skip


def alike(world: World, rng: random.Random) -> Claim | None:
    columns = world.of_kind("choice")
    if not columns:
        return None
    column = rng.choice(columns)
    one, other = _two(world, rng)
    label = column.label
    same = world.rows[one][label] == world.rows[other][label]
    text = rng.choice([
        f"{one} and {other} have {'the same' if same else 'a different'} {label}",
        f"the {label} of {one} is {'also' if same else 'not'} that of {other}",
    ])  # fmt: skip
    return Claim(
        sentence(text), "alike", (label,), (one, other),
        lambda w: (w.rows[one][label] == w.rows[other][label]) is same,
    )  # fmt: skip


# --- all things -----------------------------------------------------------------------------


def extreme(world: World, rng: random.Random) -> Claim | None:
    column = _number_column(world, rng)
    if column is None or not is_quantity(column):
        return None
    high = rng.random() < 0.5
    order = sorted(world.numbers(column).items(), key=lambda item: item[1], reverse=high)
    place = rng.choice([0, 0, 0, 1])
    values = [value for _, value in order]
    if values.count(values[place]) > 1 or (place and values.count(values[0]) > 1):
        return None
    name = order[place][0]
    rank = ("second " if place else "") + ("highest" if high else "lowest")
    text = rng.choice([
        f"the {world.noun} with the {rank} {column.label} is {name}",
        f"{name} has the {rank} {column.label} of all the {world.plural}",
        f"in {column.label}, {name} is the {rank} of the {len(order)} {world.plural}",
    ])  # fmt: skip

    def holds(w: World) -> bool:
        found = sorted(w.numbers(column).values(), reverse=high)
        mine = _of(w, name, column)
        return found[place] == mine and (place == 0 or found[0] != mine)

    return Claim(sentence(text), "extreme", (column.label,), (), holds)


def total(world: World, rng: random.Random) -> Claim | None:
    column = _number_column(world, rng, adds=True)
    if column is None:
        return None
    whole = sum(world.numbers(column).values(), Decimal(0))
    shown = with_unit(number(whole, commas=rng.random() < 0.4), column.unit)
    text = rng.choice([
        f"the {column.label} of all {len(world.rows)} {world.plural} adds up to {shown}",
        f"in total, the {world.plural} come to {shown} of {column.label}",
        f"the sum of the column {column.label} is {shown}",
    ])  # fmt: skip
    return Claim(
        sentence(text), "total", (column.label,), (),
        lambda w: sum(w.numbers(column).values(), Decimal(0)) == whole,
    )  # fmt: skip


def mean(world: World, rng: random.Random) -> Claim | None:
    column = _number_column(world, rng)
    if column is None or not is_quantity(column):
        return None

    def of(w: World) -> Decimal:
        values = list(w.numbers(column).values())
        return (sum(values, Decimal(0)) / len(values)).quantize(Decimal("0.1"))

    found = of(world)
    shown = with_unit(number(found), column.unit)
    text = rng.choice([
        f"the average {column.label} is {shown}",
        f"on average, the {world.plural} have a {column.label} of {shown}",
        f"averaged over the {len(world.rows)} {world.plural}, the {column.label} is {shown}",
    ])  # fmt: skip
    return Claim(sentence(text), "mean", (column.label,), (), lambda w: of(w) == found)


def counted(world: World, rng: random.Random) -> Claim | None:
    """Count those above or below a threshold."""
    column = _number_column(world, rng)
    if column is None or not is_quantity(column):
        return None
    values = sorted(world.numbers(column).values())
    at = rng.choice(values)
    above = rng.random() < 0.5
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

    def of(w: World) -> int:
        return sum(v > at if above else v < at for v in w.numbers(column).values())

    found = of(world)
    shown = said(at, column, rng)
    how = "more than" if above else "less than"
    many = words[found] if rng.random() < 0.6 or found == 0 else str(found)
    noun, has = (world.noun, "has") if found == 1 else (world.plural, "have")
    text = rng.choice([
        f"{many} {noun} {has} a {column.label} of {how} {shown}",
        f"the {column.label} is {how} {shown} for {many} of the {world.plural}".replace(
            "for no of", "for none of"
        ),
    ])  # fmt: skip
    return Claim(sentence(text), "counted", (column.label,), (), lambda w: of(w) == found)


def counted_alike(world: World, rng: random.Random) -> Claim | None:
    columns = world.of_kind("choice")
    if not columns:
        return None
    column = rng.choice(columns)
    value = rng.choice(list(world.column(column).values()))
    found = list(world.column(column).values()).count(value)
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    many = words[found] if rng.random() < 0.6 else str(found)
    text = rng.choice([
        f"{value} is the {column.label} of {many} of the {len(world.rows)} {world.plural}",
        f"as {column.label}, {value} occurs {'once' if found == 1 else many + ' times'}",
    ])  # fmt: skip
    return Claim(
        sentence(text), "counted_alike", (column.label,), (),
        lambda w: list(w.column(column).values()).count(value) == found,
    )  # fmt: skip


def only(world: World, rng: random.Random) -> Claim | None:
    columns = world.of_kind("choice")
    if not columns:
        return None
    column = rng.choice(columns)
    values = list(world.column(column).values())
    single = sorted(n for n, v in world.column(column).items() if values.count(v) == 1)
    if not single:
        return None
    name = rng.choice(single)
    value = world.rows[name][column.label]
    text = rng.choice([
        f"{name} is the only one of the {world.plural} with {value} as its {column.label}",
        f"no {world.noun} but {name} has {value} as its {column.label}",
    ])  # fmt: skip

    def holds(w: World) -> bool:
        return [n for n, v in w.column(column).items() if v == value] == [name]

    return Claim(sentence(text), "only", (column.label,), (), holds)


def filtered(world: World, rng: random.Random) -> Claim | None:
    """Make a claim about the highest or lowest among the things of one choice."""
    choices, column = world.of_kind("choice"), _number_column(world, rng)
    if not choices or column is None or not is_quantity(column):
        return None
    among = rng.choice(choices)
    value = rng.choice(list(world.column(among).values()))
    high = rng.random() < 0.5

    def best(w: World) -> list[str]:
        own = {n: _of(w, n, column) for n, v in w.column(among).items() if v == value}
        if not own:
            return []
        top = max(own.values()) if high else min(own.values())
        return [n for n, v in own.items() if v == top]

    found = best(world)
    if len(found) != 1 or list(world.column(among).values()).count(value) < 2:
        return None
    name, rank, things = found[0], "highest" if high else "lowest", world.plural
    text = rng.choice([
        f"among the {things} with {value} as {among.label}, {name} has the {rank} {column.label}",
        f"of all {things} whose {among.label} is {value}, {name} is {rank} in {column.label}",
    ])  # fmt: skip
    return Claim(
        sentence(text), "filtered", (among.label, column.label), (),
        lambda w: best(w) == [name],
    )  # fmt: skip


# --- dates and times of day -----------------------------------------------------------------


def _when(world: World, rng: random.Random, kind: str) -> tuple[Column, str, str] | None:
    columns = world.of_kind(kind)
    if not columns:
        return None
    return (rng.choice(columns), *_two(world, rng))


def earlier(world: World, rng: random.Random) -> Claim | None:
    found = _when(world, rng, rng.choice(["date", "clock"]))
    if found is None:
        return None
    column, one, other = found

    def at(w: World, name: str) -> Value:
        return w.rows[name][column.label]

    if at(world, one) == at(world, other):
        return None
    before = at(world, one) < at(world, other)  # type: ignore[operator]
    text = rng.choice([
        f"the {column.label} of {one} is {'before' if before else 'after'} that of {other}",
        f"in {column.label}, {one} is {'earlier' if before else 'later'} than {other}",
    ])  # fmt: skip

    def holds(w: World) -> bool:
        a, b = at(w, one), at(w, other)
        return bool(a < b if before else a > b)  # type: ignore[operator]

    return Claim(sentence(text), "earlier", (column.label,), (one, other), holds)


def apart(world: World, rng: random.Random) -> Claim | None:
    """Make a claim about the days between two dates, or the minutes between two times."""
    kind = rng.choice(["date", "clock"])
    found = _when(world, rng, kind)
    if found is None:
        return None
    column, one, other = found

    def gap(w: World) -> int:
        a, b = w.rows[one][column.label], w.rows[other][column.label]
        if isinstance(a, dt.date) and isinstance(b, dt.date):
            return abs((a - b).days)
        assert isinstance(a, int) and isinstance(b, int)
        return abs(a - b)

    size = gap(world)
    if not size:
        return None
    unit = ("day" if kind == "date" else "minute") + ("" if size == 1 else "s")
    text = rng.choice([
        f"there are {size} {unit} between the {column.label} of {one} and that of {other}",
        f"the {column.label} of {one} and that of {other} are {size} {unit} apart",
    ])  # fmt: skip
    return Claim(sentence(text), "apart", (column.label,), (one, other), lambda w: gap(w) == size)


def year(world: World, rng: random.Random) -> Claim | None:
    columns = world.of_kind("date")
    if not columns:
        return None
    column, name = rng.choice(columns), rng.choice(list(world.rows))
    value = world.rows[name][column.label]
    assert isinstance(value, dt.date)
    month = rng.random() < 0.4
    shown = date_text(value, 1).split(" ", 1)[1] if month else str(value.year)
    text = rng.choice([
        f"the {column.label} of {name} falls in {shown}",
        f"{name} has a {column.label} in {shown}",
    ])  # fmt: skip

    def holds(w: World) -> bool:
        own = w.rows[name][column.label]
        assert isinstance(own, dt.date)
        return own.year == value.year and (not month or own.month == value.month)

    return Claim(sentence(text), "year", (column.label,), (name,), holds)


def half_past(world: World, rng: random.Random) -> Claim | None:
    """Make a claim about a time of day on the 12-hour or 24-hour clock."""
    columns = world.of_kind("clock")
    if not columns:
        return None
    column, name = rng.choice(columns), rng.choice(list(world.rows))
    value = world.rows[name][column.label]
    assert isinstance(value, int)
    hour, minute = divmod(value, 60)
    shown = rng.choice([
        f"{(hour - 1) % 12 + 1}:{minute:02d} {'a.m.' if hour < 12 else 'p.m.'}",
        f"{(hour - 1) % 12 + 1}.{minute:02d} {'am' if hour < 12 else 'pm'}",
        clock(value),
    ])  # fmt: skip
    text = f"{name} has its {column.label} at {shown}"
    label = column.label
    return Claim(
        sentence(text), "half_past", (label,), (name,), lambda w: w.rows[name][label] == value
    )


LOOKUPS: tuple[Maker, ...] = (lookup, lookup, two_facts, denied, about, year, half_past)
COMPUTED: tuple[Maker, ...] = (
    compared, difference, ratio, pair_total, alike, extreme, total, mean, counted, counted_alike,
    only, filtered, earlier, apart,
)  # fmt: skip


def draw(makers: tuple[Maker, ...], world: World, rng: random.Random) -> Claim:
    """Return a claim of the first of the makers, in random order, that has one."""
    for _ in range(40):
        claim = rng.choice(makers)(world, rng)
        if claim is not None:
            assert claim.holds(world), claim
            return claim
    claim = lookup(world, rng)
    assert claim is not None
    return claim
