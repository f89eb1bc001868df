"""Groups that values are for: days of the week and ages."""

from __future__ import annotations

import re

from veridical.text.memo import kept
from veridical.text.values.places import Text
from veridical.text.values.weekdays import days_in, days_of

_MAX_AGE = 120
_ADULT = 18
_LOOK_BACK = 160  # characters before a value in which its group is searched
_YEARS = r"(?:[- ]?(?:years?|yrs?)(?:[- ]olds?| of age)?|[- ]olds?)"
_AGES = re.compile(
    rf"(?<![^\W_])(?:(?P<first>\d{{1,2}}) ?(?:-|to|and) ?(?P<last>\d{{1,2}}){_YEARS}"
    rf"|(?:over|above|older than) (?:the age of )?(?P<over>\d{{1,2}})(?:{_YEARS})?"
    rf"|(?:under|below|younger than) (?:the age of )?(?P<under>\d{{1,2}})(?:{_YEARS})?"
    rf"|(?:from (?:the age of )?)?(?P<least>\d{{1,2}})(?:{_YEARS})? (?:and|or) "
    r"(?:over|older|above|up)"
    rf"|(?:aged?|age of|child of|boy of|girl of) (?P<aged>\d{{1,2}})|(?P<old>\d{{1,2}}){_YEARS}"
    r"|(?P<adults>adults?|grown-ups?)|(?P<teens>adolescents?|teenagers?))(?![^\W_])"
)
_DOSED = re.compile(r"(?<![^\W_])(?:child|children|adults?|adolescents?|patients?|kids?)(?![^\W_])")
_CLAUSE_END = re.compile(r"[.;|\n]\s")


def other_group(
    mine: Text, span: tuple[int, int], at: int, question: str, theirs: Text, i: int, j: int
) -> bool:
    """Return True if value ``at`` of the statement ``span`` is for the group of value ``j``.

    Value ``i`` of the same source, which equals it, is for another group.
    """
    if _is_age(mine, at):
        return False
    said, asked = days_in(mine.text[slice(*span)]), days_in(question)
    if said or asked:
        wanted = days_of(mine, at)
        if not wanted and (not said or len(mine.within(*span)) == 1):
            wanted = said or asked
        if _elsewhere(wanted, days_of(theirs, i), days_of(theirs, j)):
            return True
    if _DOSED.search(theirs.low):
        wanted = ages_in(mine.low[slice(*span)]) or ages_in(question.lower())
        return _elsewhere(wanted, _ages_of(theirs, i), _ages_of(theirs, j))
    return False


def _elsewhere(wanted: frozenset[int], mine: frozenset[int], other: frozenset[int]) -> bool:
    return bool(wanted and mine) and wanted <= other and not wanted & mine


@kept
def ages_in(low: str) -> frozenset[int]:
    """Return the ages that a text in lower case names, in years; a span includes all between.

    >>> sorted(ages_in("children from 3 to 5 years"))
    [3, 4, 5]
    """
    found: frozenset[int] = frozenset()
    for match in _AGES.finditer(low):
        name, number = match.lastgroup, match[match.lastgroup or 0]
        if name in ("adults", "teens"):
            first, last = (_ADULT, _MAX_AGE) if name == "adults" else (12, 17)
        elif name == "last":
            first, last = int(match["first"]), int(number)
        elif name in ("over", "least"):
            first, last = int(number) + (name == "over"), _MAX_AGE
        elif name == "under":
            first, last = 0, int(number) - 1
        else:
            first = last = int(number)
        found |= frozenset(range(first, last + 1))
    return found


def _is_age(text: Text, i: int) -> bool:
    value = text.values[i]
    near = _AGES.finditer(text.low, max(0, value.start - 12), value.end + 12)
    return any(m.start() < value.end and m.end() > value.start for m in near)


def _ages_of(text: Text, i: int) -> frozenset[int]:
    """Return the ages that the clause or row of value ``i`` names before it."""
    cell = text.cell(text.starts[i])
    if cell is not None:
        return ages_in(f"{cell.row} {cell.header}".lower())
    start = text.sentence(text.starts[i])[0]
    before = text.low[max(start, text.starts[i] - _LOOK_BACK) : text.starts[i]]
    for clause in reversed(_CLAUSE_END.split(before)):
        if ages := ages_in(clause):
            return ages
    return frozenset()
