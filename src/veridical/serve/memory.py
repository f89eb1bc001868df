"""Memory that a serving process gives back when it has nothing to do."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import sys
from collections.abc import Callable

#: Seconds without a request after which memory is given back.
_IDLE_SECONDS = 2.0
_TICK_SECONDS = 0.5


def release_memory() -> None:
    """Give free memory of this process back to the system, where its C library can."""
    gc.collect()
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):  # a C library without it
            ctypes.CDLL(None).malloc_trim(0)


async def release_when_idle(requests: Callable[[], tuple[int, int]]) -> None:
    """Give memory back after each time of work, for as long as it is awaited.

    Args:
        requests: returns how many requests were begun so far, and how many are under way.
    """
    last, quiet, released = -1, 0.0, False
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        begun, under_way = requests()
        if under_way or begun != last:
            last, quiet, released = begun, 0.0, False
            continue
        quiet += _TICK_SECONDS
        if quiet >= _IDLE_SECONDS and not released:
            await asyncio.to_thread(release_memory)
            released = True
