"""Which of several texts is most about another, by the words they share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence


class Rarity:
    """What words of n texts weigh: ``log((n + 1) / df)``, with ``df`` the number of texts that
    hold the word. What stands in one of them tells them apart, what stands in all hardly counts.
    Case and tokens without a letter or digit are ignored."""

    def __init__(self, texts_words: Iterable[Iterable[str]]) -> None:
        self._frequency: Counter[str] = Counter()
        self._texts = 0
        for words in texts_words:
            self._frequency.update(_plain(words))
            self._texts += 1

    def overlap(self, one: Iterable[str], other: Iterable[str]) -> float:
        """Sum of the weights of the distinct words that both have and any of the texts has.

        >>> rarity = Rarity([["the", "cat"], ["the", "dog"]])
        >>> rarity.overlap(["The", "cat"], ["a", "cat"]) > rarity.overlap(["the"], ["the"])
        True
        """
        frequency, texts = self._frequency, self._texts
        shared = _plain(one) & _plain(other)
        return math.fsum(math.log((texts + 1) / frequency[w]) for w in shared if frequency[w])


def most_about(unit_words: Iterable[str], candidates_words: Sequence[Iterable[str]]) -> int:
    """Index of the candidate that shares most words with a unit, rare words counting more.

    The overlap is the sum over distinct shared words of ``log((n + 1) / df)``, with ``df`` the
    number of the n candidates that hold the word: what stands in one of them tells them apart,
    what stands in all hardly counts. Case and tokens without a letter or digit are ignored. It
    depends on nothing but its arguments; the earliest candidate wins a tie, so also where no word
    is shared.

    Args:
        unit_words: words of the unit, as by ``evidence.words``.
        candidates_words: words of each candidate.

    Raises:
        ValueError: there is no candidate.

    >>> most_about(["Born", "in", "Rome"], [["in", "1912"], ["in", "Rome", "."]])
    1
    """
    if not candidates_words:
        raise ValueError("there is no candidate to choose from")
    held = [_plain(words) for words in candidates_words]
    frequency = Counter(word for words in held for word in words)
    weight = {
        w: math.log((len(held) + 1) / frequency[w]) for w in _plain(unit_words) if frequency[w]
    }
    overlaps = [math.fsum(weight[w] for w in words if w in weight) for words in held]
    return max(range(len(held)), key=overlaps.__getitem__)  # the first of equals


def _plain(words: Iterable[str]) -> set[str]:
    return {w.lower() for w in set(words) if any(map(str.isalnum, w))}
