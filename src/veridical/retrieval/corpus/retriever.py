"""Finds passages in the index of a corpus, by words and by meaning.

The two rankings are joined by reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): a
passage scores the sum of 1 / (60 + rank) over the rankings that have it.
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

#: The constant of the fusion, as its authors found it.
RRF_K = 60
#: Passages of a ranking that are joined, at least.
_POOL = 50


def fuse(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Score of everything that a ranking has. Ranks count from 1.

    >>> {k: round(v, 5) for k, v in fuse([[7, 8], [8]]).items()}
    {7: 0.01639, 8: 0.03252}
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (RRF_K + rank)
    return scores


class CorpusRetriever:
    """A :class:`~veridical.retrieval.search.Retriever` over an index that is up to date.

    Args:
        index: is closed with this.
        embedder: identity of the model whose vectors are searched.
        embed: (n, d) unit vectors of n queries; None goes by words alone.
        scripts: that the model reads; other queries go by words alone. None is all.

    Attributes:
        by_words: whether words count; for measuring what they add.
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
        """Hash of the documents, and the embedder."""
        return {
            "kind": "corpus",
            "content": self.index.content(),
            "embedder": self._embedder if self._embed is not None else None,
        }

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        """Find at most ``k`` passages for each query, one of those with the same text."""
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
        # of equal scores those of the last that counts are all looked at
        least = sorted(scores.values(), reverse=True)[:k][-1:] or [0.0]
        best = self.index.passages(i for i, s in scores.items() if s >= least[0])
        order = sorted(best.values(), key=lambda p: (-scores[p.id], p.document, p.start))
        return [_as_found(p, scores[p.id]) for p in order[:k]]

    async def close(self) -> None:
        """Let the index go."""
        self.index.close()


def _as_found(passage: IndexedPassage, score: float) -> Found:
    """The id is the document's name with fragments that say where in it: characters of the text
    (RFC 5147) and the page of a PDF (RFC 8118)."""
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
    """Passage -> the one of the same text that is found in its place: the
    first by name and place, whatever the order they were indexed in."""
    with index.mutex:
        rows = index.execute(
            "SELECT p.hash, p.id FROM passages p JOIN documents d ON d.id = p.document "
            "WHERE p.hash IN (SELECT hash FROM passages GROUP BY hash HAVING count(*) > 1) "
            "ORDER BY p.hash, d.name, p.start"
        )
    first: dict[bytes, int] = {}
    return {i: first[key] for key, i in rows if first.setdefault(key, i) != i}
