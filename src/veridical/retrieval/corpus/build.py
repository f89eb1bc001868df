"""Incremental indexing of a corpus."""

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
_PASSAGES_PER_EMBEDDING_CALL = 512  # also stored together
_SHOWN = 10
_DOCUMENTS_PER_COMMIT = 200  # of a file of rows


@dataclass(frozen=True)
class Embedder:
    """The source of passage vectors.

    Attributes:
        name: identity of the model; each has its own vectors.
        embed: (n, d) unit vectors of n texts.
    """

    name: str
    embed: Callable[[Sequence[str]], Future[NDArray[np.float32]]]


@dataclass
class IndexProgress:
    """Progress of indexing.

    ``read`` of ``files`` are new or changed, and ``documents`` are their documents. The last one
    has the ``counts`` and some of the ``skipped`` places.
    """

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
    """Return the corpus's path with links resolved.

    Raises:
        UsageError: the path is a link loop or invalid.
    """
    try:
        return Path(os.path.realpath(root, strict=True))
    except FileNotFoundError:
        return Path(os.path.realpath(root))
    except (OSError, ValueError) as e:
        raise UsageError(f"corpus {display(root)}: {reason(e)}") from None


def folder_of(store: Path, root: Path) -> Path:
    """Return the folder of the index of corpus ``root`` in a store."""
    digest = hashlib.blake2b(os.fsencode(resolved(root)), digest_size=8).hexdigest()
    return store / "corpus" / digest


def refresh(
    root: Path, folder: Path, embedder: Embedder | None, notify: Notify | None = None
) -> Counts:
    """Read new and changed files of the corpus ``root``, and remove deleted ones.

    It can be stopped at any time and resumes on the next call. After a kill the documents are read
    again, as a partial index has no seal; vectors are kept. The index lists what was skipped, with
    reasons.

    Args:
        root: a folder, or one file.
        folder: folder of the index; created if missing.
        embedder: source of vectors; None creates no new ones.
        notify: receives the progress, in this thread.

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
    """Yield the files to read, with their content hashes."""
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
    """Yield the documents of files in order.

    Files of rows are read on demand, the others a few ahead.
    """
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
        """Yield the first pending files until at most ``most`` are left."""
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
            reader.close()  # stops the current read
        pool.shutdown()


def _keep(
    index: Writer, entry: Entry, digest: bytes, cuts: Iterator[CutDocument | Skipped], turn: int
) -> Iterator[int]:
    """Store a file's documents in batches, and yield the size of each batch.

    A file counts as read once all are stored.
    """
    with index.transaction():
        file = index.begin(entry.name, turn)
    problem: Skipped | None = None
    ended = False
    while not ended:
        with index.transaction():
            some = list(islice(cuts, _DOCUMENTS_PER_COMMIT))
            for item in some:
                if isinstance(item, CutDocument):
                    if not index.add(file, item.document, item.pieces, turn):
                        why = "an earlier document has the same name"
                        index.skip(file, Skipped(item.document.name, why))
                elif item.name == entry.name:
                    problem = item  # concerns the whole file
                else:
                    index.skip(file, item)
            ended = len(some) < _DOCUMENTS_PER_COMMIT
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
        some = missing_passages(index, embedder.name, _PASSAGES_PER_EMBEDDING_CALL, after)
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
