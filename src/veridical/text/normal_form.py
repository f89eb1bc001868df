"""Texts in the form in which short answers are compared: as SQuAD's evaluation does, numbers kept.

Rajpurkar et al. 2016 lower a text, drop punctuation and the words a, an, the, and compare what is
left; NQ-Open (Lee et al. 2019) and PopQA (Mallen et al. 2023) do the same. That makes "3.5" equal
to "35" and "-5" to "5", so here a number keeps its point and its sign. Besides, accents of Latin
letters do not count, and scripts without spaces are compared by character.
"""

from __future__ import annotations

import re
import unicodedata

_ARTICLES = frozenset({"a", "an", "the"})
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": "-"})
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[-/:](?=\d)")
_NUMBER = re.compile(r"(?<!\w)-?\d+(?:\.\d+)?")
#: Scripts whose words are not set apart: Thai, Lao, Myanmar, Khmer, Kana, Han.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff])"
)


def tokens(text: str) -> list[str]:
    """The words of ``text`` that count; empty where it holds no letter or digit."""
    plain = unicodedata.normalize("NFKC", text).translate(_MINUS).casefold()
    plain = _THOUSANDS.sub("", _without_accents(plain))
    plain = _UNSPACED.sub(r" \1 ", _BETWEEN_DIGITS.sub(" ", plain))
    words = [w for piece in plain.split() if (w := _word(piece))]
    return [w for w in words if w not in _ARTICLES] or words


def contains(whole: list[str], part: list[str]) -> bool:
    """Whether ``part``, not empty, stands in ``whole`` as it is."""
    # words hold no spaces, and looking up a text in a text takes linear time
    return f" {' '.join(part)} " in f" {' '.join(whole)} "


def _word(piece: str) -> str:
    """A piece between white space without its punctuation; a number's sign and point stay."""
    number = _NUMBER.search(piece)
    if number is None:
        return "".join(c for c in piece if _counts(c))
    sides = ("".join(c for c in s if _counts(c)) for s in _around(piece, number))
    return number[0].join(sides)


def _around(piece: str, number: re.Match[str]) -> tuple[str, str]:
    return piece[: number.start()], piece[number.end() :]


def _counts(c: str) -> bool:
    """Letters, digits and marks; no punctuation, no symbols."""
    return unicodedata.category(c)[0] in "LNM"


def _without_accents(text: str) -> str:
    """Marks over Latin letters dropped; in other scripts they make another letter."""
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
