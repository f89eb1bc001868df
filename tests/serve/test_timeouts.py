"""Waiting that ends, and that can be given up at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from veridical.serve.security import Secured
from veridical.serve.timeouts import with_timeout

SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/",
    "headers": [(b"host", b"localhost")],
}


async def test_what_is_in_time_is_given() -> None:
    async def soon() -> int:
        await asyncio.sleep(0.01)
        return 3

    async def wrong() -> None:
        raise ValueError("wrong")

    assert await with_timeout(soon(), 5) == 3
    with pytest.raises(ValueError, match="wrong"):
        await with_timeout(wrong(), 5)


async def test_what_is_late_is_cancelled() -> None:
    stopped = asyncio.Event()

    async def late() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    with pytest.raises(TimeoutError):
        await with_timeout(late(), 0.01)
    await asyncio.wait_for(stopped.wait(), 5)


async def test_what_nobody_waits_for_any_more_is_cancelled() -> None:
    stopped = asyncio.Event()

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    waiting = asyncio.ensure_future(with_timeout(long(), 60))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.wait_for(stopped.wait(), 5)


@pytest.mark.parametrize("steps", range(4))
async def test_a_cancellation_at_the_moment_of_the_end_is_not_swallowed(steps: int) -> None:
    """However many steps of the loop lie between the end and the cancellation."""
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    after = []

    async def work() -> int:
        return await ended

    async def request() -> None:
        await with_timeout(work(), 60)
        after.append("went on")
        await asyncio.sleep(60)

    task = asyncio.ensure_future(request())
    await asyncio.sleep(0.01)
    ended.set_result(1)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task}, timeout=1)
    assert task.cancelled()


@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("where", ["receive", "send"])
async def test_a_cancelled_request_is_cancelled(where: str, steps: int) -> None:
    moment: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    here = asyncio.Event()

    async def wait_at(name: str) -> None:
        if name == where:
            here.set()
            await moment

    async def receive() -> dict[str, Any]:
        await wait_at("receive")
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        await wait_at("send")

    async def app(scope: Any, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(60)

    task = asyncio.ensure_future(Secured(app)(dict(SCOPE), receive, send))
    await here.wait()
    moment.set_result(None)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task}, timeout=1)
    assert task.cancelled()
