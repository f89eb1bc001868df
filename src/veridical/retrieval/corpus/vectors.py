"""Sentence embeddings of passages in float16 files, and their search.

Every vector in the file is sealed together with its embedder and its passage's hash. So it survives
a damaged index, and vectors of other computers are not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.errors import UsageError
from veridical.files.seals import SEAL, seal, sealed
from veridical.retrieval.corpus.index import Index, rebuild_hint
from veridical.retrieval.corpus.writer import Writer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KIND = np.dtype("<f2")
_HASH_BYTES = 16  # of a passage
_PURPOSE = "corpus vector"
_VECTORS_PER_BLOCK = 1 << 14  # compared together
#: Decimals of a cosine that decide; differences from batching must not.
_DECIMALS = 5
_MISSING = "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.embedder = ? AND v.hash = p.hash)"


def _record(width: int) -> np.dtype[Any]:
    """Return the dtype of a stored vector."""
    return np.dtype(
        [("hash", f"V{_HASH_BYTES}"), ("seal", f"V{SEAL}"), ("vector", _KIND, (width,))]
    )


def _records(path: Path, width: int) -> Any:
    """Return the complete records of a file."""
    kind = _record(width)
    n = path.stat().st_size // kind.itemsize if path.is_file() else 0
    return np.memmap(path, kind, "r", shape=(n,)) if n else np.zeros(0, kind)


def _sealed_slots(records: Any, embedder: str) -> Iterator[tuple[int, bytes]]:
    """Yield slot and hash of the records that this computer sealed for the embedder."""
    for start in range(0, len(records), _VECTORS_PER_BLOCK):
        for slot, record in enumerate(np.array(records[start : start + _VECTORS_PER_BLOCK]), start):
            key, mark = record["hash"].tobytes(), record["seal"].tobytes()
            if sealed(mark, embedder, key, record["vector"].tobytes(), purpose=_PURPOSE):
                yield slot, key


def _setting(embedder: str) -> str:
    return f"vectors {embedder}"


def missing_passages(
    index: Index, embedder: str, n: int, after: int = 0
) -> list[tuple[int, bytes, str]]:
    """Return number, hash and text of ``n`` passages without a vector of the embedder.

    They are in order of number and follow passage ``after``.
    """
    with index.mutex:
        rows = index.execute(
            "SELECT id, hash, text FROM passages p "
            f"WHERE id > ? AND {_MISSING} ORDER BY id LIMIT ?",
            (after, embedder, n),
        )
    return [(number, key, text) for number, key, text in rows]


class VectorWriter:
    """A writer of one embedder's vectors to an index.

    Vectors are appended and flushed before the rows that refer to them are committed. So after a
    kill the file has at most an unreferenced tail, which is reused. Damaged or foreign vectors are
    dropped.

    Args:
        embedder: identity of the model, such as ``name@revision``.
    """

    def __init__(self, index: Writer, embedder: str) -> None:
        self._index = index
        self._embedder = embedder
        self._file, self._width = self._opened()
        self._next = 0
        held: dict[bytes, int] = {}
        if self._file is not None:
            records = _records(self._file, self._width)
            self._next = len(records)
            held = {key: slot for slot, key in _sealed_slots(records, embedder)}
        rows = index.execute("SELECT hash, slot FROM vectors WHERE embedder = ?", (embedder,))
        if dict(rows) != held:
            with index.transaction():
                index.execute("DELETE FROM vectors WHERE embedder = ?", (embedder,))
                for key, slot in held.items():
                    index.execute("INSERT INTO vectors VALUES (?, ?, ?)", (embedder, key, slot))

    def _opened(self) -> tuple[Path | None, int]:
        """Return the file and its width, from the index or, if that is new, from the file's
        name.
        """
        setting = self._index.setting(_setting(self._embedder))
        if setting is not None:
            named = json.loads(setting)
            if (self._index.path / named["file"]).is_file():
                return self._index.path / named["file"], named["width"]
        for path in sorted(self._index.path.glob(f"vectors-{self._digest()}-*-*.v2")):
            width = path.stem.split("-")[2]
            if path.is_file() and width.isdecimal() and 0 < int(width) < 1 << 20:
                with self._index.transaction():
                    self._name_file(path, int(width))
                return path, int(width)
        return None, 0

    def _name_file(self, path: Path, width: int) -> None:
        """Store the file's name in the index."""
        setting = json.dumps({"file": path.name, "width": width})
        self._index.set(_setting(self._embedder), setting)

    def missing(self) -> int:
        """Return the number of distinct passages without a vector."""
        with self._index.mutex:
            ((n,),) = self._index.execute(
                f"SELECT count(DISTINCT hash) FROM passages p WHERE {_MISSING}", (self._embedder,)
            )
        return int(n)

    def add(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store the vectors of passages with these hashes."""
        width = int(vectors.shape[1])
        if self._file is None or self._width != width:
            self._file, self._width, self._next = self._fresh(width), width, 0
            self._file.touch(exist_ok=False)  # never follows a planted link
            with self._index.transaction():
                self._name_file(self._file, width)
        kind = _record(width)
        rows = np.zeros(len(keys), kind)
        for row, key, vector in zip(rows, keys, vectors.astype(_KIND), strict=True):
            mark = seal(self._embedder, key, vector.tobytes(), purpose=_PURPOSE)
            row["hash"], row["seal"], row["vector"] = np.void(key), np.void(mark), vector
        with self._file.open("rb+") as file:
            file.seek(self._next * kind.itemsize)
            file.write(rows.tobytes())
            file.flush()
            file.truncate()
        with self._index.transaction():
            for key in keys:
                self._index.execute(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
                    (self._embedder, key, self._next),
                )
                self._next += 1

    def _digest(self) -> str:
        return hashlib.blake2b(self._embedder.encode(), digest_size=6).hexdigest()

    def _fresh(self, width: int) -> Path:
        turn = 0
        name = f"vectors-{self._digest()}-{width}"
        while os.path.lexists(path := self._index.path / f"{name}-{turn}.v2"):
            turn += 1
        return path

    def sweep(self) -> None:
        """Drop vectors of removed passages; rewrite the file if they are the majority."""
        with self._index.transaction():
            self._index.execute(
                "DELETE FROM vectors WHERE embedder = ? AND NOT EXISTS "
                "(SELECT 1 FROM passages p WHERE p.hash = vectors.hash)",
                (self._embedder,),
            )
            slots = self._index.execute(
                "SELECT slot, hash FROM vectors WHERE embedder = ? ORDER BY slot", (self._embedder,)
            )
        if self._file is None or not self._width or 2 * len(slots) >= self._next:
            return
        old, new = self._file, self._fresh(self._width)
        values = _records(old, self._width)
        with new.open("xb") as file:  # never follows a planted link
            for i in range(0, len(slots), _VECTORS_PER_BLOCK):
                file.write(
                    values[[slot for slot, _ in slots[i : i + _VECTORS_PER_BLOCK]]].tobytes()
                )
            file.flush()
            os.fsync(file.fileno())
        with self._index.transaction():
            for slot, (_, key) in enumerate(slots):
                self._index.execute(
                    "UPDATE vectors SET slot = ? WHERE embedder = ? AND hash = ?",
                    (slot, self._embedder, key),
                )
            self._name_file(new, self._width)
        self._file, self._next = new, len(slots)
        with contextlib.suppress(
            OSError
        ):  # a reader may have it open, which blocks deletion on some systems
            old.unlink()


class VectorSearch:
    """A snapshot of one embedder's vectors in an index.

    Args:
        stand_ins: passages represented by another one with the same text.
    """

    def __init__(self, index: Index, embedder: str, stand_ins: Mapping[int, int]) -> None:
        setting = index.setting(_setting(embedder))
        self._values: Any = np.zeros((0, 1), _KIND)
        with index.mutex:
            rows = index.execute(
                "SELECT v.slot, p.id, p.hash FROM vectors v JOIN passages p ON p.hash = v.hash "
                "WHERE v.embedder = ? ORDER BY v.slot",
                (embedder,),
            )
        if setting is not None and rows:
            named = json.loads(setting)
            path = index.path / named["file"]
            records = _records(path, named["width"])
            good = dict(_sealed_slots(records, embedder))
            if any(good.get(slot) != key for slot, _, key in rows):
                raise UsageError(f"{path} is damaged or from another computer; {rebuild_hint()}")
            self._values = records["vector"]
        rows = [r for r in rows if r[1] not in stand_ins]
        self._slots = np.array([r[0] for r in rows], np.int64)
        self._ids = np.array([r[1] for r in rows], np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def nearest(self, queries: NDArray[np.float32], k: int) -> list[list[int]]:
        """Find the ``k`` passages of highest cosine for each of (m, d) unit vectors, best first."""
        m = len(queries)
        best = np.zeros((m, 0), np.float32)
        ids = np.zeros((m, 0), np.int64)
        for i in range(0, len(self._slots), _VECTORS_PER_BLOCK):
            block = self._values[self._slots[i : i + _VECTORS_PER_BLOCK]].astype(np.float32)
            near = np.round(np.nan_to_num(queries @ block.T), _DECIMALS)
            best = np.concatenate([best, near], axis=1)
            of = np.broadcast_to(self._ids[i : i + _VECTORS_PER_BLOCK], near.shape)
            ids = np.concatenate([ids, of], axis=1)
            if best.shape[1] > k:
                top = np.argpartition(-best, k - 1, axis=1)[:, :k]
                best = np.take_along_axis(best, top, axis=1)
                ids = np.take_along_axis(ids, top, axis=1)
        order = np.lexsort((ids, -best), axis=1)
        nearest: list[list[int]] = np.take_along_axis(ids, order, axis=1).tolist()
        return nearest
