"""Passage search in a corpus index, by words and embeddings.

The two rankings are merged by reciprocal rank fusion (Cormack, Clarke and Buettcher 2009). A
passage's score is the sum of 1 / (60 + rank) over the rankings that contain it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from veridical.retrieval.corpus.index import Index, IndexedPassage
from veridical.retrieval.corpus.vectors import VectorSearch
from veridical.retrieval.search import Found
from veridical.text.scripts import reads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Constant of the fusion, as published.
RRF_K = 60
#: Minimum passages of a ranking that are merged.
_POOL = 50


def fuse(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Return the score of every item in any ranking. Ranks count from 1.

    >>> {k: round(v, 5) for k, v in fuse([[7, 8], [8]]).items()}
    {7: 0.01639, 8: 0.03252}
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (RRF_K + rank)
    return scores


class CorpusRetriever:
    """A :class:`~veridical.retrieval.search.Retriever` over an updated index.

    Args:
        index: the index, closed with this object.
        embedder: identity of the model whose vectors are searched.
        embed: returns (n, d) unit vectors of n queries; None searches by words alone.
        scripts: scripts that the model supports; other queries use words alone. None means all.

    Attributes:
        by_words: False disables the search by words, to measure its effect.
    """

    name = "corpus"

    def __init__(
        self,
        index: Index,
        embedder: str = "",
        embed: Callable[[Sequence[str]], Awaitable[NDArray[np.float32]]] | None = None,
        scripts: frozenset[str] | None = None,
    ) -> None:
        self.index = index
        self._embedder = embedder
        self._embed = embed
        self._scripts = scripts
        self.by_words = True
        self._stand_ins = _stand_ins(index)
        self._vectors = VectorSearch(index, embedder, self._stand_ins)

    def identity(self) -> dict[str, Any]:
        """Return the hash of the documents and the embedder."""
        return {
            "kind": "corpus",
            "content": self.index.content(),
            "embedder": self._embedder if self._embed is not None else None,
        }

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        """Find at most ``k`` passages for each query, without duplicate texts."""
        distinct = list(dict.fromkeys(queries))
        pool = max(_POOL, 5 * k)
        near: dict[str, list[int]] = {}
        readable = [q for q in distinct if self._scripts is None or reads(q, self._scripts)]
        if self._embed is not None and readable and len(self._vectors):
            vectors = await self._embed(readable)
            ranked = await asyncio.to_thread(self._vectors.nearest, vectors, pool)
            near = dict(zip(readable, ranked, strict=True))

        def rank() -> dict[str, list[Found]]:
            return {q: self._found(q, near.get(q, []), k, pool) for q in distinct}

        ranked_passages = await asyncio.to_thread(rank)
        return [ranked_passages[q] for q in queries]

    def _found(self, query: str, near: list[int], k: int, pool: int) -> list[Found]:
        worded = self.index.by_words(query, pool) if self.by_words else []
        worded = [self._stand_ins.get(i, i) for i in worded]
        scores = fuse([list(dict.fromkeys(worded)), near])
        # all passages tied with the last one are considered
        least = sorted(scores.values(), reverse=True)[:k][-1:] or [0.0]
        best = self.index.passages(i for i, s in scores.items() if s >= least[0])
        order = sorted(best.values(), key=lambda p: (-scores[p.id], p.document, p.start))
        return [_as_found(p, scores[p.id]) for p in order[:k]]

    async def close(self) -> None:
        """Close the index."""
        self.index.close()


def _as_found(passage: IndexedPassage, score: float) -> Found:
    """Return the passage with an id that gives its place in the document.

    The id is the document's name with fragments for characters (RFC 5147) and the page of a PDF
    (RFC 8118).
    """
    page = "" if passage.page is None else f"page={passage.page}&"
    return Found(
        id=f"{passage.document}#{page}char={passage.start},{passage.end}",
        text=passage.text,
        source=passage.document,
        start=passage.start,
        end=passage.end,
        page=passage.page,
        title=passage.title,
        score=score,
    )


def _stand_ins(index: Index) -> dict[int, int]:
    """Map each passage with a duplicate text to the one that represents it.

    It is the first by name and place, regardless of the order of indexing.
    """
    with index.mutex:
        rows = index.execute(
            "SELECT p.hash, p.id FROM passages p JOIN documents d ON d.id = p.document "
            "WHERE p.hash IN (SELECT hash FROM passages GROUP BY hash HAVING count(*) > 1) "
            "ORDER BY p.hash, d.name, p.start"
        )
    first: dict[bytes, int] = {}
    return {i: first[key] for key, i in rows if first.setdefault(key, i) != i}
