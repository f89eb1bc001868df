"""Opening of retrievers from ``--corpus PATH``, ``search:NAME`` or an object."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.errors import UsageError
from veridical.files.temporary import TemporaryFolder
from veridical.retrieval.corpus.build import (
    Embedder,
    IndexProgress,
    Notify,
    folder_of,
    refresh,
    resolved,
)
from veridical.retrieval.corpus.files import listing
from veridical.retrieval.corpus.index import Counts, Index
from veridical.retrieval.corpus.retriever import CorpusRetriever
from veridical.retrieval.search import SEARCH, Retriever, find_service

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np
    from numpy.typing import NDArray

    from veridical.engine.encoders import EncoderService
    from veridical.engine.engine import Engine

__all__ = ["Corpus", "IndexProgress", "open_retriever"]


class Corpus(CorpusRetriever):
    """The user's documents, indexed for search by words and embeddings.

    The index is in the engine's store and updated to the files' current content; without a store it
    is temporary.

    Args:
        path: a folder of text, Markdown, HTML and PDF files and of JSON lines, or one such file.
        engine: its embedder, event loop and store are used.
        notify: receives the indexing progress, in this thread.
        embed: False disables vectors and searches by words alone.

    Attributes:
        counts: counts of indexed and skipped items.

    Raises:
        UsageError: there is no such corpus, or another process is writing its index.
        ModelError: the embedder failed.
    """

    def __init__(
        self,
        path: str | Path,
        engine: Engine,
        *,
        notify: Notify | None = None,
        embed: bool = True,
    ) -> None:
        self.path = Path(path).expanduser()
        next(listing(resolved(self.path)), None)  # checks that it exists before a model is loaded
        if engine.store is None:
            self._temporary = TemporaryFolder("corpus")  # deleted with this object
            folder = self._temporary.path
        else:
            folder = folder_of(engine.store.path, self.path)
        if not embed:
            self.counts: Counts = refresh(self.path, folder, None, notify)
            super().__init__(Index(folder))
            return
        passages, queries = engine.embedding(stored=False), engine.embedding()
        model = queries.backend

        def submit(texts: Sequence[str]) -> Future[NDArray[np.float32]]:
            return engine.submit(_vectors(passages, texts))

        try:
            embedder = Embedder(f"{model.name}@{model.revision}", submit)
            self.counts = refresh(self.path, folder, embedder, notify)
        finally:
            passages.close()

        async def queried(texts: Sequence[str]) -> NDArray[np.float32]:
            # on the engine's loop, not the current one
            return await asyncio.wrap_future(engine.submit(_vectors(queries, texts)))

        super().__init__(Index(folder), embedder.name, queried, model.scripts)


async def _vectors(service: EncoderService, texts: Sequence[str]) -> NDArray[np.float32]:
    return await service.embed(texts, [])


def open_retriever(
    source: str | Path | Retriever,
    engine: Engine,
    notify: Notify | None = None,
    *,
    pages: int | None = None,
) -> Retriever:
    """Open ``search:NAME`` of ``veridical.toml``, or a corpus by its path.

    A retriever object is returned as it is.

    Args:
        pages: number of pages to fetch and read per query of a search service; None: none.

    Raises:
        UsageError: there is no such service or corpus.
    """
    if not isinstance(source, (str, Path)):
        return source
    if isinstance(source, str) and source.startswith(SEARCH):
        from veridical.retrieval.search_http import HttpSearch

        service = find_service(source.removeprefix(SEARCH))
        service.key()  # checks that the key exists
        search = HttpSearch(service)
        if pages is None:
            return search
        if engine.named_only:
            raise UsageError(
                "an engine that serves remote requests cannot fetch pages; remove corpus_pages"
            )
        from veridical.retrieval.search_pages import PageSearch

        return PageSearch(search, pages)
    if engine.named_only:
        raise UsageError(
            f"the corpus of a remote request must be search:NAME of veridical.toml, not {source!r}"
        )
    return Corpus(source, engine, notify=notify)
