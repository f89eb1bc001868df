"""The journal: what is in it comes back exactly, and what left and did not come back is known."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from veridical.errors import UsageError
from veridical.llm.journal import Answered, Journal, Totals, request_key, sample_key
from veridical.llm.messages import ChatRequest, Reply, Usage, user
from veridical.records import TokenLogprob

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


async def write(journal: Journal, run: str, replies: list[Reply], first: int = 0) -> list[bytes]:
    session = journal.session(run)
    keys = [sample_key(b"k", first + i) for i in range(len(replies))]
    calls = await journal.leave(session, [(k, 0) for k in keys])
    await journal.answer(
        [Answered(c, k, 0, r, 0.5) for c, k, r in zip(calls, keys, replies, strict=True)]
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
    first, second, third = await journal.leave(session, [(b"a", 0), (b"b", 0), (b"c", 0)])
    await journal.fail([(second, "timeout", 2)])
    await journal.answer([Answered(third, b"c", 0, Reply("x", usage=Usage(1, 1)), None, lost=1)])
    assert journal.totals("r") == Totals(
        calls=6,
        answered=4,
        failed=1,
        tokens_in=16,
        tokens_out=3,
        without_usage=2,
        cost=1.5,
        without_cost=1,
        possibly_paid=1 + 2 + 1,  # never answered, lost in failing, lost before the answer
    )
    assert first != second
    journal.close()


async def test_a_rejected_reply_is_marked_and_the_next_attempt_is_the_newest(path: Path) -> None:
    journal = Journal(path)
    (key,) = await write(journal, "r", [Reply("odd")])
    await journal.reject([(key, 0)])
    await journal.reject([(key, 0)])  # once more is nothing
    assert (await journal.find([key]))[key].rejected
    (call,) = await journal.leave(journal.session("r"), [(key, 1)])
    await journal.answer([Answered(call, key, 1, Reply("even"), None)])
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


async def test_a_damaged_reply_counts_as_none(path: Path) -> None:
    journal = Journal(path)
    keys = await write(journal, "r", [Reply("good"), Reply("bad")])
    journal.close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE replies SET body = x'789c00' WHERE key = ?", (keys[1],))
    db.close()
    journal = Journal(path)
    assert list(await journal.find(keys)) == [keys[0]]
    journal.close()


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
