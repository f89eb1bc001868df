"""Request queue of one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.core.protocols import Window
from veridical.engine.batching import Coalescer, IdleSignal, Lookup, Work, get_many
from veridical.engine.fair import queue_for
from veridical.errors import ModelError
from veridical.files.store import Store, content_key


class Requests:
    """A back end in the form that the coalescer requires; answers are finite arrays."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.budget: int = model.batch_tokens
        self.workers: int = model.workers
        # a server gets as few batches as possible
        self.shares: bool = getattr(model, "local", True)

    def key(self, request: Any) -> bytes:
        return content_key("checkpoint", self.model.revision, repr(request))

    def windows(self, requests: Sequence[Any]) -> list[list[Window]]:
        windows: list[list[Window]] = self.model.windows(requests)
        return windows

    def order(self, window: Window) -> Any:
        """Return the sort key of a window before batches are formed."""
        return -window.length

    def size(self, batch: Sequence[Window]) -> int:
        """Count the tokens that a forward over ``batch`` processes."""
        return len(batch) * max(w.length for w in batch)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        outputs: list[Any] = self.model.run(batch)
        return outputs

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Any:
        value = self.model.assemble(windows, outputs)
        if not np.isfinite(value).all():
            raise ModelError(f"{self.model.name} returned a number that is not finite")
        return value

    def load(self, stored: Any) -> Any:
        return stored

    def dump(self, value: Any) -> Any:
        return value


class Service:
    """All requests to one model.

    Args:
        requests: adapter of the model for the coalescer; default: :class:`Requests`.
        lookup: function that finds requests in the store (see :class:`Coalescer`).
    """

    def __init__(
        self,
        model: Any,
        idle_signal: IdleSignal,
        store: Store | None,
        *,
        requests: Requests | None = None,
        lookup: Lookup | None = get_many,
    ) -> None:
        self.backend = model
        self._store = store
        self._queue: Coalescer[Any, Any] = queue_for(
            requests or Requests(model), idle_signal, store, lookup=lookup
        )

    @property
    def work(self) -> Work:
        return self._queue.work

    async def ask(self, requests: Sequence[Any], keep: list[Any]) -> list[Any]:
        """Return the answers to ``requests``, in order. ``keep`` holds references to shared values.

        Raises:
            ModelError: the model failed on a request.
        """
        values = await self._queue.ask(requests)
        keep.extend(values)
        return values

    def close(self) -> None:
        self._queue.close()
