"""Asynchronous calls for callers that block: one loop a process, in a thread of its own.

A deadline over a whole HTTP exchange, with headers that may drip, needs a call that can be
cancelled, which a blocking one cannot.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_mutex = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result. It may be called from any thread but the loop's own, also where
    another loop runs, which waits meanwhile."""
    future = asyncio.run_coroutine_threadsafe(coroutine, loop())
    try:
        return future.result()
    except BaseException:  # also of this thread's own: Ctrl-C
        future.cancel()
        raise
    finally:
        del future  # which holds the error that holds this frame


def loop() -> asyncio.AbstractEventLoop:
    """The loop that :func:`run` uses; started when first needed."""
    global _loop
    with _mutex:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, daemon=True, name="veridical-http").start()
        return _loop


def _forget() -> None:
    """A forked child has not its parent's thread."""
    global _loop, _mutex
    _loop, _mutex = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
