"""Release of unused memory in serving processes."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import sys
from collections.abc import Callable

#: Idle seconds after which memory is released.
_IDLE_SECONDS = 2.0
_TICK_SECONDS = 0.5
#: Seconds between releases under load: the C library keeps fragments of many threads.
_TRIM_SECONDS = 10.0


def release_memory() -> None:
    """Return free memory of this process to the system, if the C library supports it."""
    gc.collect()
    trim_memory()


def trim_memory() -> None:
    """Return freed memory without collecting garbage."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):  # the C library lacks it
            ctypes.CDLL(None).malloc_trim(0)


async def release_when_idle(requests: Callable[[], tuple[int, int]]) -> None:
    """Release memory after each period of work, and at intervals within it, until cancelled.

    Args:
        requests: returns the number of requests begun so far, and the number in flight.
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
