"""Relevance ranking of texts by shared words, for each unit."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from veridical.text.memo import kept
from veridical.text.words import words_of


class Rarity:
    """Weights of the words of n texts: ``log((n + 1) / df)``.

    ``df`` is the number of texts with the word. A word of one text weighs most; a word of all texts
    weighs little. Case and tokens without a letter or digit are ignored.
    """

    def __init__(self, texts_words: Iterable[Iterable[str]]) -> None:
        self._frequency: Counter[str] = Counter()
        self._texts = 0
        for words in texts_words:
            self._frequency.update(plain(words))
            self._texts += 1

    def overlap(self, one: Iterable[str], other: Iterable[str]) -> float:
        """Add up the weights of the distinct words that both have and any of the texts has.

        >>> rarity = Rarity([["the", "cat"], ["the", "dog"]])
        >>> rarity.overlap(["The", "cat"], ["a", "cat"]) > rarity.overlap(["the"], ["the"])
        True
        """
        frequency, texts = self._frequency, self._texts
        shared = plain(one) & plain(other)
        return math.fsum(math.log((texts + 1) / frequency[w]) for w in shared if frequency[w])


class MostAbout:
    """Candidates, parsed once, to find the closest one to each of many units.

    The closest one shares most words with the unit, where rare words count more.

    The overlap is the sum over distinct shared words of ``log((n + 1) / df)``, with ``df`` the
    number of the n candidates with the word. Case and tokens without a letter or digit are ignored.
    The result depends only on unit and candidates; the first candidate wins a tie, also if no word
    is shared.

    Args:
        candidates_words: words of each candidate.

    Raises:
        ValueError: there is no candidate.

    >>> MostAbout([["in", "1912"], ["in", "Rome", "."]]).place(["Born", "in", "Rome"])
    1
    """

    def __init__(self, candidates_words: Sequence[Iterable[str]]) -> None:
        if not candidates_words:
            raise ValueError("candidates must not be empty")
        self._n = len(candidates_words)
        self._holders: dict[str, list[int]] = {}  # candidates of each word
        for place, words in enumerate(candidates_words):
            for word in plain(words):
                self._holders.setdefault(word, []).append(place)

    def place(self, unit_words: Iterable[str]) -> int:
        """Return the index of the candidate closest to a unit with these words."""
        return next(iter(self.nearest(unit_words, 1)), 0)

    def nearest(self, unit_words: Iterable[str], most: int) -> list[int]:
        """Return the indices of up to ``most`` candidates, by falling overlap.

        Only candidates that share a word with the unit are included.
        """
        weights: dict[int, list[float]] = {}
        for word in plain(unit_words):
            holders = self._holders.get(word, ())
            weight = math.log((self._n + 1) / max(len(holders), 1))
            for place in holders:
                weights.setdefault(place, []).append(weight)
        # the first in a tie; an exact sum, as words have no order
        overlaps = {place: math.fsum(shared) for place, shared in weights.items()}
        return heapq.nsmallest(most, overlaps, key=lambda place: (-overlaps[place], place))


def plain(words: Iterable[str]) -> frozenset[str]:
    """Normalise words for comparison; a set may be reused in many comparisons."""
    if isinstance(words, frozenset):
        return words
    # most words have letters only, which is a faster test
    return frozenset([w.lower() for w in set(words) if w.isalnum() or any(map(str.isalnum, w))])


@kept
def plain_words(text: str) -> frozenset[str]:
    """Return the normalised words of a text."""
    return plain(words_of(text))


@kept
def rarity_in(texts: tuple[str, ...]) -> Rarity:
    """Return the word weights of ``texts``."""
    return Rarity(map(words_of, texts))


@kept
def candidates(texts: tuple[str, ...]) -> MostAbout:
    """Prepare ``texts`` as candidates."""
    return MostAbout([words_of(text) for text in texts])
