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

from veridical.errors import UsageError
from veridical.retrieval.corpus.files import Entry, Skipped, Unreadable, content_hash, listing
from veridical.retrieval.corpus.index import Counts
from veridical.retrieval.corpus.reader import CutDocument, FileReader
from veridical.retrieval.corpus.vectors import VectorWriter, missing_passages
from veridical.retrieval.corpus.writer import Writer
from veridical.text.display import display, reason

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
    """How far indexing is. ``read`` of ``files`` are those that are new or have changed, and
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


def resolved(root: Path) -> Path:
    """The corpus's own place, links followed.

    Raises:
        UsageError: it is a link to itself, or no path at all.
    """
    try:
        return Path(os.path.realpath(root, strict=True))
    except FileNotFoundError:
        return Path(os.path.realpath(root))
    except (OSError, ValueError) as e:
        raise UsageError(f"corpus {display(root)}: {reason(e)}") from None


def folder_of(store: Path, root: Path) -> Path:
    """Where the index of the corpus ``root`` is kept in a store."""
    digest = hashlib.blake2b(os.fsencode(resolved(root)), digest_size=8).hexdigest()
    return store / "corpus" / digest


def refresh(
    root: Path, folder: Path, embedder: Embedder | None, notify: Notify | None = None
) -> Counts:
    """Read what is new or has changed in the corpus ``root``, and forget what is gone.

    It can be stopped at any time; the next time goes on from there. After a kill the documents are
    read again, as what was half written has no seal; vectors are kept. What is skipped, and why,
    is in the index.

    Args:
        root: a folder, or one file.
        folder: of the index; made if it is not there.
        embedder: None leaves passages without new vectors.
        notify: told now and then, from this thread.

    Raises:
        UsageError: there is no such corpus, or another process is writing its index.
        ModelError: the embedder failed.
    """
    root = resolved(root)
    listed = list(listing(root))
    progress = IndexProgress(files=len(listed))
    tell = notify or (lambda _: None)
    with Writer(folder) as index:
        with index.transaction():
            index.set("root", str(os.fsencode(root), "utf-8", "backslashreplace"))
            turn = index.next_turn()
        changed = _changed(listed, index, turn, progress, tell)
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
    files: Sequence[Entry | Skipped],
    index: Writer,
    turn: int,
    progress: IndexProgress,
    tell: Notify,
) -> Iterator[tuple[Entry, bytes]]:
    """Files to be read, with the hash of what they hold."""
    for item in files:
        digest, problem = None, None
        if isinstance(item, Skipped):
            problem = item.reason
        else:
            try:
                digest = content_hash(item)
            except Unreadable as e:
                problem = str(e)
        progress.checked += 1
        tell(progress)
        with index.transaction():
            stored = index.file(item.name)
            unchanged = digest is not None and stored is not None and stored[1] == digest
            if unchanged and stored is not None:
                index.seen(stored[0], turn)
            elif problem is not None:
                index.finish(index.begin(item.name, turn), turn, None, problem)
        if isinstance(item, Entry) and digest is not None and not unchanged:
            yield item, digest


def _read(
    changed: Iterator[tuple[Entry, bytes]],
) -> Generator[tuple[Entry, bytes, Iterator[CutDocument | Skipped]], None, None]:
    """What files hold, in their order. Files of rows are read as their rows are taken, the others
    some ahead."""
    ahead: deque[tuple[Entry, bytes, Future[list[CutDocument | Skipped]]]] = deque()
    n = min(_READERS, os.cpu_count() or 1)
    rows, *others = every = [FileReader() for _ in range(n + 1)]
    free: SimpleQueue[FileReader] = SimpleQueue()
    for reader in others:
        free.put(reader)

    def whole(entry: Entry) -> list[CutDocument | Skipped]:
        reader = free.get()
        try:
            return list(reader.read(entry))
        finally:
            free.put(reader)

    def finished(most: int) -> Iterator[tuple[Entry, bytes, Iterator[CutDocument | Skipped]]]:
        """The first ones ahead, until there are no more than ``most``."""
        while len(ahead) > most:
            entry, digest, future = ahead.popleft()
            yield entry, digest, iter(future.result())

    pool = ThreadPoolExecutor(n, thread_name_prefix="veridical-corpus")
    try:
        for entry, digest in changed:
            if entry.kind == "rows":
                yield from finished(0)
                yield entry, digest, rows.read(entry)
            else:
                ahead.append((entry, digest, pool.submit(whole, entry)))
                yield from finished(2 * n)
        yield from finished(0)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for reader in every:
            reader.close()  # which ends what is being read
        pool.shutdown()


def _keep(
    index: Writer, entry: Entry, digest: bytes, cuts: Iterator[CutDocument | Skipped], turn: int
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
            for item in some:
                if isinstance(item, CutDocument):
                    if not index.add(file, item.document, item.pieces, turn):
                        why = "another document of this name has come before"
                        index.skip(file, Skipped(item.document.name, why))
                elif item.name == entry.name:
                    problem = item  # of the file as a whole
                else:
                    index.skip(file, item)
            ended = len(some) < _COMMIT
            if ended:
                held = None if problem is not None and problem.again else digest
                index.finish(file, turn, held, None if problem is None else problem.reason)
        yield sum(isinstance(item, CutDocument) for item in some)


def _embed(index: Writer, embedder: Embedder, progress: IndexProgress, tell: Notify) -> None:
    vectors = VectorWriter(index, embedder.name)
    vectors.sweep()
    progress.to_embed = vectors.missing()
    tell(progress)
    under_way: deque[tuple[list[bytes], Future[NDArray[np.float32]]]] = deque()
    under_way_keys: set[bytes] = set()
    after = 0
    while True:
        some = missing_passages(index, embedder.name, _EMBEDDED, after)
        if some:
            after = some[-1][0]
            new = {key: text for _, key, text in some if key not in under_way_keys}
            under_way_keys |= new.keys()
            under_way.append((list(new), embedder.embed(list(new.values()))))
        while len(under_way) > (1 if some else 0):
            keys, future = under_way.popleft()
            if keys:
                vectors.add(keys, future.result())
            under_way_keys -= set(keys)
            progress.embedded += len(keys)
            tell(progress)
        if not some:
            return
