"""Tables of the journal's file: rows, seals and totals."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from veridical.core.messages import Reply, Usage
from veridical.core.records import TokenLogprob, TopToken
from veridical.errors import UsageError
from veridical.files.seals import SECRET_VARIABLE, seal, sealed
from veridical.llm.ledger import Ledger

FORMAT = 2  # 1 had no seals
SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BLOB NOT NULL, seal BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (id INTEGER PRIMARY KEY, run TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, attempt INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS replies (
    call INTEGER PRIMARY KEY, key BLOB NOT NULL, attempt INTEGER NOT NULL,
    prompt INTEGER, completion INTEGER, cost REAL, body BLOB NOT NULL, seal BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_key ON replies (key, attempt);
CREATE TABLE IF NOT EXISTS failures (call INTEGER PRIMARY KEY, trouble TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rejected (
    key BLOB NOT NULL, attempt INTEGER NOT NULL, PRIMARY KEY (key, attempt)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    id INTEGER PRIMARY KEY, answers INTEGER NOT NULL, held REAL, seal BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS settled (
    id INTEGER PRIMARY KEY, cost REAL, lost INTEGER NOT NULL, seal BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS claims (
    key BLOB PRIMARY KEY, writer TEXT NOT NULL
) WITHOUT ROWID;
"""
#: Prompt tokens served from a server's cache; journals of earlier versions lack this table.
CACHED = "CREATE TABLE IF NOT EXISTS cached (call INTEGER PRIMARY KEY, tokens INTEGER NOT NULL)"
_OWNER, _REPLY, _HELD, _COST = (  # purposes of seals
    "journal owner",
    "journal reply",
    "journal held",
    "journal cost",
)
SESSION = 1 << 32  # ids of a session's calls: session * SESSION + 0, 1, 2, ...
_LOOKUP = 500  # sqlite's variable limit is 999 in old builds
_SHORT = 512  # bytes below which packing does not pay


class HeldReply(NamedTuple):
    """Newest reply under a key. ``rejected``: the caller could not use it."""

    reply: Reply
    attempt: int
    rejected: bool


class JournaledCall(NamedTuple):
    """Record of a call that returned a reply."""

    call: int
    key: bytes
    attempt: int
    reply: Reply
    cost: float | None


class SentAttempt(NamedTuple):
    """Attempt about to be sent: number of answers and worst-case cost (None if unknown)."""

    number: int
    answers: int
    held: float | None


class AttemptCost(NamedTuple):
    """Cost of an attempt (None if unknown), and number of its answers possibly paid and lost."""

    number: int
    cost: float | None
    lost: int = 0


def write_replies(db: sqlite3.Connection, answers: Sequence[JournaledCall]) -> None:
    """Insert replies, sealed."""
    rows = []
    for a in answers:
        usage = a.reply.usage
        body = _pack(_dump(a.reply))
        numbers = _numbers(a.attempt, usage.prompt, usage.completion)
        mark = seal(a.key, numbers, body, purpose=_REPLY)
        known = (usage.prompt, usage.completion, a.cost)
        rows.append((a.call, a.key, a.attempt, *known, body, mark))
    insert(db, "replies", rows)
    insert(db, "cached", [(a.call, a.reply.usage.cached) for a in answers if a.reply.usage.cached])


def write_attempt(db: sqlite3.Connection, attempt: SentAttempt) -> None:
    """Insert an attempt that is about to be sent, sealed."""
    row = (attempt.number, attempt.answers, _real(attempt.held))
    insert(db, "attempts", [(*row, seal(_numbers(*row), purpose=_HELD))])


def insert(db: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    rows = list(rows)
    if rows:
        marks = ",".join("?" * len(rows[0]))
        verb = "INSERT OR IGNORE" if table == "rejected" else "INSERT"
        db.executemany(f"{verb} INTO {table} VALUES ({marks})", rows)


def open_session(db: sqlite3.Connection, run: str) -> int:
    number = db.execute("INSERT INTO sessions (run) VALUES (?)", (run,)).lastrowid
    assert number is not None
    return number


def find(
    db: sqlite3.Connection, keys: Sequence[bytes], damaged: set[bytes]
) -> dict[bytes, HeldReply]:
    """Return the newest valid replies; add keys with a newer invalid reply to ``damaged``."""
    newest: dict[bytes, HeldReply] = {}
    bad: dict[bytes, int] = {}
    for i in range(0, len(keys), _LOOKUP):
        part = keys[i : i + _LOOKUP]
        marks = ",".join("?" * len(part))
        useless = set(db.execute(f"SELECT key, attempt FROM rejected WHERE key IN ({marks})", part))
        # In the index's own order, which ends with the call: among equal attempts the first counts.
        rows = db.execute(
            "SELECT key, attempt, prompt, completion, body, seal FROM replies "
            f"WHERE key IN ({marks}) ORDER BY key, attempt, call",
            part,
        )
        for key, attempt, prompt, completion, body, mark in rows:
            before = newest.get(key)
            if before is not None and before.attempt == attempt:
                continue
            try:
                whole = sealed(
                    mark, key, _numbers(attempt, prompt, completion), body, purpose=_REPLY
                )
                if not whole:
                    raise ValueError("wrong seal")
                reply = _load(_unpack(body), Usage(prompt, completion))
                newest[key] = HeldReply(reply, attempt, (key, attempt) in useless)
            except (zlib.error, ValueError, TypeError, AttributeError):
                bad[key] = attempt if isinstance(attempt, int) else 0
    damaged.update(
        key for key, attempt in bad.items() if key not in newest or newest[key].attempt < attempt
    )
    return newest


def totals(db: sqlite3.Connection, run: str) -> Ledger:
    """Return the totals of all calls under one run's name."""
    ledger = Ledger()
    for (session,) in db.execute("SELECT id FROM sessions WHERE run = ?", (run,)).fetchall():
        ids = (session * SESSION, (session + 1) * SESSION - 1)
        calls, failed = (
            db.execute(f"SELECT count(*) FROM {table} BETWEEN ? AND ?", ids).fetchone()[0]
            for table in ("calls WHERE id", "failures WHERE call")
        )
        answered, tokens_in, tokens_out, without_usage, cost, without_cost = db.execute(
            "SELECT count(*), total(prompt), total(completion), "
            "total(prompt IS NULL OR completion IS NULL), total(cost), total(cost IS NULL) "
            "FROM replies WHERE call BETWEEN ? AND ?",
            ids,
        ).fetchone()
        ledger.calls += calls
        ledger.failed += failed
        ledger.answered += answered
        ledger.tokens_in += int(tokens_in)
        ledger.tokens_out += int(tokens_out)
        ledger.without_usage += int(without_usage)
        ledger.known_cost += cost
        ledger.without_cost += int(without_cost)
        cached = "SELECT total(tokens) FROM cached WHERE call BETWEEN ? AND ?"
        ledger.tokens_cached += int(db.execute(cached, ids).fetchone()[0])
        for attempt in db.execute(
            "SELECT a.id, a.answers, a.held, a.seal, s.cost, s.lost, s.seal "
            "FROM attempts a LEFT JOIN settled s ON s.id = a.id WHERE a.id BETWEEN ? AND ?",
            ids,
        ):
            money, lost = _owed(*attempt)
            ledger.possibly_paid += lost
            ledger.charge(money)
    return ledger


def _owed(
    number: int, answers: Any, held: Any, mark: Any, cost: Any, lost: Any, cost_mark: Any
) -> tuple[float | None, int]:
    """Return the known cost of an attempt and the number of its lost answers.

    A sum with a wrong seal counts as absent: the cost is then the worst case, or None if that is
    absent too.
    """
    with contextlib.suppress(TypeError):
        if sealed(cost_mark, _numbers(number, cost, lost), purpose=_COST):
            return cost, lost
    with contextlib.suppress(TypeError):
        if sealed(mark, _numbers(number, answers, held), purpose=_HELD):
            return held, answers
    return None, 1


def settle(db: sqlite3.Connection, settled: Sequence[AttemptCost]) -> None:
    rows = [(s.number, _real(s.cost), s.lost) for s in settled]
    insert(db, "settled", [(*row, seal(_numbers(*row), purpose=_COST)) for row in rows])


def release(db: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    db.executemany("DELETE FROM claims WHERE key = ?", [(key,) for key in keys])


def run_key(run: str) -> bytes:
    """Return the key that claims a run; no reply's key is as short."""
    return hashlib.blake2b(run.encode("utf-8", "replace"), digest_size=16).digest()


def _numbers(*values: float | None) -> str:
    """Return numbers in the form that a seal covers."""
    return json.dumps(values)


def _real(money: float | None) -> float | None:
    """Return an amount of money in the form that the file returns."""
    return None if money is None else float(money)


def own(db: sqlite3.Connection) -> None:
    """Mark the journal as this computer's, unless another process was faster."""
    value = secrets.token_bytes(16)
    row = ("owner", value, seal(value, purpose=_OWNER))
    with db:
        db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?, ?)", row)


def check_owner(db: sqlite3.Connection, path: Path | None) -> None:
    row = db.execute("SELECT value, seal FROM meta WHERE name = 'owner'").fetchone()
    good = row is not None and all(isinstance(part, bytes) for part in row)
    if not good or not sealed(row[1], row[0], purpose=_OWNER):
        raise UsageError(
            f"journal {path} was made with another secret than this computer's, so its "
            "replies cannot be "
            f"trusted: set {SECRET_VARIABLE} to the value "
            "used there, choose another --store, or remove the file"
        )


def foreign_format(path: Path | None, version: int) -> UsageError:
    if version > FORMAT:
        return UsageError(
            f"journal {path} has format {version}, but this version reads {FORMAT}; "
            "choose "
            "another --store"
        )
    return UsageError(
        f"journal {path} has format {version}, whose replies have no seals and cannot be trusted; "
        "remove it or choose another --store (its replies are then requested again)"
    )


def _pack(body: bytes) -> bytes:
    return zlib.compress(body, 1) if len(body) > _SHORT else body


def _unpack(body: bytes) -> bytes:
    # Our JSON begins with a bracket, zlib data with 0x78.
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
