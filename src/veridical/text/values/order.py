"""Statements with a source sentence's words in another order."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from veridical.text.memo import kept
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
#: Words of symmetric relations.
_SYMMETRIC = re.compile(
    r"(?<![^\W_])(?:met|meets?|married|marry|between|with|near|equals?|similar|same|differs?|"
    r"differ|borders?|adjacent|either|neither|both|together|versus|vs|spoke|talked|played|"
    r"cousins?|siblings?|twins?|friends?|neighbou?rs?|is also|known as|called|along|beside)"
    r"(?![^\W_])",
    re.I,
)
_DROPPED = frozenset(["and", "but", "while", "the", "a", "an", "then", "also", "und", "y", "et"])


#: Words that begin an adverbial of place, time or manner.
_FRONT = frozenset([
    "in", "on", "at", "by", "from", "to", "for", "with", "after", "before", "since", "until",
    "during", "under", "over", "through", "as", "of", "when", "if", "because", "although",
    "while", "yesterday", "today", "tomorrow", "now", "then", "there", "here", "later",
    "according", "per", "across", "along", "around", "behind", "below", "above", "between",
    "down", "inside", "outside", "into", "near", "off", "onto", "out", "up", "within", "without",
    "every", "each", "once", "twice", "often", "always", "never", "sometimes", "soon", "ever",
    "still", "perhaps", "only", "however", "so", "heute", "gestern",
    "morgen", "jetzt", "dort", "hier", "oft", "immer", "auf", "mit", "von", "zu", "durch", "aus",
    "hoy", "ayer", "ici", "depuis", "desde", "con", "por", "para", "sur", "sous", "am", "im",
    "bei", "nach", "vor", "seit", "en", "dans", "pour", "avec",
])  # fmt: skip
#: Words between two names of one thing.
_COPULAS = frozenset([
    "is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "will", "ist",
    "sind", "war", "waren", "est", "sont", "était", "étaient", "es", "son", "era", "eran", "fue",
    "fueron", "è", "sono", "são", "foi", "foram",
])  # fmt: skip
_SAYS = frozenset([
    "said", "says", "say", "added", "adds", "wrote", "writes", "noted", "notes", "explained",
    "explains", "stated", "states", "announced", "announces", "reported", "reports", "told",
    "asked", "sagt", "sagte", "dit", "dijo",
])  # fmt: skip
_WHERE_AND_WHEN = frozenset([
    "in", "on", "at", "during", "since", "until", "am", "im", "bei", "en", "dans",
])  # fmt: skip
_DEFINITE = frozenset([
    "the", "his", "her", "its", "their", "our", "my", "your", "this", "that", "these", "those",
    "der", "die", "das", "sein", "seine", "ihr", "ihre", "le", "la", "les", "sa", "son", "ses",
    "el", "los", "las", "su", "il", "lo",
])  # fmt: skip


class ReorderedSentence(NamedTuple):
    """A source sentence at ``[start:end]`` whose words a statement reorders."""

    source: int
    start: int
    end: int


def turned_round(statement: str, texts: tuple[str, ...]) -> ReorderedSentence | None:
    """Return the source sentence that ``statement`` reverses: "A beat B" for "B beat A".

    Both have the same words, apart from articles and "and", and blocks of words are swapped around
    others. Adverbs, clauses and items of a list may be anywhere. The two sides of a symmetric
    relation may be swapped. So may the sides of a definite "is" ("Accra is the capital of
    Ghana").
    """
    tokens = _tokens(statement)
    if not _MIN_TOKENS <= len(tokens) <= _MAX_TOKENS:
        return None
    bag = Counter(tokens)
    rarest = max(tokens, key=len)
    result: ReorderedSentence | None = None
    for source, text in enumerate(texts):
        low = _low(text)
        at = low.find(rarest)
        seen = 0
        while at >= 0 and seen < 40:
            start, end = placed(text).sentence(at)
            for first, last in _pieces(text, start, end):
                theirs = _tokens(text[first:last])
                if len(theirs) != len(tokens) or Counter(theirs) != bag:
                    continue
                if theirs == tokens or _same(statement, text[first:last]):
                    return None
                result = result or ReorderedSentence(source, first, last)
            at = low.find(rarest, max(end, at + 1))
            seen += 1
    return result


@kept
def _low(text: str) -> str:
    return lowered(folded(text))


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the sentence, and its parts between semicolons."""
    pieces = [(start, end)]
    at = start
    for match in re.compile(r";").finditer(text, start, end):
        pieces.append((at, match.start()))
        at = match.end()
    if at != start:
        pieces.append((at, end))
    return pieces[:20]


def _tokens(text: str, lists: bool = True) -> list[str]:
    return list(_tokens_once(text, lists))


@lru_cache(maxsize=2_048)
def _tokens_once(text: str, lists: bool) -> tuple[str, ...]:
    """Return the counted words, with items of ``lists`` in alphabetical order.

    Example of a list: "red, blue and green".
    """
    found: list[str] = []
    items: list[str] = []  # of the open list, which the last word may end
    joined = False
    for match in _PIECE.finditer(lowered(folded(text))):
        word = match[0]
        if word in _LIST_JOINTS:
            joined = bool(items)
            continue
        if word in _DROPPED:
            continue
        if joined and lists:
            items.append(word)
        else:
            found += sorted(items) if len(items) > 1 else items
            items = [word]
        joined = False
    return (*found, *sorted(items))


def _same(statement: str, sentence: str) -> bool:
    """Return True if the other order may have the same meaning: no two things are swapped."""
    if _SYMMETRIC.search(statement):
        return True
    if sorted(_clauses(statement)) == sorted(_clauses(sentence)):
        return True
    mine, theirs = _tokens(statement, lists=False), _tokens(sentence, lists=False)
    if mine == theirs:  # a comma alone makes a list of one of them
        return True
    found = _replaced(mine, theirs) or _exchanged(mine, theirs)
    if found is None:
        return True
    adverbs = [block for block in found.blocks if _adverbial(block)]
    if adverbs and (len(adverbs) < len(found.blocks) or any(len(a) > 1 for a in adverbs)):
        return True
    if found.between and set(found.between) <= _COPULAS:
        return any(
            _definite(block, text) for block in found.blocks for text in (statement, sentence)
        )
    if len(found.between) == 1 and found.between[0] in _SAYS:
        return True
    alike = len(set(found.before)) == 1 and found.before[0] in _WHERE_AND_WHEN
    return alike and _JOINT.search(statement) is None


class _Exchange(NamedTuple):
    """Swapped blocks of words, the words before them, and those between the first two."""

    blocks: list[list[str]]
    before: list[str]
    between: list[str]


def _replaced(mine: list[str], theirs: list[str]) -> _Exchange | None:
    """Find swapped blocks among words that keep their order."""
    runs: list[tuple[int, int]] = []
    for i, (word, other) in enumerate(zip(mine, theirs, strict=True)):
        if word == other:
            continue
        if runs and runs[-1][1] == i:
            runs[-1] = (runs[-1][0], i + 1)
        else:
            runs.append((i, i + 1))
    blocks = [mine[a:b] for a, b in runs]
    if len(runs) < 2 or sorted(blocks) != sorted(theirs[a:b] for a, b in runs):
        return None
    before = [mine[a - 1] if a else "" for a, _ in runs]
    return _Exchange(blocks, before, mine[runs[0][1] : runs[1][0]])


def _exchanged(mine: list[str], theirs: list[str]) -> _Exchange | None:
    """Find two shortest blocks swapped around some words.

    Two figures may be adjacent.
    """
    n = len(mine)
    first = next(i for i in range(n) if mine[i] != theirs[i])
    last = next(i for i in range(n, 0, -1) if mine[i - 1] != theirs[i - 1])
    a, b = mine[first:last], theirs[first:last]
    n = len(a)
    fronts = [i for i in range(1, n) if a[:i] == b[n - i :]]
    backs = [j for j in range(1, n) if b[:j] == a[n - j :]]
    for i in fronts:
        for j in backs:
            near = i + j == n and all(word[0].isdigit() for word in a)  # "3-1" for "1-3"
            if (i + j < n or near) and a[i : n - j] == b[j : n - i]:
                before = [mine[first - 1] if first else "", a[n - j - 1]]
                return _Exchange([a[:i], a[n - j :]], before, a[i : n - j])
    return None


def _adverbial(block: list[str]) -> bool:
    """Return True if a block is an adverbial of place, time or manner, with a free position."""
    return block[0] in _FRONT or (len(block) == 1 and block[0].endswith("ly"))


def _definite(block: list[str], text: str) -> bool:
    """Return True if a text has a block as one definite thing: a name, a figure, "the" thing."""
    if block[0][0].isdigit():
        return True
    before = ""
    for match in _TOKEN.finditer(text):
        word = lowered(folded(match[0]))
        if word in block and (before in _DEFINITE or (before and match[0][0].isupper())):
            return True
        before = word
    return False


def _clauses(text: str) -> list[tuple[str, ...]]:
    found = (tuple(_tokens(piece)) for piece in _JOINT.split(text))
    return [clause for clause in found if clause]
