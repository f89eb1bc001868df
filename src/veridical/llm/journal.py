"""The journal: every reply of a language model, so that none is ever paid for twice.

One sqlite file (WAL), rows inserted and never altered. A call is on record before it leaves and
its reply before anyone sees it, so a process killed at any point leaves calls that are answered,
failed, or lost; a lost one may have been paid. Several processes may share a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import queue
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from veridical.errors import UsageError
from veridical.llm.messages import ChatRequest, Reply, Usage
from veridical.records import TokenLogprob, TopToken

T = TypeVar("T")
_Waiter: TypeAlias = "threading.Event | asyncio.Future[None]"

#: The journal's name in a store or a run directory.
JOURNAL = "journal.sqlite"
_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (id INTEGER PRIMARY KEY, run TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, attempt INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS replies (
    call INTEGER PRIMARY KEY, key BLOB NOT NULL, attempt INTEGER NOT NULL,
    prompt INTEGER, completion INTEGER, cost REAL, lost INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_key ON replies (key, attempt);
CREATE TABLE IF NOT EXISTS failures (
    call INTEGER PRIMARY KEY, trouble TEXT NOT NULL, lost INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS rejected (
    key BLOB NOT NULL, attempt INTEGER NOT NULL, PRIMARY KEY (key, attempt)
) WITHOUT ROWID;
"""
_SESSION = 1 << 32  # ids of a session's calls: session * _SESSION + 0, 1, 2, ...
_LOOKUP = 500  # sqlite's variable limit is 999 in old builds
_SHORT = 512  # bytes that are not worth packing
_TOGETHER = 4096  # operations a transaction


def request_key(identity: str, request: ChatRequest) -> bytes:
    """The key of a request's reply from the endpoint with ``identity``, its ordinal aside."""
    r = request
    shape = (r.temperature, r.max_tokens, r.top_p, r.top_k, r.seed, r.stop, r.logprobs, r.schema)
    text = _CANONICAL(["chat-1", identity, shape, r.messages])
    return hashlib.blake2b(text.encode(), digest_size=20).digest()


def sample_key(request: bytes, ordinal: int) -> bytes:
    """The key of one of several samples of a request."""
    return request + ordinal.to_bytes(8, "big", signed=True)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Held(NamedTuple):
    """The newest reply under a key. ``rejected``: whoever asked could make nothing of it."""

    reply: Reply
    attempt: int
    rejected: bool


class Answered(NamedTuple):
    """What is written of a call that brought a reply. ``lost``: earlier attempts of it whose
    answers never arrived."""

    call: int
    key: bytes
    attempt: int
    reply: Reply
    cost: float | None
    lost: int = 0


@dataclass(frozen=True)
class Totals:
    """All that was ever called under one run's name. Sums are of what is known."""

    calls: int = 0
    answered: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    without_usage: int = 0
    cost: float = 0.0
    without_cost: int = 0
    possibly_paid: int = 0


class Journal:
    """Replies by key, in the file ``path``; in memory where that is None.

    Coroutines may be called from any event loop. What they say is written is committed.

    Raises:
        UsageError: the file cannot be opened, or has another format.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._operations: queue.SimpleQueue[_Operation | None] = queue.SimpleQueue()
        self._next: dict[int, int] = {}
        self._closed = False
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            place = ":memory:" if path is None else path
            self._db = sqlite3.connect(place, check_same_thread=False, timeout=60)
            self._db.execute("PRAGMA journal_mode=WAL")
            # Survives the process; after a power cut the last replies may be asked for again.
            self._db.execute("PRAGMA synchronous=NORMAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _FORMAT):
                raise UsageError(f"journal {path} has format {version}; known is {_FORMAT}")
            if version == 0:
                self._db.executescript(_SCHEMA)
                self._db.execute(f"PRAGMA user_version={_FORMAT}")
        except (OSError, sqlite3.Error) as e:
            raise UsageError(f"cannot open journal {path}: {e}") from e
        self._thread = threading.Thread(target=self._work, daemon=True, name="veridical-journal")
        self._thread.start()

    def session(self, run: str) -> int:
        """A new session of ``run``: the number under which its calls leave."""
        return self._now(lambda db: _open_session(db, run))

    def totals(self, run: str) -> Totals:
        """What all sessions of ``run`` have called so far. Of calls without an outcome it says
        that they are possibly paid, so no other session of the run may be at work."""
        return self._now(lambda db: _totals(db, run))

    async def find(self, keys: Sequence[bytes]) -> dict[bytes, Held]:
        """The newest reply under each of ``keys`` that has one. A damaged one counts as none."""
        return await self._later(lambda db: _find(db, keys))

    async def leave(self, session: int, keys: Sequence[tuple[bytes, int]]) -> list[int]:
        """Put on record that calls for ``(key, attempt)`` leave now; the calls' numbers."""
        first = self._next.get(session, session * _SESSION)
        self._next[session] = first + len(keys)
        numbers = list(range(first, first + len(keys)))
        rows = [(n, *key) for n, key in zip(numbers, keys, strict=True)]
        await self._later(lambda db: _insert(db, "calls", rows))
        return numbers

    async def answer(self, answers: Sequence[Answered]) -> None:
        """Write replies down."""

        def write(db: sqlite3.Connection) -> None:
            rows = []
            for a in answers:
                usage = a.reply.usage
                body = _pack(_dump(a.reply))
                rows.append(
                    (a.call, a.key, a.attempt, usage.prompt, usage.completion, a.cost, a.lost, body)
                )
            _insert(db, "replies", rows)

        await self._later(write)

    async def fail(self, failures: Sequence[tuple[int, str, int]]) -> None:
        """Write down ``(call, trouble, lost answers)`` of calls that brought no reply."""
        await self._later(lambda db: _insert(db, "failures", failures))

    async def reject(self, keys: Sequence[tuple[bytes, int]]) -> None:
        """Mark the replies under ``(key, attempt)`` as of no use: see :class:`Held`."""
        await self._later(lambda db: _insert(db, "rejected", keys))

    def close(self) -> None:
        """Finish what was begun and close the file."""
        if not self._closed:
            self._closed = True
            self._operations.put(None)
            self._thread.join()
            self._db.close()

    def _now(self, work: Callable[[sqlite3.Connection], T]) -> T:
        done = threading.Event()
        operation = _Operation(work, done)
        self._put(operation)
        done.wait()
        found: T = operation.result()
        return found

    async def _later(self, work: Callable[[sqlite3.Connection], T]) -> T:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        operation = _Operation(work, future)
        self._put(operation)
        await future
        found: T = operation.result()
        return found

    def _put(self, operation: _Operation) -> None:
        if self._closed:
            raise UsageError("the journal is closed")
        self._operations.put(operation)

    def _work(self) -> None:
        """Carry out operations; whatever waits shares one transaction."""
        stop = False
        while not stop:
            batch: list[_Operation] = []
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
            except sqlite3.Error as e:  # the commit: nothing of the batch is on disk
                for operation in batch:
                    operation.error = e
            _wake(operation.waiter for operation in batch)


class _Operation:
    def __init__(self, work: Callable[[sqlite3.Connection], Any], waiter: _Waiter) -> None:
        self.work = work
        self.waiter = waiter
        self.error: Exception | None = None
        self._value: Any = None

    def run(self, db: sqlite3.Connection) -> None:
        try:
            self._value = self.work(db)
        except Exception as e:
            self.error = e

    def result(self) -> Any:
        if isinstance(self.error, sqlite3.Error):
            raise UsageError(f"the journal cannot be read or written: {self.error}")
        if self.error is not None:
            raise self.error
        return self._value


def _wake(waiters: Iterable[_Waiter]) -> None:
    """Tell those who wait that what they wait for is done: each event loop once, in order."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for waiter in waiters:
        if isinstance(waiter, threading.Event):
            waiter.set()
        else:
            by_loop.setdefault(waiter.get_loop(), []).append(waiter)
    for loop, futures in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_resolve, futures)


def _resolve(futures: Iterable[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():  # cancelled
            future.set_result(None)


def _insert(db: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    rows = list(rows)
    if rows:
        marks = ",".join("?" * len(rows[0]))
        verb = "INSERT OR IGNORE" if table == "rejected" else "INSERT"
        db.executemany(f"{verb} INTO {table} VALUES ({marks})", rows)


def _open_session(db: sqlite3.Connection, run: str) -> int:
    number = db.execute("INSERT INTO sessions (run) VALUES (?)", (run,)).lastrowid
    assert number is not None
    return number


def _find(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Held]:
    found: dict[bytes, Held] = {}
    for i in range(0, len(keys), _LOOKUP):
        part = keys[i : i + _LOOKUP]
        marks = ",".join("?" * len(part))
        useless = set(db.execute(f"SELECT key, attempt FROM rejected WHERE key IN ({marks})", part))
        # In the index's own order, which ends with the call: of one attempt the first counts.
        rows = db.execute(
            "SELECT key, attempt, prompt, completion, body FROM replies "
            f"WHERE key IN ({marks}) ORDER BY key, attempt, call",
            part,
        )
        for key, attempt, prompt, completion, body in rows:
            before = found.get(key)
            if before is not None and before.attempt == attempt:
                continue
            with contextlib.suppress(zlib.error, ValueError, TypeError):
                reply = _load(_unpack(body), Usage(prompt, completion))
                found[key] = Held(reply, attempt, (key, attempt) in useless)
    return found


def _totals(db: sqlite3.Connection, run: str) -> Totals:
    sums = [0.0] * 9
    sessions = [s for (s,) in db.execute("SELECT id FROM sessions WHERE run = ?", (run,))]
    for session in sessions:
        ids = (session * _SESSION, (session + 1) * _SESSION - 1)
        (calls,) = db.execute("SELECT count(*) FROM calls WHERE id BETWEEN ? AND ?", ids).fetchone()
        answered = db.execute(
            "SELECT count(*), total(prompt), total(completion), "
            "total(prompt IS NULL OR completion IS NULL), total(cost), total(cost IS NULL), "
            "total(lost) FROM replies WHERE call BETWEEN ? AND ?",
            ids,
        ).fetchone()
        failed, lost = db.execute(
            "SELECT count(*), total(lost) FROM failures WHERE call BETWEEN ? AND ?", ids
        ).fetchone()
        unanswered = calls - answered[0] - failed
        more = [calls, answered[0], failed, *answered[1:6], answered[6] + lost + unanswered]
        sums = [a + b for a, b in zip(sums, more, strict=True)]
    calls, replies, failures, tokens_in, tokens_out, without_usage = map(int, sums[:6])
    cost, without_cost, possibly_paid = sums[6], int(sums[7]), int(sums[8])
    return Totals(
        calls,
        replies,
        failures,
        tokens_in,
        tokens_out,
        without_usage,
        cost,
        without_cost,
        possibly_paid,
    )


def _pack(body: bytes) -> bytes:
    return zlib.compress(body, 1) if len(body) > _SHORT else body


def _unpack(body: bytes) -> bytes:
    # JSON of ours begins with a bracket, and what zlib packs with 0x78.
    return body if body[:1] == b"[" else zlib.decompress(body)


def _dump(reply: Reply) -> bytes:
    tokens = reply.logprobs
    parts = [
        reply.text,
        reply.finish_reason,
        reply.model,
        reply.refusal,
        None
        if tokens is None
        else [[t.token, t.logprob, [[x.token, x.logprob] for x in t.top]] for t in tokens],
    ]
    return json.dumps(parts, separators=(",", ":")).encode()


def _load(body: bytes, usage: Usage) -> Reply:
    text, finish_reason, model, refusal, tokens = json.loads(body)
    logprobs = None if tokens is None else tuple(_token(*t) for t in tokens)
    return Reply(text, finish_reason, logprobs, usage, model, refusal)


def _token(token: str, logprob: float, top: list[tuple[str, float]]) -> TokenLogprob:
    likeliest = tuple(TopToken.model_construct(token=t, logprob=p) for t, p in top)
    return TokenLogprob.model_construct(token=token, logprob=logprob, top=likeliest)
