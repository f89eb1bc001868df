"""Retriever for dry runs, which counts and returns similar amounts."""

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
_SNIPPET_CODE_POINTS = 300


class PlannedRetriever:
    """A retriever for plans.

    Passages of a corpus are found by words alone, so its files are read but nothing is embedded.
    Search services are not called: their passages are simulated with the length of a snippet, or of
    a page's passage if pages are read.

    Args:
        source: as in :func:`~veridical.retrieval.corpus.opening.open_retriever`.
        pages: number of pages to fetch per query; None: none.

    Attributes:
        count: receives the texts that a run would embed.
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
        """Return an empty identity, as no run depends on a plan."""
        return {}

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        """Return about as many passages for each query as a run might find."""
        self._queries |= set(queries)
        if self.corpus is None:
            return [[Found("", self._pretended(i, q), "") for i in range(k)] for q in queries]
        if self.count is not None:
            await self.count(queries)
        return await self.corpus.search(queries, k)

    def _pretended(self, place: int, query: str) -> str:
        text = f"{place} {query}"
        if self._pages is None:
            return text[-_SNIPPET_CODE_POINTS:]
        return (text + " " + query * (SIZE // max(1, len(query))))[:SIZE]

    def missing(self, embedder: str) -> Iterator[list[str]]:
        """Yield batches of the corpus's texts that a run would embed."""
        if self.corpus is None:
            return
        after = 0
        while passages := missing_passages(self.corpus.index, embedder, _SOME, after):
            after = passages[-1][0]
            yield [text for *_, text in passages]

    async def close(self) -> None:
        """Close the index."""
        if self.corpus is not None:
            await self.corpus.close()

    def entries(self) -> dict[str, Any]:
        """Return the plan's entries: distinct queries, maximum pages, and the corpus's counts."""
        counts = {} if self.corpus is None else self.corpus.counts._asdict()
        queries = len(self._queries)
        fetched = {} if self._pages is None else {"pages": self._pages * queries}
        return {"by": self.name, "queries": queries, **fetched, **counts}
