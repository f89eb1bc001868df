"""From the tagger's probabilities to triplets of words."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical_lab.tagger.features import Range, Sentence

OUTSIDE, BEGIN, INSIDE = range(3)  #: classes of a word by itself: of tails
NEITHER, HEAD, RELATION = range(3)  #: classes of a word relative to a tail
_LISTED = frozenset({",", "and", "or", "&", ";"})


class Frame(NamedTuple):
    """A triplet of words, by index: ``relation`` need not be one stretch."""

    head: Range
    relation: tuple[int, ...]
    tail: Range


def tails_of(shares: Floats, threshold: float) -> list[Range]:
    """Return word ranges that are tails by more than ``threshold``, split at each BEGIN.

    Args:
        shares: (n, 3) probabilities of OUTSIDE, BEGIN, INSIDE.
    """
    found: list[Range] = []
    for i, (outside, begin, inside) in enumerate(shares):
        if 1 - outside < threshold:
            continue
        if found and found[-1][1] == i and inside >= begin:
            found[-1] = (found[-1][0], i + 1)
        else:
            found.append((i, i + 1))
    return found


def frames_beside(sentence: Sentence, tail: Range, shares: Floats) -> list[Frame]:
    """Return the triplets of one tail.

    Empty if no head or no relation is likely enough; several if the heads are a list.

    Args:
        shares: (n, 3) probabilities of NEITHER, HEAD, RELATION of each word, given that tail.
    """
    chosen = shares.argmax(axis=1)
    chosen[tail[0] : tail[1]] = NEITHER
    words = [w.text for w in sentence.words]
    lettered = [any(map(str.isalnum, w)) for w in words]
    relation = tuple(int(i) for i in np.flatnonzero(chosen == RELATION) if lettered[i])
    heads = [h for h in _runs(chosen == HEAD) if any(lettered[h[0] : h[1]])]
    if not relation or not heads:
        return []
    gaps = [words[a[1] : b[0]] for a, b in pairwise(heads)]
    if not all(w.lower() in _LISTED for gap in gaps for w in gap):
        heads = [max(heads, key=lambda h: float(shares[h[0] : h[1], HEAD].sum()))]
    return [Frame(_closed(words, h), relation, _closed(words, tail)) for h in heads]


def _runs(marked: NDArray[np.bool_]) -> list[Range]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _closed(words: list[str], part: Range) -> Range:
    """Extend a range by the bracket that closes one opened in it."""
    start, end = part
    opened = words[start:end].count("(") > words[start:end].count(")")
    return (start, end + 1) if opened and words[end : end + 1] == [")"] else part
