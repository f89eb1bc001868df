"""Values stated by a text, and their equality."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

Kind = Literal[
    "count", "money", "percent", "points", "measure", "duration", "date", "time", "ratio", "pair",
    "range", "version", "identifier", "ordinal", "coordinate",
    "label",
]  # fmt: skip
#: A year, month and day, each possibly unknown.
DateParts = tuple["int | None", "int | None", "int | None"]
Bound = Literal["", ">", "<"]

#: Relative difference allowed between units of two systems, and between approximate values.
_ACROSS_SYSTEMS = Fraction(15, 1000)
_APPROXIMATE = Fraction(6, 100)
_SPELT = 12  # numbers up to this are usually spelt out
#: Largest relative difference by which a rounded value may differ from an exact one.
_ROUNDING = Fraction(2, 100)
_FINE_ROUNDING = Fraction(5, 100)


class Amount(NamedTuple):
    """An amount in the base unit of ``dimension``, or a range of such amounts.

    Attributes:
        dimension: "" for plain counts, "money", "share", "clock", "mass" and so on.
        low, high: the amount; equal if it is exact.
        unit: a currency, or the system of the unit ("us", "calendar"), or "".
        step: half of the last digit as written, in the base unit.
    """

    dimension: str
    low: Fraction
    high: Fraction
    unit: str = ""
    step: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Value:
    """A value at ``[start:end]`` of its text.

    Attributes:
        readings: possible amounts, the most likely first.
        dates: readings as a date; a year alone has no month and day.
        parts: the numbers of a pair ("3-1", "120/80", "from 50 to 40"), a version or a ratio.
        key: an identifier in lower case.
        per: the period or thing of a rate ("day").
        approx: True after "about", "almost" and similar words.
        bound: ">" for "more than", "<" for "at most".
        noun: the noun after a count.
        spelt: True if written in words.
        label: True if it numbers something ("chapter 4").
        written: the number without its scale and unit.
    """

    start: int
    end: int
    kind: Kind
    readings: tuple[Amount, ...] = ()
    dates: tuple[DateParts, ...] = ()
    parts: tuple[Fraction, ...] = ()
    key: str = ""
    per: str = ""
    approx: bool = False
    bound: Bound = ""
    noun: str = ""
    spelt: bool = False
    label: bool = False
    written: Fraction | None = None

    @property
    def amount(self) -> Fraction | None:
        """Return the most likely amount if it is one number."""
        if not self.readings or self.readings[0].low != self.readings[0].high:
            return None
        return self.readings[0].low

    @property
    def dimension(self) -> str:
        """Return the dimension of the most likely reading."""
        return self.readings[0].dimension if self.readings else self.kind

    @property
    def is_year(self) -> bool:
        """Return True if it may be a year, a decade or a century."""
        return bool(self.dates) and all(m is None and d is None for _, m, d in self.dates)

    def comparable(self, other: Value) -> bool:
        """Return True if one may replace the other, as both have the same kind."""
        if self.kind == "identifier" or other.kind == "identifier":
            return self.kind == other.kind and shape(self.key) == shape(other.key)
        if self.kind == "version" or other.kind == "version":
            return self.kind == other.kind
        if self.dates and other.dates:
            return True
        if (self.kind == "date") != (other.kind == "date"):
            return False
        if (self.kind == "ordinal") != (other.kind == "ordinal"):
            return False
        if (self.kind == "pair") != (other.kind == "pair"):
            return False
        if self.kind == "pair":
            return True
        mine = self._dimensions()
        return any(dimension in mine for dimension in other._dimensions())

    def _dimensions(self) -> set[str]:
        found = {r.dimension for r in self.readings}
        return found - {""} if self.kind == "ratio" else found

    def years(self) -> list[Value]:
        """Return the two years of a span of years, with the span's place; [] for another value."""
        if len(self.dates) != 2 or not self.is_year:
            return []
        return [
            replace(self, dates=((year, None, None),), readings=(Amount("year", at, at),))
            for year, _, _ in self.dates
            if year and (at := Fraction(year))
        ]

    def states_year_of(self, other: Value) -> bool:
        """Return False if it is a span of years and ``other`` a date outside both years."""
        if len(self.dates) != 2 or not self.is_year or len(other.dates) != 1:
            return True
        return any(other.dates[0][0] == year for year, _, _ in self.dates)


def shape(key: str) -> str:
    """Return the form of an identifier: digits as 0, letters as a."""
    return "".join("0" if c.isdigit() else "a" if c.isalpha() else c for c in key)


def equal(mine: Value, theirs: Value) -> bool:
    """Return True if ``mine``, of a statement, agrees with ``theirs``, of a source.

    A less precise value equals the one it rounds, a year equals a date in it, and a bound equals a
    value within it.
    """
    if mine.kind in ("identifier", "version") or theirs.kind in ("identifier", "version"):
        return _same_name(mine, theirs)
    if mine.per and theirs.per and mine.per != theirs.per:
        return False
    if _opposed(mine, theirs):
        return False
    if mine.dates and theirs.dates and _dates_agree(mine, theirs):
        return True
    if (mine.dates and mine.kind == "date") or (theirs.dates and theirs.kind == "date"):
        return False
    if (
        mine.parts
        and theirs.parts
        and mine.kind in ("pair", "ratio")
        and theirs.kind
        in (
            "pair",
            "ratio",
        )
    ):
        if mine.parts == theirs.parts:
            return True
        if mine.kind == "pair" or theirs.kind == "pair":
            return False
    if (
        mine.kind == theirs.kind == "range"
        and mine.parts
        and theirs.parts
        and (mine.parts[0] < mine.parts[1]) != (theirs.parts[0] < theirs.parts[1])
    ):
        return False
    if (mine.kind == "pair") != (theirs.kind == "pair") and "range" not in (mine.kind, theirs.kind):
        return False
    if (mine.kind == "ordinal") != (theirs.kind == "ordinal") and not (mine.label or theirs.label):
        return False
    loose = mine.approx or theirs.approx
    return any(
        amounts_agree(a, b, loose=loose, bound="" if theirs.bound else mine.bound)
        for a in mine.readings
        for b in theirs.readings
    )


def same_digits(mine: Value, theirs: Value) -> bool:
    """Return True if both have the same number, above 1, and the source's has another unit."""
    if mine.dates or theirs.dates or "ordinal" in (mine.kind, theirs.kind):
        return False
    if theirs.kind == "count" and not theirs.noun:
        return False  # its unit is not stated
    return mine.written is not None and mine.written == theirs.written and mine.written > 1


def same_noun(mine: Value, theirs: Value) -> bool:
    """Return False if both count different things."""
    if mine.dimension or theirs.dimension or mine.kind != "count":
        return True
    if mine.spelt and mine.amount is not None and mine.amount <= _SPELT:
        return bool(mine.noun) and mine.noun[:5] == theirs.noun[:5]
    if not mine.noun or not theirs.noun:
        return True
    return mine.noun[:5] == theirs.noun[:5] or mine.noun[:4] in theirs.noun


def reversed_pair(mine: Value, theirs: Value) -> bool:
    """Return True if both have the same two numbers in another order."""
    return (
        len(mine.parts) == len(theirs.parts) == 2
        and mine.parts[0] != mine.parts[1]
        and mine.parts == theirs.parts[::-1]
        and (mine.kind != "version" or theirs.kind == "version")
    )


def _same_name(mine: Value, theirs: Value) -> bool:
    if mine.kind == "version" and theirs.kind == "version":
        n = min(len(mine.parts), len(theirs.parts))
        return mine.parts[:n] == theirs.parts[:n]
    if mine.kind == "identifier" and theirs.kind == "identifier":
        return mine.key == theirs.key
    version, other = (mine, theirs) if mine.kind == "version" else (theirs, mine)
    if version.kind != "version" or other.kind == "identifier" or not other.readings:
        return False
    if len(version.parts) > 2 or other.readings[0].dimension:
        return False
    whole = version.parts[0]
    if len(version.parts) == 1:
        return other.amount == whole
    return other.key == version.key != ""


def _opposed(mine: Value, theirs: Value) -> bool:
    return bool(mine.bound and theirs.bound and mine.bound != theirs.bound)


def _dates_agree(mine: Value, theirs: Value) -> bool:
    if len(mine.dates) == 2 and mine.is_year:  # a span of years
        return mine.readings == theirs.readings and len(theirs.dates) == 2
    for a in mine.dates:
        for b in theirs.dates:
            if _parts_agree(a, b):
                return True
    return _within_years(mine, theirs)


def _parts_agree(a: DateParts, b: DateParts) -> bool:
    """Return True if no part contradicts and one has at least the other's parts.

    A statement may be less precise than the source ("in 1967") and, in the same month or year, more
    precise.
    """
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if not pairs or any(x != y for x, y in pairs):
        return False
    mine = sum(x is not None for x in a)
    theirs = sum(y is not None for y in b)
    return len(pairs) == min(mine, theirs) and mine <= theirs


def _within_years(mine: Value, theirs: Value) -> bool:
    """Return True if one is a span of years (a decade, "2017 to 2021") and the other lies in it."""
    if not mine.is_year and not theirs.is_year:
        return False
    for a in mine.readings:
        for b in theirs.readings:
            if a.dimension == b.dimension == "year":
                if not mine.is_year and b.low == b.high:
                    continue  # the source has only the year
                if a.low <= b.low and b.high <= a.high:
                    return True
                within = b.low <= a.low and a.high <= b.high and a.low == a.high
                if within and len(theirs.dates) == 2:  # "2017 to 2021", not a decade
                    return True
    return False


def amounts_agree(a: Amount, b: Amount, *, loose: bool = False, bound: Bound = "") -> bool:
    """Return True if amount ``a`` of a statement agrees with ``b`` of a source."""
    if a.dimension != b.dimension:
        return False
    if a.dimension == "money" and a.unit != b.unit and a.unit and b.unit:
        return False
    if a.low == b.low and a.high == b.high:
        return True
    if a.dimension == "year":
        return False
    if a.low != a.high or b.low != b.high:  # a range: both ends
        return _near(a.low, b.low, a, b, loose) and _near(a.high, b.high, a, b, loose)
    if bound == ">" and 0 < a.low <= b.low and b.low <= a.low * Fraction(6, 5):
        return True
    if bound == "<" and a.low >= b.low >= a.low * Fraction(4, 5) > 0:
        return True
    return _near(a.low, b.low, a, b, loose)


def _near(x: Fraction, y: Fraction, a: Amount, b: Amount, loose: bool) -> bool:
    if x == y:
        return True
    if x == 0 or y == 0 or (x < 0) != (y < 0):
        return False
    if a.dimension in ("clock", "year"):
        if a.dimension == "clock" and x.denominator == 1 and x == y // 1:
            return True  # 02:31 for 02:31:09
        return loose and a.dimension == "clock" and abs(x - y) <= 10
    gap = abs(x - y)
    if a.dimension == "temperature":
        return gap <= (3 if loose else Fraction(6, 10)) if a.unit != b.unit or loose else False
    size = max(abs(x), abs(y))
    if loose and gap <= size * _APPROXIMATE:
        return True
    if a.unit != b.unit and a.dimension != "money" and gap <= size * _ACROSS_SYSTEMS:
        return True
    # a rounded value: the nearest with this many digits, of one that has more
    if gap <= a.step and a.step > b.step:
        return gap <= size * (_FINE_ROUNDING if a.step < size * _FINE_ROUNDING else _ROUNDING)
    return False
