"""Verbatim lookup of words in a text."""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Sequence

from veridical.text.memo import kept

_MARKS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", None),
    }
)


class Verbatim:
    """A text prepared for looking up quotations.

    Case, kinds of quotation marks and dashes, runs of white space, compatibility forms (ﬁ, full
    width) and invisible characters are ignored.
    """

    def __init__(self, text: str) -> None:
        folded: list[str] = []
        places: list[int] = []
        after_space = True
        for place, char in enumerate(text):
            if char.isspace():
                if not after_space:
                    folded.append(" ")
                    places.append(place)
                after_space = True
                continue
            plain = char if char < "\x7f" else unicodedata.normalize("NFKC", char)
            plain = plain.translate(_MARKS).casefold()
            if plain:
                folded.append(plain)
                places.extend([place] * len(plain))
                after_space = False
        self._text = "".join(folded)
        self._places = array("L", places)  # a fifth of a list's memory

    def find(self, pieces: Sequence[str]) -> tuple[int, int] | None:
        """Return the span from the first to the last piece, in order with any text between.

        The result is None if they do not occur.

        >>> Verbatim("He “never\\n saw” it.").find(["NEVER saw"])
        (4, 14)
        """
        start, at = -1, 0
        for piece in pieces:
            folded = Verbatim(piece)._text.strip()
            found = self._text.find(folded, at)
            if not folded or found < 0:
                return None
            start = found if start < 0 else start
            at = found + len(folded)
        if start < 0:
            return None
        return self._places[start], self._places[at - 1] + 1


@kept
def verbatim(text: str) -> Verbatim:
    """Return a cached :class:`Verbatim` of a text."""
    return Verbatim(text)
