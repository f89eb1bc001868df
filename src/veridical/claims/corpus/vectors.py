"""Sentence embeddings of passages in float16, a file an embedder, and the search through them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.claims.corpus.index import Index
from veridical.claims.corpus.writer import Writer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KIND = np.dtype("<f2")
_BLOCK = 1 << 14  # vectors that are compared at once
#: Decimals of a cosine that decide; what batching leaves uncertain must not.
_DECIMALS = 5


def _setting(embedder: str) -> str:
    return f"vectors {embedder}"


class VectorWriter:
    """Adds the vectors of one embedder to an index. Vectors are appended to the file, and flushed
    before the rows that point at them are committed; so after a kill there is at worst a tail
    that nothing points at, which is written over.

    Args:
        embedder: identity of the model, such as ``name@revision``.
    """

    def __init__(self, index: Writer, embedder: str) -> None:
        self._index = index
        self._embedder = embedder
        with index.transaction():
            self._file, self._width = self._opened()
            ((last,),) = index.execute(
                "SELECT max(slot) FROM vectors WHERE embedder = ?", (embedder,)
            )
            self._next = 0 if last is None else last + 1
            if not self._file or self._size() < self._next:
                self._start()  # what was there is gone or damaged

    def _opened(self) -> tuple[Path | None, int]:
        told = self._index.setting(_setting(self._embedder))
        if told is None:
            return None, 0
        found = json.loads(told)
        return self._index.path / found["file"], found["width"]

    def _size(self) -> int:
        """Vectors in the file."""
        try:
            size = 0 if self._file is None else self._file.stat().st_size
        except FileNotFoundError:
            return 0
        return size // (_KIND.itemsize * self._width)

    def _start(self) -> None:
        self._index.execute("DELETE FROM vectors WHERE embedder = ?", (self._embedder,))
        self._next, self._width = 0, 0

    def missing(self) -> int:
        """Distinct passages that have no vector yet."""
        with self._index.mutex:
            ((n,),) = self._index.execute(
                "SELECT count(DISTINCT hash) FROM passages p WHERE NOT EXISTS "
                "(SELECT 1 FROM vectors v WHERE v.embedder = ? AND v.hash = p.hash)",
                (self._embedder,),
            )
        return int(n)

    def some_missing(self, n: int, after: int = 0) -> list[tuple[int, bytes, str]]:
        """Number, hash and text of ``n`` passages that have none, in order of number, from those
        ``after`` one."""
        with self._index.mutex:
            return [
                (number, key, text)
                for number, key, text in self._index.execute(
                    "SELECT id, hash, text FROM passages p WHERE id > ? AND NOT EXISTS "
                    "(SELECT 1 FROM vectors v WHERE v.embedder = ? AND v.hash = p.hash) "
                    "ORDER BY id LIMIT ?",
                    (after, self._embedder, n),
                )
            ]

    def add(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Keep vectors of passages with these hashes."""
        if self._file is None or not self._width:
            self._begin(vectors.shape[1])
        rows = dict(zip(keys, vectors.astype(_KIND), strict=True))
        assert self._file is not None
        with self._file.open("rb+") as file:
            file.seek(self._next * _KIND.itemsize * self._width)
            file.write(np.stack(list(rows.values())).tobytes())
            file.flush()
            file.truncate()
        with self._index.transaction():
            for key in rows:
                self._index.execute(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
                    (self._embedder, key, self._next),
                )
                self._next += 1

    def _begin(self, width: int) -> None:
        self._file, self._width = self._fresh(), width
        self._file.touch()
        with self._index.transaction():
            told = json.dumps({"file": self._file.name, "width": width})
            self._index.set(_setting(self._embedder), told)

    def _fresh(self) -> Path:
        digest = hashlib.blake2b(self._embedder.encode(), digest_size=6).hexdigest()
        turn = 0
        while (found := self._index.path / f"vectors-{digest}-{turn}.f16").exists():
            turn += 1
        return found

    def sweep(self) -> None:
        """Forget vectors of passages that are gone; where they were most, write the file anew."""
        with self._index.transaction():
            self._index.execute(
                "DELETE FROM vectors WHERE embedder = ? AND NOT EXISTS "
                "(SELECT 1 FROM passages p WHERE p.hash = vectors.hash)",
                (self._embedder,),
            )
            kept = self._index.execute(
                "SELECT slot, hash FROM vectors WHERE embedder = ? ORDER BY slot", (self._embedder,)
            )
        if self._file is None or not self._width or 2 * len(kept) >= self._next:
            return
        old, new = self._file, self._fresh()
        values = np.memmap(old, _KIND, "r", shape=(self._next, self._width))
        with new.open("wb") as file:
            for i in range(0, len(kept), _BLOCK):
                file.write(values[[slot for slot, _ in kept[i : i + _BLOCK]]].tobytes())
            file.flush()
            os.fsync(file.fileno())
        with self._index.transaction():
            for slot, (_, key) in enumerate(kept):
                self._index.execute(
                    "UPDATE vectors SET slot = ? WHERE embedder = ? AND hash = ?",
                    (slot, self._embedder, key),
                )
            told = json.dumps({"file": new.name, "width": self._width})
            self._index.set(_setting(self._embedder), told)
        self._file, self._next = new, len(kept)
        with contextlib.suppress(OSError):  # a reader may have it open where that keeps files
            old.unlink()


class VectorSearch:
    """The vectors of one embedder as an index has them when this is made.

    Args:
        stand_ins: passages that are not found themselves, as another with the same text is.
    """

    def __init__(self, index: Index, embedder: str, stand_ins: Mapping[int, int]) -> None:
        told = index.setting(_setting(embedder))
        self._values: Any = np.zeros((0, 1), _KIND)
        with index.mutex:
            rows = index.execute(
                "SELECT v.slot, p.id FROM vectors v JOIN passages p ON p.hash = v.hash "
                "WHERE v.embedder = ? ORDER BY v.slot",
                (embedder,),
            )
        if told is not None and rows:
            found = json.loads(told)
            path = index.path / found["file"]
            n = path.stat().st_size // (_KIND.itemsize * found["width"])
            self._values = np.memmap(path, _KIND, "r", shape=(n, found["width"]))
        rows = [r for r in rows if r[1] not in stand_ins and r[0] < len(self._values)]
        self._slots = np.array([r[0] for r in rows], np.int64)
        self._ids = np.array([r[1] for r in rows], np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def nearest(self, queries: NDArray[np.float32], k: int) -> list[list[int]]:
        """For each of the (m, d) unit vectors the ``k`` passages of highest cosine, best first."""
        m = len(queries)
        best = np.zeros((m, 0), np.float32)
        ids = np.zeros((m, 0), np.int64)
        for i in range(0, len(self._slots), _BLOCK):
            block = self._values[self._slots[i : i + _BLOCK]].astype(np.float32)
            near = np.round(np.nan_to_num(queries @ block.T), _DECIMALS)
            best = np.concatenate([best, near], axis=1)
            of = np.broadcast_to(self._ids[i : i + _BLOCK], near.shape)
            ids = np.concatenate([ids, of], axis=1)
            if best.shape[1] > k:
                top = np.argpartition(-best, k - 1, axis=1)[:, :k]
                best = np.take_along_axis(best, top, axis=1)
                ids = np.take_along_axis(ids, top, axis=1)
        order = np.lexsort((ids, -best), axis=1)
        found: list[list[int]] = np.take_along_axis(ids, order, axis=1).tolist()
        return found
