"""Asynchronous calls for blocking callers.

The process has one event loop for them, in its own thread. A deadline over a whole HTTP exchange,
with headers that may drip, requires a call that can be cancelled; a blocking call cannot.
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
    """Return the coroutine's result. It may be called from any thread except the loop's own, also
    while another loop runs, which then waits."""
    future = asyncio.run_coroutine_threadsafe(coroutine, loop())
    try:
        return future.result()
    except BaseException:  # also exceptions of this thread, such as Ctrl-C
        future.cancel()
        raise
    finally:
        del future  # it refers to the error, which refers to this frame


def loop() -> asyncio.AbstractEventLoop:
    """Return the loop of :func:`run`; started on first use."""
    global _loop
    with _mutex:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, daemon=True, name="veridical-http").start()
        return _loop


def _forget() -> None:
    """Reset in a forked child, which lacks its parent's thread."""
    global _loop, _mutex
    _loop, _mutex = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
