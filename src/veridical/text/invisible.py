"""Invisible characters: removal, with the mapping of offsets.

They are the default-ignorable code points of Unicode (tags, variation selectors, zero-width spaces
and joiners, marks of direction), fillers, and control characters. Parts of emoji and joiners of a
script's letters are kept.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple

_PICTURE = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
#: Scripts in which a joiner changes the letters' form: Hebrew to Mongolian.
_JOINED = "\u0590-\u0dff\u0f00-\u109f\u1780-\u18af"
_INVISIBLE = re.compile(
    # in an emoji, or between letters of such a script: matched and kept
    "(?P<seen>\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067"
    "|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
    rf"|(?<=[{_PICTURE}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])"
    rf"|(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])"
    "|\u00ad(?=[ \t]{0,9}\r?\n))"
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\x01-\x08\x0e-\x1b\x7f\x80-\x84\x86-\x9f]+"
)
#: Pattern for ASCII texts.
_CONTROL = re.compile("[\x01-\x08\x0e-\x1b\x7f]+")


class VisibleText(NamedTuple):
    """A text without its invisible characters.

    Attributes:
        text: the visible text.
        removed: number of removed characters.
        inner: offset of each gap in ``text``, ascending.
        outer: start of each gap in the whole text.
        missing: cumulative number of removed characters up to each gap.
    """

    text: str
    removed: int
    inner: tuple[int, ...]
    outer: tuple[int, ...]
    missing: tuple[int, ...]

    def outer_slice(self, start: int, end: int) -> tuple[int, int]:
        """Return the slice of the whole text that covers ``text[start:end]``.

        >>> visible("a\\u200bb").outer_slice(1, 2)
        (2, 3)
        """
        first = start + self._before(start)
        return first, end + self._before(end - 1) if end > start else first

    def inner_place(self, place: int) -> int:
        """Return the offset in ``text`` for an offset in the whole text."""
        gap = bisect_left(self.outer, place) - 1
        if gap < 0:
            return place
        return max(place - self.missing[gap], self.inner[gap])

    def _before(self, place: int) -> int:
        gap = bisect_right(self.inner, place) - 1
        return self.missing[gap] if gap >= 0 else 0


def visible(text: str) -> VisibleText:
    """Return ``text`` without invisible characters.

    >>> visible("It is o\\u200bpen.\\U000e0041").text
    'It is open.'
    """
    pattern = _CONTROL if text.isascii() else _INVISIBLE
    pieces: list[str] = []
    inner: list[int] = []
    outer: list[int] = []
    missing: list[int] = []
    at = removed = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if match.lastgroup == "seen":
            continue
        if at < start or not inner:
            pieces.append(text[at:start])
            inner.append(start - removed)
            outer.append(start)
            missing.append(removed)
        removed += end - start
        missing[-1] = removed
        at = end
    if not removed:
        return VisibleText(text, 0, (), (), ())
    return VisibleText(
        "".join([*pieces, text[at:]]), removed, tuple(inner), tuple(outer), tuple(missing)
    )
