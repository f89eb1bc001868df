"""Numbers of clauses, minutes and days in other forms."""

from __future__ import annotations

import re
from collections.abc import Sequence

from veridical.text.values.finding import ValueFinding
from veridical.text.values.places import Text
from veridical.text.values.value import Value

_PART = re.compile(r"(?<![^\W_])(?:clause|section|article|paragraph|step|item|point|rule) ?$")
_MINUTE = re.compile(r" minute(?![^\W_])")
_ON_THE = re.compile(r"(?<![^\W_])(?:on|until|from|by|before|after|since|till) the $")
_MAX_DAY = 31
_MAX_SEARCHED = 100_000  # characters of a source


def numbered(value: Value, statement: Text, sources: Sequence[Text]) -> ValueFinding | None:
    """Find "clause 7" as "7. Rent", "the 87th minute" as "87'" and "the 12th" as "12 March"."""
    if value.amount is None or value.amount.denominator != 1 or value.kind == "money":
        return None
    number = int(value.amount)
    pattern = None
    if value.label and _PART.search(statement.low, max(0, value.start - 12), value.start):
        pattern = rf"(?m)^\W*(?:§ ?)?{number}(?=[.):] )"
    elif value.kind == "ordinal" and _MINUTE.match(statement.low, value.end):
        pattern = rf"(?<![\w.:]){number}(?=['’′])"
    elif value.spelt and value.written == 1:
        word = re.escape(
            statement.low[value.start : value.end].split()[-1] if value.noun == "" else value.noun
        )
        pattern = rf"(?i)(?<![^\W_])single {word}(?![^\W_])"
    of_month = (
        value.kind == "ordinal"
        and number <= _MAX_DAY
        and _ON_THE.search(statement.low, max(0, value.start - 12), value.start)
    )
    for s, text in enumerate(sources):
        if pattern is not None and (match := re.search(pattern, text.text[:_MAX_SEARCHED])):
            return ValueFinding(value, "found", s, *match.span())
        if of_month:
            for date in text.values:
                if any(day == number for _, _, day in date.dates):
                    return ValueFinding(value, "found", s, date.start, date.end)
    return None
