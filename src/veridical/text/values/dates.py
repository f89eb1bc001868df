"""Parsing of dates and times of day."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from veridical.text.values.value import Amount, DateParts
from veridical.text.values.words import MONTHS

_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
_ISO = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)(?:t(?=\d))?|(\d{4})(?:年|년) ?(\d{1,2})(?:月|월)"
    r" ?(?:(\d{1,2})(?:日|일))?"
)
_NUMERIC = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/.-]*\d)")
#: A day and month without year, before a time of day or after a German preposition.
_DAY_AND_MONTH = re.compile(r"(\d{1,2})\.(\d{1,2})(?:(?= \d\d:\d\d)|\.(?!\d))")
_GERMAN_BEFORE = re.compile(r"(?<![^\W_])(?:am|dem|den|vom|bis|zum|ab|der|seit) $")
_YEAR_MONTH = re.compile(r"(\d{4})-(\d{2})(?![\d-])")
_DAY_MONTH = re.compile(
    rf"(\d{{1,2}})(?:st|nd|rd|th|\.|er|º)? ?(?:of |de |-)?({_NAMES})(?![^\W\d_])\.?"
    r"(?:,? (?:de )?(\d{4})(?!\d)|-(\d{4})(?!\d))?"
)
_MONTH_DAY = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th)?(?![\d:]|[.,]\d\d?(?!\d))(?:,? (\d{4})(?![\d,.]\d))?"
)
_YEAR = re.compile(r"\d{4}(?![\d%]|[.,]\d)")
_BEFORE = re.compile(rf"(?<![^\W_])({_NAMES})\.?(?: the)?,? $|(?<![^\W_])({_NAMES})-$")
_DAY_BEFORE = re.compile(r"(?<!\d)\d{1,2}(?:st|nd|rd|th|\.)? (?:of )?$")
_ERA = re.compile(r" ?(?:(b\.?c\.?e?\b\.?|v\. ?chr\b\.?)|(a\.?d\b\.?|c\.?e\b\.?|n\. ?chr\b\.?))")
_DECADE = re.compile(r"(\d{3}0)(?:'?s|er)(?![^\W_])")
_CENTURY = re.compile(r"(?:st|nd|rd|th|\.)?[ -]?(?:centur(?:y|ies)|jahrhundert|jh\b\.?)")
_SPAN = re.compile(r" ?(?:-|to|until|till|through|bis|and|/) ?(\d{4}|\d\d)(?![\d%:]|[.,/-]\d)")
_YEAR_CUE = re.compile(
    r"(?:\b(?:in|since|by|until|from|year|of|during|before|after|between|anno|im jahr|jahr|en|"
    r"seit|late|early|mid|fiscal|fy|circa|c\.)|\() ?'?$"
)
_SPELT_DAY = re.compile(rf" (?:of )?({_NAMES})(?![^\W\d_])\.?(?:,? (\d{{4}})(?!\d))?")
_CLOCK = re.compile(
    r"(\d{1,2})(?:([:.h])(\d{2})(?::(\d{2}))?)?(?![\d])"
    r"(?: ?(a\.? ?m\b\.?|p\.? ?m\b\.?|uhr\b|o'clock\b|h\b(?=eure)|noon\b))?"
    r"(?: (\d{2}))?"
)


class DateFound(NamedTuple):
    """A date in ``[start:end]`` with its readings as parts and as years."""

    start: int
    end: int
    dates: tuple[DateParts, ...]
    years: tuple[Amount, ...]
    sure: bool = True


def _real(*dates: tuple[int, int, int]) -> tuple[DateParts, ...]:
    return tuple(d for d in dict.fromkeys(dates) if 1 <= d[1] <= 12 and 1 <= d[2] <= 31)


def _years(*years: int | None) -> tuple[Amount, ...]:
    known = sorted({y for y in years if y is not None})
    if not known:
        return ()
    return (Amount("year", Fraction(known[0]), Fraction(known[-1])),)


def _found(start: int, end: int, *dates: DateParts) -> DateFound:
    return DateFound(start, end, dates, _years(*(d[0] for d in dates)))


def date_at(low: str, at: int) -> DateFound | None:
    """Parse the date whose figures begin at ``at``; a bare year only if little else fits."""
    if match := _ISO.match(low, at):
        if match[1]:
            real = _real((int(match[1]), int(match[2]), int(match[3])))
        elif match[6]:
            real = _real((int(match[4]), int(match[5]), int(match[6])))
        else:
            real = ((int(match[4]), int(match[5]), None),)
        if real:
            return _found(at, match.end(), *real)
    if match := _NUMERIC.match(low, at):
        a, b, year = int(match[1]), int(match[3]), int(match[4])
        if len(match[4]) == 2:
            if match[2] == "-":
                return None
            year += 2000 if year < 50 else 1900
        orders = [(year, b, a), (year, a, b)]
        if match[2] == ".":
            orders = orders[:1]
        real = _real(*orders)
        if real:
            return _found(at, match.end(), *real)
    if match := _DAY_AND_MONTH.match(low, at):
        real = _real((0, int(match[2]), int(match[1])))
        if real and (match[0][-1] != "." or _GERMAN_BEFORE.search(low[max(0, at - 8) : at])):
            return _found(at, match.end(), (None, *real[0][1:]))
    if (
        (match := _YEAR_MONTH.match(low, at))
        and 1 <= int(match[2]) <= 12
        and (
            int(match[1]) < 2100
            and int(match[1]) > 1000
            and low[at - 1 : at] in ('"', " ", "", "(", ",", ";", "|", "\t", "\n", ":")
        )
    ):
        after = int(match[2])
        if not (int(match[1]) % 100 < after):  # "2009-10" is a span of years
            return _found(at, match.end(), (int(match[1]), after, None))
    if match := _DAY_MONTH.match(low, at):
        day = int(match[1])
        month = MONTHS[match[2]]
        year_text = match[3] or match[4]
        if 1 <= day <= 31 and (month != 5 or match[2] != "may" or _not_modal(low, match.end())):
            return _found(at, match.end(), (int(year_text) if year_text else None, month, day))
    before = _BEFORE.search(low[max(0, at - 16) : at])
    if before:
        name = before[1] or before[2]
        start = at - (len(before.string) - before.start())
        if "," in before[0] and _DAY_BEFORE.search(low[max(0, start - 6) : start]):
            return None  # "11 November, 6 pm"
        month = MONTHS[name]
        if (match := _YEAR.match(low, at)) and 1000 <= int(match[0]) < 2200:
            return _found(start, match.end(), (int(match[0]), month, None))
        if (
            (match := _MONTH_DAY.match(low, at))
            and 1 <= int(match[1]) <= 31
            and (len(name) > 3 or name != "mar")
        ):
            year2 = int(match[2]) if match[2] else None
            return _found(start, match.end(), (year2, month, int(match[1])))
    return None


def _not_modal(low: str, end: int) -> bool:
    return not re.match(r" (?:be|have|not|also|only|take|need|use)\b", low[end : end + 8])


def spelt_day(low: str, start: int, end: int, day: int) -> DateFound | None:
    """Parse the date of an ordinal in words: "the twenty-third of September 1942"."""
    match = _SPELT_DAY.match(low, end)
    if match is None or not 1 <= day <= 31:
        return None
    year = int(match[2]) if match[2] else None
    return _found(start, match.end(), (year, MONTHS[match[1]], day))


def years_at(low: str, at: int) -> DateFound | None:
    """Parse a year, decade, century or span of years at ``at``."""
    if match := _DECADE.match(low, at):
        first = int(match[1])
        return DateFound(
            at,
            match.end(),
            ((None, None, None),),
            (Amount("year", Fraction(first), Fraction(first + 9)),),
        )
    era = None
    digits = re.compile(r"\d{1,4}(?!\d|[.,]\d)").match(low, at)
    if digits and (era := _ERA.match(low, digits.end())):
        year = -int(digits[0]) if era[1] else int(digits[0])
        return _found(at, era.end(), (year, None, None))
    if digits and low[at - 3 : at] == "ad " and not low[at - 4 : at - 3].isalnum():
        return _found(at, digits.end(), (int(digits[0]), None, None))
    match = _YEAR.match(low, at)
    if match is None or not 1000 <= int(match[0]) < 2200:
        return None
    year = int(match[0])
    start = at
    head = low[max(0, at - 16) : at]
    # "2023: 61,700 visitors"
    named = low[match.end() : match.end() + 2] == ": " and not head.rstrip(" ")[-1:].isalnum()
    sure = named or _YEAR_CUE.search(head) is not None
    span = _SPAN.match(low, match.end())
    if span:
        other = int(span[1])
        joined = span[0].strip(" 0123456789")
        if len(span[1]) == 2:
            other += year // 100 * 100
            if joined not in ("-", "/") or " " in span[0]:
                other = -1
        if year < other < 2200 and (joined != "and" or head.endswith("between ")):
            return _found(start, span.end(), (year, None, None), (other, None, None))
    return DateFound(start, match.end(), ((year, None, None),), _years(year), sure)


def century(low: str, end: int, number: int) -> tuple[Amount, int] | None:
    """Return the years of a century after its ordinal, and its end."""
    match = _CENTURY.match(low, end)
    if match is None or not 1 <= number <= 30:
        return None
    first = (number - 1) * 100
    years = Amount("year", Fraction(first), Fraction(first + 100))
    if era := _ERA.match(low, match.end()):
        if era[1]:
            years = Amount("year", Fraction(-first - 100), Fraction(-first))
        return years, era.end()
    return years, match.end()


def clock_at(low: str, at: int) -> tuple[int, tuple[Amount, ...]] | None:
    """Return the end of a time of day at ``at``, and its readings in minutes."""
    match = _CLOCK.match(low, at)
    if match is None:
        return None
    hour, mark, minute = int(match[1]), match[2], int(match[3] or 0)
    suffix = (match[5] or "").replace(".", "").replace(" ", "")
    seconds = int(match[4] or 0)
    if hour > 24 or minute > 59 or seconds > 59:
        return None
    if not suffix and mark != ":" and (mark != "h" or len(match[1]) > 2):
        return None
    if mark == "." and not suffix:
        return None
    end = match.end(5) if match[5] else (match.end(4) if match[4] else match.end(3))
    if mark is None:
        end = match.end(5)
    if suffix == "uhr" and match[6] and mark is None and int(match[6]) < 60:
        minute, end = int(match[6]), match.end(6)
    total = Fraction(hour * 60 + minute) + Fraction(seconds, 60)
    if suffix in ("am", "pm"):
        if not 1 <= hour <= 12:
            return None
        total = total - 720 if hour == 12 else total
        if suffix == "pm":
            total += 720
        return end, (Amount("clock", total, total),)
    if suffix == "noon":
        return end, (Amount("clock", Fraction(720), Fraction(720)),)
    total = Fraction(0) + total % 1440
    readings = [Amount("clock", total, total)]
    if 1 <= hour <= 12 and not match[1].startswith("0") and suffix not in ("uhr", "heure"):
        other = (total + 720) % 1440
        readings.append(Amount("clock", other, other))
    return end, tuple(readings)
