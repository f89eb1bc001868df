"""Fair request queue of a model: callers take turns.

A batch job sorts all waiting requests by length and computes them in rounds, for the shortest total
time. An interactive caller must not wait for another caller's round. This queue therefore forms a
batch whenever a thread of the model is free, from the windows whose turn it is.

Interactive calls precede background jobs. Within a priority, start-time fair queueing applies
(Goyal, Vin and Cheng 1996): a window's turn is its caller's tokens so far. A short request thus
passes an earlier long one, and no request waits forever. Batches are small, because the next caller
waits for them.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from veridical.core.protocols import Window
from veridical.engine.batching import (
    BatchModel,
    Coalescer,
    IdleSignal,
    Lookup,
    as_model_error,
    get_many,
    shared,
)
from veridical.errors import ModelError
from veridical.files.store import Store

Q = TypeVar("Q")
V = TypeVar("V")

INTERACTIVE, BACKGROUND = 0, 1
#: Padded tokens of a batch per core that computes it.
_TOKENS_A_CORE = 1024
_LOOK = 4  # batches' worth of windows among which windows of similar length are chosen


@dataclass(eq=False)
class Caller:
    """A caller whose requests take turns with those of others.

    Attributes:
        priority: ``INTERACTIVE`` or ``BACKGROUND``, which gets the remaining capacity.
    """

    priority: int = INTERACTIVE


#: Caller of the current context; requests without one share a default caller.
CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
_NOBODY = Caller()


@dataclass(eq=False)
class _Entry:
    """A queued request, with its windows and their outputs so far."""

    key: bytes
    windows: Sequence[Window]
    outputs: list[Any] = field(init=False)
    missing: int = field(init=False)
    taken: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        self.missing = len(self.windows)
        self.outputs = [None] * self.missing
        self.taken = [False] * self.missing


_Turn = tuple[int, float, int, _Entry, int]  # priority, turn, order of arrival, entry, its window


class FairQueue(Coalescer[Q, V]):
    """One model's queue, whose callers take turns; see :class:`Coalescer`."""

    def __init__(
        self,
        model: BatchModel[Q, V],
        idle_signal: IdleSignal,
        store: Store | None,
        *,
        lookup: Lookup | None = get_many,
    ) -> None:
        super().__init__(model, idle_signal, store, lookup=lookup)
        cores = max(1, (os.cpu_count() or 1) // model.workers)  # of one forward
        self._cap = min(model.budget, _TOKENS_A_CORE * cores)
        self._turns: list[_Turn] = []  # a heap
        self._order = itertools.count()
        self._clock = [0.0, 0.0]  # the last turn taken, by priority
        self._reached: WeakKeyDictionary[Caller, float] = WeakKeyDictionary()
        self._callers: dict[bytes, Caller] = {}  # of waiting requests
        self._entries: dict[bytes, _Entry] = {}
        self._forwards: set[asyncio.Task[None]] = set()

    def _asked(self, key: bytes) -> None:
        """Record the caller of ``key``; an interactive call takes over the request of a job."""
        caller = CALLER.get() or _NOBODY
        before = self._callers.setdefault(key, caller)
        if caller.priority < before.priority:
            self._callers[key] = caller
            if key in self._entries:
                self._line_up(self._entries[key])

    def _settled(self, key: bytes) -> None:
        self._callers.pop(key, None)
        self._entries.pop(key, None)

    def _flush(self, idle: bool) -> bool:
        if self._queue and not self._rounds:
            entries, self._queue, self._queued_size = self._queue, [], 0
            task = asyncio.get_running_loop().create_task(self._round(entries))
            self._rounds.add(task)
            task.add_done_callback(self._rounds.discard)
        return False  # the end of a round checks again

    async def _process(self, entries: list[tuple[bytes, Q]]) -> None:
        """Look up the store, and queue the windows of the remaining entries."""
        entries = await self._not_stored(entries)
        if not entries:
            return
        prepared = await self._prepare(entries)
        found = zip(entries, prepared, strict=True)
        longest_first = sorted(found, key=lambda f: -sum(w.length for w in f[1]))
        for (key, _), windows in longest_first:  # a short one at the end leaves no thread waiting
            if windows and key in self._pending:
                entry = self._entries[key] = _Entry(key, windows)
                self._line_up(entry)
        self._start()

    def _line_up(self, entry: _Entry) -> None:
        caller = self._callers.get(entry.key, _NOBODY)
        clock = self._clock[caller.priority]
        for i, window in enumerate(entry.windows):
            if not entry.taken[i]:
                turn = max(clock, self._reached.get(caller, 0.0))
                self._reached[caller] = turn + window.length
                heapq.heappush(self._turns, (caller.priority, turn, next(self._order), entry, i))

    def _start(self) -> None:
        """Begin forwards while threads are free and windows wait."""
        while len(self._forwards) < self.model.workers and (batch := self._next()):
            task = asyncio.get_running_loop().create_task(self._forward(batch))
            self._forwards.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._forwards.discard(task)
        if not task.cancelled():
            self._start()

    def _next(self) -> list[tuple[_Entry, int]]:
        """Return the next batch: the window whose turn it is, and windows of similar length that
        follow soon with the same priority."""
        seen: list[_Turn] = []
        tokens = 0
        while self._turns and tokens < _LOOK * self._cap:
            turn = self._turns[0]
            entry, i = turn[3], turn[4]
            if entry.taken[i] or self._entries.get(entry.key) is not entry:
                heapq.heappop(self._turns)
            elif not self._wanted(entry.key):
                heapq.heappop(self._turns)
                self._drop(entry.key)
            elif seen and turn[0] != seen[0][0]:
                break
            else:
                seen.append(heapq.heappop(self._turns))
                tokens += entry.windows[i].length
        if not seen:
            return []
        first = seen[0]
        self._clock[first[0]] = max(self._clock[first[0]], first[1])
        length = first[3].windows[first[4]].length
        longest = length
        cap = self._cap
        if self.model.shares and tokens < _LOOK * cap:  # these are all waiting windows
            free = self.model.workers - len(self._forwards)
            cap = min(cap, shared([_length(t) for t in seen], self.model.workers, free))
        batch: list[tuple[_Entry, int]] = []
        left: list[_Turn] = []
        for turn in sorted(seen, key=lambda t: (abs(_length(t) - length), t[:3])):
            padded = max(longest, _length(turn)) * (len(batch) + 1)
            if batch and padded > cap:
                left.append(turn)
                continue
            longest = max(longest, _length(turn))
            turn[3].taken[turn[4]] = True
            batch.append((turn[3], turn[4]))
        for turn in left:
            heapq.heappush(self._turns, turn)
        self.work.full += bool(left)
        batch.sort(key=lambda p: self.model.order(p[0].windows[p[1]]))
        return batch

    async def _forward(self, batch: list[tuple[_Entry, int]]) -> None:
        try:
            results = await self._run([entry.windows[i] for entry, i in batch])
            fresh: list[tuple[bytes, V]] = []
            for (entry, i), result in zip(batch, results, strict=True):
                entry.outputs[i] = result
                entry.missing -= 1
                if not entry.missing:
                    self._assemble(entry.key, entry.windows, entry.outputs, fresh)
            await self._keep(fresh)
        except asyncio.CancelledError:
            raise
        except Exception as e:  # a fault of the queue itself: its callers must not wait forever
            for entry, _ in batch:
                self._resolve(entry.key, error=ModelError(str(as_model_error(e))))

    def close(self) -> None:
        for task in self._forwards:
            task.cancel()
        super().close()


def _length(turn: _Turn) -> int:
    return turn[3].windows[turn[4]].length


def queue_for(
    model: Any, idle_signal: IdleSignal, store: Store | None, *, lookup: Lookup | None = get_many
) -> Coalescer[Any, Any]:
    """Make the queue of a model in an engine with this idle signal."""
    kind = FairQueue if idle_signal.fair else Coalescer
    return kind(model, idle_signal, store, lookup=lookup)
