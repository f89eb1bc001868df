"""Writing to the index of a corpus, one process at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from veridical.errors import UsageError
from veridical.files.locks import try_lock
from veridical.notices import warn_once
from veridical.retrieval.corpus.documents import Document
from veridical.retrieval.corpus.files import Skipped
from veridical.retrieval.corpus.index import (
    FILE,
    FORMAT,
    SEAL_FILE,
    Index,
    check_fts5,
    connected,
    is_sealed,
    put_seal,
)
from veridical.retrieval.corpus.words import index_terms

_TABLES = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash BLOB, problem TEXT,
    seen INTEGER NOT NULL
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, name TEXT NOT NULL UNIQUE, hash BLOB NOT NULL,
    title TEXT NOT NULL, pages TEXT NOT NULL, text BLOB NOT NULL, seen INTEGER NOT NULL
);
CREATE INDEX documents_file ON documents (file);
CREATE TABLE problems (file INTEGER NOT NULL, place TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX problems_file ON problems (file);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
    hash BLOB NOT NULL, text TEXT NOT NULL
);
CREATE INDEX passages_document ON passages (document);
CREATE INDEX passages_hash ON passages (hash);
CREATE VIRTUAL TABLE words USING fts5 (
    terms, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M*'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
CREATE TABLE vectors (
    embedder TEXT NOT NULL, hash BLOB NOT NULL, slot INTEGER NOT NULL, PRIMARY KEY (embedder, hash)
) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Writer(Index):
    """The index in the folder ``path``, for writing.

    It is created if missing, and rebuilt if its seal is invalid, as after a kill. All operations
    except reading require :meth:`transaction`.

    Raises:
        UsageError: another process is writing it, or it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        check_fts5()
        self.path = path
        self.mutex = threading.RLock()
        self._lock: int | None = None
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = try_lock(path / "lock")
            if self._lock is None:
                raise UsageError(f"the corpus index {path} is being written by another process")
            if not is_sealed(path):
                self._remove()
            (path / SEAL_FILE).unlink(missing_ok=True)  # until close()
            self._db = connected(path)
            self._create()
        except (OSError, sqlite3.Error) as e:
            self._unlock()
            raise UsageError(f"cannot open the corpus index {path}: {e}") from None
        except BaseException:
            self._unlock()
            raise

    def _remove(self) -> None:
        """Remove the old index; vectors stay, as each has its own seal."""
        if (self.path / FILE).is_file():
            warn_once(
                f"the corpus index {self.path} is incomplete, of an earlier version, "
                "damaged, or from another computer; the documents are read again"
            )
        for old in self.path.glob("vectors-*.f16"):  # first format, without seals
            old.unlink()
        for end in ("", "-wal", "-shm"):
            (self.path / (FILE + end)).unlink(missing_ok=True)

    def _create(self) -> None:
        if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            with self.transaction():
                for statement in _TABLES.split(";\n"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={FORMAT}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes of the block, or none."""
        with self.mutex:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def file(self, name: str) -> tuple[int, bytes | None] | None:
        """Return number and content hash of a file; no hash if it was not read completely."""
        row = self._db.execute("SELECT id, hash FROM files WHERE name = ?", (name,)).fetchone()
        return None if row is None else (row[0], row[1])

    def seen(self, file: int, turn: int) -> None:
        """Mark a file as unchanged."""
        self._db.execute("UPDATE files SET seen = ? WHERE id = ?", (turn, file))

    def begin(self, name: str, turn: int) -> int:
        """Start a new or changed file; return its number."""
        self._db.execute(
            "INSERT INTO files (name, seen) VALUES (?1, ?2) "
            "ON CONFLICT (name) DO UPDATE SET hash = NULL, problem = NULL, seen = ?2",
            (name, turn),
        )
        stored = self.file(name)
        assert stored is not None
        self._db.execute("DELETE FROM problems WHERE file = ?", (stored[0],))
        return stored[0]

    def add(
        self, file: int, document: Document, pieces: Sequence[tuple[int, int]], turn: int
    ) -> bool:
        """Add a document, replacing an older one of its name.

        Returns False if the name was already added in this turn.
        """
        content = json.dumps([document.title, document.pages, document.text])
        digest = hashlib.blake2b(content.encode(), digest_size=16).digest()
        old = self._db.execute(
            "SELECT id, hash, seen FROM documents WHERE name = ?", (document.name,)
        ).fetchone()
        if old is not None:
            if old[2] == turn:
                return False
            if old[1] == digest:
                self._db.execute(
                    "UPDATE documents SET seen = ?, file = ? WHERE id = ?", (turn, file, old[0])
                )
                return True
            self._drop(old[0])
        number = self._db.execute(
            "INSERT INTO documents (file, name, hash, title, pages, text, seen) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                file,
                document.name,
                digest,
                document.title,
                json.dumps(document.pages),
                zlib.compress(document.text.encode(), 1),
                turn,
            ),
        ).lastrowid
        for start, end in pieces:
            text = document.text[start:end]
            key = hashlib.blake2b(text.encode(), digest_size=16).digest()
            passage = self._db.execute(
                "INSERT INTO passages (document, start, end, hash, text) VALUES (?, ?, ?, ?, ?)",
                (number, start, end, key, text),
            ).lastrowid
            self._db.execute(
                "INSERT INTO words (rowid, terms) VALUES (?, ?)",
                (passage, " ".join(index_terms(text))),
            )
        return True

    def _drop(self, document: int) -> None:
        self._db.execute(
            "DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE document = ?)",
            (document,),
        )
        self._db.execute("DELETE FROM passages WHERE document = ?", (document,))
        self._db.execute("DELETE FROM documents WHERE id = ?", (document,))

    def skip(self, file: int, problem: Skipped) -> None:
        """Record a skipped place of the file."""
        self._db.execute(
            "INSERT INTO problems VALUES (?, ?, ?)", (file, problem.name, problem.reason)
        )

    def finish(self, file: int, turn: int, digest: bytes | None, problem: str | None) -> None:
        """Complete a file and remove its old documents.

        ``problem`` is the reason if it was not read.
        """
        for (old,) in self._db.execute(
            "SELECT id FROM documents WHERE file = ? AND seen != ?", (file, turn)
        ).fetchall():
            self._drop(old)
        self._db.execute(
            "UPDATE files SET hash = ?, problem = ?, seen = ? WHERE id = ?",
            (digest, problem, turn, file),
        )

    def forget(self, turn: int) -> None:
        """Remove files that were not seen in this turn, with their documents."""
        gone = self._db.execute("SELECT id FROM files WHERE seen != ?", (turn,)).fetchall()
        for (file,) in gone:
            self.finish(file, turn, None, None)
            self._db.execute("DELETE FROM problems WHERE file = ?", (file,))
            self._db.execute("DELETE FROM files WHERE id = ?", (file,))

    def next_turn(self) -> int:
        """Return a number for one pass over the files."""
        turn = int(self.setting("turn") or 0) + 1
        self.set("turn", str(turn))
        return turn

    def set(self, name: str, value: str) -> None:
        """Store a value under a name."""
        self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def close(self) -> None:
        with self.mutex:
            # pages that readers block from being written back are sealed in place
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("PRAGMA busy_timeout=0")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            super().close()
            if self._lock is not None:
                with contextlib.suppress(OSError):  # a full disk: rebuilt the next time
                    put_seal(self.path)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
