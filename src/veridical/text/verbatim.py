"""Whether words stand in a text word for word."""

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
    """A text, read once, to look up quotations in.

    Case, kinds of quotation marks and dashes, runs of white space, compatibility forms (ﬁ, full
    width) and characters that are not seen make no difference. All else does.
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
        """Where the pieces stand, one after the other with anything between: from the first's
        start to the last's end in the text. None where they do not.

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
    """A :class:`Verbatim` of a text that may be asked for again."""
    return Verbatim(text)
