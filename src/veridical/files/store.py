"""Content-addressed store of model outputs.

Keys and positions are in sqlite (WAL); values are float arrays in an append-only file next to it.
Bytes are appended and flushed before the row that points to them is committed, so a killed process
leaves at worst unreachable bytes. Every value is sealed together with its key and shape. A value
that is damaged, or was not written by this computer, counts as absent.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import math
import os
import re
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.errors import UsageError
from veridical.files.atomic import PRIVATE_FILE, PRIVATE_FOLDER
from veridical.files.locks import try_lock
from veridical.files.seals import seal, sealed
from veridical.notices import warn_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEYS, _VALUES, _LOCK = "keys.sqlite", "values.f32", "lock"
_KEY_FILES = (_KEYS, f"{_KEYS}-wal", f"{_KEYS}-shm")
_SCHEMA = (
    "CREATE TABLE entries (key BLOB PRIMARY KEY, start INTEGER NOT NULL, "
    "shape TEXT NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID"
)
_SHAPE = re.compile(rb"(\d{1,12}(,\d{1,12}){0,7})?")
_INSERT = "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)"
_FORMAT = 2
_UNSEALED = 1  # the previous format: its values cannot be distinguished from planted ones
_KEY = 20  # bytes
_LOOKUP = 500  # sqlite's variable limit is 999 in old builds
_PURPOSE = "store"
#: Errors of a full or read-only file system: they disable the store, not the scoring.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
_NO_ROOM_TOLD = ("is full", "disk I/O error", "readonly database")


def content_key(*parts: str | bytes) -> bytes:
    """Return the 20-byte blake2b digest of ``parts``, each prefixed with its length so that parts
    cannot be confused."""
    h = hashlib.blake2b(digest_size=_KEY)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.digest()


#: Stores opened by :func:`open_store`, by their real folders.
_shared: dict[str, Store] = {}
_opening = threading.Lock()


def open_store(path: Path, *, required: bool = True) -> Store:
    """Open the :class:`Store` in a folder, once per process, as a second one could not write. Every
    caller closes it."""
    place = os.path.realpath(path)
    with _opening:
        store = _shared.get(place)
        if store is None:
            store = _shared[place] = Store(path, required=required)
        else:
            store.users += 1
        return store


def _forget_shared() -> None:
    """Reset in a forked process: open stores belong to its parent."""
    global _opening
    _opening = threading.Lock()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_shared)


class Store:
    """Arrays by content key, in the folder ``path``. Float32 and exact.

    One process writes; a second one that opens the same store only reads it (``writable`` is
    False). If the store cannot be written (a full disk) or read (a damaged file), the run continues
    without it and warns once. A damaged or unsealed store is emptied.

    Args:
        required: True raises an error if the folder cannot be created or read; False warns once
            and stores nothing.

    Raises:
        UsageError: the folder cannot be created, one of its files is a link, or it holds a store
            of a later format.
    """

    def __init__(self, path: Path, *, required: bool = True) -> None:
        self.path = path
        self.users = 1
        self.writable = False
        self._mutex = threading.Lock()
        self._lock: int | None = None
        self._db: sqlite3.Connection | None = None
        self._values: int | None = None
        self._end = 0
        try:
            self._open()
        except (OSError, sqlite3.Error) as e:
            self._let_go()
            if required and not _no_room(e):
                raise UsageError(f"cannot open store {path}: {e}") from e
            self._without(e)
        except BaseException:
            self._let_go()
            raise

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.mkdir(PRIVATE_FOLDER, exist_ok=True)
        for name in (_LOCK, _VALUES, *_KEY_FILES):
            if (self.path / name).is_symlink():
                raise UsageError(f"cannot open store {self.path}: {name} is a link; remove it")
        self._lock = try_lock(self.path / _LOCK)
        self.writable = self._lock is not None
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        self._values = os.open(self.path / _VALUES, flags, PRIVATE_FILE)
        try:
            version = self._connect()
        except sqlite3.DatabaseError as e:
            if not (self.writable and _is_damage(e)):
                raise
            self._set_aside(e)
            version = self._connect()
        if version not in (0, _UNSEALED, _FORMAT):
            raise UsageError(
                f"store {self.path} has format {version}; this version reads {_FORMAT}"
            )
        if version == _UNSEALED:
            warn_once(
                f"store {self.path} has the format of an earlier version, which sealed nothing; "
                "its values are not trusted and are computed again"
            )
        if version != _FORMAT:
            if self.writable:
                self._begin()
            else:
                self._disconnect()  # the process with the lock initialises it
        self._end = os.lseek(self._values, 0, os.SEEK_END)

    @property
    def open(self) -> bool:
        """True if there is a readable folder."""
        return self._db is not None

    def _connect(self) -> int:
        """Open the keys and return their format; 0 for a new store."""
        os.close(os.open(self.path / _KEYS, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
        db = self._db = sqlite3.connect(self.path / _KEYS, check_same_thread=False, timeout=30)
        db.text_factory = bytes  # a damaged text must not prevent reading the others
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version == _FORMAT:
            tables = db.execute("SELECT type, sql FROM sqlite_master").fetchall()
            # a view or a trigger could run without end
            if tables != [(b"table", _SCHEMA.encode())]:
                raise sqlite3.DatabaseError("its tables are not those of a store")
        return version

    def _begin(self) -> None:
        """Make the store empty."""
        assert self._db is not None and self._values is not None
        with self._db:
            self._db.execute("DROP TABLE IF EXISTS entries")
            self._db.execute(_SCHEMA)
            self._db.execute(f"PRAGMA user_version={_FORMAT}")
        os.ftruncate(self._values, 0)

    def _set_aside(self, why: Exception) -> None:
        """Rename damaged keys."""
        self._disconnect()
        for name in _KEY_FILES:
            with contextlib.suppress(FileNotFoundError):
                (self.path / name).replace(self.path / f"{name}.damaged")
        warn_once(
            f"store {self.path} is damaged ({why}); its values are computed again, and the damaged "
            f"keys are kept in {_KEYS}.damaged"
        )

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the stored arrays among ``keys``. Damaged values, and values not sealed by this
        computer, count as absent and are dropped."""
        arrays: dict[bytes, NDArray[np.float32]] = {}
        with self._mutex:
            for i in range(0, len(keys), _LOOKUP):
                part = keys[i : i + _LOOKUP]
                marks = ",".join("?" * len(part))
                arrays.update(self._read(f"key IN ({marks})", part))
        return arrays

    def beginning_with(
        self, prefixes: Iterable[bytes]
    ) -> dict[bytes, dict[bytes, NDArray[np.float32]]]:
        """Return the stored arrays whose keys begin with each of ``prefixes``, by prefix and
        key."""
        with self._mutex:
            return {
                p: self._read("key BETWEEN ? AND ?", (p, p + b"\xff" * (_KEY - len(p))))
                for p in prefixes
            }

    def _read(self, where: str, values: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        arrays: dict[bytes, NDArray[np.float32]] = {}
        if self._db is None or self._values is None:
            return arrays
        dropped: list[tuple[bytes]] = []
        try:
            size = os.fstat(self._values).st_size
            rows = self._db.execute(f"SELECT * FROM entries WHERE {where}", values)
            for key, start, shape, held in rows:
                value = self._value(size, key, start, shape, held)
                if value is not None:
                    arrays[key] = value
                elif self.writable:
                    dropped.append((key,))
            if dropped:
                with self._db:
                    self._db.executemany("DELETE FROM entries WHERE key = ?", dropped)
        except (OSError, sqlite3.Error) as e:
            self._without(e)
        return arrays

    def _value(
        self, end: int, key: Any, start: Any, shape: Any, held: Any
    ) -> NDArray[np.float32] | None:
        """Return the value of a row, which may contain anything; None if it is invalid."""
        if not (isinstance(start, int) and isinstance(shape, bytes) and isinstance(held, bytes)):
            return None
        if not isinstance(key, bytes) or not _SHAPE.fullmatch(shape):
            return None
        dims = tuple(int(d) for d in shape.split(b",") if d)
        size = 4 * math.prod(dims)
        assert self._values is not None
        if not 0 <= start <= end - size:
            return None
        data = os.pread(self._values, size, start)
        if len(data) != size or not sealed(held, key, shape, data, purpose=_PURPOSE):
            return None
        return np.frombuffer(data, np.float32).reshape(dims)

    def put_many(self, items: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        """Append ``items`` and commit them together. Existing keys keep their values."""
        self._write([], items, over=False)

    def replace(self, old: Iterable[bytes], key: bytes, value: NDArray[np.float32]) -> None:
        """Store ``value`` under ``key``, replacing any old value, and drop ``old``, in one
        transaction."""
        self._write(old, [(key, value)], over=True)

    def _write(
        self,
        old: Iterable[bytes],
        items: Iterable[tuple[bytes, NDArray[np.float32]]],
        *,
        over: bool,
    ) -> None:
        with self._mutex:
            if not self.writable or self._db is None:
                return
            try:
                has = "SELECT 1 FROM entries WHERE key = ?"
                new = [
                    (k, v) for k, v in items if over or not self._db.execute(has, (k,)).fetchone()
                ]
                if new:
                    self._commit(old, new)
            except (OSError, sqlite3.Error) as e:
                self._without(e)

    def _commit(
        self, old: Iterable[bytes], items: Iterable[tuple[bytes, NDArray[np.float32]]]
    ) -> None:
        """Write the values, then the rows that point to them, replacing ``old``."""
        assert self._db is not None and self._values is not None
        rows, blobs, at = [], [], self._end
        for key, value in items:
            data = np.ascontiguousarray(value, np.float32).tobytes()
            shape = ",".join(map(str, value.shape))
            rows.append((key, at, shape, seal(key, shape, data, purpose=_PURPOSE)))
            blobs.append(data)
            at += len(data)
        whole = memoryview(b"".join(blobs))
        while whole:
            n = os.pwrite(self._values, whole, self._end)
            self._end += n
            whole = whole[n:]
        with self._db:
            self._db.executemany("DELETE FROM entries WHERE key = ?", [(k,) for k in old])
            self._db.executemany(_INSERT, rows)

    def _without(self, why: Exception) -> None:
        """Continue without writing, and after damage without reading."""
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.rollback()
        if self._db is not None and self.writable and _is_damage(why):
            with contextlib.suppress(OSError):
                self._set_aside(why)
        self.writable = False
        warn_once(
            f"store {self.path} cannot be used ({why}); the run continues without storing "
            "further values"
        )

    def __len__(self) -> int:
        with self._mutex:
            if self._db is None:
                return 0
            return int(self._db.execute("SELECT count(*) FROM entries").fetchone()[0])

    def close(self) -> None:
        """Close the store; of several callers of :func:`open_store`, the last one closes it."""
        with _opening:
            self.users -= 1
            if self.users > 0:
                return
            for place in [place for place, store in _shared.items() if store is self]:
                del _shared[place]
        with self._mutex:
            self._let_go()

    def _disconnect(self) -> None:
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
            self._db = None

    def _let_go(self) -> None:
        self._disconnect()
        for descriptor in (self._values, self._lock):
            if descriptor is not None:
                os.close(descriptor)
        self._values = self._lock = None


def _is_damage(why: Exception) -> bool:
    """Return True if sqlite reports an invalid file, rather than one that cannot be used now."""
    return isinstance(why, sqlite3.DatabaseError) and not isinstance(why, sqlite3.OperationalError)


def _no_room(why: Exception) -> bool:
    """Return True if the file system cannot be written, although stored values may be valid."""
    if isinstance(why, OSError):
        return why.errno in _NO_ROOM
    message = str(why)
    return isinstance(why, sqlite3.OperationalError) and any(w in message for w in _NO_ROOM_TOLD)
