"""Unicode scripts of a text, which restrict models instead of languages."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

#: First words of Unicode character names that differ from the script's name.
_BY_NAME = {
    "CJK": "Han",
    "KANGXI": "Han",
    "IDEOGRAPHIC": "Han",
    "KATAKANA-HIRAGANA": "Katakana",
    "MICRO": "Greek",
    "OHM": "Greek",
    "KELVIN": "Latin",
    "ANGSTROM": "Latin",
    "FEMININE": "Latin",
    "MASCULINE": "Latin",
    "CANADIAN": "Canadian_Aboriginal",
    "NEW": "New_Tai_Lue",
    "TAI": "Tai",
    "OL": "Ol_Chiki",
}
#: Words before the script in a character's name.
_FORMS = frozenset({"FULLWIDTH", "HALFWIDTH", "MODIFIER", "SMALL", "CAPITAL", "LETTER"})
_SUPERSCRIPT = frozenset({"SUPERSCRIPT", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER"})


#: Final words of the reason for a text in an unsupported script.
UNREAD = "most of this text is in another language"


def script_shares(text: str) -> dict[str, float]:
    """Return the share of letters in each Unicode script, e.g. ``{"Latin": 1.0}``.

    Shares are in (0, 1] and sum to 1; the dict is empty when there is no letter. Script names
    are Unicode's (``Latin``, ``Cyrillic``, ``Han``, ``Hiragana``, ``Hangul``, ...).
    """
    if text.isascii():
        return {"Latin": 1.0} if any(map(str.isalpha, text)) else {}
    counts: Counter[str] = Counter()
    for character, n in Counter(text).items():
        if character.isalpha():
            counts[_script(character)] += n
    total = counts.total()
    return {script: n / total for script, n in counts.most_common()}


def reads(text: str, scripts: frozenset[str]) -> bool:
    """Return True if a model of these ``scripts`` supports ``text``.

    The text must have no letters, or at least half of its letters in ``scripts``.
    """
    shares = script_shares(text)
    return not shares or sum(shares.get(s, 0.0) for s in scripts) >= 0.5 - 1e-9


@lru_cache(maxsize=1 << 15)
def _script(letter: str) -> str:
    """Return the script of a letter, from its Unicode name."""
    if letter.isascii():
        return "Latin"
    name = unicodedata.name(letter, "UNKNOWN").split()
    if name[0] in _SUPERSCRIPT:
        return "Latin"
    words = [w for w in name if w not in _FORMS] or name
    first = words[0]
    return _BY_NAME.get(first, first.capitalize())
