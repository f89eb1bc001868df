"""Journal of language model replies, so that none is paid for twice.

One sqlite file (WAL), in which rows are inserted and never altered. A call is recorded before it is
sent, with the worst-case cost of each attempt. Its reply is recorded before the caller gets it. So
a process killed at any point leaves calls that are answered, failed or lost. A lost call may
have been paid, and counts as paid at its worst case.

Replies and sums of money are sealed (:mod:`veridical.files.seals`): a row that is damaged, or was
not written with this computer's secret, counts as absent.

Several processes may share a file. Each claims a reply before requesting it, and the others wait
for the reply; a claim of a dead process is void.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from veridical.core.messages import ChatRequest, Reply
from veridical.errors import UsageError
from veridical.files.atomic import PRIVATE_FILE
from veridical.llm import journal_rows as rows
from veridical.llm.journal_rows import AttemptCost, HeldReply, JournaledCall, SentAttempt
from veridical.llm.ledger import Ledger
from veridical.llm.writers import Writers

T = TypeVar("T")
_Waiter: TypeAlias = "threading.Event | asyncio.Future[None]"

#: The journal's file name in a store or a run directory.
JOURNAL = "journal.sqlite"
_TOGETHER = 4096  # operations per transaction


def request_key(identity: str, request: ChatRequest) -> bytes:
    """Return the key of a request's reply from the endpoint with ``identity``, ignoring its
    ordinal.
    """
    r = request
    shape = (r.temperature, r.max_tokens, r.top_p, r.top_k, r.seed, r.stop, r.logprobs, r.schema)
    text = _CANONICAL(["chat-1", identity, shape, r.messages])
    return hashlib.blake2b(text.encode(), digest_size=20).digest()


def sample_key(request: bytes, ordinal: int) -> bytes:
    """Return the key of one of several samples of a request."""
    return request + ordinal.to_bytes(8, "big", signed=True)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Journal:
    """Replies by key, in the file ``path``; in memory if ``path`` is None.

    Coroutines may be called from any event loop. A write is committed when its coroutine returns.

    Attributes:
        damaged: keys whose newest reply is damaged or from another computer, until they are
            counted.

    Raises:
        UsageError: the file cannot be opened, has another format, or was made with another secret
            than this computer's.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._operations: queue.SimpleQueue[_Operation[Any] | None] = queue.SimpleQueue()
        self._next: dict[int, int] = {}
        self._closed = False
        self._writers = None if path is None else Writers(path)
        self.damaged: set[bytes] = set()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
            place = ":memory:" if path is None else path
            self._db = sqlite3.connect(place, check_same_thread=False, timeout=60)
            self._db.execute("PRAGMA journal_mode=WAL")
            # Survives the process; after a power cut the last replies may be requested again.
            self._db.execute("PRAGMA synchronous=NORMAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, rows.FORMAT):
                raise rows.foreign_format(path, version)
            if version == 0:
                self._db.executescript(rows.SCHEMA)
                rows.own(self._db)
                self._db.execute(f"PRAGMA user_version={rows.FORMAT}")
            self._db.execute(rows.CACHED)
            rows.check_owner(self._db, path)
        except (OSError, sqlite3.Error) as e:
            raise UsageError(f"cannot open journal {path}: {e}") from e
        self._thread = threading.Thread(target=self._work, daemon=True, name="veridical-journal")
        self._thread.start()

    def session(self, run: str) -> int:
        """Start a session of ``run``; return the number that its calls have."""
        return self._now(lambda db: rows.open_session(db, run))

    def lock_run(self, run: str) -> None:
        """Lock ``run`` for this process until :meth:`unlock_run`.

        Raises:
            UsageError: another process holds the lock.
        """
        key = rows.run_key(run)
        if not self._now(lambda db: self._claims(db, [key], again=True)):
            raise UsageError(
                f"this run is active in another process, which also writes to {self.path}; "
                "wait until it ends"
            )

    def unlock_run(self, run: str) -> None:
        """Unlock ``run``; another process may lock it once this returns."""
        if not self._closed:
            self._now(lambda db: rows.release(db, [rows.run_key(run)]))

    def totals(self, run: str) -> Ledger:
        """Return the totals of all sessions of ``run`` so far.

        Calls without an outcome count as possibly paid, so no other session of the run may be
        active.
        """
        return self._now(lambda db: rows.totals(db, run))

    async def find(self, keys: Sequence[bytes]) -> dict[bytes, HeldReply]:
        """Return the newest reply under each of ``keys`` that has one. Damaged replies count as
        absent.
        """
        return await self._later(lambda db: rows.find(db, keys, self.damaged))

    async def claim(
        self, keys: Sequence[bytes], attempt: int
    ) -> tuple[list[bytes], dict[bytes, Reply]]:
        """Claim ``keys`` for this process until :meth:`release`.

        Return the claimed keys, and the replies of this attempt or a later one that have arrived
        since. Other processes request the rest.
        """

        def work(db: sqlite3.Connection) -> tuple[list[bytes], dict[bytes, Reply]]:
            claimed = self._claims(db, keys)
            held = rows.find(db, claimed, set())
            replies = {key: h.reply for key, h in held.items() if h.attempt >= attempt}
            rows.release(db, replies)
            return [key for key in claimed if key not in replies], replies

        return await self._later(work)

    def release(self, keys: Sequence[bytes]) -> None:
        """Release the claims on ``keys``, so that other processes may request them."""
        if not self._closed:
            self._operations.put(_Operation(lambda db: rows.release(db, keys), threading.Event()))

    def number(self, session: int) -> int:
        """Return a new number for a call, or an attempt, of ``session``."""
        number = self._next.get(session, session * rows.SESSION)
        self._next[session] = number + 1
        return number

    async def leave(self, calls: Sequence[tuple[int, bytes, int]], attempt: SentAttempt) -> None:
        """Record an attempt before it is sent.

        Args:
            calls: ``(call, key, attempt)`` of the calls whose first attempt it is.
        """

        def write(db: sqlite3.Connection) -> None:
            rows.insert(db, "calls", calls)
            rows.write_attempt(db, attempt)

        await self._later(write)

    async def settle(self, settled: Sequence[AttemptCost]) -> None:
        """Record the costs of attempts."""
        await self._later(lambda db: rows.settle(db, settled))

    async def end(
        self,
        answers: Sequence[JournaledCall],
        failures: Sequence[tuple[int, str]] = (),
        settled: Sequence[AttemptCost] = (),
    ) -> None:
        """Record replies, failures as ``(call, trouble)`` and the costs of attempts, in one
        transaction.
        """

        def write(db: sqlite3.Connection) -> None:
            rows.write_replies(db, answers)
            rows.insert(db, "failures", failures)
            rows.settle(db, settled)

        await self._later(write)

    async def reject(self, keys: Sequence[tuple[bytes, int]]) -> None:
        """Mark the replies under ``(key, attempt)`` as unusable: see :class:`HeldReply`."""
        await self._later(lambda db: rows.insert(db, "rejected", keys))

    def close(self) -> None:
        """Finish the pending operations and close the file."""
        if not self._closed:
            self._closed = True
            if self._writers is not None:
                self._operations.put(_Operation(self._let_go, threading.Event()))
            self._operations.put(None)
            self._thread.join()
            self._db.close()
            if self._writers is not None:
                self._writers.close()

    def _claims(
        self, db: sqlite3.Connection, keys: Sequence[bytes], *, again: bool = False
    ) -> list[bytes]:
        """Claim the ``keys`` that no writer holds; ``again`` includes those claimed here."""
        if self._writers is None:
            return list(keys)
        me = self._writers.name
        claimed = []
        for key in keys:
            row = db.execute("SELECT writer FROM claims WHERE key = ?", (key,)).fetchone()
            if row is None or (again and row[0] == me) or not self._writers.alive(str(row[0])):
                db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, me))
                claimed.append(key)
        return claimed

    def _let_go(self, db: sqlite3.Connection) -> None:
        assert self._writers is not None
        if self._writers.known:
            db.execute("DELETE FROM claims WHERE writer = ?", (self._writers.name,))

    def _now(self, work: Callable[[sqlite3.Connection], T]) -> T:
        done = threading.Event()
        operation = self._put(work, done)
        done.wait()
        return operation.result()

    async def _later(self, work: Callable[[sqlite3.Connection], T]) -> T:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        operation = self._put(work, future)
        await future
        return operation.result()

    def _put(self, work: Callable[[sqlite3.Connection], T], waiter: _Waiter) -> _Operation[T]:
        if self._closed:
            raise UsageError("the journal is closed; open it again")
        operation = _Operation(work, waiter)
        self._operations.put(operation)
        return operation

    def _work(self) -> None:
        """Carry out operations; all that are pending share one transaction."""
        stop = False
        while not stop:
            batch: list[_Operation[Any]] = []
            try:
                operation = self._operations.get()
                while operation is not None and len(batch) < _TOGETHER:
                    batch.append(operation)
                    operation = self._operations.get_nowait()
                stop = operation is None
                if operation is not None:
                    batch.append(operation)
            except queue.Empty:
                pass
            try:
                with self._db:
                    for operation in batch:
                        operation.run(self._db)
            except sqlite3.Error as e:  # the commit failed: nothing of the batch is on disk
                for operation in batch:
                    operation.error = e
            _wake(operation.waiter for operation in batch)


class _Operation(Generic[T]):
    def __init__(self, work: Callable[[sqlite3.Connection], T], waiter: _Waiter) -> None:
        self.work = work
        self.waiter = waiter
        self.error: Exception | None = None
        self._value: T

    def run(self, db: sqlite3.Connection) -> None:
        try:
            self._value = self.work(db)
        except Exception as e:
            self.error = e

    def result(self) -> T:
        if isinstance(self.error, (sqlite3.Error, OSError)):
            raise UsageError(f"cannot read or write the journal: {self.error}")
        if self.error is not None:
            raise self.error
        return self._value


def _wake(waiters: Iterable[_Waiter]) -> None:
    """Resolve the futures of ``waiters``, in order, with one call per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for waiter in waiters:
        if isinstance(waiter, threading.Event):
            waiter.set()
        else:
            by_loop.setdefault(waiter.get_loop(), []).append(waiter)
    for loop, futures in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits
            loop.call_soon_threadsafe(_resolve, futures)


def _resolve(futures: Iterable[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():  # cancelled
            future.set_result(None)
