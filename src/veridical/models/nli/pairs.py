"""Windows of text pairs, and merging of their probabilities.

Premise and hypothesis share the model's input length. A pair that fits is one window. Otherwise the
premise is split into overlapping windows, each with the whole hypothesis. A hypothesis of more than
half the length is split too, and every piece is combined with every window of the premise. Nothing
is truncated.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Window
from veridical.models.windows import OVERLAP

#: Change it whenever pairs would be windowed or merged differently; part of a model's revision.
VERSION = "pairs-1"


class TokenWords(NamedTuple):
    """Mapping of a hypothesis's tokens in one window to its words.

    Attributes:
        of_tokens: for each token the index of its word, from 0; -1 for none.
        total: number of words of the whole hypothesis.
    """

    of_tokens: NDArray[np.int64]
    total: int


class Piece(NamedTuple):
    """Content of one window.

    Attributes:
        premise: back end's input of the premise.
        hypothesis: back end's input of the hypothesis.
        part: index of this piece of the hypothesis, from 0.
        about: overlap of this premise window with the hypothesis. It counts the shared terms
            (tokens or words), each weighted by ln(windows / windows with the term). It is 0 if the
            premise has one window.
        group: index of the hypothesis, if several are judged separately, from 0.
        words: words of the hypothesis, if the model marks wrong ones.
    """

    premise: Any
    hypothesis: Any
    part: int = 0
    about: float = 0.0
    group: int = 0
    words: TokenWords | None = None


class Measured(ABC):
    """A text as a row of units (tokens, words or characters), which measure its length."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._spans: dict[int, list[tuple[int, int]]] = {}
        self._sentences: list[int] | None = None

    @abstractmethod
    def cut(self, start: int, end: int) -> Any:
        """Return units ``start`` to ``end``, in the back end's form."""

    @abstractmethod
    def terms(self, start: int, end: int) -> frozenset[Hashable]:
        """Return the terms of units ``start`` to ``end``, for comparing topics."""

    @abstractmethod
    def sentence_starts(self) -> Sequence[int]:
        """Return the units that begin a sentence, in order."""

    @abstractmethod
    def starts_word(self, unit: int) -> bool:
        """Return True if a word begins at this unit."""

    def words(self, start: int, end: int) -> TokenWords | None:
        """Return the words of units ``start`` to ``end``, if the model marks wrong ones."""
        return None

    def spans(self, room: int) -> list[tuple[int, int]]:
        """Return windows of at most ``room`` units that cover the text (see :func:`split`)."""
        if self.length <= room:
            return [(0, self.length)]
        spans = self._spans.get(room)
        if spans is None:
            if self._sentences is None:
                self._sentences = sorted(set(self.sentence_starts()))
            spans = split(self.length, room, self._sentences, self.starts_word)
            self._spans[room] = spans
        return spans


def split(
    length: int, room: int, sentences: Sequence[int], starts_word: Callable[[int], bool]
) -> list[tuple[int, int]]:
    """Split 0..length into overlapping spans of similar size, at most ``room`` units each.

    A span ends at a sentence end within an eighth of ``room`` of the target, else before a word.
    The next one repeats whole sentences, between one unit and a quarter of ``room``, as close to an
    eighth as possible. Without sentences it repeats an eighth.

    Args:
        sentences: positions at which a sentence begins, in order.
        starts_word: returns True if a word begins at a position.
    """
    slack = room // OVERLAP
    spans, start = [], 0
    while length - start > room:
        remaining = length - start
        count = math.ceil((remaining - slack) / (room - slack))
        # Equally long, so that the last is not short.
        aim = start + min(room, math.ceil((remaining + (count - 1) * slack) / count))
        end = _nearest(sentences, aim, aim - slack, min(start + room, aim + slack))
        if end is None:
            end = _word(starts_word, aim, aim - slack)
        spans.append((start, end))
        again = _nearest(sentences, end - slack, end - 2 * slack, end - 1)
        if again is None:
            again = _word(starts_word, end - slack, end - 2 * slack)
        start = max(again, start + 1)
    return [*spans, (start, length)]


def _nearest(sorted_: Sequence[int], aim: int, lowest: int, highest: int) -> int | None:
    """Return the value nearest to ``aim`` within ``lowest..highest``; the lower one in a tie."""
    at = bisect_left(sorted_, aim)
    near = [x for x in sorted_[max(at - 1, 0) : at + 1] if lowest <= x <= highest]
    return min(near, key=lambda x: abs(x - aim), default=None)


def _word(starts_word: Callable[[int], bool], at: int, lowest: int) -> int:
    """Return the last word start in ``lowest..at``, else ``at``."""
    return next((i for i in range(at, lowest - 1, -1) if starts_word(i)), at)


def pair_windows(
    premise: Measured, hypothesis: Measured, room: int, special: int = 0
) -> list[Window]:
    """Return the windows of one pair, each with a :class:`Piece`.

    Args:
        room: maximum units of premise and hypothesis together, at least 2.
        special: units that the model adds to every window.
    """
    return chunk_windows([premise], hypothesis, room, special)


def chunk_windows(
    chunks: Sequence[Measured], hypothesis: Measured, room: int, special: int = 0
) -> list[Window]:
    """Return the windows of one pair whose premise is in ``chunks``, at least one.

    No window crosses a chunk boundary. Otherwise as :func:`pair_windows`.
    """
    parts = hypothesis.spans(max(room // 2, room - max(c.length for c in chunks)))
    premise_room = room - max(end - start for start, end in parts)
    spans = [(chunk, *span) for chunk in chunks for span in chunk.spans(premise_room)]
    span_terms = [c.terms(a, b) if len(spans) > 1 else frozenset() for c, a, b in spans]
    holders = Counter(term for terms in span_terms for term in terms)
    windows = []
    for part, (first, last) in enumerate(parts):
        piece = hypothesis.cut(first, last)
        part_terms = hypothesis.terms(first, last) if len(spans) > 1 else frozenset()
        words = hypothesis.words(first, last)
        for (chunk, start, end), terms in zip(spans, span_terms, strict=True):
            # fsum: equal sets give equal sums, in any order
            about = math.fsum(math.log(len(spans) / holders[t]) for t in part_terms & terms)
            content = Piece(chunk.cut(start, end), piece, part, about, words=words)
            windows.append(Window(special + end - start + last - first, content))
    return windows


def merge(
    windows: Sequence[Window], outputs: Sequence[NDArray[np.floating]], *, capped: bool = False
) -> NDArray[np.float32]:
    """Merge the (3,) probabilities of a pair's windows.

    The windows of the premise are merged for one piece of the hypothesis. P(entailment) is the
    maximum, as a premise entails everything that a part of it entails. P(contradiction) is that of
    the closest window (:class:`Piece`), or the mean over ties; the maximum would grow with the
    length of an unrelated premise. P(neutral) is the rest, and the three are scaled to sum to 1.
    If ``capped``, P(entailment) stays instead, and P(contradiction) is at most the rest.

    The pieces of the hypothesis are merged next. P(entailment) is the minimum, as all of it must
    follow, and P(contradiction) the maximum, as one false piece suffices; then as above.
    """
    if len(windows) == 1:
        return np.asarray(outputs[0], dtype=np.float32)
    pieces: list[Piece] = [w.content for w in windows]
    rows = np.asarray(outputs, dtype=np.float64)
    parts = []
    for part in range(pieces[-1].part + 1):
        mine = [i for i, p in enumerate(pieces) if p.part == part]
        most = max(pieces[i].about for i in mine)
        about = [i for i in mine if pieces[i].about == most]
        parts.append(_filled(rows[mine, 0].max(), rows[about, 2].mean(), capped))
    verdicts = np.array(parts)
    return _filled(verdicts[:, 0].min(), verdicts[:, 2].max(), capped).astype(np.float32)


def merge_words(
    windows: Sequence[Window], risks: Sequence[NDArray[np.floating]]
) -> NDArray[np.float32]:
    """Return the (words,) risks of a pair's hypothesis from its token risks per window.

    In a window a word takes the maximum over its tokens; over windows it takes the minimum, as any
    window may support it. A word without tokens has risk 0.
    """
    total: int = windows[0].content.words.total
    least = np.full(total, np.inf)
    for window, of_tokens in zip(windows, risks, strict=True):
        places = window.content.words.of_tokens
        here = np.full(total, -1.0)
        np.maximum.at(here, places[places >= 0], of_tokens[places >= 0])
        least = np.where(here >= 0, np.minimum(least, here), least)
    return np.where(np.isfinite(least), least, 0.0).astype(np.float32)


def _filled(entailment: float, contradiction: float, capped: bool) -> NDArray[np.float64]:
    if capped:
        contradiction = min(contradiction, 1 - entailment)
    neutral = max(1 - entailment - contradiction, 0)
    row = np.array([entailment, neutral, contradiction], dtype=np.float64)
    filled: NDArray[np.float64] = row / row.sum()
    return filled
