"""Incremental copies of a journal, so that another computer can resume it.

Rows are inserted and never altered, so a piece contains the rows that no earlier piece has. Pieces
are sealed (:mod:`veridical.files.seals`): a piece that was not written with this computer's secret
is not read.
"""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import sqlite3
from pathlib import Path
from typing import Any

from veridical.errors import UsageError
from veridical.files.seals import seal, sealed_hex
from veridical.llm import journal_rows as rows
from veridical.llm.journal import Journal
from veridical.llm.ledger import Ledger

_PIECE = "journal piece"  # purpose of the seal
#: Tables that are copied, with the columns that identify a row. Ownership and claims are left out.
_TABLES = {
    "sessions": ("id",),
    "calls": ("id",),
    "replies": ("call",),
    "cached": ("call",),
    "failures": ("call",),
    "rejected": ("key", "attempt"),
    "attempts": ("id",),
    "settled": ("id",),
}
_SESSIONS = 1 << 31  # sqlite's integers end with the calls of the last session
_LEAP = 64  # a jump to a new session takes at most this part of the numbers left


class Foreign(UsageError):
    """A piece is not sealed with this computer's secret."""


class JournalCopies:
    """Copies of the journal in the file ``path``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, set[tuple[Any, ...]]] = {table: set() for table in _TABLES}

    def take_in(self, pieces: list[bytes]) -> None:
        """Add the rows of all ``pieces``, in any order.

        Later sessions of the journal have numbers that no other computer's sessions have.

        Raises:
            Foreign: a piece is not sealed with this computer's secret; nothing is added.
            UsageError: the journal cannot be opened or written.
        """
        found = [row for piece in pieces for row in _read(piece)]
        Journal(self._path).close()  # creates the file if missing
        with self._open("rw") as db, db:
            for table, row in found:
                marks = ",".join("?" * len(row))
                db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)
                self._kept[table].add(row[: len(_TABLES[table])])
            last = db.execute("SELECT max(id) FROM sessions").fetchone()[0] or 0
            leap = 1 + secrets.randbelow(max(1, (_SESSIONS - last) // _LEAP))
            db.execute("INSERT INTO sessions VALUES (?, '')", (last + leap,))

    def piece(self) -> bytes | None:
        """Return the rows that have not been copied yet, and mark them as copied.

        None if there are no new rows, or no call was ever made.

        Raises:
            UsageError: the journal cannot be read.
        """
        lines = []
        new: list[tuple[str, tuple[Any, ...]]] = []
        if self._path.exists():
            with self._open("ro") as db:
                db.execute("BEGIN")  # all tables at one point in time
                called = db.execute("SELECT EXISTS (SELECT 1 FROM calls)").fetchone()[0]
                for table, names in _TABLES.items() if called else ():
                    which = db.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
                    query = " AND ".join(f"{name} = ?" for name in names)
                    for key in which:
                        if key not in self._kept[table]:
                            new.append((table, key))
                            row = db.execute(f"SELECT * FROM {table} WHERE {query}", key).fetchone()
                            lines.append(json.dumps([table, [_plain(value) for value in row]]))
        for table, key in new:
            self._kept[table].add(key)
        if not lines:
            return None
        text = "\n".join(lines).encode()
        return seal(str(rows.FORMAT), text, purpose=_PIECE).hex().encode() + b"\n" + text

    def totals(self, *, but: str) -> list[Ledger]:
        """Return the totals of each run in the journal, except ``but``.

        Raises:
            UsageError: the journal cannot be read.
        """
        if not self._path.exists():
            return []
        with self._open("ro") as db:
            names = db.execute("SELECT DISTINCT run FROM sessions WHERE run NOT IN ('', ?)", (but,))
            return [rows.totals(db, name) for (name,) in names.fetchall()]

    @contextlib.contextmanager
    def _open(self, mode: str) -> Any:
        address = f"{self._path.absolute().as_uri()}?mode={mode}"
        try:
            with contextlib.closing(sqlite3.connect(address, uri=True, timeout=60)) as db:
                yield db
        except sqlite3.Error as e:
            raise UsageError(f"cannot read or write the journal {self._path}: {e}") from None


def _read(piece: bytes) -> list[tuple[str, tuple[Any, ...]]]:
    mark, _, text = piece.partition(b"\n")
    if not sealed_hex(mark, str(rows.FORMAT), text, purpose=_PIECE):
        raise Foreign("a piece of a journal is not sealed with this computer's secret")
    read = map(json.loads, text.splitlines())
    return [(table, tuple(map(_value, row))) for table, row in read]


def _plain(value: Any) -> Any:
    """Return a row's value in JSON form: bytes as a list with one text."""
    return [base64.b64encode(value).decode()] if isinstance(value, bytes) else value


def _value(plain: Any) -> Any:
    return base64.b64decode(plain[0]) if isinstance(plain, list) else plain
