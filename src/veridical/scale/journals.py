"""The journal of a shard's LLM calls, copied to the object store while the shard is scored: who
takes the shard over on another computer does not pay for them again.

What the owner had not copied when it was lost, calls of the last seconds, may be paid twice.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError
from veridical.files.seals import SECRET_VARIABLE
from veridical.llm.journal import JOURNAL
from veridical.llm.journal_copies import Foreign, JournalCopies

if TYPE_CHECKING:
    from veridical.scale.objects import ObjectPlace

JOURNALS = "journals"
_log = logging.getLogger("veridical.scale")


class ShardJournal:
    """Copies of a shard's journal, at most one in ``every`` seconds.

    Args:
        folder: the run directory in which the shard is scored.
    """

    def __init__(self, place: ObjectPlace, shard: str, folder: Path, every: float) -> None:
        self._place, self._shard = place, shard
        self._below = f"{JOURNALS}/{shard}"
        self._copies = JournalCopies(folder / JOURNAL)
        self._token = secrets.token_hex(8)
        self._every, self._due, self._number = every, 0.0, 0
        self._unwritten: bytes | None = None

    def fetch(self) -> None:
        """Take in what was copied of the shard's journal, by this computer or another.

        Raises:
            UsageError: it cannot be read, or the journal cannot be written.
        """
        pieces = []
        for name in self._place.names(self._below):
            with contextlib.suppress(FileNotFoundError):  # another has just ended the shard
                pieces.append(self._place.read(f"{self._below}/{name}"))
        try:
            self._copies.take_in(pieces)
        except Foreign:
            _log.warning(
                "shard %s: LLM calls of another computer are made and paid for again, as their "
                "replies are not sealed with this one's secret: set %s alike on all",
                self._shard,
                SECRET_VARIABLE,
            )
            self._copies.take_in([])

    def copy(self, *, now: bool = False) -> None:
        """Copy what is new, if the time has come, or ``now``. A server that does not answer gets
        it the next time."""
        if not now and time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._every
        with contextlib.suppress(UsageError):
            self._unwritten = self._unwritten or self._copies.piece()
            if self._unwritten is not None:
                name = f"{self._below}/{self._token}-{self._number:06}"
                self._place.create(name, self._unwritten)
                self._unwritten, self._number = None, self._number + 1

    def bills(self, run: str) -> list[dict[str, Any]]:
        """See :meth:`veridical.scale.place.Journaled.bills`."""
        return [ledger.as_dict() for ledger in self._copies.totals(but=run)]

    def discard(self) -> None:
        """Remove the copies: the shard is done."""
        with contextlib.suppress(UsageError):
            self._place.remove(self._below)
