"""Counts of listed things: table rows, or names after "are"."""

from __future__ import annotations

import re
from typing import NamedTuple

from veridical.text.values.places import Text, stem

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
