"""Callers take turns at a model, and nobody computes what nobody waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting_queue import CountingModel, Value

from veridical.core.protocols import Window
from veridical.engine.batching import Coalescer, IdleSignal
from veridical.engine.engine import Engine
from veridical.engine.fair import BACKGROUND, CALLER, Caller, FairQueue, queue_for
from veridical.errors import ModelError
from veridical.files.store import Store


class SlowModel(CountingModel):
    """One batch at a time, each of which takes a while."""

    budget = 8
    workers = 1

    def run(self, batch: Sequence[Window]) -> list[Any]:
        time.sleep(0.01)
        return super().run(batch)


def queue_of(model: CountingModel, store: Store | None = None) -> FairQueue[str, Value]:
    return FairQueue(model, IdleSignal(0.002, fair=True), store)


async def ask(queue: FairQueue[str, Value], texts: list[str], caller: Caller | None) -> float:
    """Seconds that the answers took."""
    CALLER.set(caller)
    begun = time.monotonic()
    values = await queue.ask(texts)
    assert [int(v.array[0]) for v in values] == [len(t) for t in texts]
    return time.monotonic() - begun


def test_an_engine_that_is_fair_has_such_queues() -> None:
    assert type(queue_for(CountingModel(), IdleSignal(0.1), None)) is Coalescer
    with Engine(fair=True, store=None, processes=0) as engine:
        assert engine.idle_signal.fair
        assert type(engine.embedding()._queue) is FairQueue


async def test_each_distinct_request_is_computed_once_and_answers_are_aligned() -> None:
    model = CountingModel()
    queue = queue_of(model)
    asks = [[f"{i} {j}" for j in range(i, i + 9)] + ["shared"] for i in range(20)]
    await asyncio.gather(*(ask(queue, a, Caller()) for a in asks))
    assert max(model.seen.values()) == 1
    assert all(max(b) * len(b) <= model.budget for b in model.batches)
    queue.close()


async def test_a_short_request_passes_a_long_one_that_came_before() -> None:
    queue = queue_of(SlowModel())
    long = asyncio.create_task(ask(queue, [f"long {i}" for i in range(200)], Caller()))
    await asyncio.sleep(0.05)
    short = await ask(queue, ["one", "two"], Caller())
    assert not long.done() and short < 0.2
    assert await long > 0.7
    queue.close()


async def test_requests_of_one_size_are_done_in_turn() -> None:
    queue = queue_of(SlowModel())
    times = await asyncio.gather(
        *(ask(queue, [f"{c} {i}" for i in range(40)], Caller()) for c in range(4))
    )
    assert max(times) < 1.6 * min(times)
    queue.close()


async def test_jobs_get_what_interactive_calls_leave() -> None:
    model = SlowModel()
    queue = queue_of(model)
    job = asyncio.create_task(ask(queue, [f"job {i}" for i in range(100)], Caller(BACKGROUND)))
    await asyncio.sleep(0.05)
    seen = len(model.batches)
    await asyncio.gather(*(ask(queue, [f"{c} {i}" for i in range(8)], Caller()) for c in range(3)))
    assert not job.done()
    between = [t for t in list(model.seen)[:100] if t.startswith("job")]
    assert len(model.batches) - seen <= 20 and len(between) < 40
    await job
    queue.close()


async def test_an_interactive_call_takes_over_what_a_job_asked_for() -> None:
    queue = queue_of(SlowModel())
    texts = [f"job {i}" for i in range(200)]
    job = asyncio.create_task(ask(queue, texts, Caller(BACKGROUND)))
    await asyncio.sleep(0.05)
    assert await ask(queue, texts[-2:], Caller()) < 0.2
    await job
    assert max(queue.model.seen.values()) == 1  # type: ignore[attr-defined]
    queue.close()


@pytest.mark.parametrize("kind", [Coalescer, FairQueue])
@pytest.mark.parametrize(("texts", "batches"), [(4, [2, 2]), (5, [2, 3]), (1, [1])])
async def test_a_few_windows_are_shared_among_the_threads(
    kind: Any, texts: int, batches: list[int]
) -> None:
    model = CountingModel()
    model.workers, model.budget = 2, 1000
    queue = kind(model, IdleSignal(0.002, fair=True), None)
    await queue.ask([f"one two three {i}" for i in range(texts)])
    assert sorted(len(b) for b in model.batches) == batches
    queue.close()


@pytest.mark.parametrize("kind", [Coalescer, FairQueue])
async def test_long_windows_do_not_all_go_to_one_thread(kind: Any) -> None:
    model = CountingModel()
    model.workers, model.budget = 2, 4000
    queue = kind(model, IdleSignal(0.002, fair=True), None)
    short = [" ".join(["word"] * 60 + [str(i)]) for i in range(6)]
    long = [" ".join(["word"] * 250 + [str(i)]) for i in range(3)]
    await queue.ask([*short, *long])
    sizes = sorted(sum(batch) for batch in model.batches)
    assert sizes[-3:] == [252] * 3  # each of the long ones by itself
    assert sizes[0] < 252 < sum(sizes) / 2
    queue.close()


@pytest.mark.parametrize("kind", [Coalescer, FairQueue])
async def test_what_nobody_waits_for_is_not_computed(kind: Any) -> None:
    model = SlowModel()
    queue = kind(model, IdleSignal(0.002, fair=True), None)
    first = asyncio.create_task(queue.ask([f"x {i}" for i in range(40)]))
    await asyncio.sleep(0.03)
    gone = asyncio.create_task(queue.ask([f"gone {i}" for i in range(40)] + ["kept"]))
    stays = asyncio.create_task(queue.ask(["kept"]))
    await asyncio.sleep(0.01)
    gone.cancel()
    (kept,) = await stays
    await first
    assert int(kept.array[0]) == 4
    assert not any(t.startswith("gone") for t in model.seen)
    assert queue.work.dropped == 40
    (again,) = await queue.ask(["gone 3"])  # it can be asked for later
    assert int(again.array[0]) == 6
    assert queue.work.answered == queue.work.asked
    queue.close()


async def test_only_the_askers_of_a_failing_item_fail() -> None:
    queue = queue_of(CountingModel(poison="bad"))
    found = await asyncio.gather(
        queue.ask(["a", "b"]),
        queue.ask(["c", "bad one"]),
        queue.ask(["untokenisable"]),
        return_exceptions=True,
    )
    assert len(found[0]) == 2  # type: ignore[arg-type]
    assert isinstance(found[1], ModelError) and isinstance(found[2], ModelError)
    queue.close()


async def test_the_store_answers_what_it_holds(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = queue_of(CountingModel(), store)
    await first.ask(["a", "bb"])
    first.close()
    second = queue_of(CountingModel(), store)
    values = await second.ask(["a", "bb", "ccc"])
    assert [int(v.array[0]) for v in values] == [1, 2, 3]
    assert second.work.stored == 2 and np.isfinite(second.work.seconds)
    second.close()
    store.close()
