"""On-disk index of a corpus: documents, passages and an FTS5 table.

One process writes at a time. A reader sees the state at opening, regardless of later writes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from veridical.errors import UsageError
from veridical.files.atomic import write_atomic
from veridical.files.seals import SEAL, seal, sealed_hex
from veridical.retrieval.corpus.files import Skipped
from veridical.retrieval.corpus.words import index_terms, rarest

#: Format of the tables and of reading and splitting texts; another format is rebuilt.
FORMAT = 2
FILE = "index.sqlite"
#: Seal of the index's content while no process writes it.
SEAL_FILE = "seal"
T = TypeVar("T", bound="Index")
_PASSAGE = """
SELECT p.id, d.name, d.title, d.pages, p.start, p.end, p.hash, p.text
FROM passages p JOIN documents d ON d.id = p.document WHERE p.id
"""
_PURPOSE = "corpus index"
_LOOKUP = 500  # sqlite's variable limit is 999 in old builds


class IndexedPassage(NamedTuple):
    """A passage of the corpus: the document's text from ``start`` to ``end``."""

    id: int
    document: str
    title: str
    page: int | None
    start: int
    end: int
    hash: bytes
    text: str


class Counts(NamedTuple):
    """Counts of indexed and skipped items."""

    files: int
    documents: int
    passages: int
    skipped: int


class Index:
    """The index in the folder ``path``, for reading.

    Raises:
        UsageError: it does not exist or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        check_fts5()
        self.path = path
        self.mutex = threading.RLock()
        try:
            if not (path / FILE).is_file():
                raise UsageError(f"no corpus index in {path}")
            if not is_sealed(path):
                raise UsageError(
                    f"the corpus index {path} is being written, incomplete, damaged, "
                    f"or from another computer; {rebuild_hint()}"
                )
            self._db = connected(path, "ro")
            self._db.execute("BEGIN")
            self._db.execute(
                "SELECT count(*) FROM settings"
            ).fetchone()  # starts the read transaction
        except sqlite3.Error as e:
            raise UsageError(f"cannot open the corpus index {path}: {e}") from None

    def setting(self, name: str) -> str | None:
        """Return the value that the writer stored under a name."""
        row = self._db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a statement, for other modules."""
        return self._db.execute(sql, values).fetchall()

    def counts(self) -> Counts:
        """Return the numbers of files, documents and passages, and of skipped files and places."""
        with self.mutex:
            files, unread = self._db.execute(
                "SELECT count(*), count(problem) FROM files"
            ).fetchone()
            one = [
                self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("documents", "passages", "problems")
            ]
        return Counts(files - unread, one[0], one[1], unread + one[2])

    def skipped(self) -> Iterator[Skipped]:
        """Yield the skipped files and places, in order of name."""
        with self.mutex:
            rows = self._db.execute(
                "SELECT name, problem, 0 FROM files WHERE problem IS NOT NULL UNION ALL "
                "SELECT place, reason, p.rowid FROM problems p ORDER BY 1, 3"
            ).fetchall()
        return (Skipped(name, reason) for name, reason, _ in rows)

    def content(self) -> str:
        """Return 32 hex digits for names and texts of all documents."""
        digest = hashlib.blake2b(str(FORMAT).encode(), digest_size=16)
        with self.mutex:
            for name, held in self._db.execute("SELECT name, hash FROM documents ORDER BY name"):
                digest.update(len(name.encode()).to_bytes(4, "little") + name.encode() + held)
        return digest.hexdigest()

    def text(self, document: str) -> str | None:
        """Return the whole text of a document, which passage offsets refer to."""
        with self.mutex:
            row = self._db.execute(
                "SELECT text FROM documents WHERE name = ?", (document,)
            ).fetchone()
        return None if row is None else zlib.decompress(row[0]).decode()

    def passages(self, ids: Iterable[int]) -> dict[int, IndexedPassage]:
        """Return passages by their numbers."""
        wanted = list(ids)
        passages: dict[int, IndexedPassage] = {}
        with self.mutex:
            for i in range(0, len(wanted), _LOOKUP):
                part = wanted[i : i + _LOOKUP]
                marks = ",".join("?" * len(part))
                for row in self._db.execute(f"{_PASSAGE} IN ({marks})", part):
                    number, name, title, pages, start, end, key, text = row
                    starts = json.loads(pages)
                    page = sum(s <= start for s in starts) if starts else None
                    passages[number] = IndexedPassage(
                        number, name, title, page, start, end, key, text
                    )
        return passages

    def by_words(self, query: str, k: int) -> list[int]:
        """Return the best ``k`` passages by BM25 (of FTS5: k1 = 1.2, b = 0.75), best first."""
        with self.mutex:
            terms = rarest(index_terms(query), self._frequency)
            if not terms:
                return []
            match = " OR ".join(f'"{term}"' for term in terms)
            rows = self._db.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
                (match, k),
            )
            return [row[0] for row in rows]

    def _frequency(self, term: str) -> int:
        row = self._db.execute("SELECT doc FROM vocabulary WHERE term = ?", (term,)).fetchone()
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        """Close the database."""
        with self.mutex:
            self._db.close()

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_fts5() -> None:
    """Check that this Python's sqlite supports FTS5.

    Raises:
        UsageError: it does not.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute("CREATE VIRTUAL TABLE t USING fts5 (text)")
        except sqlite3.OperationalError as e:
            raise UsageError(
                f"--corpus requires sqlite with FTS5, which this Python's (sqlite "
                f"{sqlite3.sqlite_version}) lacks: {e}. Use a build of python.org, conda or a "
                "usual Linux distribution"
            ) from None


def connected(path: Path, mode: str = "rwc") -> sqlite3.Connection:
    """Open a connection to the index in ``path``.

    A read-only one (``ro``) leaves the files as they were sealed.
    """
    db = sqlite3.connect(
        f"{(path / FILE).absolute().as_uri()}?mode={mode}",
        uri=True,
        check_same_thread=False,
        timeout=30,
        isolation_level=None,
    )
    if mode != "ro":
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
    return db


def put_seal(path: Path) -> None:
    """Seal the index in ``path`` in its present state.

    Raises:
        OSError: the seal cannot be written.
    """
    write_atomic(path / SEAL_FILE, seal(*_content(path), purpose=_PURPOSE).hex())


def is_sealed(path: Path) -> bool:
    """Return True if this computer has sealed the index in ``path`` in its present state."""
    try:
        with (path / SEAL_FILE).open("rb") as file:
            digits = file.read(2 * SEAL + 1)
        return sealed_hex(digits, *_content(path), purpose=_PURPOSE)
    except OSError:
        return False


def _content(path: Path) -> list[bytes]:
    """Return the sealed content: the format, the database, and sqlite's pending writes."""
    parts = [str(FORMAT).encode()]
    for name in (FILE, f"{FILE}-wal"):
        digest = hashlib.blake2b(digest_size=32)
        if (path / name).exists():
            with (path / name).open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        parts.append(digest.digest())
    return parts


def rebuild_hint() -> str:
    """Return how to rebuild an index."""
    return "the next run rebuilds it, or run: veridical corpus PATH"
