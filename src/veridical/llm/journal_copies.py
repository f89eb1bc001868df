"""A journal's rows kept elsewhere too, piece by piece, so that another computer can go on with it.

Rows are inserted and never altered, so a piece is the rows that no piece before it has. Pieces are
sealed (:mod:`veridical.files.seals`): what was not written with this computer's secret is not read.
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

_PIECE = "journal piece"  # what the seal is for
#: Tables that are copied, by what identifies a row: all but whose file it is, and who is at work.
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
_SESSIONS = 1 << 31  # sqlite's integers end with the calls of the last one
_LEAP = 64  # a leap to a new session takes at most such a part of those that are left


class Foreign(UsageError):
    """A piece has not the seal of this computer's secret."""


class JournalCopies:
    """What of the journal in the file ``path`` is kept elsewhere."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, set[tuple[Any, ...]]] = {table: set() for table in _TABLES}

    def take_in(self, pieces: list[bytes]) -> None:
        """Add the rows of all ``pieces``, which are in any order. Sessions of the journal have
        numbers from here on that no other computer's have.

        Raises:
            Foreign: not all of them are sealed with this computer's secret; nothing is added.
            UsageError: the journal cannot be opened or written.
        """
        found = [row for piece in pieces for row in _read(piece)]
        Journal(self._path).close()  # makes it, where there is none
        with self._open("rw") as db, db:
            for table, row in found:
                marks = ",".join("?" * len(row))
                db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)
                self._kept[table].add(row[: len(_TABLES[table])])
            last = db.execute("SELECT max(id) FROM sessions").fetchone()[0] or 0
            leap = 1 + secrets.randbelow(max(1, (_SESSIONS - last) // _LEAP))
            db.execute("INSERT INTO sessions VALUES (?, '')", (last + leap,))

    def piece(self) -> bytes | None:
        """The rows that are not kept elsewhere yet, which are taken to be from now on; None where
        there is none, or no call was ever made.

        Raises:
            UsageError: the journal cannot be read.
        """
        lines = []
        new: list[tuple[str, tuple[Any, ...]]] = []
        if self._path.exists():
            with self._open("ro") as db:
                db.execute("BEGIN")  # all tables as of one moment
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
        """What each run has called that ever wrote to the journal, ``but`` one.

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
            raise UsageError(f"the journal {self._path} cannot be read or written: {e}") from None


def _read(piece: bytes) -> list[tuple[str, tuple[Any, ...]]]:
    mark, _, text = piece.partition(b"\n")
    if not sealed_hex(mark, str(rows.FORMAT), text, purpose=_PIECE):
        raise Foreign("a piece of a journal is not sealed with this computer's secret")
    read = map(json.loads, text.splitlines())
    return [(table, tuple(map(_value, row))) for table, row in read]


def _plain(value: Any) -> Any:
    """A value of a row, as JSON has it: bytes in a list, by themselves."""
    return [base64.b64encode(value).decode()] if isinstance(value, bytes) else value


def _value(plain: Any) -> Any:
    return base64.b64decode(plain[0]) if isinstance(plain, list) else plain
