"""Waiting that ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def in_time(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """What ``work`` gives within a time; after it, ``work`` is cancelled.

    Unlike ``asyncio.wait_for`` before Python 3.12, it never swallows that it is itself cancelled
    at the moment at which ``work`` ends: a request whose client has gone would go on.

    Raises:
        TimeoutError: it was not done in time.
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(_seen)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise TimeoutError(f"not done within {seconds:g} s")
    finally:
        task.cancel()  # nothing, where it is done
    return task.result()


def _seen(task: asyncio.Task[Any]) -> None:
    """Nobody else may look at how it ended."""
    if not task.cancelled():
        task.exception()
