"""BM25 over the passages of one record.

Source: Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", in
Lucene's form, whose inverse document frequency is never negative.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

K1 = 1.2
B = 0.75


class Bm25:
    """An index of n documents.

    Args:
        documents: terms of each document. Case matters: see :func:`terms`.
        k1: term frequency saturation, at least 0.
        b: document length normalisation, in [0, 1].
    """

    def __init__(self, documents: Sequence[Sequence[str]], *, k1: float = K1, b: float = B) -> None:
        from scipy.sparse import csr_array

        n = len(documents)
        lengths = np.array([len(d) for d in documents], np.float64)
        mean = float(lengths.mean()) if n and lengths.any() else 1.0
        self._columns: dict[str, int] = {}
        rows, columns, counts = [], [], []
        for i, document in enumerate(documents):
            for term, count in Counter(document).items():
                rows.append(i)
                columns.append(self._columns.setdefault(term, len(self._columns)))
                counts.append(count)
        row, column = np.array(rows, np.int64), np.array(columns, np.int64)
        tf = np.array(counts, np.float64)
        df = np.bincount(column, minlength=len(self._columns))
        idf = np.log1p((n - df + 0.5) / (df + 0.5))
        norm = k1 * (1 - b + b * lengths / mean)
        weights = idf[column] * tf * (k1 + 1) / (tf + norm[row])
        self._shape = (n, len(self._columns))
        self._weights = csr_array((weights, (row, column)), shape=self._shape)

    def scores(self, queries: Sequence[Iterable[str]]) -> NDArray[np.float64]:
        """Return (len(queries), n) scores, at least 0.

        A score sums ``idf tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length))`` over a query's
        terms, with repetitions, where ``idf = ln(1 + (n - df + 1/2) / (df + 1/2))``. Terms of no
        document add nothing.
        """
        from scipy.sparse import csr_array

        columns: list[int] = []
        places: list[int] = []
        for place, query in enumerate(queries):
            for term in query:
                column = self._columns.get(term)
                if column is not None:
                    columns.append(column)
                    places.append(place)
        at = np.array(columns, np.int64), np.array(places, np.int64)
        counts = csr_array((np.ones(len(columns)), at), shape=(self._shape[1], len(queries)))
        scores: NDArray[np.float64] = (self._weights @ counts).toarray().T
        return scores


def terms(words: Iterable[str]) -> list[str]:
    """Convert words to index terms: lower case, without tokens that have no letter or digit."""
    return [w.lower() for w in words if w.isalnum() or any(map(str.isalnum, w))]
