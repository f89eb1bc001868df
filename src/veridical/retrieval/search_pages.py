"""Search over full result pages instead of snippets.

Source: the retriever in the released code of Hu et al. 2024 (RefChecker). It searches by one
question, reads the pages of the first three results, splits them into passages, and takes the best
three by BM25.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from veridical.claims.bm25 import Bm25, terms
from veridical.files.temporary import TemporaryFolder
from veridical.io.public_pages import Page, PageError, PublicPages
from veridical.retrieval.corpus.documents import decoded
from veridical.retrieval.corpus.files import Entry, Unreadable
from veridical.retrieval.corpus.reader import CutDocument, FileReader
from veridical.retrieval.search import Found, Retriever
from veridical.text.words import words

#: Timeout in seconds and memory limit in bytes of the process that extracts a page's text.
_SECONDS, _MEMORY = 20.0, 2 << 30
#: Code points of cached pages: statements of one answer, and answers to one question, find the same
#: pages.
_KEPT = 20_000_000
#: Pages fetched concurrently.
_AT_ONCE = 8
#: A page's text with the places of its passages, or the reason why it is unavailable.
_Read = CutDocument | str


class PageSearch:
    """A :class:`~veridical.retrieval.search.Retriever` that reads the pages of another's results.

    It reads the pages of the first results of each query, and ranks their passages and the
    service's own texts by BM25. Pages are fetched from public addresses only and within limits
    (:mod:`veridical.io.public_pages`). Their text is extracted as for a corpus, in a separate
    process. If a page cannot be read, the service's text is used, with the reason
    (:attr:`Found.unread`).

    Args:
        inner: the search service, closed with this object.
        pages: number of results per query that are read, at least 1.
        fetching: for tests.
    """

    def __init__(self, inner: Retriever, pages: int, fetching: PublicPages | None = None) -> None:
        self.name = inner.name
        self.pages = pages
        self._inner = inner
        self._fetching = fetching
        self._kept: OrderedDict[str, _Read] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[_Read]] = {}
        self._size = 0
        self._free: asyncio.Semaphore | None = None
        self._reader = FileReader(longest=_SECONDS, memory=_MEMORY)
        self._reading = threading.Lock()
        self._folder: TemporaryFolder | None = None

    def identity(self) -> dict[str, Any]:
        """Return all that the passages depend on, except the pages' content."""
        return {**self._inner.identity(), "pages": self.pages}

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        """Return at most ``k`` passages for each query; each page is fetched once."""
        found = await self._inner.search(queries, max(k, self.pages))
        tasks = [
            asyncio.ensure_future(self._best(query, results, k))
            for query, results in zip(queries, found, strict=True)
        ]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _best(self, query: str, results: Sequence[Found], k: int) -> list[Found]:
        sources = [s for s in dict.fromkeys(f.source for f in results) if s][: self.pages]
        texts = dict(zip(sources, await asyncio.gather(*map(self._text, sources)), strict=True))
        passages = []
        for result in results:
            text = texts.get(result.source)
            passages.append(replace(result, unread=text) if isinstance(text, str) else result)
        for source, text in texts.items():
            if not isinstance(text, str):
                passages += _passages(source, text)
        return await asyncio.to_thread(_ranked, query, passages, k)

    async def _text(self, url: str) -> _Read:
        """Return the text of a page, or the reason why it is not read."""
        if url in self._kept:
            self._kept.move_to_end(url)
            return self._kept[url]
        if url not in self._under_way:
            task = asyncio.ensure_future(self._fetched(url))
            self._under_way[url] = task
            task.add_done_callback(lambda _: self._under_way.pop(url, None))
        text = await asyncio.shield(self._under_way[url])
        if url not in self._kept:
            self._keep(url, text)
        return text

    async def _fetched(self, url: str) -> _Read:
        if self._fetching is None:
            self._fetching = PublicPages()
        if self._free is None:
            self._free = asyncio.Semaphore(_AT_ONCE)
        async with self._free:
            try:
                page = await self._fetching.fetch(url)
            except PageError as e:
                return str(e)
            return await asyncio.to_thread(self._taken_out, page)

    def _taken_out(self, page: Page) -> _Read:
        """Extract the text of ``page``, as for a corpus' files."""
        with self._reading:
            try:
                if self._folder is None:
                    self._folder = TemporaryFolder("pages")
                path = Path(self._folder.path) / "page"
                data = page.body
                if page.charset is not None:  # the headers take precedence (RFC 9110, 8.3)
                    data = b"\xef\xbb\xbf" + decoded(data, page.charset).encode("utf-8", "replace")
                path.write_bytes(data)
                entry = Entry(page.url, path, "html" if page.html else "text")
                (read,) = self._reader.read(entry)
            except Unreadable as e:
                return str(e)
            except OSError as e:
                return f"its text cannot be stored: {e.strerror}"
            return read if isinstance(read, CutDocument) else read.reason

    def _keep(self, url: str, text: _Read) -> None:
        self._kept[url] = text
        self._size += _size(text)
        while self._size > _KEPT:
            self._size -= _size(self._kept.popitem(last=False)[1])

    async def close(self) -> None:
        """Cancel downloads, and close all resources, including the service."""
        under_way = list(self._under_way.values())
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if self._fetching is not None:
            await self._fetching.close()
        await asyncio.to_thread(self._let_go)
        await self._inner.close()

    def _let_go(self) -> None:
        with self._reading:
            self._reader.close()
            if self._folder is not None:
                self._folder.close()
                self._folder = None


def _size(text: _Read) -> int:
    return len(text) if isinstance(text, str) else len(text.document.text)


def _passages(source: str, page: CutDocument) -> list[Found]:
    title, text = page.document.title, page.document.text
    return [
        Found(f"{source}#char={start},{end}", text[start:end], source, start, end, None, title)
        for start, end in page.pieces
    ]


def _ranked(query: str, passages: Sequence[Found], k: int) -> list[Found]:
    """Return the best passages by BM25, ties in order."""
    by_text: dict[str, Found] = {}
    for passage in passages:
        by_text.setdefault(passage.text, passage)
    distinct = list(by_text.values())
    if not distinct:
        return []
    index = Bm25([terms(words(f.text)) for f in distinct])
    (scores,) = index.scores([terms(words(query))])
    order = sorted(range(len(distinct)), key=lambda i: -scores[i])[:k]
    return [replace(distinct[i], score=float(scores[i])) for i in order]
