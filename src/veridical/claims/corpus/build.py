"""Brings the index of a corpus up to what its files hold now."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from veridical.claims.corpus.files import Entry, Skipped, Unreadable, content_hash, listing
from veridical.claims.corpus.index import Counts
from veridical.claims.corpus.reader import Cut, Reader
from veridical.claims.corpus.vectors import VectorWriter
from veridical.claims.corpus.writer import Writer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_READERS = 4
_EMBEDDED = 512  # passages asked for, and kept, at once
_SHOWN = 10
_COMMIT = 200  # documents of a file of rows that are kept at once


@dataclass(frozen=True)
class Embedder:
    """What gives passages their vectors.

    Attributes:
        name: identity of the model: another one has vectors of its own.
        embed: (n, d) unit vectors of n texts.
    """

    name: str
    embed: Callable[[Sequence[str]], Future[NDArray[np.float32]]]


@dataclass
class IndexProgress:
    """How far it is. ``read`` of ``files`` are those that are new or have changed, and
    ``documents`` what they hold. At the end it has the ``counts``, and some of what was
    ``skipped``."""

    files: int = 0
    checked: int = 0
    read: int = 0
    documents: int = 0
    to_embed: int = 0
    embedded: int = 0
    counts: Counts | None = None
    skipped: Sequence[Skipped] = ()


Notify = Callable[[IndexProgress], None]


def folder_of(store: Path, root: Path) -> Path:
    """Where the index of the corpus ``root`` is kept in a store."""
    digest = hashlib.blake2b(os.fsencode(root.resolve()), digest_size=8).hexdigest()
    return store / "corpus" / digest


def refresh(
    root: Path, folder: Path, embedder: Embedder | None, notify: Notify | None = None
) -> Counts:
    """Read what is new or has changed in the corpus ``root``, and forget what is gone.

    It can be stopped at any time; the next time goes on from there. What is skipped, and why, is
    in the index.

    Args:
        root: a folder, or one file.
        folder: of the index; made if it is not there.
        embedder: None leaves passages without new vectors.
        notify: told now and then, from this thread.

    Raises:
        UsageError: there is no such corpus, or another process is writing its index.
        ModelError: the embedder failed.
    """
    root = root.resolve()
    found = list(listing(root))
    progress = IndexProgress(files=len(found))
    tell = notify or (lambda _: None)
    with Writer(folder) as index:
        with index.transaction():
            index.set("root", str(os.fsencode(root), "utf-8", "backslashreplace"))
            turn = index.next_turn()
        changed = _changed(found, index, turn, progress, tell)
        with closing(_read(changed)) as files:
            for entry, digest, cuts in files:
                for n in _keep(index, entry, digest, cuts, turn):
                    progress.documents += n
                    tell(progress)
                progress.read += 1
                tell(progress)
        with index.transaction():
            index.forget(turn)
        if embedder is not None:
            _embed(index, embedder, progress, tell)
        progress.counts = index.counts()
        progress.skipped = list(islice(index.skipped(), _SHOWN))
    tell(progress)
    return progress.counts


def _changed(
    found: Sequence[Entry | Skipped],
    index: Writer,
    turn: int,
    progress: IndexProgress,
    tell: Notify,
) -> Iterator[tuple[Entry, bytes]]:
    """Files to be read, with the hash of what they hold."""
    for item in found:
        digest = None
        problem = item if isinstance(item, Skipped) else None
        if isinstance(item, Entry):
            try:
                digest = content_hash(item)
            except Unreadable as e:
                problem = Skipped(item.name, str(e))
        progress.checked += 1
        tell(progress)
        with index.transaction():
            known = index.file(item.name)
            if digest is not None and known is not None and known[1] == digest:
                index.seen(known[0], turn)
                continue
            if problem is not None:
                index.finish(index.begin(item.name, turn), turn, None, problem.reason)
                continue
        if isinstance(item, Entry) and digest is not None:
            yield item, digest


def _read(
    changed: Iterator[tuple[Entry, bytes]],
) -> Generator[tuple[Entry, bytes, Iterator[Cut | Skipped]], None, None]:
    """What files hold, in their order. Files of rows are read as their rows are taken, the others
    some ahead."""
    ahead: deque[tuple[Entry, bytes, Future[list[Cut | Skipped]]]] = deque()
    n = min(_READERS, os.cpu_count() or 1)
    every = [Reader() for _ in range(n + 1)]
    rows, *others = every
    free: SimpleQueue[Reader] = SimpleQueue()
    for reader in others:
        free.put(reader)
    pool = ThreadPoolExecutor(n, thread_name_prefix="veridical-corpus")
    try:
        for entry, digest in changed:
            if entry.kind == "rows":
                while ahead:
                    yield _done(*ahead.popleft())
                yield entry, digest, rows.read(entry)
                continue
            ahead.append((entry, digest, pool.submit(_whole, entry, free)))
            if len(ahead) > 2 * n:
                yield _done(*ahead.popleft())
        while ahead:
            yield _done(*ahead.popleft())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for reader in every:
            reader.close()  # which ends what is being read
        pool.shutdown()


def _whole(entry: Entry, free: SimpleQueue[Reader]) -> list[Cut | Skipped]:
    reader = free.get()
    try:
        return list(reader.read(entry))
    finally:
        free.put(reader)


def _done(
    entry: Entry, digest: bytes, future: Future[list[Cut | Skipped]]
) -> tuple[Entry, bytes, Iterator[Cut | Skipped]]:
    return entry, digest, iter(future.result())


def _keep(
    index: Writer, entry: Entry, digest: bytes, cuts: Iterator[Cut | Skipped], turn: int
) -> Iterator[int]:
    """Put a file's documents in, some at once, and say how many each time. A file counts as read
    when all of them are."""
    with index.transaction():
        file = index.begin(entry.name, turn)
    problem: Skipped | None = None
    ended = False
    while not ended:
        with index.transaction():
            some = list(islice(cuts, _COMMIT))
            for found in some:
                if isinstance(found, Cut):
                    if not index.add(file, found.document, found.pieces, turn):
                        told = "another document of this name has come before"
                        index.skip(file, Skipped(found.document.name, told))
                elif found.name == entry.name:
                    problem = found  # of the file as a whole
                else:
                    index.skip(file, found)
            ended = len(some) < _COMMIT
            if ended:
                held = None if problem is not None and problem.again else digest
                index.finish(file, turn, held, None if problem is None else problem.reason)
        yield sum(isinstance(found, Cut) for found in some)


def _embed(index: Writer, embedder: Embedder, progress: IndexProgress, tell: Notify) -> None:
    vectors = VectorWriter(index, embedder.name)
    vectors.sweep()
    progress.to_embed = vectors.missing()
    tell(progress)
    under_way: deque[tuple[list[bytes], Future[NDArray[np.float32]]]] = deque()
    asked: set[bytes] = set()
    after = 0
    while True:
        some = vectors.some_missing(_EMBEDDED, after)
        if some:
            after = some[-1][0]
            new = {key: text for _, key, text in some if key not in asked}
            asked |= new.keys()
            under_way.append((list(new), embedder.embed(list(new.values()))))
        while len(under_way) > (1 if some else 0):
            keys, future = under_way.popleft()
            if keys:
                vectors.add(keys, future.result())
            asked -= set(keys)
            progress.embedded += len(keys)
            tell(progress)
        if not some:
            return
