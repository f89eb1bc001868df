"""Memory that a serving process gives back, under load and when it has nothing to do."""

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
#: Seconds under load after which the C library gives back what it keeps for later: fragments of
#: many threads add up.
_TRIM_SECONDS = 10.0


def release_memory() -> None:
    """Give free memory of this process back to the system, where its C library can."""
    gc.collect()
    trim_memory()


def trim_memory() -> None:
    """Give back what was freed already, without looking for garbage."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):  # a C library without it
            ctypes.CDLL(None).malloc_trim(0)


async def release_when_idle(requests: Callable[[], tuple[int, int]]) -> None:
    """Give memory back after each time of work, and at intervals within it, for as long as it is
    awaited.

    Args:
        requests: returns how many requests were begun so far, and how many are under way.
    """
    last, quiet, busy, released = -1, 0.0, 0.0, False
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        begun, under_way = requests()
        if under_way or begun != last:
            last, quiet, released = begun, 0.0, False
            busy += _TICK_SECONDS
            if busy >= _TRIM_SECONDS:
                busy = 0.0
                await asyncio.to_thread(trim_memory)
            continue
        quiet += _TICK_SECONDS
        if quiet >= _IDLE_SECONDS and not released:
            await asyncio.to_thread(release_memory)
            busy, released = 0.0, True
