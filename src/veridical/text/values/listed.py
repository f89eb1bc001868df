"""Counts of listed things: table rows, or names after "are"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from veridical.text.memo import kept
from veridical.text.values.compute import LINE_ITEMS, Stated
from veridical.text.values.finding import ValueFinding
from veridical.text.values.places import Text, stem
from veridical.text.values.value import Value

_MAX_HEADS = 20  # places of a noun, searched for a list after it
_MAX_LIST = 2_000  # characters
_MAX_WORDS = 5  # of an item; a longer one is a clause
_MIN_STEM_CHARACTERS = 3
#: Headers of a column of names of any kind.
_NAMES = frozenset(["name", "names", "person", "full name", "title"])
_ROWS = frozenset(["rows", "entries", "records"])
#: Text between a noun and its list: "the speakers of the day are", '"speakers": ["'.
_HEAD = re.compile(
    r"[^\W\d_]*(?:[ -][^\W\d_]{1,20}){0,4}?"
    r"(?:[\"']?(:)\s{0,4}\[?\s{0,4}| (include[sd]?|including|namely):? "
    r"| (?:are|were|sind|waren|sont|son)(?::)? )"
)
_SINGLE = re.compile(r"(?<![^\W_])(?:(?:only|just) one|one|a single) ([^\W\d_]{3,})(?![^\W_])")
_NUMBER_OF = re.compile(
    r"(?<![^\W_])(?:(there (?:are|is|were)|how many)|lists?|listed|contains?|rows)(?![^\W_])",
    re.I,
)
#: Text between an amount and a price: "3 x 40.00", "2 × filter papers, €8.25".
_TIMES = re.compile(r" ?[x×*@] ?(?:[^\W\d_][^\n\d]{0,60}?[(,:] ?)?")
_MAX_ITEMS = 12  # of an invoice
_ITEM = 9.0  # weight of an item as an operand: before any other
_NAME = r"[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+){0,2}"
_NAME_LIST = re.compile(rf"{_NAME}(?:, {_NAME}){{1,19}},? (?:and|und|et|y|&) {_NAME}")
_MIN_NAMES = 3
_BULLET = re.compile(r"[^\S\n]*(?:[-*•]|\d{1,2}[.)]) [^\n]+(?:\n|$)")
_LIST_END = re.compile(r"(?<![A-Z])(?<!Dr|Mr|Ms|St)(?<!Mrs)[.;!?](?=\s|$)|[\n\]}]")
_BRACKETS = re.compile(r"\([^()]{0,80}\)")
_BETWEEN = re.compile(r",\s*(?:and|und|et|y)\s+|,|\s(?:and|und|et|y|&)\s")


class ListedCount(NamedTuple):
    """A number of rows or items in ``[start:end]``.

    ``sure`` is True if any other number is wrong.
    """

    number: int
    start: int
    end: int
    what: str
    sure: bool = False


def listed_rows(text: Text, noun: str) -> ListedCount | None:
    """Return the rows of the only table of ``text``, if each is one of ``noun``."""
    firsts = text.row_names
    if not firsts or firsts[0].table != firsts[-1].table:
        return None
    header = firsts[0].header.lower()
    own = header.startswith(noun[:4])
    if not own and (
        (header not in _NAMES and noun not in _ROWS)
        or any(other.startswith(noun[:4]) for other in text.headers)
    ):
        return None
    rows = [cell for cell in firsts if cell.header == firsts[0].header]
    sure = own and len(rows) == len(firsts)
    return ListedCount(len(rows), rows[0].start, rows[-1].end, "rows", sure)


def listed_items(text: Text, noun: str) -> ListedCount | None:
    """Return the items of a list that ``noun`` introduces: "the speakers are Ann, Bo and Cy"."""
    start = stem(noun)
    at = text.low.find(start) if len(start) >= _MIN_STEM_CHARACTERS else -1
    for _ in range(_MAX_HEADS):
        if at < 0:
            return None
        inside = text.low[at - 1 : at].isalpha()
        head = None if inside else _HEAD.match(text.text, at)
        if head is not None:
            capitals = not head[1] and not head[2]
            if number := _items(text.text[head.end() : head.end() + _MAX_LIST], capitals):
                return ListedCount(number, at, head.end(), "items")
        at = text.low.find(start, at + 1)
    return None


def counted(value: Value, statement: str, texts: Sequence[Text]) -> ValueFinding | None:
    """Find a number of table rows or list items that the sources do not state."""
    if value.kind != "count" or not value.noun or value.amount is None:
        return None
    counting = _NUMBER_OF.search(statement)
    for s, text in enumerate(texts):
        rows = listed_rows(text, value.noun) if counting else None
        for found in (rows, listed_items(text, value.noun)):
            if found is None:
                continue
            place = ValueFinding(value, "computed", s, found.start, found.end)
            if value.amount == found.number:
                return place._replace(computed=f"count of {found.what} = {found.number}")
            if counting and counting[1] and found.sure:
                return place._replace(status="wrong")
    return None


def names_listed(value: Value, text: Text, about: frozenset[str]) -> tuple[int, int] | None:
    """Return the place of a list of as many names as ``value`` counts, in a sentence with a stem
    of ``about``.

    Example: "in English, Polish, Finnish and Korean" for "four languages".
    """
    if value.amount is None or value.amount < _MIN_NAMES or not value.noun:
        return None
    for number, start, end in _name_lists(text.text):
        if number == value.amount and text.stems(*text.sentence(start)) & about:
            return start, end
    return None


@kept
def _name_lists(text: str) -> tuple[tuple[int, int, int], ...]:
    """Return the number of names of each list of names, and its place."""
    return tuple((len(_BETWEEN.split(m[0])), *m.span()) for m in _NAME_LIST.finditer(text))


def line_items(text: Text, source: int) -> list[Stated]:
    """Return the products of an invoice's lines ("3 x 40.00"), and their sum."""
    items: list[Stated] = []
    for count, price in pairwise(text.values):
        if count.kind != "count" or not count.amount or price.kind not in ("count", "money"):
            continue
        if price.amount is None or not _TIMES.fullmatch(text.low, count.end, price.start):
            continue
        shown = " x ".join(text.text[v.start : v.end].strip() for v in (count, price))
        items.append(Stated(_times(price, count.amount), shown, _ITEM, (source, LINE_ITEMS)))
    if 1 < len(items) <= _MAX_ITEMS and len({i.value.dimension for i in items}) == 1:
        amounts = [i.value.readings[0].low for i in items]
        total = _times(items[0].value, sum(amounts, Fraction(0)) / amounts[0])
        items.append(Stated(total, " + ".join(i.text for i in items), _ITEM, (source, LINE_ITEMS)))
    return items[: _MAX_ITEMS + 1]


def _times(value: Value, factor: Fraction) -> Value:
    amount = value.readings[0].low * factor
    return replace(
        value,
        readings=(value.readings[0]._replace(low=amount, high=amount, step=Fraction(0)),),
        written=amount,
    )


def single(text: Text, noun: str, about: frozenset[str]) -> tuple[int, int] | None:
    """Return the place of "one ticket" for ``noun`` "tickets", in a sentence with another of the
    stems ``about``."""
    own = stem(noun)
    for match in _SINGLE.finditer(text.low):
        if stem(match[1]) == own and match[1] != noun:
            start, end = text.sentence(match.start())
            if (text.stems(start, end) - {own}) & about:
                return match.span()
    return None


def _items(rest: str, capitals: bool) -> int:
    """Count the items at the start of ``rest``; 0 if it is not a list."""
    at = number = 0
    while bullet := _BULLET.match(rest, at):
        at, number = bullet.end(), number + 1
    if number:
        return number if number > 1 else 0
    end = _LIST_END.search(rest)
    rest = _BRACKETS.sub("", rest[: end.start()] if end else rest)
    pieces = [piece.strip(" \"'*_") for piece in _BETWEEN.split(rest)]
    capitals = capitals or pieces[0][:1].isupper()
    for piece in pieces:
        if len(piece.split()) > _MAX_WORDS or not piece[:1].isalpha():
            break
        if capitals and not piece[0].isupper():
            break
        number += 1
    return number if number > 1 else 0
