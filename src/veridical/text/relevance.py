"""Which of several texts is most about another, by the words they share."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from veridical.text.memo import kept
from veridical.text.words import words_of


class Rarity:
    """What words of n texts weigh: ``log((n + 1) / df)``, with ``df`` the number of texts that
    hold the word. What stands in one of them tells them apart, what stands in all hardly counts.
    Case and tokens without a letter or digit are ignored."""

    def __init__(self, texts_words: Iterable[Iterable[str]]) -> None:
        self._frequency: Counter[str] = Counter()
        self._texts = 0
        for words in texts_words:
            self._frequency.update(plain(words))
            self._texts += 1

    def overlap(self, one: Iterable[str], other: Iterable[str]) -> float:
        """Sum of the weights of the distinct words that both have and any of the texts has.

        >>> rarity = Rarity([["the", "cat"], ["the", "dog"]])
        >>> rarity.overlap(["The", "cat"], ["a", "cat"]) > rarity.overlap(["the"], ["the"])
        True
        """
        frequency, texts = self._frequency, self._texts
        shared = plain(one) & plain(other)
        return math.fsum(math.log((texts + 1) / frequency[w]) for w in shared if frequency[w])


class MostAbout:
    """Candidates, read once, to be asked which is most about each of many units: which shares most
    words with it, rare words counting more.

    The overlap is the sum over distinct shared words of ``log((n + 1) / df)``, with ``df`` the
    number of the n candidates that hold the word: what stands in one of them tells them apart,
    what stands in all hardly counts. Case and tokens without a letter or digit are ignored. It
    depends on nothing but unit and candidates; the earliest candidate wins a tie, so also where no
    word is shared.

    Args:
        candidates_words: words of each candidate.

    Raises:
        ValueError: there is no candidate.

    >>> MostAbout([["in", "1912"], ["in", "Rome", "."]]).place(["Born", "in", "Rome"])
    1
    """

    def __init__(self, candidates_words: Sequence[Iterable[str]]) -> None:
        if not candidates_words:
            raise ValueError("there is no candidate to choose from")
        self._n = len(candidates_words)
        self._holders: dict[str, list[int]] = {}  # of each word
        for place, words in enumerate(candidates_words):
            for word in plain(words):
                self._holders.setdefault(word, []).append(place)

    def place(self, unit_words: Iterable[str]) -> int:
        """Index of the candidate that a unit, of these words, is most about."""
        return next(iter(self.nearest(unit_words, 1)), 0)

    def nearest(self, unit_words: Iterable[str], most: int) -> list[int]:
        """Indices of the candidates that a unit is most about, by falling overlap: at most
        ``most``, of those that share a word with it."""
        weights: dict[int, list[float]] = {}
        for word in plain(unit_words):
            holders = self._holders.get(word, ())
            weight = math.log((self._n + 1) / max(len(holders), 1))
            for place in holders:
                weights.setdefault(place, []).append(weight)
        # the first of equals; an exact sum, as words come in any order
        overlaps = {place: math.fsum(shared) for place, shared in weights.items()}
        return heapq.nsmallest(most, overlaps, key=lambda place: (-overlaps[place], place))


def plain(words: Iterable[str]) -> frozenset[str]:
    """Words as they are compared: a set of them may be made once for many comparisons."""
    if isinstance(words, frozenset):
        return words
    # most words are letters alone, which is faster to see
    return frozenset([w.lower() for w in set(words) if w.isalnum() or any(map(str.isalnum, w))])


@kept
def plain_words(text: str) -> frozenset[str]:
    """The words of a text as they are compared."""
    return plain(words_of(text))


@kept
def rarity_in(texts: tuple[str, ...]) -> Rarity:
    """What words of ``texts`` weigh."""
    return Rarity(map(words_of, texts))


@kept
def candidates(texts: tuple[str, ...]) -> MostAbout:
    """``texts`` to be asked which is most about a unit."""
    return MostAbout([words_of(text) for text in texts])
