"""Derivation of a value from source values: sums, differences, shares, dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations
from typing import NamedTuple

from veridical.text.values.cues import direction
from veridical.text.values.units import UNITS
from veridical.text.values.value import Amount, Value

_MAX_OPERANDS = 18
#: Place in its source of every product of a line ("3 x 40.00"), so that products may be added.
LINE_ITEMS = -10_000
#: Place of the other values of the statement with the derived one.
BESIDE = (-3, 0)
_TOLERANCE = Fraction(1, 1000)
#: Largest relative error of a rounded result, and of a percentage of two digits: 21.43 as "21 %".
_COARSE, _COARSE_SHARE = Fraction(2, 100), Fraction(5, 100)
#: Dimensions of results that are rounded.
_ROUNDED = frozenset(["share", "points", "money", "mass", "length", "volume", "speed"])
_ROUNDING, _TINY = 1e-4, 1e-12
_MIN_SIGNIFICANT_DIGITS = 3  # of a result that is rarely equal by chance
_PER_YEAR = {"month": 12, "week": 52, "day": 365, "quarter": 4}
_PERIOD = {name: UNITS[name].factor for name in ("hour", "day", "week", "month", "year")}
_RATES = {
    ("month", "year"): 12,
    ("quarter", "year"): 4,
    ("day", "week"): 7,
    ("hour", "day"): 24,
    ("minute", "hour"): 60,
    ("second", "minute"): 60,
}

#: Dimensions with amounts that are a product (or with "/" a quotient) of two others.
_MEASURES = {
    "speed": ("length", "/", "time"),
    "length": ("speed", "*", "time"),
    "time": ("length", "/", "speed"),
    "power": ("energy", "/", "time"),
    "energy": ("power", "*", "time"),
}
#: "A ticket costs", "50 euros a person": an amount per thing.
_ONE_OF = re.compile(r"(?<![^\W_])(?:an?|one|per|each|every) ([^\W\d_]{3,30})(?![^\W_])", re.I)
_PERSON = frozenset(["person", "head", "piece", "item", "unit"])


class Stated(NamedTuple):
    """A value with its text, weight, source and sentence (or table)."""

    value: Value
    text: str
    weight: float
    where: tuple[int, int]


class Operand(NamedTuple):
    """An amount of a source or statement."""

    amount: Fraction
    dimension: str
    unit: str
    text: str
    value: Value
    weight: float
    where: tuple[int, int]
    number: float


class _Goal(NamedTuple):
    """A target amount of a derivation, with tolerance ``slack``.

    A result is first compared as a float with the bounds ``low`` and ``high``, which allow for
    rounding. If it lies between them, the exact amount decides.
    """

    amount: Fraction
    slack: Fraction
    low: float
    high: float

    @classmethod
    def of(cls, amount: Fraction, slack: Fraction) -> _Goal:
        number, reach = float(amount), float(slack)
        reach += abs(number) * _ROUNDING + _TINY
        return cls(amount, slack, number - reach, number + reach)

    def near(self, number: float) -> bool:
        return self.low <= number <= self.high

    def hit(self, amount: Fraction) -> bool:
        return abs(amount - self.amount) <= self.slack


def _kin(a: Operand, b: Operand) -> bool:
    """Return True if two plain counts may be added: same things, sentence or table."""
    if a.dimension or a.where == b.where:
        return True
    return bool(a.value.noun) and a.value.noun[:4] == b.value.noun[:4]


def operands_of(values: Iterable[Stated], most: int = _MAX_OPERANDS) -> list[Operand]:
    """Return the amounts among ``values`` (with text and weight), the largest weights first."""
    found: dict[tuple[Fraction, str, tuple[int, int]], Operand] = {}
    for value, text, weight, where in values:
        if value.kind in ("identifier", "version", "pair", "range", "coordinate", "ordinal"):
            continue
        if value.label:
            continue
        for reading in value.readings[:2]:
            if reading.low != reading.high:
                continue
            dimension = reading.dimension
            key = reading.low, dimension, where
            if key not in found or found[key].weight < weight:
                found[key] = Operand(
                    reading.low,
                    dimension,
                    reading.unit,
                    text.strip(),
                    value,
                    weight,
                    where,
                    float(reading.low),
                )
    ranked = sorted(found.values(), key=lambda o: -o.weight)
    return ranked[:most]


def significant(value: Value) -> int:
    """Return the number of significant digits as written."""
    amount = value.written if value.written is not None else value.amount
    if amount is None or amount == 0:
        return 0
    if amount.denominator == 1:
        digits = str(abs(amount.numerator)).rstrip("0")
        return max(1, len(digits))
    text = f"{float(abs(amount)):.10g}".replace(".", "").strip("0")
    return min(len(text), 8)


def derivation(
    value: Value,
    operands: Sequence[Operand],
    cues: frozenset[str],
    factors: Sequence[Operand] = (),
    statement: str = "",
) -> str | None:
    """Derive ``value`` from ``operands``, as "30 + 12 = 42", or return None.

    Args:
        value: a value of a statement.
        operands: amounts of the sources on the same topic.
        cues: operations that the statement announces, from
            :func:`~veridical.text.values.cues.cues_of`.
        factors: small numbers of the statement and question, as possible factors.
        statement: its words show the direction of a change.
    """
    base = direction(statement)
    ones = _one_of(statement)
    readings = [r for r in value.readings if r.low == r.high]
    if (
        value.written is not None
        and value.kind in ("count", "money", "measure")
        and value.written != value.readings[0].low
        and any(_bare(o) for o in operands)
    ):
        written = Amount("", value.written, value.written, "", Fraction(0))
        bare = [o for o in operands if _bare(o)]
        if found := _derived(value, written, bare, cues, (), base, ones):
            return found
    for reading in readings:
        if found := _derived(value, reading, operands, cues, factors, base, ones):
            return found
    if value.kind == "count" and not value.noun and readings:
        dimensions = {o.dimension for o in operands} - {"", "year", "clock", "share"}
        if not cues & {"sum", "difference", "mean"}:
            dimensions &= {"money"} if "product" in cues else set()
        for dimension in sorted(dimensions):
            kinds = {dimension, ""} if dimension == "money" else {dimension}
            same = [o for o in operands if o.dimension in kinds]
            plain = readings[0]._replace(dimension=dimension)
            if found := _derived(value, plain, same, cues, (), base, ones):
                return found
    return None


@lru_cache(maxsize=64)
def _one_of(statement: str) -> frozenset[str]:
    """Return the things for which ``statement`` may give the amount per thing."""
    return frozenset(match[1].lower() for match in _ONE_OF.finditer(statement))


def _bare(operand: Operand) -> bool:
    return operand.where[1] < 0 and not operand.dimension


def _derived(
    value: Value,
    target: Amount,
    operands: Sequence[Operand],
    cues: frozenset[str],
    factors: Sequence[Operand],
    base: int,
    ones: frozenset[str],
) -> str | None:
    goal = target.low
    specific = significant(value) >= _MIN_SIGNIFICANT_DIGITS
    measured = target.dimension not in ("", "year")
    slack = _TOLERANCE * abs(goal) if goal.denominator != 1 else Fraction(0)
    approx = value.approx and target.dimension not in ("clock", "year")
    if approx:
        slack = abs(goal) * _COARSE
    if target.step and target.dimension in _ROUNDED:
        share = significant(value) > 1 and target.dimension in ("share", "points")
        slack = max(slack, min(target.step, abs(goal) * (_COARSE_SHARE if share else _COARSE)))
    aim = _Goal.of(goal, slack)
    if approx:
        operands = [
            o
            for o in operands
            if o.dimension != target.dimension
            or (abs(o.amount) > 3 * slack and not aim.hit(o.amount))
        ]
    same = [
        o
        for o in operands
        if o.dimension == target.dimension
        and (o.unit == target.unit or target.dimension != "money" or not o.unit or not target.unit)
    ]
    if target.dimension == "points":
        same = [o for o in operands if o.dimension in ("share", "points")]
    if target.dimension in ("year", "clock"):
        return _moved(target, operands, "shift" in cues)
    for item in same:
        if item.where[1] == LINE_ITEMS and aim.hit(item.amount):
            return f"{item.text} = {_written(value)}"
    if ("sum" in cues or specific) and goal and (found := _sums(same, aim, value)):
        return found
    if specific and (found := _product_and_more(same, factors, aim, value)):
        return found
    for part in operands:
        if part.dimension == "share" and target.dimension != "share":
            for a in same:  # "86 euros, of which the county pays half"
                if a.where == part.where and aim.hit(a.amount * part.amount):
                    return f"{part.text} of {a.text} = {_written(value)}"
    always = "difference" in cues or specific or target.dimension == "points"
    beside = same if always else [o for o in same if o.where == BESIDE]
    if len(beside) > 1:
        for a, b in combinations(beside, 2):
            if not _kin(a, b) or not b.amount or not a.amount:
                continue
            high, low = (a, b) if a.amount > b.amount else (b, a)
            apart = high.number - low.number
            if not aim.near(apart) and not aim.near(-apart):
                continue
            if aim.hit(high.amount - low.amount) or aim.hit(low.amount - high.amount):
                return f"{high.text} - {low.text} = {_written(value)}"
    if (
        target.dimension in ("time", "")
        and ("difference" in cues or value.kind == "duration")
        and (found := _spans(value, target, operands, aim))
    ):
        return found
    if ("product" in cues or specific or factors) and (
        found := _products(value, target, operands, factors, aim, cues, specific)
    ):
        return found
    if target.dimension in _MEASURES and (found := _measures(value, target, operands, aim, cues)):
        return found
    if ones and (found := _of_one(value, same, operands, aim, ones)):
        return found
    if (target.dimension == "share" or target.dimension == "") and (
        found := _quotients(value, target, operands, aim, cues, specific, base)
    ):
        return found
    if (measured and ("mean" in cues or "quotient" in cues)) or "mean" in cues:
        if found := _means(same, aim, value):
            return found
        for a in same:
            for b in [*operands, *factors]:
                if b.dimension == "" and b.amount > 1 and _divided(a, b, aim):
                    return f"{a.text} / {b.text} = {_written(value)}"
    return None


def _same_things(a: Value, b: Value) -> bool:
    return bool(a.noun) and a.noun[:4] == b.noun[:4]


def _times(a: Operand, b: Operand, aim: _Goal) -> bool:
    return aim.near(a.number * b.number) and aim.hit(a.amount * b.amount)


def _divided(a: Operand, b: Operand, aim: _Goal) -> bool:
    return aim.near(a.number / b.number) and aim.hit(a.amount / b.amount)


def _written(value: Value) -> str:
    amount = value.written if value.written is not None else value.amount
    if amount is None:
        return ""
    if amount.denominator == 1:
        return f"{amount.numerator:,}"
    return f"{float(amount):.6g}"


def _sums(same: Sequence[Operand], aim: _Goal, value: Value) -> str | None:
    positive = [o for o in same if o.amount > 0]
    for n in (2, 3):
        for group in combinations(positive[: _MAX_OPERANDS if n == 2 else 9], n):
            if not aim.near(sum([o.number for o in group])):
                continue
            if not all(_kin(group[0], o) for o in group[1:]):
                continue
            if aim.hit(sum((o.amount for o in group), Fraction(0))):
                return f"{' + '.join(o.text for o in group)} = {_written(value)}"
    if len(positive) > 3:
        for n in range(4, len(positive) + 1):
            if aim.hit(sum((o.amount for o in positive[:n]), Fraction(0))):
                return f"{' + '.join(o.text for o in positive[:n])} = {_written(value)}"
    return None


def _product_and_more(
    same: Sequence[Operand], factors: Sequence[Operand], aim: _Goal, value: Value
) -> str | None:
    """Derive "12 * 39 + 25": a number of a price, and another price."""
    for f in factors:
        if f.dimension or f.amount <= 1:
            continue
        for a, b in permutations(same, 2):
            if aim.near(a.number * f.number + b.number) and aim.hit(a.amount * f.amount + b.amount):
                return f"{f.text} * {a.text} + {b.text} = {_written(value)}"
    return None


def _means(same: Sequence[Operand], aim: _Goal, value: Value) -> str | None:
    for n in range(2, len(same) + 1):
        if not aim.near(sum([o.number for o in same[:n]]) / n):
            continue
        total = sum((o.amount for o in same[:n]), Fraction(0))
        if aim.hit(total / n):
            return f"({' + '.join(o.text for o in same[:n])}) / {n} = {_written(value)}"
    return None


def _products(
    value: Value,
    target: Amount,
    operands: Sequence[Operand],
    factors: Sequence[Operand],
    aim: _Goal,
    cues: frozenset[str],
    specific: bool,
) -> str | None:
    counts = [o for o in operands if o.dimension == "" and o.amount > 1]
    small = [f for f in factors if f.dimension == "" and f.amount > 0]
    shares = [o for o in (*operands, *factors) if o.dimension == "share" and o.where[0] > -2]
    for a in operands:
        if a.dimension != target.dimension:
            continue
        if target.dimension == "money" and a.unit and target.unit and a.unit != target.unit:
            continue
        rate = _RATES.get((a.value.per, value.per))
        if rate and aim.hit(a.amount * rate):
            return f"{a.text} * {rate} = {_written(value)}"
        if a.where == BESIDE and value.per == "year" and aim.hit(a.amount * 12):
            return f"{a.text} * 12 = {_written(value)}"
        yearly = _PER_YEAR.get(a.value.per)
        if yearly and not value.per and aim.hit(a.amount * yearly):
            return f"{a.text} * {yearly} = {_written(value)}"
        if not value.per and (length := _PERIOD.get(a.value.per)):
            for b in operands:
                if b.dimension == "time" and aim.hit(a.amount * b.amount / length):
                    return f"{a.text} * {b.text} = {_written(value)}"
        for f in small:
            if not target.dimension and not specific and not _same_things(value, a.value):
                break
            if f.amount != 1 and (_times(a, f, aim) or _divided(a, f, aim)):
                sign = "*" if _times(a, f, aim) else "/"
                return f"{a.text} {sign} {f.text} = {_written(value)}"
        if "product" in cues or specific:
            for b in counts:
                if b is a or not (target.dimension or specific or a.value.per):
                    continue
                if _times(a, b, aim):
                    return f"{b.text} * {a.text} = {_written(value)}"
        for s in shares:
            if s is a or target.dimension == "share":
                continue
            for plus, times, sign in ((0, 1, "*"), (1, 1, "+"), (1, -1, "-")):
                if not aim.near(a.number * (plus + times * s.number)):
                    continue
                factor = plus + times * s.amount
                if factor > 0 and aim.hit(a.amount * factor) and (specific or sign == "*" or cues):
                    word = {"*": "of", "+": "more than", "-": "less than"}[sign]
                    return f"{s.text} {word} {a.text} = {_written(value)}"
    if "product" in cues:  # scaled: "for ten" from a recipe for four
        for a in operands:
            if a.dimension != target.dimension:
                continue
            if not target.dimension and not _same_things(value, a.value):
                continue
            for n in small:
                for m in counts:
                    if not aim.low <= a.number * n.number / m.number <= aim.high:
                        continue
                    if m.amount != n.amount and aim.hit(a.amount * n.amount / m.amount):
                        return f"{a.text} * {n.text} / {m.text} = {_written(value)}"
    return None


def _measures(
    value: Value,
    target: Amount,
    operands: Sequence[Operand],
    aim: _Goal,
    cues: frozenset[str],
) -> str | None:
    """Derive a speed from a length and a time, a length from a speed and a time, and so on."""
    first, sign, second = _MEASURES[target.dimension]
    for a in operands:
        for b in operands:
            if (a.dimension, b.dimension) != (first, second) or not b.amount:
                continue
            if a.where != b.where and not cues & {"quotient", "mean"}:
                continue
            if _times(a, b, aim) if sign == "*" else _divided(a, b, aim):
                return f"{a.text} {sign} {b.text} = {_written(value)}"
    return None


def _of_one(
    value: Value,
    same: Sequence[Operand],
    operands: Sequence[Operand],
    aim: _Goal,
    ones: frozenset[str],
) -> str | None:
    """Derive an amount per thing: 12 euros from 60 euros and 5 tickets."""
    for b in operands:
        noun = b.value.noun
        if b.dimension or b.amount <= 1 or not noun:
            continue
        if not ones & _PERSON and not any(noun[:4] == one[:4] for one in ones):
            continue
        for a in same:
            if _divided(a, b, aim):
                return f"{a.text} / {b.text} = {_written(value)}"
    return None


def _quotients(
    value: Value,
    target: Amount,
    operands: Sequence[Operand],
    aim: _Goal,
    cues: frozenset[str],
    specific: bool,
    base: int,
) -> str | None:
    share = target.dimension == "share"
    if not ("quotient" in cues or (share and value.kind in ("percent", "ratio"))):
        return None
    for a in operands:
        for b in operands:
            if a is b or a.dimension != b.dimension or not b.amount or a.dimension == "share":
                continue
            if a.dimension in ("year", "clock", "temperature"):
                continue
            if not _kin(a, b):
                continue
            right_base = not base or (b.amount < a.amount) == (base > 0)
            if (
                share
                and "change" in cues
                and right_base
                and aim.near(abs(a.number - b.number) / abs(b.number))
                and aim.hit(abs(a.amount - b.amount) / abs(b.amount))
            ):
                high, low = (a, b) if a.amount > b.amount else (b, a)
                return f"({high.text} - {low.text}) / {b.text} = {_written(value)}"
            if a.unit != b.unit and a.dimension == "money":
                continue
            if not share and not specific and a.amount < b.amount:
                continue
            if (share or "quotient" in cues) and _divided(a, b, aim):
                if share and a.amount > b.amount and "change" in cues:
                    continue
                return f"{a.text} / {b.text} = {_written(value)}"
    if share and "rest" in cues:
        for a in operands:
            if a.dimension == "share" and 0 < a.amount < 1 and aim.hit(1 - a.amount):
                return f"100 % - {a.text} = {_written(value)}"
    return None


def _spans(value: Value, target: Amount, operands: Sequence[Operand], aim: _Goal) -> str | None:
    """Derive a duration or number of years from years or times of day."""
    years = [o for o in operands if o.dimension == "year"]
    for a, b in combinations(years, 2):
        apart = abs(a.amount - b.amount)
        early, late = sorted((a, b), key=lambda o: o.amount)
        length = apart * 31_557_600 if target.dimension == "time" else apart
        if apart and aim.hit(length):
            return f"{late.text} - {early.text} = {_written(value)}"
    if target.dimension != "time":
        return None
    times = [o for o in operands if o.dimension == "clock"]
    for a in times:
        for b in times:
            if a is b:
                continue
            apart = (b.amount - a.amount) % 1440
            if aim.hit(apart * 60):
                return f"{b.text} - {a.text} = {_written(value)}"
            for c in operands:
                if (
                    c.dimension == "time"
                    and c.amount < 90_000
                    and (aim.hit(apart * 60 - c.amount) or aim.hit(apart * 60 + c.amount))
                ):
                    sign = "-" if aim.hit(apart * 60 - c.amount) else "+"
                    return f"{b.text} - {a.text} {sign} {c.text} = {_written(value)}"
    return None


def _moved(target: Amount, operands: Sequence[Operand], announced: bool) -> str | None:
    """Derive a year or time of day from another one and a duration.

    Both are in one sentence, unless the statement announces a change or has one of them.
    """
    goal = target.low
    shown = str(goal) if target.dimension == "year" else f"{int(goal) // 60}:{int(goal) % 60:02d}"
    unit = Fraction(31_557_600) if target.dimension == "year" else Fraction(60)
    for a in operands:
        if a.dimension != target.dimension:
            continue
        for b in operands:
            if b.dimension != "time" or b.amount < unit / 2:
                continue
            if not announced and a.where != b.where and BESIDE not in (a.where, b.where):
                continue
            length = b.amount / unit
            later, earlier = a.amount + length, a.amount - length
            if target.dimension == "clock":
                later, earlier = later % 1440, earlier % 1440
            if later == goal or earlier == goal:
                return f"{a.text} {'+' if later == goal else '-'} {b.text} = {shown}"
    return None
