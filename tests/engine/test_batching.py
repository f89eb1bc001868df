from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from counting_queue import CountingModel, Value

from veridical.core.protocols import Window
from veridical.engine.batching import Coalescer, IdleSignal, pack
from veridical.errors import ModelError
from veridical.files.store import Store


def texts(n: int) -> list[str]:
    rng = random.Random(3)
    return [" ".join(["w" * rng.randint(1, 9)] * rng.randint(1, 12)) + f" {i}" for i in range(n)]


async def asked(model: CountingModel, asks: list[list[str]], store: Store | None = None) -> Any:
    queue: Coalescer[str, Value] = Coalescer(model, IdleSignal(0.05), store)
    found = await asyncio.gather(*(queue.ask(a) for a in asks), return_exceptions=True)
    work = queue.work
    queue.close()
    return found, work


async def test_each_distinct_request_is_computed_once_and_answers_are_aligned() -> None:
    model = CountingModel()
    pool = texts(50)
    rng = random.Random(4)
    asks = [[rng.choice(pool) for _ in range(20)] for _ in range(30)]
    found, work = await asked(model, asks)
    assert max(model.seen.values()) == 1
    for ask, values in zip(asks, found, strict=True):
        assert [int(v.array[0]) for v in values] == [len(t) for t in ask]
    assert work.requests == len(model.seen) == work.windows
    assert work.requests + work.shared == sum(len(set(a)) for a in asks)


async def test_batches_are_sorted_by_length_and_within_the_budget() -> None:
    model = CountingModel()
    await asked(model, [texts(300)])
    assert all(max(b) * len(b) <= model.budget for b in model.batches)
    longest = [max(b) for b in model.batches]
    assert sorted(longest, reverse=True)[0] == longest[0]
    padded = sum(max(b) * len(b) for b in model.batches)
    assert sum(map(sum, model.batches)) / padded > 0.9


async def test_only_the_askers_of_a_failing_item_fail() -> None:
    model = CountingModel(poison="bad")
    good = texts(40)
    found, _ = await asked(model, [good[:20], [*good[:3], "bad one"], good[20:], ["bad one"]])
    assert isinstance(found[1], ModelError) and isinstance(found[3], ModelError)
    assert "poisoned" in str(found[1])
    assert [len(f) for f in (found[0], found[2])] == [20, 20]


async def test_a_request_that_cannot_be_tokenised_fails_alone() -> None:
    found, _ = await asked(CountingModel(), [["a"], ["untokenisable"], ["b", "c"]])
    assert isinstance(found[1], ModelError)
    assert len(found[0]) == 1 and len(found[2]) == 2


async def test_the_store_answers_what_it_holds(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = CountingModel()
    pool = texts(30)
    await asked(first, [pool[:20]], store)
    second = CountingModel()
    found, work = await asked(second, [pool], store)
    assert set(second.seen) == set(pool[20:])
    assert work.stored == 20
    assert [int(v.array[0]) for v in found[0]] == [len(t) for t in pool]
    store.close()


async def test_a_cancelled_asker_does_not_take_the_others_with_it() -> None:
    queue: Coalescer[str, Value] = Coalescer(CountingModel(), IdleSignal(0.05), None)
    one = asyncio.ensure_future(queue.ask(["shared", "a"]))
    two = asyncio.ensure_future(queue.ask(["shared", "b"]))
    await asyncio.sleep(0)
    one.cancel()
    values = await asyncio.wait_for(two, 10)
    assert [int(v.array[0]) for v in values] == [6, 1]
    with pytest.raises(asyncio.CancelledError):
        await one
    queue.close()


async def test_requests_wait_for_company_while_records_are_read_but_not_for_ever() -> None:
    model = CountingModel()
    idle_signal = IdleSignal(0.05)
    idle_signal.filling = lambda: True
    queue: Coalescer[str, Value] = Coalescer(model, idle_signal, None)
    values = await asyncio.wait_for(queue.ask(["lonely"]), 5)
    assert int(values[0].array[0]) == 6
    queue.close()


async def test_many_rounds_of_requests_from_one_coroutine() -> None:
    queue: Coalescer[str, Value] = Coalescer(CountingModel(), IdleSignal(0.05), None)

    async def chain(i: int) -> int:
        total = 0
        for step in range(5):
            (value,) = await queue.ask([f"{i} {step}"])
            total += int(value.array[0])
        return total

    assert await asyncio.gather(*(chain(i) for i in range(20))) == [
        5 * len(f"{i} 0") for i in range(20)
    ]
    assert queue.work.batches <= 5 * 6
    queue.close()


def test_pack_gives_an_oversized_window_its_own_batch() -> None:
    parts = [(i, 0, Window(n, "")) for i, n in enumerate([100, 30, 30, 10])]
    assert [[p[2].length for p in b] for b in pack(parts, 64)] == [[100], [30, 30], [10]]
