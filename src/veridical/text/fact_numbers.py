"""Numbers and dates among the tokens of a text: digits of any script, English words for them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from veridical.text.fact_words import (
    CURRENCIES,
    MONEY_SCALES,
    MONTHS,
    NUMBER_WORDS,
    ORDINAL_MARKS,
    ORDINAL_WORDS,
    SCALES,
    UNITS,
)

#: A year, month and day, each possibly unknown.
DateParts = tuple["int | None", "int | None", "int | None"]


class Number(NamedTuple):
    """Tokens ``first..last`` (inclusive) that say a number.

    ``values`` are canonical decimal strings, two where "1.234" may be read in two styles; a decade
    is "1990s". ``unit`` is canonical ("km", "%", "$", "th" for ordinals), or empty.
    """

    first: int
    last: int
    values: tuple[str, ...]
    unit: str

    @property
    def is_year(self) -> bool:
        """Whether it reads as a year or a decade."""
        value = self.values[0]
        return (
            not self.unit
            and len(self.values) == 1
            and "1000" <= value[:4] < "3000"
            and (len(value) == 4 or value[4:] == "s")
        )

    def equals(self, other: Number) -> bool:
        """Whether one of the values agrees, and the units where both have one."""
        if self.unit and other.unit and self.unit != other.unit:
            return False
        return not set(self.values).isdisjoint(other.values)


class Date(NamedTuple):
    """Tokens ``first..last`` that say a date; two ``readings`` where day and month may swap."""

    first: int
    last: int
    readings: tuple[DateParts, ...]

    def within(self, other: Date) -> bool:
        """Whether everything this date says, ``other`` says too."""
        return any(
            all(mine is None or mine == yours for mine, yours in zip(a, b, strict=True))
            for a in self.readings
            for b in other.readings
        )


_SPELT = frozenset(NUMBER_WORDS) | frozenset(ORDINAL_WORDS)
_LONGEST = 40  # a longer run of digits is compared as it stands
_MOST = 10**12  # of what stands before "hundred": of many in a row each would add two digits
_DATE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)|(\d\d?)[./](\d\d?)[./](\d{4})")
#: (shape, thousands separators to drop): the readings a grouped or decimal number may have.
_STYLES = tuple(
    (re.compile(shape), drop)
    for shape, drop in (
        (r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", ","),
        (r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?", ","),
        (r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", "."),
        (r"\d{1,3}(?:'\d{3})+(?:[.,]\d+)?", "'"),
        (r"\d+[.,]\d+", ""),
    )
)
_SEPARATORS = {"٫": ".", "．": ".", ".": ".", "٬": ",", ",": ","}


def numbers_and_dates(tokens: list[str], ascii_only: bool) -> tuple[list[Number], list[Date]]:
    """Every number (those inside written-out dates too), and every date, in order.

    Args:
        tokens: the lower-case tokens of a text.
        ascii_only: that all of them are ASCII, which saves looking for other digits.
    """
    if ascii_only:
        places = [i for i, t in enumerate(tokens) if "0" <= t[0] <= "9" or t in _SPELT]
    else:
        places = [i for i, t in enumerate(tokens) if t[0].isdecimal() or t in _SPELT]
    numbers: list[Number] = []
    dates: list[Date] = []
    padded = [*tokens, "", "", "", "", "", ""]  # so that looking ahead needs no bounds
    done = dated = -1
    for i in places:
        if i <= done:
            continue
        token = tokens[i]
        if token in _SPELT:
            number = _spelt(padded, i)
        else:
            values, readings = _parse(token) if len(token) <= _LONGEST else ((token,), ())
            if readings:
                dates.append(Date(i, i, readings))
                number = Number(i, i, values, "")
            else:
                number = _with_unit(padded, i, values)
                date = _date_at(padded, i, values[0]) if i > dated else None
                if date is not None:
                    dates.append(date)
                    dated = date.last
                    number = Number(i, i, values, "")
        numbers.append(number)
        done = number.last
    return numbers, dates


@lru_cache(maxsize=4096)
def _parse(token: str) -> tuple[tuple[str, ...], tuple[DateParts, ...]]:
    """Values of a digit token; and for a date in digits its readings (the value is the year)."""
    if not token.isascii():
        token = "".join(
            str(unicodedata.decimal(c)) if c.isdecimal() else _SEPARATORS.get(c, c) for c in token
        )
        token = re.sub(r"[^\d.,/-]", "'", token)
    if token.isdigit():
        return (token.lstrip("0") or "0",), ()
    if match := _DATE.fullmatch(token):
        y, m, d, a, b, year = (int(g) if g else 0 for g in match.groups())
        readings = [(y, m, d)] if y else [(year, b, a), (year, a, b)]
        real = tuple(r for r in dict.fromkeys(readings) if 1 <= r[1] <= 12 and 1 <= r[2] <= 31)
        if real:
            return (str(real[0][0]),), real
    values = [
        canonical((token.replace(drop, "") if drop else token).replace(",", "."))
        for shape, drop in _STYLES
        if shape.fullmatch(token)
    ]
    return tuple(dict.fromkeys(values)) or (token,), ()


def canonical(value: str) -> str:
    """A decimal string without leading or trailing zeros."""
    whole, _, fraction = value.partition(".")
    fraction = fraction.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


def _scaled(value: str, scale: int) -> str:
    plain = value.replace(".", "", 1).isdigit()  # "1.2.3" is no quantity
    return canonical(format(Decimal(value) * scale, "f")) if plain else value


def _with_unit(tokens: Sequence[str], i: int, values: tuple[str, ...]) -> Number:
    last = i
    following = tokens[i + 1]
    money = tokens[i - 1] if i and len(tokens[i - 1]) == 1 else ""
    first = i - 1 if money in CURRENCIES else i
    scale = SCALES.get(following) or (MONEY_SCALES.get(following) if first < i else None)
    if scale:
        values = tuple(_scaled(v, scale) for v in values)
        last += 1
        following = tokens[i + 2]
    elif following in ORDINAL_MARKS:
        return Number(i, i + 1, values, "th")
    elif following == "s" and len(values[0]) == 4 and values[0].endswith("0"):
        return Number(i, i + 1, (values[0] + "s",), "")
    if first < i:
        return Number(first, last, values, CURRENCIES[money])
    if following == "per" and tokens[last + 2] == "cent":
        return Number(i, last + 2, values, "%")
    unit = UNITS.get(following, "")
    return Number(i, last + bool(unit), values, unit)


def _date_at(tokens: Sequence[str], i: int, value: str) -> Date | None:
    """The date whose first number is token ``i``, in words or in Chinese or Korean style."""
    month = MONTHS.get(tokens[i - 1]) if i else None
    if _is_year(value):
        if month is not None:
            return Date(i - 1, i, ((int(value), month, None),))
        if tokens[i + 1][:1] in ("年", "년") and tokens[i + 3][:1] in ("月", "월"):
            month = _small(tokens[i + 2], 12)
            day = _small(tokens[i + 4], 31) if tokens[i + 5][:1] in ("日", "일") else None
            if month is not None:
                return Date(i, i + (4 if day else 2), ((int(value), month, day),))
        return None
    day = _small(value, 31)
    if day is None:
        return None
    last = i + 1 if tokens[i + 1] in ORDINAL_MARKS else i
    if month is None:
        last += 2 if tokens[last + 1] == "of" else 1
        month = MONTHS.get(tokens[last])
        if month is None:
            return None
        first = i
    else:
        first = i - 1
    year = tokens[last + 1]
    if _is_year(year):
        return Date(first, last + 1, ((int(year), month, day),))
    return Date(first, last, ((None, month, day),))


def _is_year(value: str) -> bool:
    return len(value) == 4 and value.isdecimal()


def _small(value: str, highest: int) -> int | None:
    if len(value) > 2 or not value.isdecimal():
        return None
    return int(value) if 1 <= int(value) <= highest else None


def _spelt(tokens: Sequence[str], i: int) -> Number:
    """The number that English words from ``i`` on say."""
    total = current = 0
    unit = ""
    last = i
    j = i
    while not unit:
        word = tokens[j]
        value = NUMBER_WORDS.get(word) or ORDINAL_WORDS.get(word, 1 if word == "one" else 0)
        if word in ("hundred", "dozen") and current < _MOST:
            current = (current or 1) * value
        elif word in SCALES and current:
            total += current * SCALES[word]
            current = 0
        elif value and (current or total or word != "one") and _fits(current, value):
            current += value
            unit = "th" if word in ORDINAL_WORDS else ""
        elif word == "and" and current >= 100 and tokens[j + 1] in _SPELT:
            j += 1
            continue
        else:
            break
        last = j
        j += 1
    if not unit:
        unit = UNITS.get(tokens[last + 1], "")
        last += bool(unit)
    return Number(i, last, (str(total + current),), unit)


def _fits(current: int, value: int) -> bool:
    """Whether ``value`` may follow: "twenty" takes "five", "hundred" anything, "five" nothing."""
    tens = current % 100
    return tens == 0 or (value < 10 and tens >= 20 and tens % 10 == 0)
