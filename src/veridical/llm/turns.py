"""Whose call is next at an endpoint that works on few at a time."""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_left, insort
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, Protocol, TypeAlias

from veridical.core.messages import ChatRequest

#: Tokens of an answer up to which nearly all the work is reading the prompt.
SHORT = 16
#: Characters that a prompt must share besides to be preferred to the one that waits longest.
_GAIN = 64

#: A prompt as it is compared: roles and texts by turns.
Text: TypeAlias = tuple[str, ...]


class Turns(Protocol):
    """Lets calls through, no more at a time than a client works on."""

    def turn(self, request: ChatRequest) -> AbstractAsyncContextManager[None]:
        """A call's turn: entered when it comes, left when it has ended."""
        ...


class InOrder:
    """Calls have their turns as they came.

    Args:
        most: at a time.
    """

    def __init__(self, most: int) -> None:
        self._slots = asyncio.Semaphore(most)

    def turn(self, request: ChatRequest) -> AbstractAsyncContextManager[None]:
        """See :meth:`Turns.turn`."""
        return self._slots


class ByPrefix:
    """Turns at a server that keeps what it has read and does not read it again where the next
    prompt begins likewise.

    Calls with short answers take little more than reading. They go through one at a time (side by
    side each would read the common beginning for itself, and reading keeps all cores busy anyway),
    after each the one that shares the longest beginning with it. Where none shares clearly more,
    it is the turn of the one that waits longest: so records are finished about in their order.
    Calls with long answers go through side by side.

    Args:
        most: at a time, long and short together.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._short, self._long = _Queue(), _Queue()

    @asynccontextmanager
    async def turn(self, request: ChatRequest) -> AsyncIterator[None]:
        """See :meth:`Turns.turn`."""
        tokens = request.max_tokens
        queue = self._short if tokens is not None and tokens <= SHORT else self._long
        waiting = queue.add(prompt_text(request))
        self._admit()
        try:
            await waiting.admitted
        except asyncio.CancelledError:
            if waiting.admitted.cancelled():
                queue.remove(waiting)
            else:  # its turn had come meanwhile
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
    """A call that waits. They are sorted by text: what stands side by side shares most."""

    text: Text
    number: int
    admitted: asyncio.Future[None]


class _Queue:
    """Calls of one kind that wait, and how many are under way."""

    def __init__(self) -> None:
        self.under_way = 0
        self._sorted: list[_Waiting] = []
        self._waiting: dict[int, _Waiting] = {}  # in the order in which they came
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
        """Begin the turn of the next."""
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
    """The prompt of ``request``, as it is compared."""
    return tuple(part for m in request.messages for part in (str(m.get("role")), _content(m)))


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content)


def shared(one: Text, two: Text) -> int:
    """How many characters two prompts have in common from their beginning on."""
    length = 0
    for a, b in zip(one, two, strict=False):
        if a != b:
            return length + _common(a, b)
        length += len(a)
    return length


def _common(a: str, b: str) -> int:
    """Length of the common beginning of two different texts."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a.startswith(b[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
