"""Pieces of a sentence: lists split, and places of their words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from veridical.claims.extractors.clause_words import CALLING, COLLECTIVE, TaggedSentence

_ITEMS = 40
_NAME = r"(?:D?N+(?:I[aD]?N+)*|Q)"
_LIST = re.compile(rf"(?<=[IVEezxBG])(?P<items>{_NAME}(?:,{_NAME})+,?C{_NAME})(?=[.]?$)")
_CALLINGS = re.compile(
    r"BR*(?P<items>a[xNG]{1,4}(?:,[aD]?[xNG]{1,4})*,?C[aD]?[xNG]{1,4})(?=[.]?$|I)"
)
_SEPARATOR = re.compile(r",?C|,")

Range = tuple[int, int]
"""Tokens from the first to one past the last."""


class ClausePiece(NamedTuple):
    """Tokens of a clause: the carried prefix, its own, and its gaps."""

    body: Range
    carried: tuple[Range, ...] = ()
    holes: tuple[Range, ...] = ()


def listed(
    reading: TaggedSentence, piece: ClausePiece, subject: Range, verb: int
) -> Iterator[ClausePiece]:
    """Yield a piece for each name or occupation that it lists."""
    begin, end = piece.body
    tags, words = reading.tags, reading.lower
    callings = _CALLINGS.match(tags, verb, end)
    match = callings or _LIST.search(tags, verb, end)
    items = _items(reading, *match.span("items")) if match else []
    if (
        not items
        or "n" in tags[begin:end]
        or len(items) > _ITEMS
        or not COLLECTIVE.isdisjoint(words[begin:end])
        or (callings and not all(CALLING.search(words[stop - 1]) for _, stop in items))
    ):
        yield piece
        return
    first, stop = items[0][0], items[-1][1]
    for i, (item, item_end) in enumerate(items):
        if callings and i:
            front = (*(piece.carried or (subject,)), (verb, verb + 1))
            yield ClausePiece((item, end), front, ((item_end, stop),))
        else:
            holes = (*piece.holes, (first, item), (item_end, stop))
            yield piece._replace(holes=holes)


def _items(reading: TaggedSentence, begin: int, end: int) -> list[Range]:
    """Return the items of a list; none if one of them is not a plain name."""
    items: list[Range] = []
    for separator in (*_SEPARATOR.finditer(reading.tags, begin, end), None):
        stop = separator.start() if separator else end
        links = [
            k for k in range(begin, stop) if reading.tags[k] == "I" and reading.lower[k] != "of"
        ]
        if links and items:
            return []
        items.append((links[-1] + 1 if links else begin, stop))
        begin = separator.end() if separator else end
    return items


def places(reading: TaggedSentence, piece: ClausePiece) -> list[tuple[int, int]]:
    """Return the places of a piece's words: of the carried prefix, then of its own runs."""
    spans, tags = reading.spans, reading.tags
    parts = [(spans[a][0], spans[b - 1][1]) for a, b in piece.carried]
    at, end = piece.body
    for first, last in (*sorted(piece.holes), (end, end)):
        stop = first
        while stop > at and tags[stop - 1] in ",;":
            stop -= 1
        if tags[at:stop].strip("."):
            close = spans[stop - 1][1]
            if first == end and stop == end and end in reading.brackets:
                close = reading.brackets[end][1]
            parts.append((spans[at][0], close))
        at = max(at, last)
    return parts
