"""Texts in one form for reading values: lower case, ASCII digits and signs, same length."""

from __future__ import annotations

import unicodedata

_SPECIAL = {
    "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-",
    "٫": ".", "٬": ",", "٪": "%", "μ": "µ", "\u2044": "/", "\u2215": "/", "’": "'", "‘": "'",
    "\u2032": "'", "\u2033": '"', "“": '"', "”": '"', "〜": "-", "～": "-", "。": ".",
}  # fmt: skip


class _Folding(dict[int, int]):
    """Code point to code point, filled as characters are met."""

    def __missing__(self, code: int) -> int:
        char = chr(code)
        if code < 128:
            folded = code
        elif char in _SPECIAL:
            folded = ord(_SPECIAL[char])
        elif char.isdecimal():
            folded = 48 + unicodedata.decimal(char)
        elif 0xFF01 <= code <= 0xFF5E:
            folded = code - 0xFEE0
        elif char.isspace() and char not in "\u0085\u2028\u2029":
            folded = 32
        else:
            folded = code
        self[code] = folded
        return folded


_FOLDING = _Folding()


def folded(text: str) -> str:
    """``text`` with digits, signs and spaces of any script as those of ASCII."""
    return text if text.isascii() else text.translate(_FOLDING)


def lowered(text: str) -> str:
    """Lower case of the same length."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
