"""Call scheduling for endpoints with limited concurrency."""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_left, insort
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, Protocol, TypeAlias

from veridical.core.messages import ChatRequest

#: Maximum tokens of an answer for which processing the prompt dominates.
SHORT = 16
#: Additional shared characters needed to be preferred to the longest-waiting call.
_GAIN = 64

#: Form in which prompts are compared: roles and texts alternating.
Text: TypeAlias = tuple[str, ...]


class CallScheduler(Protocol):
    """Scheduler that admits at most as many calls as a client processes at once."""

    def slot(self, request: ChatRequest) -> AbstractAsyncContextManager[None]:
        """Return a context that is entered when the call is admitted, and left when it has
        ended.
        """
        ...


class FifoScheduler:
    """Scheduler in order of arrival.

    Args:
        most: maximum concurrent calls.
    """

    def __init__(self, most: int) -> None:
        self._slots = asyncio.Semaphore(most)

    def slot(self, request: ChatRequest) -> AbstractAsyncContextManager[None]:
        """See :meth:`CallScheduler.slot`."""
        return self._slots


class PrefixScheduler:
    """Scheduler for a server that caches prompt prefixes.

    For calls with short answers, prompt processing dominates. They run one at a time: side by side
    each would process the shared prefix itself, and one keeps all cores busy anyway. The next call
    is the one that shares the longest prefix with the last. If none shares clearly more, the
    longest-waiting call is next, so records finish roughly in order. Calls with long answers run
    concurrently.

    Args:
        most: maximum concurrent calls, short and long together.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._short, self._long = _Queue(), _Queue()

    @asynccontextmanager
    async def slot(self, request: ChatRequest) -> AsyncIterator[None]:
        """See :meth:`CallScheduler.slot`."""
        tokens = request.max_tokens
        queue = self._short if tokens is not None and tokens <= SHORT else self._long
        waiting = queue.add(prompt_text(request))
        self._admit()
        try:
            await waiting.admitted
        except asyncio.CancelledError:
            if waiting.admitted.cancelled():
                queue.remove(waiting)
            else:  # it was admitted meanwhile
                self._ended(queue)
            raise
        try:
            yield
        finally:
            self._ended(queue)

    def _ended(self, queue: _Queue) -> None:
        queue.under_way -= 1
        self._admit()

    def _admit(self) -> None:
        while self._short.under_way + self._long.under_way < self._most:
            if self._short and not self._short.under_way:
                self._short.admit()
            elif self._long:
                self._long.admit()
            else:
                return


class _Waiting(NamedTuple):
    """Waiting call. Sorted by text, so that neighbours share the longest prefixes."""

    text: Text
    number: int
    admitted: asyncio.Future[None]


class _Queue:
    """Waiting calls of one kind, and the number in flight."""

    def __init__(self) -> None:
        self.under_way = 0
        self._sorted: list[_Waiting] = []
        self._waiting: dict[int, _Waiting] = {}  # in order of arrival
        self._count = 0
        self._last: Text = ()

    def __bool__(self) -> bool:
        return bool(self._sorted)

    def add(self, text: Text) -> _Waiting:
        self._count += 1
        waiting = _Waiting(text, self._count, asyncio.get_running_loop().create_future())
        insort(self._sorted, waiting, key=_place)
        self._waiting[waiting.number] = waiting
        return waiting

    def remove(self, waiting: _Waiting) -> None:
        if self._waiting.pop(waiting.number, None) is not None:
            del self._sorted[bisect_left(self._sorted, _place(waiting), key=_place)]

    def admit(self) -> None:
        """Admit the next call."""
        chosen = next(iter(self._waiting.values()))
        least = shared(self._last, chosen.text) + _GAIN
        at = bisect_left(self._sorted, (self._last, 0), key=_place)
        for neighbour in self._sorted[max(0, at - 1) : at + 1]:
            length = shared(self._last, neighbour.text)
            if length >= least:
                chosen, least = neighbour, length + 1
        self.remove(chosen)
        if not chosen.admitted.done():
            self._last = chosen.text
            self.under_way += 1
            chosen.admitted.set_result(None)


def _place(waiting: _Waiting | tuple[Text, int]) -> tuple[Text, int]:
    return waiting[0], waiting[1]


def prompt_text(request: ChatRequest) -> Text:
    """Return the prompt of ``request`` in the form that is compared."""
    return tuple(part for m in request.messages for part in (str(m.get("role")), _content(m)))


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content)


def shared(one: Text, two: Text) -> int:
    """Return the number of characters in the common prefix of two prompts."""
    length = 0
    for a, b in zip(one, two, strict=False):
        if a != b:
            return length + _common(a, b)
        length += len(a)
    return length


def _common(a: str, b: str) -> int:
    """Return the length of the common prefix of two different texts."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a.startswith(b[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
