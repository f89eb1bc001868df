"""The journal: what is in it comes back exactly, and what left and did not come back is known."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from veridical.core.messages import ChatRequest, Reply, Usage, user
from veridical.core.records import TokenLogprob
from veridical.errors import UsageError
from veridical.files.seals import SECRET_VARIABLE, forget_secret
from veridical.llm.budget import Budget
from veridical.llm.cost_accounting import Account
from veridical.llm.journal import Journal, request_key, sample_key
from veridical.llm.journal_rows import AttemptCost, JournaledCall, SentAttempt
from veridical.llm.ledger import Ledger

TOKENS = tuple(
    TokenLogprob.model_validate(t)
    for t in (
        {"token": "Par", "logprob": -0.1234567890123, "top": [{"token": "Lon", "logprob": -3.0}]},
        {"token": "is", "logprob": 0.0, "top": []},
    )
)
REPLIES = [
    Reply("Paris", "stop", TOKENS, Usage(12, 2), "m-2024", None),
    Reply("", "content_filter", None, Usage(3, None), None, "I cannot"),
    Reply("naïve \U0001f600 \x00 \ud800 \u2028", None, (), Usage(), None, None),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


async def leave(
    journal: Journal, session: int, keys: list[tuple[bytes, int]], held: float | None = 2.0
) -> tuple[list[int], list[int]]:
    """Calls and attempts, one each a key."""
    calls = [journal.number(session) for _ in keys]
    attempts = [journal.number(session) for _ in keys]
    for call, attempt, key in zip(calls, attempts, keys, strict=True):
        await journal.leave([(call, *key)], SentAttempt(attempt, 1, held))
    return calls, attempts


async def write(journal: Journal, run: str, replies: list[Reply], first: int = 0) -> list[bytes]:
    session = journal.session(run)
    keys = [sample_key(b"k", first + i) for i in range(len(replies))]
    calls, attempts = await leave(journal, session, [(k, 0) for k in keys])
    await journal.end(
        [JournaledCall(c, k, 0, r, 0.5) for c, k, r in zip(calls, keys, replies, strict=True)],
        settled=[AttemptCost(attempt, 0.5) for attempt in attempts],
    )
    return keys


async def test_replies_come_back_exactly_after_the_file_was_closed(path: Path) -> None:
    journal = Journal(path)
    keys = await write(journal, "r", REPLIES)
    journal.close()
    journal = Journal(path)
    found = await journal.find([*keys, b"absent"])
    assert [found[k].reply for k in keys] == REPLIES
    assert not any(h.rejected or h.attempt for h in found.values())
    assert b"absent" not in found
    journal.close()


async def test_many_keys_in_one_lookup(path: Path) -> None:
    journal = Journal(path)
    replies = [Reply(str(i), "stop") for i in range(2500)]
    keys = await write(journal, "r", replies)
    found = await journal.find(keys)
    assert [found[k].reply.text for k in keys] == [str(i) for i in range(2500)]
    journal.close()


async def test_calls_without_an_outcome_are_possibly_paid(path: Path) -> None:
    journal = Journal(path)
    await write(journal, "r", REPLIES)
    await write(journal, "another", REPLIES)
    session = journal.session("r")
    keys = [(b"a", 0), (b"b", 0), (b"c", 0)]
    (first, second, third), (_, lost, cheap) = await leave(journal, session, keys)
    again = journal.number(session)
    await journal.leave([], SentAttempt(again, 1, 8.0))
    await journal.end([], [(second, "timeout")], [AttemptCost(lost, 4.0, 2)])
    answer = JournaledCall(third, b"c", 0, Reply("x", usage=Usage(1, 1)), None)
    await journal.end([answer], settled=[AttemptCost(cheap, 0.0)])
    assert journal.totals("r") == Ledger(
        calls=6,
        answered=4,
        failed=1,
        tokens_in=16,
        tokens_out=3,
        without_usage=2,
        known_cost=1.5,
        without_cost=1,
        possibly_paid=1 + 2 + 1,  # never answered, lost in failing, lost before the answer
        charged=1.5 + 2.0 + 4.0 + 0.0 + 8.0,
    )
    await journal.leave([], SentAttempt(journal.number(session), 1, None))
    assert journal.totals("r").unpriced == 1
    assert first != second
    journal.close()


async def test_what_need_not_be_read_counts_over_all_lives(path: Path) -> None:
    for life in range(2):
        journal = Journal(path)
        session = journal.session("r")
        (call,), (attempt,) = await leave(journal, session, [(b"%d" % life, 0)])
        usage = Usage(100, 1, 80 + life)
        answer = JournaledCall(call, b"%d" % life, 0, Reply("x", usage=usage), 0.0)
        await journal.end([answer], settled=[AttemptCost(attempt, 0.0)])
        assert journal.totals("r").tokens_cached == (161 if life else 80)
        assert journal.totals("other").tokens_cached == 0
        journal.close()


async def test_a_journal_without_such_counts_is_used_on(path: Path) -> None:
    journal = Journal(path)
    await write(journal, "r", REPLIES)
    before = journal.totals("r")
    journal.close()
    with sqlite3.connect(path) as db:  # as version 0.1 wrote it
        db.execute("DROP TABLE cached")
    db.close()
    journal = Journal(path)
    assert journal.totals("r") == before
    journal.close()


async def test_a_rejected_reply_is_marked_and_the_next_attempt_is_the_newest(path: Path) -> None:
    journal = Journal(path)
    (key,) = await write(journal, "r", [Reply("odd")])
    await journal.reject([(key, 0)])
    await journal.reject([(key, 0)])  # once more is nothing
    assert (await journal.find([key]))[key].rejected
    (call,), _ = await leave(journal, journal.session("r"), [(key, 1)])
    await journal.end([JournaledCall(call, key, 1, Reply("even"), None)])
    held = (await journal.find([key]))[key]
    assert (held.reply.text, held.attempt, held.rejected) == ("even", 1, False)
    journal.close()


async def test_two_processes_may_share_a_file(path: Path) -> None:
    one, two = Journal(path), Journal(path)
    await asyncio.gather(
        write(one, "r", [Reply(str(i)) for i in range(300)]),
        write(two, "s", [Reply(str(i)) for i in range(300, 600)], first=300),
    )
    keys = [sample_key(b"k", i) for i in range(600)]
    for journal in (one, two):
        found = await journal.find(keys)
        assert [found[k].reply.text for k in keys] == [str(i) for i in range(600)]
    assert one.totals("r").calls == one.totals("s").calls == 300
    one.close()
    two.close()


def change(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as db:
        db.execute(statement, values)
    db.close()


@pytest.mark.parametrize(
    "change_of",
    [
        "body = x'789c00'",
        "body = CAST(replace(body, 'bad', 'bae') AS BLOB)",
        "prompt = 1",
        "completion = NULL",
        "attempt = 7",
        "key = (SELECT key FROM replies WHERE call = (SELECT min(call) FROM replies))",
        "seal = zeroblob(12)",
        "seal = 7",
        "body = 7",
    ],
)
async def test_a_changed_reply_counts_as_none(path: Path, change_of: str) -> None:
    journal = Journal(path)
    keys = await write(journal, "r", [Reply("good"), Reply("bad", usage=Usage(3, 3))])
    journal.close()
    last = "WHERE call = (SELECT max(call) FROM replies)"
    change(path, f"UPDATE replies SET {change_of} {last}")
    journal = Journal(path)
    found = await journal.find(keys)
    assert [found[k].reply.text for k in found] == ["good"] and list(found) == [keys[0]]
    expected = {keys[0]} if change_of.startswith("key") else {keys[1]}
    assert journal.damaged <= expected
    if not change_of.startswith("key"):  # that one is simply not there any more
        assert journal.damaged == expected
    journal.close()


async def test_every_flipped_bit_of_a_reply_is_told(path: Path) -> None:
    journal = Journal(path)
    (key,) = await write(journal, "r", [Reply("a text of some length", "stop", TOKENS)])
    journal.close()
    with sqlite3.connect(path) as db:
        (body,) = db.execute("SELECT body FROM replies").fetchone()
    db.close()
    for bit in range(0, 8 * len(body), 37):
        flipped = bytearray(body)
        flipped[bit // 8] ^= 1 << bit % 8
        change(path, "UPDATE replies SET body = ?", bytes(flipped))
        journal = Journal(path)
        assert not await journal.find([key]) and journal.damaged == {key}
        journal.close()


async def test_a_planted_reply_does_not_hide_the_good_one(path: Path) -> None:
    journal = Journal(path)
    (key,) = await write(journal, "r", [Reply("good")])
    journal.close()
    change(
        path,
        "INSERT INTO replies SELECT call + 9, key, attempt + 1, prompt, completion, cost, "
        "CAST(replace(body, 'good', 'evil') AS BLOB), seal FROM replies",
    )
    journal = Journal(path)
    assert (await journal.find([key]))[key].reply.text == "good"
    journal.close()


async def test_sums_of_money_without_their_seal_count_as_the_worst_case(path: Path) -> None:
    journal = Journal(path)
    await write(journal, "r", [Reply("x", usage=Usage(1, 1))])
    assert journal.totals("r").charged == 0.5
    journal.close()
    change(path, "UPDATE settled SET cost = 0")
    journal = Journal(path)
    assert (journal.totals("r").charged, journal.totals("r").unpriced) == (2.0, 0)
    journal.close()
    change(path, "UPDATE attempts SET held = 0")
    journal = Journal(path)
    assert journal.totals("r").unpriced == 1
    with pytest.raises(UsageError, match="the budget cannot be kept"):
        Account(journal, "r", budget=Budget(9.0))
    journal.close()


async def test_a_journal_of_another_secret_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(path)
    (key,) = await write(journal, "r", [Reply("x")])
    journal.close()
    monkeypatch.setenv(SECRET_VARIABLE, "another computer's secret")
    forget_secret()
    try:
        with pytest.raises(UsageError, match=f"{path.name}.*{SECRET_VARIABLE}.*--store"):
            Journal(path)
    finally:
        monkeypatch.undo()
        forget_secret()
    journal = Journal(path)
    assert key in await journal.find([key])
    journal.close()


def test_a_journal_of_the_old_format_says_what_to_do(path: Path) -> None:
    change(path, "PRAGMA user_version = 1")
    with pytest.raises(UsageError, match=r"format 1.*no seals.*--store"):
        Journal(path)


async def test_a_reply_is_claimed_by_one_at_a_time(path: Path) -> None:
    one, two = Journal(path), Journal(path)
    assert await one.claim([b"a", b"b"], 0) == ([b"a", b"b"], {})
    assert await two.claim([b"b", b"c"], 0) == ([b"c"], {})
    one.release([b"a"])
    await one.find([])  # which comes after it
    assert await two.claim([b"a", b"b"], 0) == ([b"a"], {})
    one.close()  # as a process that ends, or is killed
    assert await two.claim([b"b"], 0) == ([b"b"], {})
    two.close()


async def test_who_comes_too_late_to_ask_gets_the_reply(path: Path) -> None:
    one, two = Journal(path), Journal(path)
    (key,) = await write(one, "r", [Reply("x")])
    claimed, come = await two.claim([key], 0)
    assert not claimed and come[key].text == "x"
    assert await two.claim([key], 1) == ([key], {}), "a newer one is wanted"
    one.close()
    two.close()


def test_a_run_is_at_work_in_one_process(path: Path) -> None:
    one, two = Journal(path), Journal(path)
    account = Account(one, "r")
    Account(one, "r")
    with pytest.raises(UsageError, match="active in another process"):
        Account(two, "r")
    Account(two, "s")
    account.close()
    Account(two, "r")
    one.close()
    two.close()


def test_a_claim_of_nobody_is_void(path: Path) -> None:
    Journal(path).close()
    for writer in ("", "../../../etc/passwd", "0123456789abcdef"):
        change(path, "INSERT OR REPLACE INTO claims VALUES (x'00', ?)", writer)
        journal = Journal(path)
        assert asyncio.run(journal.claim([b"\0"], 0)) == ([b"\0"], {})
        journal.close()


def test_a_journal_is_its_owners_alone(path: Path) -> None:
    Journal(path).close()
    assert path.stat().st_mode & 0o077 == 0


def test_files_that_are_no_journal_are_clear_errors(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to be looked at" * 30)
    with pytest.raises(UsageError, match="cannot open journal"):
        Journal(path)
    other = path.with_name("other.sqlite")
    with sqlite3.connect(other) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UsageError, match="format 99"):
        Journal(other)


async def test_a_closed_journal_says_so(path: Path) -> None:
    journal = Journal(path)
    journal.close()
    journal.close()
    with pytest.raises(UsageError, match="closed"):
        await journal.find([b"x"])


def test_keys_tell_apart_all_that_a_reply_depends_on() -> None:
    base = ChatRequest(user("Why?"))
    changed = [
        base,
        replace(base, messages=user("Why not?")),
        replace(base, messages=user("Why?", "Be brief.")),
        replace(base, temperature=0.5),
        replace(base, max_tokens=None),
        replace(base, top_p=0.9),
        replace(base, top_k=9),
        replace(base, seed=9),
        replace(base, stop=("9",)),
        replace(base, logprobs=0),
        replace(base, schema={}),
    ]
    keys = {request_key("a", r) for r in changed} | {request_key("b", base)}
    assert len(keys) == len(changed) + 1
    assert request_key("a", replace(base, ordinal=3)) == request_key("a", base)
    assert sample_key(request_key("a", base), 1) != sample_key(request_key("a", base), 2)
