"""Parsing of all values of a text, in linear time."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from veridical.text.memo import kept
from veridical.text.values.combined import Combined
from veridical.text.values.dates import DateFound, century, clock_at, date_at, spelt_day
from veridical.text.values.folding import lowered
from veridical.text.values.numerals import Numeral, figures, roman, spelt
from veridical.text.values.quantities import (
    AGE_LIMITS,
    CURRENCY_BEFORE,
    LOOK_BACK,
    SPELT_WORDS,
)
from veridical.text.values.units import CENTS, CURRENCIES, PERIODS, UNITS
from veridical.text.values.value import Amount, Kind, Value
from veridical.text.values.words import CLOCK, PARTS, TIMES, VULGAR

_SHORT_TEXT = 40  # characters of a text that may be a single number
_MAX_IDENTIFIER = 40
_ANCHOR = re.compile(rf"\d|[{''.join(VULGAR)}]|(?:{SPELT_WORDS})(?![^\W_])|https?://")
_AND_A_HALF = re.compile(r"(?<![^\W_])(?:an?|one) ([a-z]+) and a $")
_PLAIN_CELL = re.compile(r"(\d+(?:\.\d+)?) ?(?:[\t|\n]|$)")
_MAX_RUN = 60  # consecutive characters of figures
_RUN = re.compile(r"\d[\d.,:/'-]*")
_LONG_RUN = re.compile(r"\d{61,}|\d{1,3}(?:[,.'’]\d{2,3}|[^\S\t\n]\d{3}){20,}|(?:\d[.']){61,}")
_ENUMERATOR = re.compile(
    r"\d{1,3}(?:\.\d{1,2}){0,3}[.)](?=\s+[^\W\d_*`\"'(\[]|\s+[*`\"'(\[])|\d{1,2}(?:\.\d{1,2}){1,3}(?=\s+[A-Z])"
)
_ROMAN = re.compile(r"(?<![\w.-])[IVXLCDM]{1,9}(?![\w-]|'[a-z])")
_ROMAN_CUE = re.compile(
    r"(?:chapter|part|number|no\.|nr\.|volume|vol\.|book|act|scene|section|title|phase|class|type|"
    r"war|stage|grade|article|schedule|appendix|kapitel|band|teil) $"
)
_NAME_BEFORE = re.compile(r"(?:^|[^\w])[A-Z][a-zà-ÿ]{2,} $")
_URL = re.compile(r"https?://[^\s<>\"')\]]+")
_VERSION = re.compile(r"(?<![^\W_])(?:version|release|ver\.?|rev\.?)[ :]{1,2}$|(?<![^\W_])v\.? ?$")
_VERSION_NUMBER = re.compile(r"\d+(?:\.\d+)*(?:-?(?:rc|alpha|beta|b|a)\.?\d*)?(?![\w])")
_DOTTED = re.compile(r"\d+(?:\.\d+){2,}(?!\.?\d|[^\W_])")
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?!\.?\d)")
_DATE_HINT = re.compile(
    r"(day ?[/.-] ?month|dd ?[/.-] ?mm|d/m/y|tt\.mm)|month ?[/.-] ?day|mm ?[/.-] ?dd|m/d/y"
)
_SLASHED = re.compile(r"(?<![\d/.])(\d{1,2})/(\d{1,2})(?:/\d{2,4})?(?![\d/])")
_SCORE = re.compile(r"(\d{1,2}):(\d\d)")
_LENGTH = re.compile(r"(\d{1,2}):(\d\d):(\d\d)")
_FEET = re.compile(r"(\d{1,2}) ?(?:'|ft\.?|feet) ?(\d{1,2})(?: ?(?:\"|''|in\b|inches))?(?![\d\w])")
_OF_QUANTITY = re.compile(r" (?:an?|the) ")
_HALF_OF = re.compile(r" (?:of|the|all|its|their|his|her|our|as)(?![^\W_])|[.,;:!?)]|$")
_HOUR_RANGE = re.compile(
    r"(\d{1,2})(?: ?- ?| to | and | until | bis )"
    r"(?=\d{1,2}(?:[:.]\d\d)? ?(?:[ap]\.? ?m(?![^\W_])|uhr))"
)
#: A telephone number with its country, or with a leading 0, or as "555-123-4567".
_PHONE_ABROAD = re.compile(r"\d{1,3}(?:[ ./-]?(?:\(\d{1,5}\)|\d{1,12})){1,6}(?![\w])")
_PHONE = re.compile(
    r"(?!\d\d \d\d \d{4}(?!\d)|\d{4}-\d{4}(?!\d))0\d{1,5}\)?(?: ?[/-] ?| )\d{2,8}"
    r"(?:[ -]\d{2,6}){0,4}(?![\w.,/:-]\d|[\w%])"
    r"|\d{3}\)?[ -]\d{3}-\d{4}(?![\w-])"
)
_MIN_PHONE_DIGITS, _MAX_PHONE_DIGITS, _PHONE_KEY_DIGITS = 7, 15, 7
_MAX_GAP = 60  # characters between numbers that may share a unit
_ENDS_CLAUSE = re.compile(r" ?(?:[.,;:!?)]|$|and |in |for |from )")


@kept
def values_of(text: str) -> tuple[Value, ...]:
    """Return all values of ``text``, in order.

    Values nested in a range or pair follow it. A run of more than 60 digits, grouped or not, yields
    no value, as converting it takes quadratic time. Rows of figures do not count as such a run.
    """
    return tuple(_Reader(_LONG_RUN.sub(_blank, text)).values())


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


class _Reader(Combined):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._day_first: bool | None = None
        self._order_known = False

    def values(self) -> list[Value]:
        found: list[Value] = []
        done = 0
        for match in _ANCHOR.finditer(self.low):
            at = match.start()
            if at < done:
                continue
            char = match[0][0]
            if char.isalpha() and at and self.low[at - 1].isalnum() and char not in VULGAR:
                continue  # inside a word
            if char == "h" and match[0].startswith("http"):
                url = _URL.match(self.low, at)
                done = url.end() if url else match.end()
                continue
            run = _RUN.match(self.low, at) if char.isdigit() else None
            if run is not None and run.end() - at > _MAX_RUN:  # a key or a hash, not a number
                done = run.end()
                continue
            here = self._at(at, char)
            found += here
            done = max([v.end for v in here], default=match.end())
            if here and here[0].kind == "identifier":
                continue
        found = _shared_units(found, self.low)
        found += self._romans()
        found = [v for v in found if v.kind != "label"]
        found.sort(key=lambda v: (v.start, -v.end))
        return found

    def _at(self, at: int, char: str) -> list[Value]:
        if char.isdigit():
            return self._figures(at)
        if char in VULGAR:
            return self._quantities(at)
        return self._words(at)

    def _figures(self, at: int) -> list[Value]:
        low = self.low
        before = low[at - 1 : at]
        if (before in "\t|" or low[at - 2 : at] == "| ") and (plain := self._plain_cell(at)):
            return plain
        if before and (before.isalpha() or before in "_-.&"):
            special = self._attached(at, before)
            if special is not None:
                return special
        if phone := self._phone(at, before):
            return phone
        head = low[max(0, at - LOOK_BACK) : at]
        if (not before or before in " \n*#>|(") and (marker := self._enumerator(at, head)):
            return marker
        if dotted := _DOTTED.match(low, at):
            thousands = _THOUSANDS.match(low, at)
            date = date_at(low, at)
            if date is None and (thousands is None or thousands.end() != dotted.end()):
                return [self._version(at, dotted.end())]
        if (before == "v" or before == " " or before == ":") and _VERSION.search(head):
            number = _VERSION_NUMBER.match(low, at)
            if number:
                return [self._version(at, number.end())]
        date = date_at(low, at)
        if date is not None:
            return [self._date(date), *self._clock_after(date.end)]
        clock = clock_at(low, at)
        if clock is not None:
            return self._clock(at, *clock)
        if hours := _HOUR_RANGE.match(low, at):
            after = clock_at(low, hours.end())
            if after is not None and 1 <= int(hours[1]) <= 24:
                late = after[1][0].low
                first = Fraction(int(hours[1]) * 60)
                if first < 720 <= late and first + 720 < late:
                    first += 720
                begin = Value(at, hours.end(1), "time", (Amount("clock", first, first),))
                return [begin, *self._clock(hours.end(), *after)]
        if feet := _FEET.match(low, at):
            inches = int(feet[1]) * 12 + int(feet[2])
            if int(feet[2]) < 12 and ('"' in feet[0] or "''" in feet[0] or "in" in feet[0]):
                length = inches * UNITS["in"].factor
                reading = Amount("length", length, length, "us", UNITS["in"].factor / 2)
                return [Value(at, feet.end(), "measure", (reading,))]
        if ident := self._identifier(at):
            return ident
        return self._quantities(at)

    def _phone(self, at: int, before: str) -> list[Value]:
        """Parse a telephone number, keyed by its last digits: "+44 1632 960471"."""
        match = _PHONE_ABROAD.match(self.low, at) if before == "+" else _PHONE.match(self.low, at)
        if match is None:
            return []
        digits = re.sub(r"\D", "", match[0])
        if not _MIN_PHONE_DIGITS <= len(digits) <= _MAX_PHONE_DIGITS:
            return []
        key = f"tel{digits[-_PHONE_KEY_DIGITS:]}"
        return [Value(at - (before == "+"), match.end(), "identifier", key=key)]

    def _plain_cell(self, at: int) -> list[Value]:
        """Parse a number that fills a table cell without another reading."""
        match = _PLAIN_CELL.match(self.low, at)
        if match is None or (len(match[1]) == 4 and "1000" <= match[1] < "2200"):
            return []
        numeral = figures(self.low, at, False)
        if numeral is None or numeral.end != match.end(1):
            return []
        readings = tuple(Amount("", a, a, "", numeral.step) for a in numeral.amounts)
        if 0 < numeral.amounts[0] < 1:
            readings = (*readings, readings[0]._replace(dimension="share"))
        key = match[1] if "." in match[1] else ""
        amount = numeral.amounts[0]
        return [Value(at, numeral.end, "count", readings, key=key, written=amount)]

    def _enumerator(self, at: int, head: str) -> list[Value]:
        """Parse the number of a list item or section, which is not a value: "2. Fill", "6.1
        Leave".
        """
        line = head.rpartition("\n")[2]
        if (len(line) == len(head) and at > len(head)) or line.strip(" *#>(-"):
            return []
        match = _ENUMERATOR.match(self.text, at)
        if match is None or date_at(self.low, at) is not None:
            return []
        return [Value(at, match.end(), "label")]

    def _attached(self, at: int, before: str) -> list[Value] | None:
        """Parse values whose figures follow a letter, dash or point."""
        low = self.low
        if before == ".":
            if low[at - 2 : at - 1].isalnum():
                return None
            return None
        if before == "-":
            if low.endswith(AGE_LIMITS, 0, at):
                return None
            if low[at - 2 : at - 1].isalpha() and low[at - 2] != "n":
                return self._code(at)
            if low[at - 2 : at - 1].isalpha():
                return self._code(at)
            return None
        if before == "&":
            return None
        head = low[max(0, at - LOOK_BACK) : at]
        if before.isascii() and before.isalpha():
            if CURRENCY_BEFORE.search(head):
                return None
            if _VERSION.search(head):
                number = _VERSION_NUMBER.match(low, at)
                if number:
                    return [self._version(at, number.end())]
            return self._code(at)
        return None if before != "_" else self._code(at)

    def _code(self, at: int) -> list[Value]:
        """Parse an identifier of letters and figures around ``at``: "A320", "HC-20-5518"."""
        low = self.low
        start = at
        while start > max(0, at - _MAX_IDENTIFIER) and (
            low[start - 1].isalnum() or low[start - 1] in "-_"
        ):
            start -= 1
        end = at
        while (
            end < len(low)
            and end < at + _MAX_IDENTIFIER
            and (low[end].isalnum() or (low[end] in "-_" and low[end + 1 : end + 2].isalnum()))
        ):
            end += 1
        return [Value(start, end, "identifier", key=low[start:end].strip("-_"))]

    def _identifier(self, at: int) -> list[Value] | None:
        """Parse a code that begins with figures: "14c", "7f3b2"."""
        match = re.compile(r"\d+[a-z][a-z\d]*(?![^\W_])").match(self.low, at)
        if match is None:
            return None
        suffix = re.sub(r"^\d+", "", match[0])
        if suffix in UNITS or suffix in PERIODS or suffix in CURRENCIES or suffix in CENTS:
            return None
        if suffix in ("st", "nd", "rd", "th", "k", "m", "b", "bn", "mn", "tn", "x", "s", "er"):
            return None
        cased = re.sub(r"^\d+", "", self.text[at : match.end()])
        if cased in UNITS or re.fullmatch(r"e\d{1,3}", suffix) or re.match(r"x\d|h\d", suffix):
            return None
        if re.fullmatch(r"(?:mio|mrd|pm|am|m2|m3|km2|million|billion)", suffix):
            return None
        return self._code(at)

    def _version(self, start: int, end: int) -> Value:
        text = self.low[start:end]
        parts = tuple(Fraction(int(n)) for n in re.findall(r"\d{1,9}", text)[:6])
        return Value(start, end, "version", parts=parts, key=text)

    def _date(self, found: DateFound) -> Value:
        if len(found.dates) == 2 and found.dates[0][0] == found.dates[1][0]:
            first = self._order()
            if first is not None and found.dates[0][1:] != found.dates[1][1:]:
                found = found._replace(dates=found.dates[:1] if first else found.dates[1:])
        return Value(found.start, found.end, "date", found.years, found.dates)

    def _order(self) -> bool | None:
        """Return True if numeric dates of the text put the day first, None if unknown."""
        if not self._order_known:
            self._order_known = True
            low = self.low
            if hint := _DATE_HINT.search(low):
                self._day_first = hint[1] is not None
            else:
                seen = {
                    int(m[1]) > 12
                    for m in _SLASHED.finditer(low)
                    if (12 < int(m[1]) <= 31) != (12 < int(m[2]) <= 31)
                }
                self._day_first = seen.pop() if len(seen) == 1 else None
        return self._day_first

    def _clock_after(self, end: int) -> list[Value]:
        match = re.compile(r"t?(?=\d\d:\d\d)").match(self.low, end)
        if match is None or (self.low[end - 1 : end] != "t" and not match[0]):
            return []
        clock = clock_at(self.low, match.end())
        return self._clock(match.end(), *clock) if clock else []

    def _clock(self, at: int, end: int, readings: tuple[Amount, ...]) -> list[Value]:
        low = self.low
        parts: tuple[Fraction, ...] = ()
        if score := _SCORE.fullmatch(low, at, end):
            parts = Fraction(int(score[1])), Fraction(int(score[2]))
        elif length := _LENGTH.fullmatch(low, at, end):  # also of a race
            hours, minutes, seconds = (int(n) for n in length.groups())
            total = Fraction(hours * 3600 + minutes * 60 + seconds)
            readings = (*readings, Amount("time", total, total))
        values = [self._with_cues(Value(at, end, "time", readings, parts=parts))]
        if match := re.compile(r" ?(?:-|to|until|till|bis) ?(?=\d)").match(low, end):
            after = clock_at(low, match.end())
            if after is not None:
                values += self._clock(match.end(), *after)
        return values

    def _words(self, at: int) -> list[Value]:
        low = self.low
        word = re.compile(r"[a-z]+").match(low, at)
        first = word[0] if word else ""
        if first in CLOCK:
            minutes = Fraction(CLOCK[first])
            return [Value(at, at + len(first), "time", (Amount("clock", minutes, minutes),))]
        if first in TIMES:
            end = at + len(first)
            amount = Fraction(TIMES[first])
            per, end = self._per(end, end)
            if first == "once" and not per:
                return []
            reading = Amount("", amount, amount)
            return [Value(at, end, "count", (reading,), per=per, noun="times", spelt=True)]
        if first in ("half", "quarter"):
            return self._part(at, first)
        start = at
        article = low[max(0, at - 2) : at] in ("a ", " a") or low[max(0, at - 2) : at] == "a "
        if first in ("hundred", "thousand", "million", "billion", "dozen", "dozens"):
            if low[max(0, at - 2) : at] != "a " or (at > 2 and low[at - 3].isalnum()):
                if first != "dozen":
                    return []
            else:
                start = at - 2
            if first not in ("hundred", "dozen"):
                end = at + len(first)
                amount = Fraction({"thousand": 10**3, "million": 10**6, "billion": 10**9}[first])
                numeral = Numeral(start, end, (amount,), Fraction(0), first, True, scaled=True)
                return self._quantities(start, numeral)
        numeral_found = spelt(low, at)
        if numeral_found is None or numeral_found.end <= at:
            return []
        numeral = numeral_found._replace(start=start)
        if numeral.ordinal:
            return self._ordinal(numeral, article)
        if numeral.text.strip() == "one" and not self._one_counts(numeral.end):
            return []
        return self._quantities(start, numeral)

    def _one_counts(self, end: int) -> bool:
        """Return True if "one" before ``end`` is a number: a unit or "of three" follows."""
        low = self.low
        unit, _, currency, _ = self._unit(end, True)
        if unit is not None or currency:
            return True
        if re.compile(
            r"(?: out of | in |-)(?:\d|two|three|four|five|six|seven|eight|nine|ten|twenty)"
        ).match(low, end):
            return True
        return len(low) < _SHORT_TEXT and low.strip(" .!?\"'*`$()[]") == "one"

    def _part(self, at: int, first: str) -> list[Value]:
        """Parse "Half", "a quarter": a share, or part of what follows ("half a million")."""
        low = self.low
        end = at + len(first)
        start = at
        head = low[max(0, at - 12) : at]
        if re.search(
            r"(?:first|second|third|fourth|other|last|better|next|this|each|per|every) $", head
        ):
            return []
        if re.search(r"(?<![^\W_])(?:a|one) $", head):
            start = at - 2 if head.endswith("a ") else at - 4
            if whole := _AND_A_HALF.search(low[max(0, at - LOOK_BACK) : at]):
                return self._and_a_half(at, end, whole)
        elif first == "quarter":
            return []
        amount = PARTS[first]
        article = _OF_QUANTITY.match(low, end) or re.compile(r" of an? |-| ").match(low, end)
        if article:
            scale = re.compile(
                r"(?:hundred|thousand|million|billion|trillion|dozen)(?![^\W_])"
            ).match(low, article.end())
            factor = 1
            after = article.end() - 1
            if scale:
                names = {"hundred": 100, "thousand": 10**3, "million": 10**6, "dozen": 12}
                names |= {"billion": 10**9, "trillion": 10**12}
                factor, after = names[scale[0]], scale.end()
            unit = self._unit(after, True)
            if scale or unit[0] is not None:
                numeral = Numeral(
                    start, after, (amount * factor,), Fraction(0), first, True, scaled=bool(scale)
                )
                return self._quantities(start, numeral)
        if not _HALF_OF.match(low, end) and not self._cues(start, end)[0]:
            return []
        readings = (Amount("share", amount, amount), Amount("", amount, amount))
        return [self._with_cues(Value(start, end, "ratio", readings, spelt=True))]

    def _and_a_half(self, at: int, end: int, whole: re.Match[str]) -> list[Value]:
        """Parse "An hour and a half": one of a unit and part of another."""
        unit = UNITS.get(whole[1])
        if unit is None:
            return []
        amount = (1 + PARTS[self.low[at:end]]) * unit.factor
        start = at - (len(whole.string) - whole.start())
        reading = Amount(unit.dimension, amount, amount, unit.system)
        kind: Kind = "duration" if unit.dimension == "time" else "measure"
        return [self._with_cues(Value(start, end, kind, (reading,), spelt=True))]

    def _ordinal(self, numeral: Numeral, article: bool) -> list[Value]:
        low = self.low
        number = numeral.amounts[0]
        if span := century(low, numeral.end, int(number)):
            return [Value(numeral.start, span[1], "date", (span[0],), ((None, None, None),))]
        if date := spelt_day(low, numeral.start, numeral.end, int(number)):
            return [self._date(date)]
        word = numeral.text.strip()
        if (
            article
            and number > 2
            and (
                low.startswith((" of", ".", ",", " as"), numeral.end)
                or self._cues(numeral.start - 2, numeral.end)[0]  # "about a third"
            )
        ):
            part = Fraction(1, int(number))
            readings = (Amount("share", part, part), Amount("", part, part))
            value = Value(numeral.start - 2, numeral.end, "ratio", readings, spelt=True)
            return [self._with_cues(value)]
        if word == "second" and article:
            return []
        noun = self._noun(numeral.end)
        return [
            Value(
                numeral.start,
                numeral.end,
                "ordinal",
                (Amount("", number, number),),
                noun=noun,
                spelt=True,
            )
        ]

    def _romans(self) -> list[Value]:
        text = self.text
        found = []
        for match in _ROMAN.finditer(text):
            token = match[0]
            number = roman(token)
            if number is None:
                continue
            head = text[max(0, match.start() - 20) : match.start()]
            cue = _ROMAN_CUE.search(lowered(head)) is not None
            short = len(token) > 1 and number < 40 and set(token) <= set("IVX")
            named = len(token) > 1 and _NAME_BEFORE.search(head) is not None
            starts = not head.strip() or head.endswith("\n")
            pointed = text[match.end() : match.end() + 1] == "."
            alone = len(token) > 1 and not head.strip() and not text[match.end() :].strip(" .!?")
            if not (cue or alone or (short and (named or (starts and pointed) or len(token) > 1))):
                continue
            if len(token) == 1 and not cue:
                continue
            amount = Fraction(number)
            found.append(
                Value(
                    match.start(),
                    match.end(),
                    "ordinal" if not cue and not alone else "count",
                    (Amount("", amount, amount),),
                    label=True,
                    spelt=True,
                )
            )
        return found


def _shared_units(values: list[Value], low: str) -> list[Value]:
    """Give bare numbers the unit of their neighbour: "costs 3 and copper 7 euros"."""
    out = list(values)
    for i, j in pairwise([i for i, value in enumerate(values) if not value.label]):
        a, b = out[i], out[j]
        if not 0 < b.start - a.end <= _MAX_GAP:
            continue
        gap = low[a.end : b.start]
        if any(c in ".!?\n;" for c in gap):
            continue
        if _takes(a) and _gives(b) and gap.startswith((" and ", " or ", ", ")):
            out[i] = _with_unit_of(a, b)
        elif (
            _takes(b)
            and _gives(a)
            and not b.noun
            and _ENDS_CLAUSE.match(low, b.end)
            and (" and " in gap or "," in gap or " to " in gap or gap == " (")  # "7.5 % (9.9)"
        ):
            out[j] = _with_unit_of(b, a)
    return out


def _takes(value: Value) -> bool:
    return (
        value.kind == "count"
        and not value.noun
        and not value.label
        and not value.dates
        and value.written is not None
        and value.readings[0].dimension == ""
    )


def _gives(value: Value) -> bool:
    return (
        value.kind in ("count", "money", "percent", "measure", "duration", "points")
        and bool(value.written)
        and not value.dates
        and value.readings[0].dimension != "temperature"
        and (value.kind != "count" or value.readings[0].low != value.written)
    )


def _with_unit_of(bare: Value, full: Value) -> Value:
    """Return ``bare`` with a second reading in the unit and scale of ``full``."""
    first = full.readings[0]
    if not full.written or bare.written is None:
        return bare
    factor = abs(first.low / full.written)
    amount = bare.readings[0].low * factor
    reading = first._replace(low=amount, high=amount, step=bare.readings[0].step * factor)
    return replace(bare, readings=(*bare.readings, reading), per=bare.per or full.per)
