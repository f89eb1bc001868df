"""Ages, durations and dates derived from dates and times of day."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import combinations, product

from veridical.text.values.compute import Stated
from veridical.text.values.value import DateParts, Value
from veridical.text.values.weekdays import days_in

_MAX_DATES = 12
_RACE = re.compile(r"\d{2,3}:\d\d")
_DAY_MINUTES = 1440
_DAY = 86_400  # seconds
_YEAR = Fraction(31_557_600)
_MONTH = _YEAR / 12
_MAX_MONTHS = 600
#: Words of an answer that count from a date.
_COUNTED = re.compile(r"(?<![^\W_])(?:count(?:ed|ing)? from|starting from|from \d)", re.I)
_LEAP = 2000  # a year for days and months without one
#: Offsets of time zones in a text: "CET (UTC+1)".
_LATER = re.compile(r",? (?:later|after|afterwards|before|earlier|prior|from|ahead|net)(?![^\W_])")
_WITHIN = re.compile(r"(?:within|in) $", re.I)
_ZERO = re.compile(r" ?(?:UTC|GMT|Z)(?![^\W_])")
_OFFSET = re.compile(r"(?:UTC|GMT) ?([+\-\N{MINUS SIGN}]) ?(\d{1,2})(?::?(\d\d))?(?!\d)")


def from_dates(
    value: Value, stated: Sequence[Stated], answer: str, texts: Sequence[str]
) -> str | None:
    """Derive an age, a duration, a date or a time of day, or return None.

    Examples of derivations: "2 October 1994 - 9 November 1961 = 32 years", "3 March + Eight days =
    11 March", "15:00 UTC + 1:00 = 16:00".

    Args:
        value: a value of a statement.
        stated: values of the sources on the same topic, the nearest first.
        answer: the text of the statement.
        texts: the sources, for the offsets of time zones.
    """
    if value.kind == "time":
        return _in_zone(value, stated, answer, texts)
    if value.kind == "date" and not value.is_year and len(value.dates) == 1:
        said = days_in(answer[max(0, value.start - 20) : value.end + 20])
        return (
            _next_weekday(value, said, stated, texts)
            or _moved(value, stated, texts, _COUNTED.search(answer) is not None)
            or _months_later(value, stated)
        )
    if value.kind != "duration" or value.amount is None:
        return None
    if raced := _races(value, stated):
        return raced
    days = [(s, d) for s in stated if (d := _day(s.value))][:_MAX_DATES]
    for (a, first), (b, second) in combinations(days, 2):
        if first == second or (a.value.dates[0][0] is None) != (b.value.dates[0][0] is None):
            continue
        (a, first), (b, second) = sorted(((a, first), (b, second)), key=lambda pair: pair[1])
        if a.value.dates[0][0] is not None and value.amount % _YEAR == 0:
            if _years(first, second) * _YEAR == value.amount:
                return f"{b.text} - {a.text} = {value.amount // _YEAR} years"
            continue
        apart = (second - first).days * _DAY
        for clocks in ((), *_clocks(a, b, stated)):
            seconds = apart + sum((t * 60 * sign for t, sign, _ in clocks), Fraction(0))
            if abs(seconds - value.amount) <= value.readings[0].step * bool(not clocks):
                shown = [f"{s.text} {c[2]}" for s, c in zip((b, a), clocks, strict=False)]
                late, early = shown or [b.text, a.text]
                return f"{late} - {early} = {float(seconds / 3600):g} hours"
    return None


def is_exact_age(value: Value, stated: Sequence[Stated]) -> bool:
    """Return True if ``value`` is an age ("32 years old") that whole dates decide."""
    if value.kind != "duration" or all(r.dimension for r in value.readings):
        return False
    return sum(_day(s.value) is not None and s.value.dates[0][0] is not None for s in stated) > 1


def _day(value: Value) -> date | None:
    if value.kind != "date" or len(value.dates) != 1:
        return None
    return _date(value.dates[0])


def _date(parts: DateParts) -> date | None:
    year, month, day = parts
    if month is None or day is None:
        return None
    try:
        return date(year or _LEAP, month, day)
    except ValueError:
        return None


def _years(first: date, second: date) -> int:
    """Return the whole years between two dates."""
    return second.year - first.year - ((second.month, second.day) < (first.month, first.day))


def _clocks(
    a: Stated, b: Stated, stated: Sequence[Stated]
) -> Iterator[tuple[tuple[Fraction, int, str], ...]]:
    """Yield the times of day in the sentences of two dates: of the later, and of the earlier."""
    times = [s for s in stated if s.value.kind == "time" and s.value.readings]
    for late in (s for s in times if s.where == b.where):
        for early in (s for s in times if s.where == a.where and s is not late):
            yield (
                (late.value.readings[0].low, 1, late.text),
                (early.value.readings[0].low, -1, early.text),
            )


def _months_later(value: Value, stated: Sequence[Stated]) -> str | None:
    """Derive "August 2025" from 3 February 2025 and six months."""
    year, month, day = value.dates[0]
    if not year or not month or day:
        return None
    lengths = [n for s in stated if (n := _whole_months(s.value))][:_MAX_DATES]
    for s in stated[: 4 * _MAX_DATES]:
        start = _day(s.value)
        if start is None or not s.value.dates[0][0]:
            continue
        apart = (year - start.year) * 12 + month - start.month
        for months in lengths:
            if months == apart:
                return f"{s.text} + {months} months = {start.replace(year, month, 1):%B %Y}"
    return None


def _whole_months(value: Value) -> int:
    """Return the number of months of a duration, or 0."""
    for reading in value.readings:
        months = reading.low / _MONTH
        if reading.dimension == "time" and reading.low == reading.high and months.denominator == 1:
            return int(months) if months < _MAX_MONTHS else 0
    return 0


def _moved(
    value: Value, stated: Sequence[Stated], texts: Sequence[str], counted: bool
) -> str | None:
    """Derive a date that is days or weeks after another, as the source or the answer says."""
    goal = _date(value.dates[0])
    lengths = [
        s
        for s in stated
        if s.value.kind == "duration"
        and _whole_days(s.value)
        and s.where[0] >= 0
        and (
            counted
            or _LATER.match(texts[s.where[0]], s.value.end)
            or _WITHIN.search(texts[s.where[0]], max(0, s.value.start - 8), s.value.start)
        )
    ]
    if goal is None or not lengths:
        return None
    for s in stated[: 4 * _MAX_DATES]:
        if (start := _day(s.value)) is None:
            continue
        if value.dates[0][0] is None or s.value.dates[0][0] is None:
            goal, start = goal.replace(year=_LEAP), start.replace(year=_LEAP)
        apart = abs(goal - start).days
        for length in lengths[:_MAX_DATES]:
            if _whole_days(length.value) == apart:
                shown = f"{apart} days" if length.text.isdigit() else length.text  # of a range
                return f"{s.text} {'+' if goal > start else '-'} {shown} = {goal:%d %B}"
    return None


def _next_weekday(
    value: Value, said: frozenset[int], stated: Sequence[Stated], texts: Sequence[str]
) -> str | None:
    """Derive "Friday (14 Feb)" from "by Friday" in a mail of "Wed 12 Feb"."""
    goal, dated = _date(value.dates[0]), value.dates[0][0] is not None
    named = said & frozenset[int]().union(*(days_in(text) for text in texts))
    if goal is None or not named:
        return None
    for s in stated[: 4 * _MAX_DATES]:
        start = _day(s.value)
        if start is None or s.where[0] < 0:
            continue
        before = days_in(texts[s.where[0]][max(0, s.value.start - 12) : s.value.start])
        if s.value.dates[0][0] is None:
            if len(before) != 1 or dated:
                continue
            (weekday,) = before
        else:
            weekday = start.weekday()
        same_year = goal if dated else goal.replace(year=start.year)
        apart = (same_year - start).days
        if 0 < apart < 7 and (weekday + apart) % 7 in named:
            return f"{s.text} + {apart} days = {goal:%d %B}"
    return None


def falls_on(days: frozenset[int], values: Sequence[Value]) -> Value | None:
    """Return the first date of ``values`` that falls on one of the weekdays ``days``."""
    for value in values:
        if value.dates and value.dates[0][0] and (day := _day(value)) and day.weekday() in days:
            return value
    return None


def _races(value: Value, stated: Sequence[Stated]) -> str | None:
    """Derive a lead from two times of a race, in minutes and seconds."""
    times = [s for s in stated if s.value.kind == "pair" and _RACE.fullmatch(s.text)]
    for a, b in combinations(times[:_MAX_DATES], 2):
        late, early = sorted((a, b), key=lambda s: s.value.parts, reverse=True)
        apart = [x - y for x, y in zip(late.value.parts, early.value.parts, strict=True)]
        if apart[0] * 60 + apart[1] == value.amount:
            return f"{late.text} - {early.text} = {int(value.amount)} seconds"
    return None


def _whole_days(value: Value) -> int:
    amount = value.amount or Fraction(0)
    return int(amount / _DAY) if amount % _DAY == 0 and amount < 1000 * _DAY else 0


def _in_zone(
    value: Value, stated: Sequence[Stated], answer: str, texts: Sequence[str]
) -> str | None:
    offsets = {
        (-1 if m[1] != "+" else 1) * (int(m[2]) * 60 + int(m[3] or 0))
        for text in texts
        for m in _OFFSET.finditer(text)
    }
    zones = {0, *offsets}
    for s in stated:
        if s.value.kind != "time" or s.where[0] < 0:
            continue
        theirs = {0} if _ZERO.match(texts[s.where[0]], s.value.end) else zones
        ours = {0} if _ZERO.match(answer, value.end) else zones
        for here, there in product(ours, theirs):
            for mine, other in product(value.readings, s.value.readings):
                if here != there and not (other.low + here - there - mine.low) % _DAY_MINUTES:
                    sign, apart = "+" if here > there else "-", abs(here - there)
                    return f"{s.text} {sign} {apart // 60}:{apart % 60:02d} = {_clock(mine.low)}"
    return None


def _clock(minutes: Fraction) -> str:
    """Return a time of day as "16:00"."""
    return f"{int(minutes) // 60}:{int(minutes) % 60:02d}"
