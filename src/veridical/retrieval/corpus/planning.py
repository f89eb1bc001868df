"""Stands for a retriever in a dry run: counts, and finds about as much."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.retrieval.corpus.opening import Corpus
from veridical.retrieval.corpus.pieces import SIZE
from veridical.retrieval.corpus.vectors import missing_passages
from veridical.retrieval.search import SEARCH, Found, Retriever, find_service

if TYPE_CHECKING:
    from veridical.engine.engine import Engine

_SOME = 4096
_SNIPPET = 300  # code points


class PlannedRetriever:
    """Passages of a corpus are found by words alone, so its files are read but nothing is
    embedded. Nobody else is asked: their passages are pretended, and as long as a snippet, or
    where pages are read, as a passage of one.

    Args:
        source: as :func:`~veridical.retrieval.corpus.opening.open_retriever` takes it.
        pages: how many results of a query are fetched; None: none.

    Attributes:
        count: is told which texts a run would embed.
    """

    def __init__(
        self, source: str | Path | Retriever, engine: Engine, pages: int | None = None
    ) -> None:
        self._pages = pages
        self.count: Callable[[Sequence[str]], Awaitable[Any]] | None = None
        self.corpus: Corpus | None = None
        self._queries: set[str] = set()
        if not isinstance(source, (str, Path)):
            self.name = source.name
        elif str(source).startswith(SEARCH):
            self.name = str(source)
            find_service(self.name.removeprefix(SEARCH))
        else:
            self.corpus = Corpus(source, engine, embed=False)
            self.name = self.corpus.name

    def identity(self) -> dict[str, Any]:
        """An empty identity: no run depends on a plan."""
        return {}

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        """Passages for each query, as many as a run might find."""
        self._queries |= set(queries)
        if self.corpus is None:
            return [[Found("", self._pretended(i, q), "") for i in range(k)] for q in queries]
        if self.count is not None:
            await self.count(queries)
        return await self.corpus.search(queries, k)

    def _pretended(self, place: int, query: str) -> str:
        text = f"{place} {query}"
        if self._pages is None:
            return text[-_SNIPPET:]
        return (text + " " + query * (SIZE // max(1, len(query))))[:SIZE]

    def missing(self, embedder: str) -> Iterator[list[str]]:
        """Texts of the corpus that a run with this embedder would embed, some at a time."""
        if self.corpus is None:
            return
        after = 0
        while passages := missing_passages(self.corpus.index, embedder, _SOME, after):
            after = passages[-1][0]
            yield [text for *_, text in passages]

    async def close(self) -> None:
        """Let the index go."""
        if self.corpus is not None:
            await self.corpus.close()

    def told(self) -> dict[str, Any]:
        """What the plan says of it: distinct queries, pages fetched at most, and what the corpus
        holds."""
        counts = {} if self.corpus is None else self.corpus.counts._asdict()
        queries = len(self._queries)
        fetched = {} if self._pages is None else {"pages": self._pages * queries}
        return {"by": self.name, "queries": queries, **fetched, **counts}
