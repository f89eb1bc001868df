"""Numbers in other forms: clauses, minutes, days, scores, counts, frequencies and bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from veridical.text.values.cues import DENIED
from veridical.text.values.finding import ValueFinding
from veridical.text.values.places import Text
from veridical.text.values.value import Value, equal
from veridical.text.values.words import MONTHS

_PART = re.compile(r"(?<![^\W_])(?:clause|section|article|paragraph|step|item|point|rule) ?$")
#: After "no" or "not": a bound, no negation.
_MORE = re.compile(r" (?:more|less|fewer|longer|later|earlier|shorter) ")
_MINUTE = re.compile(r" minute(?![^\W_])")
_ON_THE = re.compile(
    r"(?<![^\W_])(?:on|until|from|by|before|after|since|till|of|between) the $"
    r"|\d(?:st|nd|rd|th)(?:,| to| and| or| until| through| -|-)(?: the)? ?$"
)
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
#: Adverbs of "once a ...".
_EACH = {
    period: f"{adverb}|(?:every|each|per) {period}"
    for period, adverb in (
        ("hour", "hourly"), ("day", "daily"), ("week", "weekly"), ("month", "monthly"),
        ("quarter", "quarterly"), ("year", "yearly|annual(?:ly)?"),
    )
}  # fmt: skip
_MAX_DAY = 31
_LEAST_ORDINAL = 4  # "first" to "third" say more than a number
_NEXT_WORDS = 40  # characters after a count that name what is counted
_MAX_SEARCHED = 100_000  # characters of a source


def numbered(
    value: Value, statement: Text, sentence: str, sources: Sequence[Text]
) -> ValueFinding | None:
    """Find a number that sources have in another form, or return None.

    Examples: "clause 7" as "7. Rent", "the 87th minute" as "87'", "the 12th" as "12 March". Others:
    "once a month" as "Monthly", "scored 22" as "22/35", "four absences" as "Absences: 4 days".
    A value is ``open`` if the sources have an ordinal's number, or deny the opposite bound: "or
    more" for "those with less cannot".
    """
    if (found := _bounded(value, sentence, sources)) is not None:
        return found
    if value.amount is None or value.amount.denominator != 1 or value.kind == "money":
        return None
    number = int(value.amount)
    pattern = _pattern(value, number, statement)
    for s, text in enumerate(sources):
        if pattern is not None and (match := re.search(pattern, text.text[:_MAX_SEARCHED])):
            return ValueFinding(value, "found", s, *match.span())
        for i, other in enumerate(text.values):
            if _same(value, number, statement, text, i):
                return ValueFinding(value, "found", s, other.start, other.end)
    if value.kind == "ordinal" and not value.spelt and number >= _LEAST_ORDINAL:
        for s, text in enumerate(sources):
            for other in text.values:
                if other.written == number and other.kind in ("count", "duration"):
                    return ValueFinding(value, "open", s, other.start, other.end)
    return None


def _pattern(value: Value, number: int, statement: Text) -> str | None:
    """Return a pattern of the number in a source's text."""
    before = statement.low[max(0, value.start - 12) : value.start]
    if value.label and _PART.search(before):
        return rf"(?m)^\W*(?:§ ?)?{number}(?=[.):] )"
    if value.kind == "ordinal":
        if _MINUTE.match(statement.low, value.end):
            return rf"(?<![\w.:]){number}(?=['’′])"
        if number <= _MAX_DAY and _ON_THE.search(before):
            first = rf"{number}(?:\.? ?[-–/] ?\d{{1,2}})?"
            last = rf"\d{{1,2}}\.? ?[-–/] ?{number}"
            return rf"(?i)(?<![\w.])(?:{first}|{last})\.? (?:{_MONTH})(?![^\W_])"
    if value.noun == "times" and number == 1 and value.per in _EACH:
        return rf"(?i)(?<![^\W_])(?:{_EACH[value.per]})(?![^\W_])"
    if value.spelt and value.written == 1:
        word = statement.low[value.start : value.end].split()[-1] if not value.noun else value.noun
        return rf"(?i)(?<![^\W_])single {re.escape(word)}(?![^\W_])"
    return None


def _same(value: Value, number: int, statement: Text, text: Text, i: int) -> bool:
    """Return True if value ``i`` of a source is a day, score or measured count of the number."""
    other = text.values[i]
    if value.kind == "ordinal":
        before = statement.low[max(0, value.start - 12) : value.start]
        days = {day for _, _, day in other.dates}
        return number <= _MAX_DAY and number in days and _ON_THE.search(before) is not None
    if value.kind != "count" or value.label:
        return False
    if other.kind == "ratio" and other.parts:
        return not value.spelt and other.parts[0] == number
    if other.kind in ("duration", "measure") and other.written == number:
        counted = statement.stems(value.end, min(value.end + _NEXT_WORDS, len(statement.text)))
        return bool(counted & text.owner(i).near)
    return False


def _denied(text: str) -> bool:
    return any(not _MORE.match(text, m.end()) for m in DENIED.finditer(text))


def _bounded(value: Value, sentence: str, sources: Sequence[Text]) -> ValueFinding | None:
    if not value.bound:
        return None
    for s, text in enumerate(sources):
        for other in text.values:
            if not other.bound or other.bound == value.bound:
                continue
            if equal(replace(value, bound=""), replace(other, bound="")):
                start, end = text.sentence(other.start)
                if _denied(text.text[start:end]) != _denied(sentence):
                    return ValueFinding(value, "open", s, other.start, other.end)
    return None
