"""Content words of a text, stemmed for comparison."""

from __future__ import annotations

import re

from veridical.text.fact_words import AUXILIARIES, FUNCTION_WORDS, NUMBER_WORDS
from veridical.text.memo import kept

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_SUFFIXES = ("ing", "ed", "es", "s", "ly")
_SHORTEST_STEM = 3  # characters
_POSSESSIVES = ("'s", "’s", "s'", "s’")
#: Pronouns, prepositions and forms of to be, to do and to have missing in the shared tables.
_MORE = """
    am been being can't could d doesn't don't done down has hasn't haven't having him i'm it's ll
    m might must myself nor off ours out over re s same shall their theirs them themselves this
    those too up us ve very who whom will won't
"""
#: Placeholders of structured answers, and figures, which are compared by value.
_VALUES = frozenset(NUMBER_WORDS) | {"true", "false", "null", "none", "yes", "no", "one"}
_FUNCTION = FUNCTION_WORDS | AUXILIARIES | frozenset(_MORE.split()) | _VALUES


def stem(word: str) -> str:
    """Return a lower-case word without its plural, verb or adverb ending.

    >>> stem("close"), stem("Closed"), stem("bus")
    ('clos', 'clos', 'bus')
    """
    low = word.lower()
    for mark in _POSSESSIVES:
        low = low.removesuffix(mark)
    for suffix in _SUFFIXES:
        if low.endswith(suffix) and len(low) - len(suffix) >= _SHORTEST_STEM:
            low = low[: -len(suffix)]
            break
    return low.removesuffix("e") if len(low) > _SHORTEST_STEM else low


@kept
def content_stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words of ``text``, without function words and figures."""
    words = [w for w in _WORD.findall(text) if w.lower() not in _FUNCTION]
    return tuple([stem(w) for w in words if not any(map(str.isdecimal, w))])
