"""Normal form of short answers, as in SQuAD's evaluation, with exact numbers.

Rajpurkar et al. 2016 lower-case a text, drop punctuation and the words a, an, the, and compare the
rest. NQ-Open (Lee et al. 2019) and PopQA (Mallen et al. 2023) do the same. That makes "3.5" equal
to "35" and "-5" to "5", so here a number keeps its point and its sign. Accents of Latin letters are
also ignored, and scripts without spaces are compared by character.
"""

from __future__ import annotations

import re
import unicodedata

_ARTICLES = frozenset({"a", "an", "the"})
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": "-"})
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[-/:](?=\d)")
_NUMBER = re.compile(r"(?<!\w)-?\d+(?:\.\d+)?")
#: Scripts without word separators: Thai, Lao, Myanmar, Khmer, Kana, Han.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff])"
)


def tokens(text: str) -> list[str]:
    """Return the normalised words of ``text``; empty if it has no letter or digit."""
    plain = unicodedata.normalize("NFKC", text).translate(_MINUS).casefold()
    plain = _THOUSANDS.sub("", _without_accents(plain))
    plain = _UNSPACED.sub(r" \1 ", _BETWEEN_DIGITS.sub(" ", plain))
    words = [w for piece in plain.split() if (w := _word(piece))]
    return [w for w in words if w not in _ARTICLES] or words


def contains(whole: list[str], part: list[str]) -> bool:
    """Return True if the non-empty ``part`` is a contiguous part of ``whole``."""
    # words have no spaces, and substring search takes linear time
    return f" {' '.join(part)} " in f" {' '.join(whole)} "


def _word(piece: str) -> str:
    """Strip the punctuation of a piece between white space, except a number's sign and point."""
    number = _NUMBER.search(piece)
    if number is None:
        return "".join(c for c in piece if _counts(c))
    sides = ("".join(c for c in s if _counts(c)) for s in _around(piece, number))
    return number[0].join(sides)


def _around(piece: str, number: re.Match[str]) -> tuple[str, str]:
    return piece[: number.start()], piece[number.end() :]


def _counts(c: str) -> bool:
    """Return True for letters, digits and marks, False for punctuation and symbols."""
    return unicodedata.category(c)[0] in "LNM"


def _without_accents(text: str) -> str:
    """Remove marks from Latin letters; in other scripts they make another letter."""
    characters: list[str] = []
    latin = False
    for c in unicodedata.normalize("NFD", text):
        if unicodedata.category(c) == "Mn":
            if latin:
                continue
        else:
            latin = "LATIN" in unicodedata.name(c, "")
        characters.append(c)
    return unicodedata.normalize("NFC", "".join(characters))
