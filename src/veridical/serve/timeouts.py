"""Timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def with_timeout(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return the result of ``work``; cancel it after ``seconds``.

    Unlike ``asyncio.wait_for`` before Python 3.12, it never swallows its own cancellation at the
    moment ``work`` ends. Otherwise a request whose client has disconnected would continue.

    Raises:
        TimeoutError: ``work`` did not finish in time.
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(_seen)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise TimeoutError(f"not finished within {seconds:g} s")
    finally:
        task.cancel()  # has no effect once it is done
    return task.result()


def _seen(task: asyncio.Task[Any]) -> None:
    """Retrieve the exception of a task whose outcome may be ignored."""
    if not task.cancelled():
        task.exception()
