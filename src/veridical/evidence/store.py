"""Content-addressed store: what a model has once said of an input is never asked again.

Keys and places are in sqlite (WAL); values are float arrays in an append-only file beside it.
Bytes are appended and flushed before the row that points at them is committed, and every value
carries a checksum, so a process killed at any point leaves at worst unreachable bytes.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from veridical.errors import UsageError
from veridical.evidence.locks import try_lock

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    key BLOB PRIMARY KEY, start INTEGER NOT NULL, shape TEXT NOT NULL, crc INTEGER NOT NULL
) WITHOUT ROWID
"""
_INSERT = "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)"
_FORMAT = 1
_KEY = 20  # bytes
_LOOKUP = 500  # sqlite's variable limit is 999 in old builds


def content_key(*parts: str | bytes) -> bytes:
    """20-byte blake2b digest of ``parts``, each prefixed with its length so that none can run
    into the next."""
    h = hashlib.blake2b(digest_size=_KEY)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.digest()


class Store:
    """Arrays by content key, in the folder ``path``. Float32 and exact.

    One process writes; a second one that opens the same store reads it and writes nothing
    (``writable`` is False).

    Raises:
        UsageError: the folder cannot be made, or holds a store of another format.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mutex = threading.Lock()
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = try_lock(path / "lock")
            self.writable = self._lock is not None
            self._db = sqlite3.connect(path / "keys.sqlite", check_same_thread=False, timeout=30)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _FORMAT):
                raise UsageError(f"store {path} has format {version}; this version reads {_FORMAT}")
            if self.writable:
                with self._db:
                    self._db.execute(_SCHEMA)
                    self._db.execute(f"PRAGMA user_version={_FORMAT}")
            self._values = os.open(path / "values.f32", os.O_RDWR | os.O_CREAT, 0o644)
            self._end = os.lseek(self._values, 0, os.SEEK_END)
        except (OSError, sqlite3.Error) as e:
            raise UsageError(f"cannot open store {path}: {e}") from e

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The stored arrays among ``keys``. A damaged value counts as absent, and is dropped."""
        found: dict[bytes, NDArray[np.float32]] = {}
        with self._mutex:
            for i in range(0, len(keys), _LOOKUP):
                part = keys[i : i + _LOOKUP]
                marks = ",".join("?" * len(part))
                found.update(self._read(f"key IN ({marks})", part))
        return found

    def beginning_with(
        self, prefixes: Iterable[bytes]
    ) -> dict[bytes, dict[bytes, NDArray[np.float32]]]:
        """The stored arrays whose keys begin with each of ``prefixes``, by prefix and key."""
        with self._mutex:
            return {
                p: self._read("key BETWEEN ? AND ?", (p, p + b"\xff" * (_KEY - len(p))))
                for p in prefixes
            }

    def _read(self, where: str, values: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found: dict[bytes, NDArray[np.float32]] = {}
        damaged: list[tuple[bytes]] = []
        rows = self._db.execute(f"SELECT key, start, shape, crc FROM entries WHERE {where}", values)
        for key, start, shape, crc in rows:
            dims = tuple(int(d) for d in shape.split(",") if d)
            size = 4 * int(np.prod(dims, dtype=np.int64))
            data = os.pread(self._values, size, start)
            if len(data) == size and zlib.crc32(data) == crc:
                found[key] = np.frombuffer(data, np.float32).reshape(dims)
            elif self.writable:
                damaged.append((key,))
        if damaged:
            with self._db:
                self._db.executemany("DELETE FROM entries WHERE key = ?", damaged)
        return found

    def put_many(self, items: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        """Append ``items`` and commit them together. A key that is there already stays."""
        if not self.writable:
            return
        with self._mutex:
            new = [(k, v) for k, v in items if not self._has(k)]
            if new:
                rows = self._append(new)
                with self._db:
                    self._db.executemany(_INSERT, rows)

    def replace(self, old: Iterable[bytes], key: bytes, value: NDArray[np.float32]) -> None:
        """Put ``value`` under ``key``, over what may be there, and drop ``old``: both or none."""
        if not self.writable:
            return
        with self._mutex:
            rows = self._append([(key, value)])
            with self._db:
                self._db.executemany("DELETE FROM entries WHERE key = ?", [(k,) for k in old])
                self._db.executemany(_INSERT, rows)

    def _has(self, key: bytes) -> bool:
        row = self._db.execute("SELECT 1 FROM entries WHERE key = ?", (key,)).fetchone()
        return row is not None

    def _append(
        self, items: Iterable[tuple[bytes, NDArray[np.float32]]]
    ) -> list[tuple[bytes, int, str, int]]:
        """Write the values; the rows that point at them."""
        rows, blobs, at = [], [], self._end
        for key, value in items:
            data = np.ascontiguousarray(value, np.float32).tobytes()
            rows.append((key, at, ",".join(map(str, value.shape)), zlib.crc32(data)))
            blobs.append(data)
            at += len(data)
        whole = memoryview(b"".join(blobs))
        while whole:
            n = os.pwrite(self._values, whole, self._end)
            self._end += n
            whole = whole[n:]
        return rows

    def __len__(self) -> int:
        with self._mutex:
            return int(self._db.execute("SELECT count(*) FROM entries").fetchone()[0])

    def close(self) -> None:
        with self._mutex:
            self._db.close()
            os.close(self._values)
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None
