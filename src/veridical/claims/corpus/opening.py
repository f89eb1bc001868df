"""From ``--corpus PATH``, ``--corpus search:NAME`` or an object to what finds passages."""

from __future__ import annotations

import asyncio
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.claims.corpus.build import Embedder, IndexProgress, Notify, folder_of, refresh
from veridical.claims.corpus.index import Counts, Index
from veridical.claims.corpus.retriever import CorpusRetriever
from veridical.claims.search import Retriever, find_service
from veridical.errors import UsageError

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np
    from numpy.typing import NDArray

    from veridical.engine import Engine
    from veridical.evidence.encoders import EncoderService

__all__ = ["Corpus", "IndexProgress", "open_retriever"]

#: Before the name of a search service.
SEARCH = "search:"


class Corpus(CorpusRetriever):
    """The user's own documents, indexed, and searched by words and by an engine's embedder.

    The index is kept under the engine's store and brought up to what the files hold now; without
    a store it is made for this object alone.

    Args:
        path: a folder of text, Markdown, HTML and PDF files and of JSON lines, or one such file.
        engine: its embedder is used on its loop, and its store.
        notify: is told, from this thread, how far the indexing is.
        embed: False leaves vectors out, and finds by words alone.

    Attributes:
        counts: what the index holds, and how much was skipped.

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
        folder = _index_folder(self.path, engine)
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="veridical-corpus-")
            folder = Path(temporary.name)
            weakref.finalize(self, temporary.cleanup)
        if not embed:
            self.counts: Counts = refresh(self.path, folder, None, notify)
            super().__init__(Index(folder))
            return
        passages, queries = engine.embedding(kept=False), engine.embedding()
        model = queries.backend

        def submit(texts: Sequence[str]) -> Future[NDArray[np.float32]]:
            return engine.submit(_vectors(passages, texts))

        try:
            embedder = Embedder(f"{model.name}@{model.revision}", submit)
            self.counts = refresh(self.path, folder, embedder, notify)
        finally:
            passages.close()

        async def queried(texts: Sequence[str]) -> NDArray[np.float32]:
            # on the engine's own loop, whichever this one is
            return await asyncio.wrap_future(engine.submit(_vectors(queries, texts)))

        super().__init__(Index(folder), embedder.name, queried, model.scripts)

    def documents(self) -> list[str]:
        """Names of all documents, in order."""
        with self.index.mutex:
            rows = self.index.execute("SELECT name FROM documents ORDER BY name")
        return [name for (name,) in rows]


async def _vectors(service: EncoderService, texts: Sequence[str]) -> NDArray[np.float32]:
    return await service.embed(texts, [])


def open_retriever(
    named: str | Path | Retriever, engine: Engine, notify: Notify | None = None
) -> Retriever:
    """What ``named`` names: ``search:NAME`` of ``veridical.toml``, or a corpus's path. A retriever
    is taken as it is.

    Raises:
        UsageError: there is no such service or corpus.
    """
    if not isinstance(named, (str, Path)):
        return named
    if isinstance(named, str) and named.startswith(SEARCH):
        from veridical.claims.search_http import HttpSearch

        service = find_service(named.removeprefix(SEARCH))
        service.key()  # that there is one
        return HttpSearch(service)
    if engine.named_only:
        raise UsageError(f"only search:NAME of veridical.toml may be named here, not {named!r}")
    return Corpus(named, engine, notify=notify)


def _index_folder(path: Path, engine: Engine) -> Path | None:
    return None if engine.store is None else folder_of(engine.store.path, path)
