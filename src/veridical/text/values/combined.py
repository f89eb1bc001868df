"""Ranges, pairs, ratios, compound amounts and years."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from veridical.text.values.dates import DateFound, century, clock_at, date_at, years_at
from veridical.text.values.numerals import Numeral, base_amount, figures
from veridical.text.values.quantities import LABEL, LOOK_BACK, SPELT_WORDS, Quantities, Quantity
from veridical.text.values.value import Amount, Kind, Value

_RANGE = re.compile(r"( ?- ?| to | bis | through | until | till | à | and )")
#: A dash between parts of a sentence: "line 2 — 9 October" is no range.
_ASIDE = re.compile(r" \N{EM DASH} ")
_PAIR_BARE = re.compile(r"(\d{1,4}) ?([-:/]) ?(\d{1,4})(?![\d\w%°/:]|[.,-]\d)")
_COMPOUND_JOINT = re.compile(r",? and |,? ")
_COORDINATE = re.compile(r" ?°? ?([nsewo])(?![^\W_])")
_BETWEEN = re.compile(r"(?<![^\W_])between (?:[$€£¥] ?)?$")
_FROM = re.compile(r"(?<![^\W_])(?:from|von) (?:[$€£¥] ?|(?:usd|eur|gbp) )?$")
_ORDINAL_MARK = re.compile(r"(?:st|nd|rd|th)(?![^\W_])")


class Combined(Quantities):
    """Parser of values made of several numbers."""

    def _quantities(self, at: int, numeral: Numeral | None = None) -> list[Value]:
        """Parse the value at ``at``, including the value that contains it."""
        low = self.low
        if numeral is None and low[at].isdigit():
            years = years_at(low, at)
            if years is not None and (year_values := self._year(at, years)):
                return year_values
            if ordinal := self._figure_ordinal(at):
                return ordinal
            if pair := self._bare_pair(at):
                return pair
        first = self._quantity(at, numeral)
        if first is None:
            return []
        coordinate = self._coordinate(first)
        if coordinate is not None:
            return [coordinate]
        whole = self._compound(first)
        if whole is not None:
            return [whole]
        if joined := self._joined(first):
            return joined
        return [self._value(first)]

    def _figure_ordinal(self, at: int) -> list[Value]:
        low = self.low
        match = re.compile(r"\d{1,6}").match(low, at)
        if match is None:
            return []
        number = int(match[0])
        mark = _ORDINAL_MARK.match(low, match.end())
        if span := century(low, match.end(), number):
            return [Value(at, span[1], "date", (span[0],), ((None, None, None),))]
        if mark is None:
            return []
        amount = Fraction(number)
        noun = self._noun(mark.end())
        return [Value(at, mark.end(), "ordinal", (Amount("", amount, amount),), noun=noun)]

    def _year(self, at: int, years: DateFound) -> list[Value]:
        low = self.low
        _, _, currency = self._before(at)
        if currency:
            return []
        if years.end - at == 4:
            numeral = figures(low, at, False)
            unit, name, money, _ = self._unit(at + 4, False)
            if numeral is None or numeral.end != at + 4 or money:
                return []
            if unit is not None and name not in ("s", "in", "a", "A"):
                return []
            count = Amount("", numeral.amounts[0], numeral.amounts[0], "", Fraction(1, 2))
            noun = self._noun(years.end)
            kind: Kind = "date" if years.sure else "count"
            measured = self._unit_before(at, numeral.amounts, count.step)
            readings = years.years if years.sure else (count, *measured, *years.years)
            if (
                years.sure
                and noun
                and not low.startswith(
                    (
                        "in ",
                        "(",
                    ),
                    max(0, at - 3),
                )
            ):
                readings = (*years.years, count)
                kind = "count"
            written = numeral.amounts[0]
            value = Value(at, years.end, kind, readings, years.dates, noun=noun, written=written)
            if LABEL.search(low[max(0, at - LOOK_BACK) : at]):
                value = replace(value, label=True)
            pair = _PAIR_BARE.match(low, at)
            if pair and not years.sure and pair[2] != "-":
                return []
            return [self._with_cues(value)]
        return [Value(years.start, years.end, "date", years.years, years.dates)]

    def _bare_pair(self, at: int) -> list[Value]:
        """Parse "3-1", "120/80", "1:3": ordered pairs; "3-5" may also be a range."""
        low = self.low
        match = _PAIR_BARE.match(low, at)
        if match is None or _ASIDE.match(self.written, match.end(1)):
            return []
        if low.startswith(": ", match.end(1)):  # "Serves 4: 2 leeks"
            return []
        start, sign, currency = self._before(at)
        if currency:
            return []
        a, mark, b = Fraction(int(match[1])), match[2], Fraction(int(match[3]))
        unit, _, money, _ = self._unit(match.end(), False)
        readings: tuple[Amount, ...] = ()
        if mark == "-":
            if unit is not None or money or _BETWEEN.search(low[max(0, at - 10) : at]):
                return []
            if re.compile(r" (?:thousand|million|billion|percent|per cent)").match(
                low, match.end()
            ):
                return []
            if a < b:
                readings = (Amount("", a, b),)
        elif unit is not None and mark == "/" and b:
            return []
        elif mark == "/" and b:
            part = sign * a / b
            readings = (Amount("", part, part),)
            if a < b:
                readings = (Amount("share", part, part), *readings)
        noun = self._noun(match.end())
        kind: Kind = "ratio" if mark == "/" and readings and a < b else "pair"
        if mark == "/":
            at, a = start, sign * a
        value = Value(at, match.end(), kind, readings, parts=(a, b), noun=noun)
        if mark == "/":
            return [self._with_cues(value)]
        return [
            self._with_cues(value),
            *(
                Value(match.start(g), match.end(g), "count", (Amount("", n, n),), written=n)
                for g, n in ((1, a), (3, b))
            ),
        ]

    def _coordinate(self, q: Quantity) -> Value | None:
        if q.unit is None or q.unit.dimension not in ("latitude", "longitude", "angle"):
            return None
        number = q.numeral.amounts[0] * q.sign
        if q.unit.dimension == "angle":
            match = _COORDINATE.match(self.low, q.end)
            if match is None or self.text[match.start(1)].islower():
                return None
            sign = -1 if match[1] in "sw" else 1
            dimension = "latitude" if match[1] in "ns" else "longitude"
            reading = Amount(dimension, number * sign, number * sign, "", q.numeral.step)
            return Value(q.start, match.end(), "coordinate", (reading,))
        number *= q.unit.factor
        reading = Amount(q.unit.dimension, number, number, "", q.numeral.step)
        return Value(q.start, q.end, "coordinate", (reading,))

    def _compound(self, first: Quantity) -> Value | None:
        """Parse "2 hours and 15 minutes" or "5 feet 10 inches" as one amount."""
        unit = first.unit
        if unit is None or unit.dimension not in ("time", "length", "mass"):
            return None
        low = self.low
        total = first.numeral.amounts[0] * unit.factor
        factor, end, count = unit.factor, first.end, 1
        step = first.numeral.step * unit.factor
        while count < 4:
            joint = _COMPOUND_JOINT.match(low, end)
            if joint is None:
                break
            char = low[joint.end() : joint.end() + 1]
            if not char or not (char.isdigit() or char.isalpha()):
                break
            following = self._quantity(joint.end())
            if following is None or following.unit is None or following.sign < 0:
                break
            smaller = following.unit
            if smaller.dimension != unit.dimension or smaller.factor >= factor:
                break
            if following.numeral.amounts[0] * smaller.factor >= factor:
                break
            total += following.numeral.amounts[0] * smaller.factor
            factor, end, count = smaller.factor, following.end, count + 1
            step = following.numeral.step * smaller.factor
        if count == 1:
            return None
        reading = Amount(unit.dimension, total, total, unit.system, step)
        kind: Kind = "duration" if unit.dimension == "time" else "measure"
        return self._with_cues(Value(first.start, end, kind, (reading,)))

    def _joined(self, first: Quantity) -> list[Value]:
        """Parse a range, a change from one amount to another, or a ratio from ``first`` on."""
        low = self.low
        end = first.end
        if low[end : end + 1] not in (" ", "-", "/", ":"):
            return []
        match = _RANGE.match(low, end)
        if match and (
            _ASIDE.match(self.written, end)
            or (match[1] == " to " and low.endswith(" by ", 0, first.start))  # "up by 35 to 412"
        ):
            match = None
        if match:
            joint = match[1].strip()
            head = low[max(0, first.start - 12) : first.start]
            changes = _FROM.search(head) is not None
            if (joint == "and" and not _BETWEEN.search(head)) or (
                joint in ("until", "till", "through", "à") and not changes
            ):
                match = None
        if match:
            at = match.end()
            if low[at : at + 1] in "$€£":
                at += 1
            elif money := re.compile(r"(?:usd|eur|gbp) ?").match(low, at):
                at = money.end()
            char = low[at : at + 1]
            second = self._quantity(at) if char and (char.isdigit() or char.isalpha()) else None
            if not first.bare and char.isdigit() and (date_at(low, at) or clock_at(low, at)):
                second = None  # "moved by two weeks to 17 May"
            if second is not None and (char.isdigit() or re.compile(SPELT_WORDS).match(low, at)):
                made = self._range(first, second, changes or joint == "to")
                if made:
                    return made
        return self._ratio(first)

    def _range(self, first: Quantity, second: Quantity, ordered: bool) -> list[Value]:
        unit, currency = second.unit, second.currency or first.currency
        if (
            first.unit is not None
            and second.unit is not None
            and first.unit.dimension != second.unit.dimension
        ):
            return []
        if first.bare and not second.bare:
            first = first._replace(
                unit=unit,
                currency=currency,
                unit_name=second.unit_name,
            )
            if second.numeral.scaled and not first.numeral.scaled:
                first = _scaled_like(first, second)
        elif (
            first.numeral.text and second.numeral.scaled and not first.numeral.scaled and first.bare
        ):
            first = _scaled_like(first, second)
        elif second.bare and not first.bare:
            second = second._replace(unit=first.unit, currency=first.currency)
        a, b = self._value(first), self._value(second)
        x, y = a.readings[0], b.readings[0]
        if x.dimension != y.dimension:
            return []
        low_end, high_end = min(x.low, y.low), max(x.low, y.low)
        reading = Amount(x.dimension, low_end, high_end, x.unit, max(x.step, y.step))
        per, end = self._per(second.end, second.end)
        kind: Kind = "range" if x.low <= y.low or ordered else "pair"
        whole = Value(
            first.start,
            max(end, second.end),
            kind,
            (reading,),
            parts=(x.low, y.low),
            per=per,
            noun=b.noun,
        )
        return [self._with_cues(whole), replace(a, per=per), b]

    def _ratio(self, first: Quantity) -> list[Value]:
        """Parse "Two of three" or "3 in 10"."""
        low = self.low
        if not first.bare:
            return []
        joint = re.compile(
            r" (?:out of(?: the| every)?|of(?: the)?|in(?: every)?) (?=\d|[a-z])"
        ).match(low, first.end)
        if joint is None:
            return []
        char = low[joint.end()]
        if not char.isdigit() and not re.compile(SPELT_WORDS).match(low, joint.end()):
            return []
        if char.isdigit():
            if date_at(low, joint.end()) or clock_at(low, joint.end()):
                return []
            years = years_at(low, joint.end())
            if years is not None:
                return []
        second = self._quantity(joint.end())
        if second is None or not second.bare or second.numeral.ordinal:
            return []
        a, b = first.numeral.amounts[0], second.numeral.amounts[0]
        word = joint[0].split()[0]
        if word == "in" and (b not in (2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 1000) or a >= b):
            return []
        if not b or b.denominator != 1:
            return []
        readings = (Amount("share", a / b, a / b),) if a <= b else ()
        whole = Value(
            first.start,
            second.end,
            "ratio",
            readings,
            parts=(a, b),
            spelt=first.numeral.spelt,
            noun=self._noun(second.end),
        )
        inner = self._value(first)
        inner = replace(inner, readings=tuple(r for r in inner.readings if not r.dimension))
        return [self._with_cues(whole), inner, self._value(second)]


def _scaled_like(first: Quantity, second: Quantity) -> Quantity:
    """Return ``first`` in the scale of ``second``: "40 to 50 million"."""
    numeral = second.numeral
    head = re.match(r"[\d.,]+", numeral.text)
    base = None
    if head:
        base = base_amount(head[0].strip(".,"))
    if not base:
        return first
    factor = numeral.amounts[0] / base
    scaled = tuple(a * factor for a in first.numeral.amounts)
    return first._replace(
        numeral=first.numeral._replace(
            amounts=scaled, step=first.numeral.step * factor, scaled=True
        )
    )
