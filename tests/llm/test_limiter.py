"""How fast calls leave, by servers that push back in various ways, in virtual time."""

from __future__ import annotations

import asyncio
import random

import pytest
from faults import Limit
from virtual_time import run_virtually

from veridical.llm.limiter import Limiter
from veridical.llm.retries import AttemptError, Attempts

LATENCY = 0.2


class Load:
    """Puts calls through a limiter to a server that bears ``limit``.

    Attributes:
        sent, rejected, most: calls let out, turned away, and at most under way at once.
    """

    def __init__(
        self,
        limit: Limit,
        *,
        noise: float = 0.0,
        turned_away: float = LATENCY,
        retry_after: float | None = 1.0,
        most: int = 64,
    ) -> None:
        self.limit, self.noise, self.turned_away = limit, noise, turned_away
        self.retry_after = retry_after
        self.max_slots = most
        self.sent = self.rejected = self.inside = self.most = 0
        self.chance = random.Random(1)

    async def run(self, calls: int) -> None:
        self.limiter = Limiter(self.max_slots)
        await asyncio.gather(*(self._call() for _ in range(calls)))

    async def _call(self) -> None:
        loop = asyncio.get_running_loop()
        attempts = Attempts(1000)
        while True:
            ticket = await self.limiter.acquire(again=attempts.made > 0)
            self.sent += 1
            self.most = max(self.most, self.limiter.under_way)
            borne = self.limit.take(self.inside, loop.time())
            taken = borne and self.chance.random() >= self.noise
            self.inside += borne
            await asyncio.sleep(LATENCY if borne else self.turned_away)
            self.inside -= borne
            if taken:
                return self.limiter.release(ticket, "accepted")
            self.rejected += 1
            asked = self.retry_after
            self.limiter.release(ticket, "rejected", retry_after=asked)
            error = AttemptError("rate_limited", "", status=429, retry_after=asked)
            await asyncio.sleep(attempts.wait(error) or 0.0)


def drive(load: Load, calls: int) -> float:
    """Calls a second."""
    _, seconds = run_virtually(load.run(calls))
    return calls / seconds


@pytest.mark.parametrize("kind", ["sliding", "fixed", "bucket"])
@pytest.mark.parametrize("turned_away", [0.01, LATENCY])
def test_a_limit_is_used_to_nine_tenths_and_hardly_overrun(kind: str, turned_away: float) -> None:
    load = Load(Limit(100, 50, kind=kind, burst=10), turned_away=turned_away)
    rate = drive(load, 6000)
    assert rate >= 90
    assert load.rejected <= 0.02 * load.sent


def test_a_limit_of_calls_at_once_is_found() -> None:
    load = Load(Limit(at_once=50))
    rate = drive(load, 6000)
    assert rate >= 0.8 * 50 / LATENCY
    assert load.rejected <= 0.02 * load.sent


def test_a_server_that_bears_all_is_given_all_slots_and_no_more() -> None:
    load = Load(Limit(), most=20)
    rate = drive(load, 2000)
    assert load.most == 20 and load.rejected == 0
    assert rate >= 0.95 * 20 / LATENCY


def test_slots_at_most_double_a_second_in_slow_start() -> None:
    load = Load(Limit())

    async def main() -> list[int]:
        task = asyncio.ensure_future(load.run(1000))
        seen = []
        for _ in range(8):
            await asyncio.sleep(0.5)
            seen.append(load.limiter.under_way)
        await task
        return seen

    seen, _ = run_virtually(main())
    assert seen[0] <= 25 and seen[1] <= 40 and seen[-1] == 64
    assert seen == sorted(seen)


def test_one_slot_serves_one_at_a_time() -> None:
    load = Load(Limit(at_once=1), most=1)
    assert drive(load, 50) == pytest.approx(1 / LATENCY, rel=0.05)
    assert load.rejected == 0


@pytest.mark.parametrize("noise", [0.03, 0.1])
def test_rejections_that_the_load_does_not_cause_do_not_slow_it_for_ever(noise: float) -> None:
    load = Load(Limit(), noise=noise)
    healthy = 64 / LATENCY * (1 - noise)
    assert drive(load, 10_000) >= 0.6 * healthy


def test_a_server_that_takes_nothing_is_left_alone_between_single_calls() -> None:
    load = Load(Limit(rate=0), retry_after=10.0)

    async def main() -> list[int]:
        task = asyncio.ensure_future(load.run(100))
        sent = []
        for _ in range(10):
            await asyncio.sleep(10.0)
            sent.append(load.sent)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return sent

    sent, _ = run_virtually(main())
    assert sent[0] <= 40
    assert sent[-1] - sent[1] <= 9  # one in ten seconds


def test_a_quota_a_minute_is_learned_from_the_first_pause() -> None:
    load = Load(Limit(1, kind="fixed", window=60.0), retry_after=30.0)
    drive(load, 600)
    early = load.rejected
    assert early <= 0.25 * load.sent


def test_calls_tried_before_go_first() -> None:
    async def main() -> list[str]:
        limiter = Limiter(1)
        order = []

        async def call(name: str, again: bool) -> None:
            ticket = await limiter.acquire(again=again)
            order.append(name)
            await asyncio.sleep(0.1)
            limiter.release(ticket, "accepted")

        calls = [call("first", False), call("second", False), call("retried", True)]
        await asyncio.gather(*calls)
        return order

    assert run_virtually(main())[0] == ["first", "retried", "second"]


def test_a_call_that_is_cancelled_gives_its_slot_back() -> None:
    async def main() -> None:
        limiter = Limiter(1)
        held = await limiter.acquire()
        waiting = [asyncio.ensure_future(limiter.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        limiter.release(held, "lost")  # lets out waiting[1], which is cancelled before it knows
        waiting[1].cancel()
        await asyncio.wait(waiting)
        assert limiter.under_way == 1
        limiter.release(waiting[2].result(), "accepted")
        assert limiter.under_way == 0

    run_virtually(main())


@pytest.mark.parametrize("seed", range(8))
def test_failures_among_the_first_calls_hold_it_back_for_seconds_only(seed: int) -> None:
    load = Load(Limit(), noise=0.06)
    load.chance = random.Random(seed)
    random.seed(seed)  # of the jitter

    async def main() -> float:
        task = asyncio.ensure_future(load.run(6000))
        await asyncio.sleep(10.0)
        assert not task.done()
        slots = load.limiter.slots
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return slots

    slots, _ = run_virtually(main())
    assert slots >= 32
