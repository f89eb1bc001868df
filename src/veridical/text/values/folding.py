"""Normalised texts for parsing values, of the same length."""

from __future__ import annotations

import re
import unicodedata

_SPECIAL = {
    "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-",
    "٫": ".", "٬": ",", "٪": "%", "μ": "µ", "\u2044": "/", "\u2215": "/", "’": "'", "‘": "'",
    "\u2032": "'", "\u2033": '"', "“": '"', "”": '"', "〜": "-", "～": "-", "。": ".",
}  # fmt: skip


class _Folding(dict[int, int]):
    """A map of code points, filled on demand."""

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
#: A raised digit after a number other than ten: the mark of a footnote.
_FOOTNOTE = re.compile(r"(?<=\d)(?<!10)[¹²³⁴-⁹]+")
#: Emphasis of Markdown, at the edges of words: "2 * 3", "10**6" and "snake_case" stay.
_EMPHASIS = re.compile(
    r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]{1,200})(?<!\s)\1(?![\w*])"
    r"|(?<!\w)(_{1,3})(?=[^\s_])([^_\n]{1,200})(?<!\s)\3(?!\w)"
)


def folded(text: str) -> str:
    """Convert digits, signs and spaces of any script to ASCII, and emphasis to spaces.

    All offsets stay.
    """
    if not text.isascii():
        text = text.translate(_FOLDING)
        if _FOOTNOTE.search(text):
            text = _FOOTNOTE.sub(lambda m: " " * len(m[0]), text)
    if "*" in text or "_" in text:
        text = _EMPHASIS.sub(_plain, text)
    return text.replace("&nbsp;", "      ") if "&" in text else text


def _plain(match: re.Match[str]) -> str:
    blank = " " * len(match[1] or match[3])
    return f"{blank}{match[2] or match[4]}{blank}"


def lowered(text: str) -> str:
    """Return the lower case of the same length."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
