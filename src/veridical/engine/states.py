"""Hidden state queue: computes each text's states once, and stores them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Window
from veridical.engine.batching import Coalescer, IdleSignal, Work
from veridical.engine.fair import queue_for
from veridical.engine.service import Requests
from veridical.errors import ModelError
from veridical.files.store import Store, content_key

_HELD = 256 << 20  # bytes of states that callers may await at once


class _StateRequest(NamedTuple):
    """Request for the states after ``layers`` of the last token of a text in pieces."""

    pieces: tuple[str, ...]
    layers: tuple[int, ...]


class _Texts(Requests):
    """Texts in pieces as requests to one :class:`StateModel`."""

    def key(self, request: _StateRequest) -> bytes:
        return content_key("states", self.model.revision, repr(request.layers), *request.pieces)

    def windows(self, requests: Sequence[_StateRequest]) -> list[list[Window]]:
        texts = self.model.state_windows([r.pieces for r in requests])
        return [
            [replace(w, content=(w, r.layers)) for w in windows]
            for windows, r in zip(texts, requests, strict=True)
        ]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        outputs = self.model.states([w.content[0] for w in batch])
        # copies, so that only the requested part of a batch stays in memory
        return [o[list(w.content[1])] for o, w in zip(outputs, batch, strict=True)]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        value = np.asarray(outputs[0], np.float32)
        if not np.isfinite(value).all():
            raise ModelError(f"{self.model.name} returned a hidden state that is not finite")
        return value


class StateQueue:
    """All requests for hidden states to one language model.

    Callers wait for each other before their states together would fill the memory.

    Raises:
        ModelError: the model has no accessible hidden states.
    """

    def __init__(
        self, model: Any, idle_signal: IdleSignal, store: Store | None, work: Work
    ) -> None:
        shape: tuple[int, int] = getattr(model, "state_shape", None) or (0, 0)
        if not shape[0]:
            raise ModelError(
                f"{model.name} has no accessible hidden states; name a model folder, a hub id or "
                "a .gguf file"
            )
        self._name = model.name
        self._depth, self._width = shape
        self._room = Capacity(_HELD)
        self._queue: Coalescer[_StateRequest, NDArray[np.float32]] = queue_for(
            _Texts(model), idle_signal, store
        )
        self._queue.work = work

    async def ask(
        self, texts: Sequence[tuple[str, ...]], layers: Sequence[int] | None
    ) -> NDArray[np.float32]:
        """Return (n, k, width) states of the last token of each text, after each of k layers (None:
        0 .. layers).

        Raises:
            ModelError: there is no such layer, or the model failed on a text.
        """
        chosen = tuple(range(self._depth) if layers is None else layers)
        if not all(0 <= layer < self._depth for layer in chosen):
            raise ModelError(f"{self._name} has layers 0 to {self._depth - 1}, not all of {chosen}")
        if not texts:
            return np.zeros((0, len(chosen), self._width), np.float32)
        async with self._room.take(4 * len(texts) * len(chosen) * self._width):
            return np.stack(await self._queue.ask([_StateRequest(tuple(t), chosen) for t in texts]))

    def close(self) -> None:
        self._queue.close()


class Capacity:
    """A limited capacity. Requests beyond what is left wait in turn; a request beyond the capacity
    gets all of it."""

    def __init__(self, size: int) -> None:
        self._left = self._size = size
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def take(self, size: int) -> AsyncIterator[None]:
        size = min(size, self._size)
        if self._waiting or size > self._left:
            turn = (size, asyncio.get_running_loop().create_future())
            self._waiting.append(turn)
            try:
                await turn[1]
            except asyncio.CancelledError:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                elif not turn[1].cancelled():
                    self._give(size)
                raise
        else:
            self._left -= size
        try:
            yield
        finally:
            self._give(size)

    def _give(self, size: int) -> None:
        self._left += size
        while self._waiting and self._waiting[0][0] <= self._left:
            next_size, turn = self._waiting.popleft()
            if not turn.done():
                self._left -= next_size
                turn.set_result(None)
