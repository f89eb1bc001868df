"""Statements that have the words of a source sentence in another order."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from veridical.text.values.folding import folded, lowered
from veridical.text.values.places import placed

_TOKEN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,:/]\d+)*")
_PIECE = re.compile(_TOKEN.pattern + "|,")
_LIST_JOINTS = frozenset([",", "and", "or", "und", "y", "et"])
_JOINT = re.compile(
    r"[,;:]|(?<![^\W_])(?:and|but|while|whereas|und|aber|et|y|e|mais)(?![^\W_])", re.I
)
_MAX_TOKENS = 60
_MIN_TOKENS = 4
#: Words that say the same both ways round.
_SYMMETRIC = re.compile(
    r"(?<![^\W_])(?:met|meets?|married|marry|between|with|near|equals?|similar|same|differs?|"
    r"differ|borders?|adjacent|either|neither|both|together|versus|vs|spoke|talked|played|"
    r"cousins?|siblings?|twins?|friends?|neighbou?rs?|is also|known as|called|along|beside)"
    r"(?![^\W_])",
    re.I,
)
_DROPPED = frozenset(["and", "but", "while", "the", "a", "an", "then", "also", "und", "y", "et"])


class Turned(NamedTuple):
    """A source sentence at ``[start:end]`` whose words a statement has in another order."""

    source: int
    start: int
    end: int


def turned_round(statement: str, texts: tuple[str, ...]) -> Turned | None:
    """The source sentence that ``statement`` turns round: "A beat B" for "B beat A".

    Both have the same words, apart from articles and "and". Clauses may change places, and so may
    the items of a list, what stands in front, and the two sides of a symmetric relation.
    """
    tokens = _tokens(statement)
    if not _MIN_TOKENS <= len(tokens) <= _MAX_TOKENS:
        return None
    bag = Counter(tokens)
    rarest = max(set(tokens), key=len)
    result: Turned | None = None
    for source, text in enumerate(texts):
        low = lowered(folded(text))
        at = low.find(rarest)
        seen = 0
        while at >= 0 and seen < 40:
            start, end = placed(text).sentence(at)
            for first, last in _pieces(text, start, end):
                theirs = _tokens(text[first:last])
                if Counter(theirs) != bag:
                    continue
                if theirs == tokens or _same(statement, text[first:last], tokens, theirs):
                    return None
                result = result or Turned(source, first, last)
            at = low.find(rarest, max(end, at + 1))
            seen += 1
    return result


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The sentence, and its parts between semicolons."""
    pieces = [(start, end)]
    at = start
    for match in re.compile(r";").finditer(text, start, end):
        pieces.append((at, match.start()))
        at = match.end()
    if at != start:
        pieces.append((at, end))
    return pieces[:20]


def _tokens(text: str) -> list[str]:
    """The words that count, items of lists ("red, blue and green") in alphabetical order."""
    found: list[str] = []
    items: list[str] = []  # of the list that is open, the last word may end it
    joined = False
    for match in _PIECE.finditer(lowered(folded(text))):
        word = match[0]
        if word in _LIST_JOINTS:
            joined = bool(items)
            continue
        if word in _DROPPED:
            continue
        if joined:
            items.append(word)
        else:
            found += sorted(items)
            items = [word]
        joined = False
    return found + sorted(items)


def _same(statement: str, sentence: str, mine: list[str], theirs: list[str]) -> bool:
    """Return True if the other order may mean the same."""
    if _SYMMETRIC.search(statement):
        return True
    a, b = _clauses(statement), _clauses(sentence)
    if sorted(a) == sorted(b):
        return True
    if any(mine == theirs[i:] + theirs[:i] for i in range(1, len(theirs))):
        # what stood at the end stands in front: only with a word that begins such a phrase
        i = next(i for i in range(1, len(theirs)) if mine == theirs[i:] + theirs[:i])
        return _fronted(theirs[i:]) or _fronted(mine[len(theirs) - i :]) or len(theirs) <= 3
    moved = _moved_block(mine, theirs)
    return moved is not None and _fronted(moved)


_FRONT = frozenset(
    [
        "in",
        "on",
        "at",
        "by",
        "from",
        "to",
        "for",
        "with",
        "after",
        "before",
        "since",
        "until",
        "during",
        "under",
        "over",
        "through",
        "as",
        "of",
        "when",
        "if",
        "because",
        "although",
        "while",
        "yesterday",
        "today",
        "tomorrow",
        "now",
        "then",
        "there",
        "here",
        "later",
        "according",
        "per",
        "am",
        "im",
        "bei",
        "nach",
        "vor",
        "seit",
        "en",
        "dans",
        "pour",
        "avec",
        "a",
    ]
)


def _fronted(block: list[str]) -> bool:
    return bool(block) and block[0] in _FRONT


def _clauses(text: str) -> list[tuple[str, ...]]:
    found = (tuple(_tokens(piece)) for piece in _JOINT.split(text))
    return [clause for clause in found if clause]


def _moved_block(mine: list[str], theirs: list[str]) -> list[str] | None:
    """The block of words that was moved to another place as a whole, or None."""
    n = len(mine)
    first = next(i for i in range(n) if mine[i] != theirs[i])
    last = next(i for i in range(n - 1, -1, -1) if mine[i] != theirs[i]) + 1
    for start in range(first, max(-1, first - 3), -1):
        a, b = mine[start:last], theirs[start:last]
        for i in range(1, len(a)):
            if a[i:] + a[:i] == b:
                block, other = a[:i], a[i:]
                return block if _fronted(block) else other
    return None
