"""Whose call is next: prompts that begin alike follow each other, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import replace

import pytest

from veridical.core.messages import ChatRequest, user
from veridical.llm.scheduling import (
    SHORT,
    CallScheduler,
    FifoScheduler,
    PrefixScheduler,
    prompt_text,
    shared,
)

CONTEXTS = [f"Context {letter}: " + f"fact {letter} " * 40 for letter in "abc"]


def asked(context: int, sentence: int, max_tokens: int | None = 1) -> ChatRequest:
    text = f"{CONTEXTS[context]}\nIs sentence {sentence} supported?"
    return ChatRequest(user(text, "You judge."), max_tokens=max_tokens)


async def order(
    scheduler: CallScheduler, requests: list[ChatRequest]
) -> tuple[list[ChatRequest], int]:
    """Return the order in which ``requests`` were admitted, and the maximum in flight."""
    begun: list[ChatRequest] = []
    here = most = 0

    async def call(request: ChatRequest) -> None:
        nonlocal here, most
        async with scheduler.slot(request):
            begun.append(request)
            here += 1
            most = max(most, here)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            here -= 1

    await asyncio.gather(*(call(request) for request in requests))
    return begun, most


def common(one: str, two: str) -> int:
    """Length of the common beginning, letter by letter."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(two)))


def read_anew(requests: list[ChatRequest]) -> int:
    """Characters that a server which keeps one prompt reads of ``requests`` in this order."""
    texts = ["".join(prompt_text(r)) for r in requests]
    pairs = zip(["", *texts], texts, strict=False)
    return sum(len(b) - common(a, b) for a, b in pairs)


async def test_what_shares_most_follows_one_at_a_time() -> None:
    # as a scorer would ask that goes through the sentences, and for each through the contexts
    requests = [asked(c, s) for s in range(6) for c in range(3)]
    begun, most = await order(PrefixScheduler(5), requests)
    assert most == 1 and sorted(map(id, begun)) == sorted(map(id, requests))
    contexts = [r.messages[1]["content"][8] for r in begun]
    assert contexts == ["a"] * 6 + ["b"] * 6 + ["c"] * 6
    assert 4 * read_anew(begun) < read_anew(requests)
    plain, several = await order(FifoScheduler(5), requests)
    assert plain == requests and several == 5


async def test_what_shares_no_more_waits_its_turn() -> None:
    """Without a common beginning worth it, calls are made as they came."""
    texts = random.Random(5).sample("abcdefghijklmnopqrstuvwxyz", 12)
    requests = [ChatRequest(user(f"{t} different"), max_tokens=1) for t in texts]
    begun, _ = await order(PrefixScheduler(2), requests)
    assert begun == requests


async def test_long_answers_go_side_by_side_and_short_ones_beside_them() -> None:
    long = [replace(asked(0, i), max_tokens=n) for i, n in enumerate((None, SHORT + 1, 512, 512))]
    begun, most = await order(PrefixScheduler(3), long)
    assert most == 3 and begun == long
    begun, most = await order(PrefixScheduler(3), [*long, *(asked(1, s, SHORT) for s in range(3))])
    assert most == 3 and len(begun) == 7
    begun, most = await order(PrefixScheduler(1), [*long, asked(1, 0)])
    assert most == 1 and len(begun) == 5


async def test_cancelled_calls_leave_no_turn_taken() -> None:
    scheduler = PrefixScheduler(2)
    held, go = asyncio.Event(), asyncio.Event()

    async def hold(request: ChatRequest) -> None:
        async with scheduler.slot(request):
            held.set()
            await go.wait()

    first = asyncio.create_task(hold(asked(0, 0)))
    await held.wait()
    waiting = [asyncio.create_task(hold(asked(0, s))) for s in range(1, 4)]
    await asyncio.sleep(0)
    waiting[0].cancel()  # while it waits
    await asyncio.sleep(0)
    go.set()
    first.cancel()  # in its turn
    await asyncio.sleep(0)
    waiting[1].cancel()  # perhaps as its turn has just come
    for task in (first, *waiting[:2]):
        with suppress(asyncio.CancelledError):
            await task
    await waiting[2]
    begun, _ = await order(scheduler, [asked(1, s) for s in range(3)])
    assert len(begun) == 3


async def test_a_turn_that_came_to_one_cancelled_passes_on() -> None:
    scheduler = PrefixScheduler(1)

    async def take(sentence: int) -> int:
        async with scheduler.slot(asked(0, sentence)):
            return sentence

    held = scheduler.slot(asked(0, 0))
    await held.__aenter__()
    second, third = (asyncio.create_task(take(s)) for s in (1, 2))
    await asyncio.sleep(0)
    await held.__aexit__(None, None, None)  # admits the second, which has not run since
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert await asyncio.wait_for(third, 60) == 2


def test_how_much_two_prompts_share() -> None:
    rng = random.Random(7)
    for _ in range(300):
        one, two = ("".join(rng.choices("ab", k=rng.randrange(9))) for _ in range(2))
        assert shared(("user", one), ("user", two)) == 4 + common(one, two)
    assert shared(("system", "x", "user", "y"), ("system", "x", "user", "y")) == 12
    assert shared((), ("user", "y")) == 0
    picture = [{"type": "image_url", "image_url": {"url": "data:,"}}]
    request = ChatRequest(({"role": "user", "content": picture},))
    assert prompt_text(request)[0] == "user" and "data:," in prompt_text(request)[1]
