"""Safe display of foreign text on a terminal, in wrapped lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator


def harmless(text: str) -> str:
    """Return ``text`` on one line, with unprintable characters escaped.

    White space becomes single spaces. Characters that move a cursor or change the writing direction
    are escaped.
    """
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


def columns(text: str) -> int:
    """Return the number of terminal columns of a text.

    East Asian characters take two, and combining marks none.
    """
    return sum(map(_columns, text))


def wrapped(text: str, width: int) -> list[str]:
    """Split text into lines of at most ``width`` columns, between words or within a longer one."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if columns(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *full, line = _broken(word, width)
        lines += full
    return [*lines, line]


def _broken(word: str, width: int) -> Iterator[str]:
    part, taken = "", 0
    for character in word:
        size = _columns(character)
        if part and taken + size > width:
            yield part
            part, taken = "", 0
        part, taken = part + character, taken + size
    yield part


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
