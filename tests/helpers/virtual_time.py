"""An event loop whose clock jumps to the next timer: minutes of waiting pass in no time, and
always in the same order."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Never waits: tells the loop how long it would have."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everything waits, and nothing will ever wake it")
            self.now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run_virtually(main: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """The result of ``main`` and the seconds it believes to have taken.

    Raises:
        AssertionError: tasks are left over.
    """
    loop = VirtualLoop()
    try:
        asyncio.set_event_loop(loop)
        result = loop.run_until_complete(main)
        seconds = loop.time()
        for _ in range(3):  # generators that were left early are closed by tasks of their own
            loop.run_until_complete(asyncio.sleep(0))
        left = asyncio.all_tasks(loop)
        assert not left, f"left over: {left}"
        return result, seconds
    finally:
        asyncio.set_event_loop(None)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
