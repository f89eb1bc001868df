"""Words of computations, of changes and of negation."""

from __future__ import annotations

import re
from functools import lru_cache

#: Words of a statement by the operation they announce.
CUES: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])", re.I)
    for name, words in {
        "sum": r"together|totals?|totall?ing|totall?ed|combined|in all|altogether|sum|overall|both|"
        r"plus|that(?:'s| is| makes)|comes? to|adds? up|insgesamt|zusammen|en tout|en total",
        "difference": r"difference|more|less|fewer|left|remain\w*|increas\w+|decreas\w+|rose|"
        r"rise\w*|fell|fall\w*|grew|grow\w*|growth|dropp?\w*|gain\w*|lost|loss|sav\w+|older|younger|longer|"
        r"shorter|later|earlier|after|before|ago|cheaper|higher|lower|larger|smaller|bigger|heavier|"
        r"lighter|taller|faster|slower|up|down|chang\w+|ahead|behind|margin|between|last\w*|took|"
        r"takes?|lived|aged?|old|ends?|until|since|for|gap|over|within|net|missed|short|deficit|"
        r"surplus|profit|extra|unused|climb\w*|Unterschied|mehr|weniger|älter|jünger",
        "product": r"per|each|times|twice|double\w*|triple\w*|every|yearly|annual\w*|monthly|"
        r"weekly|for|cost\w*|pay|need\w*|tak\w+|total\w*|whole|a (?:year|month|week|day)|"
        r"percent|per cent|of (?:the|its|your|their)|jährlich|pro|pays|paid|in all|altogether",
        "quotient": r"per|averag\w+|mean|each|share|percent\w*|ratio|times|every|of the|portion|"
        r"half|quarter|third|fraction|rate|on average|durchschnitt\w*|pro|halves|proportion",
        "change": r"rose|rise\w*|fell|fall\w*|grew|grow\w*|growth|increas\w+|decreas\w+|dropp?\w*|"
        r"climb\w*|up|down|chang\w+|more|less|higher|lower|declin\w+|gain\w*|jump\w*|shrank|"
        r"cheaper|reduc\w+|cut|discount|stieg|sank|gestiegen|gesunken|hausse|baisse|goes",
        "rest": r"rest|remain\w*|others?|not|no|without|except|against|didn't|übrigen",
        "mean": r"averag\w+|mean|durchschnitt\w*|im schnitt|moyenne|promedio|typical\w*",
        "shift": r"later|earlier|after|before|ahead|behind|tak(?:es?|ing)|took|lasts?|lasted|"
        r"arriv\w+|reach\w+|ends?|until|local|ago|since|old|aged|später|früher|nach|vor",
        "count": r"there (?:are|is|were|was)|numbers?|list\w*|how many|count\w*|has|have|had|"
        r"includ\w+|contain\w*|all|of (?:them|the)",
    }.items()
}

DENIED = re.compile(
    r"(?<![^\W_])(?:not|no|never|neither|nor|without|rather than|instead of|n't|cannot|"
    r"nicht|kein\w*)"
    r"(?![^\W_])|n['’]t\b",
    re.I,
)
_UP = re.compile(
    r"(?<![^\W_])(?:more|rose|rise\w*|grew|grow\w*|increas\w+|climb\w*|up|gain\w*|higher|jump\w*|"
    r"goes up|stieg|gestiegen|mehr)(?![^\W_])",
    re.I,
)
_DOWN = re.compile(
    r"(?<![^\W_])(?:less|fewer|fell|fall\w*|drop\w*|decreas\w+|declin\w+|lower|down|reduc\w+|"
    r"cheaper|discount\w*|shrank|shrunk|sank|gesunken|weniger|off|lost)(?![^\W_])",
    re.I,
)


@lru_cache(maxsize=256)
def cues_of(text: str) -> frozenset[str]:
    """Return the names of the operations that words of ``text`` announce."""
    return frozenset(name for name, pattern in CUES.items() if pattern.search(text))


@lru_cache(maxsize=64)
def direction(statement: str) -> int:
    """Return 1 if ``statement`` describes a rise, -1 for a fall, 0 for both or neither."""
    down = _DOWN.search(statement) is not None
    up = _UP.search(statement) is not None
    return 0 if up == down else (1 if up else -1)
