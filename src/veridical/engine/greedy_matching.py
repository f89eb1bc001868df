"""BERTScore's greedy matching of token vectors (Zhang et al. 2020, section 3).

A few large matrix products yield every pair of candidates and references, from token matrices that
were encoded once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Encoded

_CELLS = 1 << 24  # similarities in memory at once: 64 MiB of float32
_COLUMNS = 1 << 13  # reference tokens per product, unless a single text has more


class IdfWeights(dict[int, float]):
    """Inverse document frequencies; an unseen token has the largest one, ``log(n + 1)``."""

    def __init__(self, weights: Mapping[int, float], documents: int) -> None:
        super().__init__(weights)
        self._unseen = log(documents + 1)

    def __missing__(self, token_id: int) -> float:
        return self._unseen


def idf_weights(references: Sequence[Encoded]) -> IdfWeights:
    """Return ``log((n + 1) / (df + 1))`` by token id, over ``n`` references (repeats count, as
    published).

    Args:
        references: encoded texts with ``token_ids``.
    """
    frequency: Counter[int] = Counter()
    for text in references:
        if text.token_ids is not None:
            frequency.update(set(text.token_ids.tolist()))
    n = len(references)
    return IdfWeights({i: log((n + 1) / (df + 1)) for i, df in frequency.items()}, n)


def greedy_match(
    candidates: Sequence[Encoded],
    references: Sequence[Encoded],
    idf: Mapping[int, float] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return BERTScore precision and recall of every (candidate, reference) pair.

    A token's score is its largest cosine with any token of the other text. Special tokens may be
    matched but weigh nothing. Precision is the weighted mean over the candidate's tokens, recall
    over the reference's; both lie in [-1, 1].

    Args:
        candidates: n texts with ``tokens`` (t, d) of unit rows, ``token_ids`` and ``content``.
        references: m such texts.
        idf: weight by token id, for every id that occurs; without it each token weighs 1. A text
            whose weights are all 0 is weighted evenly (bert-score gives NaN there).

    Returns:
        Precision and recall, each (n, m) float64. A text without content tokens gives 0.

    Raises:
        ValueError: a text was encoded without its token vectors.
    """
    precision = np.zeros((len(candidates), len(references)))
    recall = np.zeros_like(precision)
    rows = _Side([c for c in candidates if _has_content(c)], idf)
    columns = _Side([r for r in references if _has_content(r)], idf)
    at_row = [i for i, c in enumerate(candidates) if _has_content(c)]
    at_column = [j for j, r in enumerate(references) if _has_content(r)]
    for c0, c1 in columns.groups(_COLUMNS):
        width = int(columns.bounds[c1] - columns.bounds[c0])
        for r0, r1 in rows.groups(max(1, _CELLS // width)):
            p, r = _match(rows, r0, r1, columns, c0, c1)
            block = np.ix_(at_row[r0:r1], at_column[c0:c1])
            precision[block] = p
            recall[block] = r
    return precision, recall


def f1(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the harmonic mean in [0, 1]; 0 unless both are positive."""
    defined = (precision > 0) & (recall > 0)
    total = np.where(defined, precision + recall, 1.0)
    mean = np.where(defined, 2 * precision * recall / total, 0.0)
    return np.minimum(mean, 1.0)


class _Side:
    """Concatenated texts: tokens, normalised weights and boundaries."""

    def __init__(self, texts: list[Encoded], idf: Mapping[int, float] | None) -> None:
        self.texts = texts
        lengths = [0, *(len(t.content) for t in texts if t.content is not None)]
        self.bounds = np.cumsum(lengths)
        self.weights = [_weights(t, idf) for t in texts]

    def tokens(self, first: int, last: int) -> NDArray[np.float32]:
        return np.concatenate([t.tokens for t in self.texts[first:last] if t.tokens is not None])

    def groups(self, limit: int) -> Iterator[tuple[int, int]]:
        """Yield runs of whole texts of at most ``limit`` tokens; a longer text is a run of its
        own."""
        first = 0
        while first < len(self.texts):
            last = int(np.searchsorted(self.bounds, self.bounds[first] + limit, "right")) - 1
            last = max(last, first + 1)
            yield first, last
            first = last


def _match(
    rows: _Side, r0: int, r1: int, columns: _Side, c0: int, c1: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return precision and recall of candidates [r0, r1) with references [c0, c1)."""
    tokens = rows.tokens(r0, r1)
    others = columns.tokens(c0, c1).T
    row_starts = rows.bounds[r0:r1] - rows.bounds[r0]
    column_starts = columns.bounds[c0:c1] - columns.bounds[c0]
    best_of_row = np.empty((len(tokens), c1 - c0), np.float32)
    best_of_column = np.full((r1 - r0, others.shape[1]), -np.inf, np.float32)
    step = max(1, _CELLS // others.shape[1])
    for start in range(0, len(tokens), step):  # one step, unless a single text is enormous
        stop = min(start + step, len(tokens))
        similarity = tokens[start:stop] @ others
        best_of_row[start:stop] = np.maximum.reduceat(similarity, column_starts, axis=1)
        first = int(np.searchsorted(row_starts, start, "right")) - 1
        last = int(np.searchsorted(row_starts, stop, "left"))
        local = np.maximum(row_starts[first:last] - start, 0)
        best = np.maximum.reduceat(similarity, local, axis=0)
        np.maximum(best_of_column[first:last], best, out=best_of_column[first:last])
    row_weights = np.concatenate(rows.weights[r0:r1])
    column_weights = np.concatenate(columns.weights[c0:c1])
    precision = np.add.reduceat(best_of_row * row_weights[:, None], row_starts, axis=0)
    recall = np.add.reduceat(best_of_column * column_weights, column_starts, axis=1)
    return precision, recall


def _has_content(text: Encoded) -> bool:
    if text.tokens is None or text.content is None or text.token_ids is None:
        raise ValueError("greedy matching requires texts encoded with their token vectors")
    return bool(text.content.any())


def _weights(text: Encoded, idf: Mapping[int, float] | None) -> NDArray[np.float64]:
    """Return the weights of a text's tokens: 0 for special tokens, 1 in total."""
    assert text.content is not None and text.token_ids is not None
    weights: NDArray[np.float64] = text.content.astype(np.float64)
    if idf is not None:
        weighted = weights * np.array([idf[i] for i in text.token_ids.tolist()])
        if weighted.any():
            weights = weighted
    normalised: NDArray[np.float64] = weights / weights.sum()
    return normalised
