"""Numbers with units, currencies and rates, and their ranges and pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from veridical.text.memo import kept
from veridical.text.values.folding import folded, lowered
from veridical.text.values.numerals import Numeral, figures, leading_point, spelt
from veridical.text.values.units import (
    CENTS,
    CURRENCIES,
    CURRENCY_PHRASES,
    PERIODS,
    PHRASES,
    POUNDS,
    UNITS,
    MeasureUnit,
)
from veridical.text.values.value import Amount, Bound, Kind, Value
from veridical.text.values.words import SPELT, VULGAR

LOOK_BACK = 28  # characters before a number that may qualify it
_LOOK_BACK_FOR_BOUND = 40
SPELT_WORDS = "|".join(
    f"{first}(?:{'|'.join(w[1:] for w in sorted(SPELT, key=len, reverse=True) if w[0] == first)})"
    for first in sorted({w[0] for w in SPELT})
)
#: Before a number that names something: "chapter 4".
LABEL = re.compile(
    r"(?<![^\W_])(chapter|step|room|no|number|nr|figure|fig|sec|section|table|page|vol|volume|"
    r"article|art|question|group|level|class|route|line|bus|gate|platform|door|track|order|"
    r"invoice|phase|season|episode|grade|type|paragraph|clause|item|option|tier|flight|model|"
    r"issue|ticket|case|id|code|apartment|suite|floor|schritt|kapitel|seite|zimmer|"
    r"plan|team|player|sample|trial|zone|site|variant|package|patient|scenario)"
    r"(?: number| no\.?| nr\.?)?[.:]? ?#?$|#$|§ ?$"
)
_SIGN_WORD = re.compile(r"(?<![^\W_])(?:minus|negative) $")
CURRENCY_BEFORE = re.compile(
    r"(us\$|hk\$|nz\$|[acr]\$|[$€£¥₹₩₽₪]|(?<![^\W_])(?:usd|eur|gbp|chf|jpy|cad|aud|inr|rs\.?|sek|"
    r"nok|dkk|pln|czk|cny|rmb|krw|btc|mxn|brl)) ?$"
)
_APPROX = re.compile(
    r"(?<![^\W_])(?:about|around|almost|nearly|approximately|approx\.?|roughly|some|circa|ca\.?|c\.|"
    r"close to|just over|just under|a little over|a little under|well over|more or less|"
    r"an estimated|estimated|rund|etwa|ungefähr|fast|knapp|environ|cerca de|unos|unas|circa)"
    r"(?: an?)? $|[~≈∼±] ?$"
)
_MORE = re.compile(
    r"(?<![^\W_])(?:over|more than|at least|above|exceeds?|exceeding|greater than|higher than|"
    r"no less than|no fewer than|not less than|minimum of|a minimum of|upwards of|longer than|"
    r"beyond|not before|no earlier than|mehr als|über|mindestens|plus de|más de)(?: an?)? $|[>≥] ?$"
)
_LESS = re.compile(
    r"(?<![^\W_])(?:under|less than|below|up to|at most|fewer than|maximum of|a maximum of|"
    r"no more than|not more than|no later than|not later than|lower than|"
    r"no longer than|shorter than|"
    r"unter|weniger als|höchstens|bis zu|moins de|menos de)(?: an?)? $|[<≤] ?$"
)
_NOT_BEFORE = re.compile(
    # "do not use for more than 7 days", not "has not been seen for more than 60 years"
    r"(?<![^\W_])(?:(?:not|never|no|cannot|n't)(?: [a-z]+)?|"
    r"(?:(?:do|must|should|may|can) not|(?:don|mustn|shouldn|can)'t|never|cannot)(?: [a-z]+){1,3}) "
    r"(?:more|over|longer|above|"
    r"exceed|beyond|greater|higher|less|fewer)[a-z]*(?: than)? $"
)
#: "No later than 15 days before" is at least 15 days before.
_LATER = re.compile(r"later than $")
_BEFORE_THAT = re.compile(r"[a-z' ]{0,20}(?:before|prior|in advance|ahead)(?![^\W_])")
_BOUND_AFTER = re.compile(
    r",? (?:(at the (?:earliest|(?:very )?least)|or (?:more|longer|over|above|older|later)|minimum|"
    r"at least|and (?:over|above|up|older)|mindestens|frühestens)|at the (?:latest|(?:very )?most)|"
    r"or (?:less|fewer|under|below|younger|earlier|shorter)|maximum|at most|tops|höchstens|"
    r"spätestens)(?![^\W_])"
)
_PHRASE = re.compile(
    rf"[ -]?({'|'.join(re.escape(p) for p in sorted(PHRASES, key=len, reverse=True))})(?![^\W_])"
)
AGE_LIMITS = ("under-", "over-")
_AGED = re.compile(r"s(?![^\W_])")  # "under-12s"
_PHRASE_STARTS = frozenset(p[0] for p in PHRASES)
_MONEY_PHRASE = re.compile(
    rf"[ -]({'|'.join(re.escape(p) for p in sorted(CURRENCY_PHRASES, key=len, reverse=True))})"
    r"(?![^\W_])"
)
#: A unit of time after an adjective: "five unused days".
_ATTRIBUTED = re.compile(
    r" (?:unused|full|whole|entire|consecutive|calendar|additional|extra|further|paid|straight) "
    r"((?:minute|hour|day|week|month|year)s?)(?![^\W_])"
)
_MONEY_STARTS = frozenset(p[0] for p in CURRENCY_PHRASES)
#: Text after figures: scale and currency, as in "6.0 m€" and "85 TEUR".
_SCALED_MONEY = re.compile(
    r" ?(?:(k|m|mn|bn|mio\.?|mrd\.?) ?([€$£])|([tkm])(eur|usd|chf|gbp))(?![^\W_])"
)
_CURRENCY_NAME = re.compile(
    r"us\$|hk\$|nz\$|[acr]\$|[$€£¥₹₩₽₪]|(?<![^\W_])(?:[a-z]{3}|euros?|dollars?|francs?|"
    r"rupees?|kronor|kroner|yuan)(?![^\W_])"
)
_SCALE_NAMES = {
    scale: re.compile(rf"(?<![^\W_])(?:{names})(?![^\W_])|[€$£] ?(?:{short})(?![^\W_])")
    for scale, names, short in (
        (10**3, r"thousands?|[tk](?:eur|usd|chf|gbp|[€$£])|tsd|milliers", "k|000"),
        (10**6, r"millions?|m(?:eur|usd|chf|gbp|[€$£])|mio|mn|millionen", "m|mn|mio"),
        (10**9, r"billions?|bn[€$£]?|mrd|milliarden", "b|bn"),
    )
}
_MONEY_SCALES = {"t": 10**3, "k": 10**3, "m": 10**6, "mn": 10**6, "mio": 10**6} | dict.fromkeys(
    ("bn", "mrd"), 10**9
)
#: Text before a bare number, with its unit: "timeout_s: 30", "(ms, default 2000)"; and in camel
#: case: "readTimeoutMs = 500".
_KEY_UNIT = re.compile(
    r"(?:_(ms|s|secs?|seconds|mins?|minutes|h|hrs|hours|days|weeks|months|years|[kmg]b|bytes|kg|m?g|ml|"
    r"km|cm|mm|m2|pct|percent|eur|usd|gbp|chf)[\"']? ?[:=] ?[\"']?"
    r"|\((ms|s|seconds|minutes|hours|days)[,;] default:? )$"
)
_CAMEL_UNIT = re.compile(
    r"[a-z](Ms|Secs?|Seconds|Mins?|Minutes|Hours|Days|Weeks|Months|Years)[\"']? ?[:=] ?[\"']?$"
)
_UNIT = re.compile(
    r"[ -]?(°[cfkCFK](?![^\W_])|[°%‰¢$€£¥₹₽₩℃℉]|[^\W\d_]+[²³]?(?:[23](?!\w))?(?:/[^\W\d_]+)?)"
)
_PER = re.compile(
    r" ?(?:/|(?<= )per |(?<= )an? |(?<= )each |(?<= )every |(?<= )pro |(?<= )par |(?<= )por )"
    r"(?:calendar )?([a-zäöü]+)(?![^\W_])(?! (?:ago|before|earlier|later|old)(?![^\W_]))"
    r"| (daily|weekly|monthly|yearly|annually|quarterly)(?![^\W_])"
    r"|, (daily|weekly|monthly|yearly|annually|quarterly)(?= ?(?:[.,;:)]|$))"
)
#: Text after a fraction: "three quarters of an hour".
_OF_ONE = re.compile(r" of an? ([a-z]+)(?![^\W_])")
#: Text after a number of years: it is an age, which may lack its unit ("Ann Lee, 31").
_AGE = re.compile(r"[ -](?:old|of age)(?![^\W_])")
_AGE_BEFORE = re.compile(
    r"(?<![^\W_])(?:age of|aged|ages?) (?:\d{1,3}(?: ?- ?| to | and | or | bis ))?$"
)
_EACH = re.compile(r" (?:each|apiece|per (?:person|head|piece|unit|item))(?![^\W_])")
_NOUN = re.compile(r"(?: |-)((?:[^\W\d_]|')+)(?: ((?:[^\W\d_])+))?")
#: Word units of English numbers in words; short signs need figures.
_SPELT_UNIT_LETTERS = 3
_NOT_AFTER_WORDS = frozenset(["bar", "ton", "mes", "min", "sec", "real", "franc", "fr", "crown"])
#: A currency that belongs to the number after it, at the end of a clause.
_NEXT_PRICE = re.compile(r" \d[\d.,]*(?=[.,;:)] |[.,;)]?$|\n)")
#: Unit signs that are also words, so they must be attached or end a clause.
_ALSO_WORDS = frozenset(["in", "a", "A", "d", "t", "T", "mo", "an", "as"])
_STOP_NOUNS = frozenset(
    [
        "of",
        "the",
        "a",
        "an",
        "in",
        "on",
        "at",
        "to",
        "and",
        "or",
        "for",
        "from",
        "by",
        "with",
        "is",
        "was",
        "are",
        "were",
        "be",
        "been",
        "have",
        "has",
        "had",
        "do",
        "does",
        "did",
        "will",
        "would",
        "can",
        "could",
        "as",
        "than",
        "that",
        "which",
        "who",
        "it",
        "its",
        "this",
        "these",
        "those",
        "they",
        "he",
        "she",
        "we",
        "you",
        "i",
        "not",
        "no",
        "so",
        "but",
        "if",
        "when",
        "where",
        "while",
        "per",
        "more",
        "less",
        "other",
        "others",
        "each",
        "all",
    ]
)
_HOURS = frozenset(Fraction(n) for n in range(1, 13))
_AT = re.compile(r"(?<![^\W_])(?:at|until|till|around|by|from|before|after|um|à|past) $")


class Quantity(NamedTuple):
    """A number with its unit in ``[start:end]``, before ranges and pairs are parsed."""

    start: int
    end: int
    numeral: Numeral
    sign: int
    unit: MeasureUnit | None
    unit_name: str
    currency: str
    unit_end: int

    @property
    def bare(self) -> bool:
        return self.unit is None and not self.currency


class Quantities:
    """Parser of quantities."""

    def __init__(self, text: str) -> None:
        self.written = text
        self.text = folded(text)
        self.low = lowered(self.text)

    def _with_cues(self, value: Value) -> Value:
        approx, bound = self._cues(value.start, value.end)
        return replace(value, approx=approx, bound=bound) if approx or bound else value

    def _cues(self, start: int, end: int) -> tuple[bool, Bound]:
        """Return True for an approximate value, and the side of a bound."""
        if after := _BOUND_AFTER.match(self.low, end):
            return False, ">" if after[1] else "<"
        head = self.low[max(0, start - _LOOK_BACK_FOR_BOUND) : start]
        if not head or head[-1] not in " ~≈∼±<>≥≤":
            return False, ""
        if negated := _NOT_BEFORE.search(head):
            less = re.search(r"(?:less|fewer)(?: than)? $", negated[0])
            return False, ">" if less else "<"
        if _MORE.search(head):
            return False, ">"
        if _LESS.search(head):
            ahead = _LATER.search(head) and _BEFORE_THAT.match(self.low, end)
            return False, ">" if ahead else "<"
        return _APPROX.search(head) is not None, ""

    def _unit(self, end: int, words: bool) -> tuple[MeasureUnit | None, str, str, int]:
        """Return unit, name, currency and end of the text after a number."""
        low, text = self.low, self.text
        if end >= len(low):
            return None, "", "", end
        nextchar = low[end]
        if nextchar not in " -°%‰¢$€£¥₹₽₩℃℉µ" and not nextchar.isalpha():
            return None, "", "", end
        start = end + (nextchar in " -")
        if low[start : start + 1] in _PHRASE_STARTS and (phrase := _PHRASE.match(low, end)):
            return PHRASES[phrase[1]], phrase[1], "", phrase.end()
        if attributed := _ATTRIBUTED.match(low, end):
            name = attributed[1]
            return UNITS[name], name, "", attributed.end()
        if low[start : start + 1] in _MONEY_STARTS and (money := _MONEY_PHRASE.match(low, end)):
            return None, money[1], CURRENCY_PHRASES[money[1]], money.end()
        match = _UNIT.match(text, end)
        if match is None:
            return None, "", "", end
        name = match[1]
        last = match.end()
        low_name = lowered(name)
        if low[last : last + 1].isdigit():  # "40 A1 posters"
            return None, "", "", end
        if (
            words
            and (len(low_name) < _SPELT_UNIT_LETTERS or low_name in _NOT_AFTER_WORDS)
            and name not in "°%"
            and low_name
            not in (
                "kg",
                "km",
                "cm",
                "mm",
                "mg",
                "gb",
                "mb",
                "tb",
                "pm",
            )
        ):
            return None, "", "", end
        if low_name in CENTS:
            return None, low_name, "cent", last
        if low_name in POUNDS:
            return UNITS["lb"], "pound", "GBP", last
        currency = CURRENCIES.get(low_name)
        if currency and low_name.isalpha() and _NEXT_PRICE.match(low, last):
            return None, "", "", end  # "under 12 CHF 38"
        if currency and not (nextchar == "-" and low_name in "$€£¥"):
            return None, low_name, currency, last
        unit = UNITS.get(name) or UNITS.get(low_name)
        if unit is None and "/" in name:
            head, _, tail = name.partition("/")
            unit = UNITS.get(head) or UNITS.get(head.lower())
            low_head = head.lower()
            if low_head in CURRENCIES:
                return None, low_head, CURRENCIES[low_head], match.start(1) + len(head)
            name, last = head, match.start(1) + len(head)
            if unit is None or tail.lower() not in PERIODS:
                return unit, name, "", last if unit else end
        if unit is None:
            return None, "", "", end
        if low_name in _ALSO_WORDS and nextchar == " ":
            if re.compile(r" [^\W\d_]|$").match(low, last) and low_name != "t":
                return None, "", "", end
            if low_name == "in" and low[last + 1 : last + 2].isdigit():  # "ranked 10 in 1968"
                return None, "", "", end
            if name in ("a",):
                return None, "", "", end
        if name in ("N", "S", "E", "W") and not re.compile(r"[,.;) \n]|$").match(low, last):
            return None, "", "", end
        if low_name in ("n", "s", "e", "w") and name.islower() and name != "s" and name != "w":
            return None, "", "", end
        return unit, name, "", last

    def _quantity(self, at: int, numeral: Numeral | None = None) -> Quantity | None:
        low = self.low
        begin = at - leading_point(low, at) if numeral is None else numeral.start
        start, sign, currency = self._before(begin)
        if numeral is None:
            if low[at : at + 1].isdigit() or low[at : at + 1] in VULGAR:
                money = bool(currency) or self.text[at - 1 : at] in "$€£"
                numeral = figures(low, at, bool(money) or self._capital_scale(at))
            elif re.compile(SPELT_WORDS).match(low, at):
                numeral = spelt(low, at)
                if numeral is not None and numeral.ordinal:
                    return None
        if numeral is None:
            return None
        if not numeral.scaled and (scaled := _SCALED_MONEY.match(low, numeral.end)):
            factor = _MONEY_SCALES[(scaled[1] or scaled[3]).rstrip(".")]
            numeral = numeral._replace(
                amounts=tuple(a * factor for a in numeral.amounts),
                step=numeral.step * factor,
                scaled=True,
            )
            currency = CURRENCIES[scaled[2] or scaled[4]]
            return Quantity(start, scaled.end(), numeral, sign, None, "", currency, scaled.end())
        if _AGED.match(low, numeral.end) and low.endswith(AGE_LIMITS, 0, start):
            return Quantity(start, numeral.end, numeral, sign, None, "", currency, numeral.end)
        bracketed = low[start - 1 : start] == "(" and low[numeral.end : numeral.end + 1] == ")"
        unit, name, after, end = self._unit(numeral.end + bracketed, numeral.spelt)
        if bracketed and unit is None:  # not "sixty (60) days"
            after, end = "", numeral.end
        if (
            numeral.share
            and unit is None
            and (of := _OF_ONE.match(low, numeral.end))
            and of[1] in UNITS
        ):
            unit, name, end = UNITS[of[1]], of[1], of.end()
        if after and not currency:
            currency = after
            after = ""
        elif after and after != currency and currency:
            unit, end = None, numeral.end
        if currency and unit is not None and name != "pound" and unit.dimension not in ("share",):
            unit, end = None, numeral.end
        return Quantity(start, end, numeral, sign, unit, name, currency, end)

    def _capital_scale(self, at: int) -> bool:
        """Return True if a capital M or B is attached to the figures at ``at``."""
        match = re.compile(r"[\d.,]{1,12}[MB](?![\w])").match(self.text, at)
        return match is not None

    def _before(self, at: int) -> tuple[int, int, str]:
        """Return the start of a number with sign and currency, its sign, and its currency."""
        low = self.low
        currency = ""
        start = at
        previous = low[at - 1 : at]
        if previous and (previous in "$€£¥₹₩₽₪ -." or previous.isalpha()):
            head = low[max(0, at - 8) : at]
            sign_inside = head.endswith("-") and bool(CURRENCY_BEFORE.search(head[:-1]))
            if sign_inside:
                head = head[:-1]
            if match := CURRENCY_BEFORE.search(head):
                currency = CURRENCIES.get(match[1].rstrip("."), "")
                start = at - (len(head) - match.start()) - sign_inside
                if sign_inside:
                    return start, -1, currency
        sign = 1
        if start and low[start - 1] == "-":
            ahead = low[start - 2 : start - 1] if start > 1 else ""
            if (not ahead or ahead in " \n\t([{:\"'=,|/<>~±+*$€£") and not (
                ahead == " " and low[start - 3 : start - 2].isdigit() and currency == ""
            ):
                sign, start = -1, start - 1
        elif (
            start
            and low[start - 1] == " "
            and (match := _SIGN_WORD.search(low[max(0, start - 10) : start]))
        ):
            sign = -1
            start -= len(match.string) - match.start()
        return start, sign, currency

    def _value(self, q: Quantity) -> Value:
        numeral = q.numeral
        low = self.low
        end = q.end
        amounts = [a * q.sign for a in numeral.amounts]
        readings: list[Amount] = []
        kind: Kind = "count"
        noun = ""
        if q.currency == "cent":
            kind = "money"
            readings = [Amount("money", a / 100, a / 100, "", numeral.step / 100) for a in amounts]
        elif q.currency:
            kind = "money"
            readings = [Amount("money", a, a, q.currency, numeral.step) for a in amounts]
        if q.unit is not None:
            unit = q.unit
            readings += [
                Amount(
                    unit.dimension,
                    (a + unit.offset) * unit.factor,
                    (a + unit.offset) * unit.factor,
                    unit.system,
                    numeral.step * unit.factor,
                )
                for a in amounts
            ]
            if unit.dimension == "angle":
                readings += [
                    Amount(
                        "temperature",
                        (a + scale.offset) * scale.factor,
                        (a + scale.offset) * scale.factor,
                        scale.system,
                        numeral.step * scale.factor,
                    )
                    for a in amounts
                    for scale in (UNITS["°C"], UNITS["°F"])
                ]
            if _AGE.match(low, end):
                readings += [Amount("", a, a, "", numeral.step) for a in amounts]
            kinds: dict[str, Kind] = {"share": "percent", "points": "points", "time": "duration"}
            if kind != "money":
                kind = kinds.get(unit.dimension, "measure")
        if not readings:
            readings = [Amount("", a, a, "", numeral.step) for a in amounts]
            noun = self._noun(end)
            readings += self._unit_before(q.start, amounts, numeral.step)
            if numeral.share or (0 < amounts[0] < 1 and not numeral.spelt):
                share = Amount("share", amounts[0], amounts[0], "", numeral.step)
                readings.insert(0 if numeral.share else 1, share)
                kind = "ratio" if numeral.share else kind
            if (
                not noun
                and q.sign > 0
                and amounts[0] in _HOURS
                and not numeral.scaled
                and _AT.search(low[max(0, q.start - 12) : q.start])
            ):
                hour = amounts[0] * 60
                readings += [
                    Amount("clock", minutes % 1440, minutes % 1440)
                    for minutes in (hour, hour + 720)
                ]
        per, after = self._per(end, end, bool(q.unit or q.currency))
        if not per and noun:
            noun_end = end + 1 + len(noun)
            per, after = self._per(noun_end, end)
        head = low[max(0, q.start - LOOK_BACK) : q.start]
        label = kind == "count" and LABEL.search(head) is not None
        approx, bound = self._cues(q.start, max(end, after))
        return Value(
            q.start,
            max(end, after),
            kind,
            tuple(readings),
            per=per,
            noun=noun,
            spelt=numeral.spelt,
            approx=approx,
            bound=bound,
            label=label,
            key=numeral.text if kind == "count" and "." in numeral.text else "",
            written=_written(numeral),
        )

    def _unit_before(self, start: int, amounts: Sequence[Fraction], step: Fraction) -> list[Amount]:
        """Return readings of a bare number in the unit that a key before it names, or as an age."""
        head = self.low[max(0, start - LOOK_BACK) : start]
        if _AGE_BEFORE.search(head):
            unit = UNITS["years"]
        elif head[-1:] in " :=\"'":
            found = _KEY_UNIT.search(head) or _CAMEL_UNIT.search(
                self.text[max(0, start - LOOK_BACK) : start]
            )
            if found is None:
                return []
            name = (found[1] or found[found.lastindex or 1]).lower()
            if currency := CURRENCIES.get(name):
                return [Amount("money", a, a, currency, step) for a in amounts]
            unit = UNITS["percent" if name == "pct" else name]
        else:
            return []
        scaled = [a * unit.factor for a in amounts]
        return [Amount(unit.dimension, a, a, unit.system, step * unit.factor) for a in scaled]

    def _per(self, at: int, end: int, measured: bool = True) -> tuple[str, int]:
        """Return the period of a rate at ``at``, and its end."""
        low = self.low
        nextchar = low[at : at + 1]
        if not nextchar or nextchar not in " /,":
            return "", end
        match = _PER.match(low, at)
        if match is None:
            return ("each", end) if _EACH.match(low, at) else ("", end)
        period = PERIODS.get(match[1] or match[2] or match[3])
        if period is None:
            return "", end
        return period, match.end()

    def _noun(self, end: int) -> str:
        match = _NOUN.match(self.low, end)
        if match is None or match[1] in _STOP_NOUNS:
            return ""
        return match[1]


@kept
def currencies_in(low: str) -> frozenset[str]:
    """Return the codes of the currencies that a text in lower case names."""
    found = {CURRENCIES.get(m[0], "") for m in _CURRENCY_NAME.finditer(low)}
    return frozenset(found - {""})


def names_unit(low: str, value: Value) -> bool:
    """Return True if a text in lower case names the unit of ``value`` apart from numbers.

    Examples: "Pressure (bar)", "Tyre pressures, bar", "all lengths in mm".
    """
    if value.kind not in ("measure", "duration") or not value.written or value.amount is None:
        return False
    factor = value.amount / value.written
    names = [
        re.escape(lowered(name))
        for name, unit in UNITS.items()
        if unit.dimension == value.dimension and unit.factor == factor and not unit.offset
    ]
    apart = rf"[(\[](?:{'|'.join(names)})[)\]]|(?:, |\bin )(?:{'|'.join(names)})(?![^\W_])"
    return bool(names) and _has(low, apart)


@kept
def _has(low: str, pattern: str) -> bool:
    return re.search(pattern, low) is not None


@kept
def scales_in(low: str) -> frozenset[int]:
    """Return the scales that a text in lower case names apart from numbers: "in millions"."""
    return frozenset(
        scale for scale, pattern in _SCALE_NAMES.items() if pattern.search(low) is not None
    )


def _written(numeral: Numeral) -> Fraction | None:
    """Return the number as written, without scale words."""
    amount = numeral.amounts[0]
    while numeral.scaled and amount >= 1000 and amount % 1000 == 0:
        amount /= 1000
    return amount
