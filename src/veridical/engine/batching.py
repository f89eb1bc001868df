"""Request coalescing: batches over all records and scorers.

A batch leaves when no coroutine of the run can proceed. It also leaves when enough work for good
packing is waiting, or when the oldest request exceeds an age limit. Each distinct request in flight
is computed once; stored values are not computed.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from veridical.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from veridical.core.protocols import Window
    from veridical.files.store import Store

Q = TypeVar("Q")
V = TypeVar("V")
Q_contra = TypeVar("Q_contra", contravariant=True)

_QUIET_TURNS = 2  # loop turns without a new request after which the loop counts as idle
_SORT_WINDOW = 24  # batches' worth of work that packs well; waiting for more gains nothing
_PREPARE = 2048  # requests tokenised at once
_PIECES = 4  # batches per thread, where few windows wait
_LEAST_TOKENS = 64  # of such a batch; smaller ones cost more to hand over than they save


class Lookup(Protocol):
    """A function that finds keys in the store."""

    def __call__(
        self, store: Store, keys: Sequence[bytes], /
    ) -> dict[bytes, NDArray[np.float32]]: ...


class BatchModel(Protocol[Q_contra, V]):
    """A model from the coalescer's view: keyed requests, windows, forwards, joined values.

    Attributes:
        shares: True if a few waiting windows are split among the workers.
    """

    budget: int
    workers: int
    shares: bool

    def key(self, request: Q_contra) -> bytes: ...
    def windows(self, requests: Sequence[Q_contra]) -> list[list[Window]]: ...
    def order(self, window: Window) -> Any: ...
    def size(self, batch: Sequence[Window]) -> int: ...
    def run(self, batch: Sequence[Window]) -> list[Any]: ...
    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> V: ...
    def load(self, stored: NDArray[np.float32]) -> V: ...
    def dump(self, value: V) -> NDArray[np.float32]: ...


@dataclass
class Work:
    """Counts and costs of the requests to a model. Counts are exact."""

    requests: int = 0  # distinct requests; duplicates of a pending or live one are not counted
    shared: int = 0  # answered through an equal request
    stored: int = 0  # answered from the store
    windows: int = 0  # windows sent through the model
    tokens: int = 0  # content tokens of those windows, without padding
    # tokens with padding, without those that a model cached from the previous window
    padded: int = 0
    batches: int = 0
    seconds: float = 0.0  # time spent inside forwards
    full: int = 0  # batches that left other windows waiting, in a fair queue
    dropped: int = 0  # not computed, because all callers were cancelled
    asked: int = 0  # approximate size of the requested computation, in tokens
    answered: int = 0  # size of the completed computation


class IdleSignal:
    """Signals queues when the event loop is idle.

    ``filling`` returns True if more records are about to be admitted: a batch then waits for them,
    up to ``age`` seconds.

    Args:
        fair: callers take turns (see :mod:`veridical.engine.fair`).
    """

    def __init__(self, age: float, *, fair: bool = False) -> None:
        self.age = age
        self.fair = fair
        self.filling: Callable[[], bool] = lambda: False
        self._queues: list[Callable[[bool], bool]] = []
        self._activity = 0
        self._checking = False
        self._timer: asyncio.TimerHandle | None = None

    def add(self, flush: Callable[[bool], bool]) -> None:
        """Call ``flush(idle)`` whenever the loop becomes quiet; it returns True if requests still
        wait."""
        self._queues.append(flush)

    def remove(self, flush: Callable[[bool], bool]) -> None:
        if flush in self._queues:
            self._queues.remove(flush)

    def close(self) -> None:
        """Stop all flushing."""
        self._queues.clear()

    def touch(self) -> None:
        """Report activity: check again once the loop is quiet."""
        self._activity += 1
        if not self._checking:
            self._checking = True
            asyncio.get_running_loop().call_soon(self._check, self._activity, 0)

    def _check(self, seen: int, quiet: int) -> None:
        loop = asyncio.get_running_loop()
        if self._activity != seen:
            loop.call_soon(self._check, self._activity, 0)
        elif quiet < _QUIET_TURNS:
            loop.call_soon(self._check, seen, quiet + 1)
        else:
            self._checking = False
            idle = not self.filling()
            waiting = [flush(idle) for flush in self._queues]
            if any(waiting) and self._timer is None:
                self._timer = loop.call_later(self.age, self._late)

    def _late(self) -> None:
        self._timer = None
        self.touch()


def get_many(store: Store, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
    """Return the stored arrays among ``keys``, one entry each."""
    return store.get_many(keys)


class Coalescer(Generic[Q, V]):
    """One model's request queue. Values stay shared while any caller holds them.

    ``lookup`` finds keys in the store. None writes to the store without reading it, for values of
    which the store holds only a part.
    """

    def __init__(
        self,
        model: BatchModel[Q, V],
        idle_signal: IdleSignal,
        store: Store | None,
        *,
        lookup: Lookup | None = get_many,
    ) -> None:
        self.model = model
        self.work = Work()
        self._idle_signal = idle_signal
        self._store = store
        self._lookup = lookup
        self._live: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
        self._pending: dict[bytes, asyncio.Future[V]] = {}
        self._queue: list[tuple[bytes, Q]] = []
        self._queued_size = 0
        self._sizes: dict[bytes, int] = {}  # of pending requests
        self._askers: dict[bytes, int] = {}  # number of waiting callers of each pending request
        self._oldest = 0.0
        self._rounds: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(model.workers, thread_name_prefix="veridical-model")
        self._helper = ThreadPoolExecutor(1, thread_name_prefix="veridical-prepare")
        idle_signal.add(self._flush)

    async def ask(self, requests: Sequence[Q]) -> list[V]:
        """Return values for ``requests``, in order.

        Raises:
            ModelError: the model failed on a request.
        """
        loop = asyncio.get_running_loop()
        values: dict[bytes, V] = {}
        waits: dict[bytes, asyncio.Future[V]] = {}
        keys = [self.model.key(r) for r in requests]
        for key, request in zip(keys, requests, strict=True):
            if key in values or key in waits:
                continue
            live = self._live.get(key)
            if live is not None:
                values[key] = live
                self.work.shared += 1
                continue
            future = self._pending.get(key)
            if future is None:
                future = self._pending[key] = loop.create_future()
                if not self._queue:
                    self._oldest = time.monotonic()
                self._queue.append((key, request))
                size = self._sizes[key] = _rough_size(request)
                self._queued_size += size
                self.work.asked += size
                self.work.requests += 1
            else:
                self.work.shared += 1
            waits[key] = future
            self._askers[key] = self._askers.get(key, 0) + 1
            self._asked(key)
        if waits:
            self._idle_signal.touch()
            try:
                await asyncio.wait(waits.values())  # unlike gather, never cancels a shared future
            finally:
                self._leave(waits)
            for key, future in waits.items():
                values[key] = future.result()
        return [values[k] for k in keys]

    def _asked(self, key: bytes) -> None:
        """Record that a caller waits for ``key``."""

    def _settled(self, key: bytes) -> None:
        """Record that no caller waits for ``key`` any longer."""

    def _leave(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            self._askers[key] -= 1
            if not self._askers[key]:
                del self._askers[key]

    def _wanted(self, key: bytes) -> bool:
        """Return True if a caller still waits for ``key``."""
        return key in self._askers

    def _drop(self, key: bytes) -> None:
        """Cancel the computation of ``key``: all its callers were cancelled."""
        self.work.asked -= self._sizes.pop(key, 0)
        self.work.dropped += 1
        future = self._pending.pop(key, None)
        if future is not None:
            future.cancel()
        self._settled(key)

    def _flush(self, idle: bool) -> bool:
        if not self._queue or len(self._rounds) > 1:
            return False  # the end of a round checks again
        enough = self._queued_size >= _SORT_WINDOW * self.model.budget
        late = time.monotonic() - self._oldest >= self._idle_signal.age
        if enough or (not self._rounds and (idle or late)):
            entries, self._queue, self._queued_size = self._queue, [], 0
            task = asyncio.get_running_loop().create_task(self._round(entries))
            self._rounds.add(task)
            task.add_done_callback(self._rounds.discard)
        return bool(self._queue) and not self._rounds

    async def _round(self, entries: list[tuple[bytes, Q]]) -> None:
        try:
            for i in range(0, len(entries), _PREPARE):
                await self._process(entries[i : i + _PREPARE])
        except asyncio.CancelledError:
            raise
        except Exception as e:  # a fault of the queue itself: its callers must not wait forever
            for key, _ in entries:
                self._resolve(key, error=ModelError(f"{type(e).__name__}: {e}"))
        finally:
            asyncio.get_running_loop().call_soon(self._idle_signal.touch)

    async def _not_stored(self, entries: list[tuple[bytes, Q]]) -> list[tuple[bytes, Q]]:
        """Return the ``entries`` that a caller waits for and the store lacks; settle the others."""
        for key, _ in entries:
            if not self._wanted(key):
                self._drop(key)
        entries = [e for e in entries if e[0] in self._pending]
        if self._store is not None and self._lookup is not None and entries:
            keys = [k for k, _ in entries]
            stored = await asyncio.get_running_loop().run_in_executor(
                self._helper, self._lookup, self._store, keys
            )
            for key, array in stored.items():
                self.work.stored += 1
                self.work.asked -= self._sizes.pop(key, 0)
                self._resolve(key, self.model.load(array))
            entries = [e for e in entries if e[0] not in stored]
        return entries

    async def _process(self, entries: list[tuple[bytes, Q]]) -> None:
        loop = asyncio.get_running_loop()
        entries = await self._not_stored(entries)
        if not entries:
            return
        windows = await self._prepare(entries)
        parts = [(i, j, w) for i, ws in enumerate(windows) for j, w in enumerate(ws)]
        parts.sort(key=lambda p: self.model.order(p[2]))
        outputs: list[list[Any]] = [[None] * len(ws) for ws in windows]
        missing = [len(ws) for ws in windows]
        free = asyncio.Semaphore(self.model.workers + 1)  # one batch is ready for each thread

        async def forward(batch: list[tuple[int, int, Window]]) -> None:
            try:
                results = await self._run([p[2] for p in batch])
                complete = []
                for (i, j, _), result in zip(batch, results, strict=True):
                    outputs[i][j] = result
                    missing[i] -= 1
                    if not missing[i]:
                        complete.append(i)
                fresh: list[tuple[bytes, V]] = []
                for i in complete:
                    self._assemble(entries[i][0], windows[i], outputs[i], fresh)
                    outputs[i] = []
                await self._keep(fresh)
            finally:
                free.release()

        running = []
        budget = self.model.budget
        if self.model.shares:
            budget = min(budget, shared([p[2].length for p in parts], self.model.workers))
        for batch in pack(parts, budget):
            await free.acquire()
            running.append(loop.create_task(forward(batch)))
        await asyncio.gather(*running)

    def _assemble(
        self,
        key: bytes,
        windows: Sequence[Window],
        outputs: Sequence[Any],
        fresh: list[tuple[bytes, V]],
    ) -> None:
        """Append the joined outputs of a request to ``fresh``; settle a failed request."""
        errors = [o for o in outputs if isinstance(o, Exception)]
        try:
            if errors:
                raise errors[0]
            fresh.append((key, self.model.assemble(windows, outputs)))
        except Exception as e:
            self._resolve(key, error=as_model_error(e))

    async def _keep(self, fresh: list[tuple[bytes, V]]) -> None:
        """Store values before their callers receive them."""
        if self._store is not None and fresh:
            arrays = [(key, self.model.dump(value)) for key, value in fresh]
            await asyncio.get_running_loop().run_in_executor(
                self._helper, self._store.put_many, arrays
            )
        for key, value in fresh:
            self._resolve(key, value)

    async def _prepare(self, entries: list[tuple[bytes, Q]]) -> list[list[Window]]:
        """Return the windows of each request; a request that cannot be tokenised fails alone."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                self._helper, self.model.windows, [r for _, r in entries]
            )
        except Exception as e:
            if len(entries) == 1:
                self._resolve(entries[0][0], error=as_model_error(e))
                return [[]]
            half = len(entries) // 2
            return await self._prepare(entries[:half]) + await self._prepare(entries[half:])

    async def _run(self, batch: list[Window]) -> list[Any]:
        """Return the outputs of ``batch``; a failing batch is halved until only failing items
        remain."""
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._threads, self._timed, batch)
            if len(results) != len(batch):
                raise ModelError(f"{len(results)} outputs for {len(batch)} inputs")
            return results
        except Exception as e:
            if len(batch) == 1:
                return [as_model_error(e)]
            half = len(batch) // 2
            return await self._run(batch[:half]) + await self._run(batch[half:])

    def _timed(self, batch: list[Window]) -> list[Any]:
        started = time.perf_counter()
        results = self.model.run(batch)
        work = self.work
        work.seconds += time.perf_counter() - started
        work.batches += 1
        work.windows += len(batch)
        work.tokens += sum(w.length for w in batch)
        work.padded += self.model.size(batch)
        return results

    def _resolve(self, key: bytes, value: V | None = None, error: Exception | None = None) -> None:
        self.work.answered += self._sizes.pop(key, 0)
        future = self._pending.pop(key, None)
        self._settled(key)
        if future is None or future.done():
            return
        if error is not None:
            future.set_exception(error)
            future.exception()  # marks it as retrieved, in case all callers were cancelled
            return
        assert value is not None
        self._live[key] = value
        future.set_result(value)
        self._idle_signal.touch()

    def close(self) -> None:
        for task in self._rounds:
            task.cancel()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._helper.shutdown(wait=True, cancel_futures=True)


def shared(lengths: Sequence[int], threads: int, free: int | None = None) -> int:
    """Return the padded tokens of a batch such that few windows occupy all threads to the end.

    Each thread gets about :data:`_PIECES` batches: in one batch a thread, the long windows would
    all go to the first. Batches below :data:`_LEAST_TOKENS` are not split.

    Args:
        threads: number of threads.
        free: number of idle threads; all if None.
    """
    longest, total = max(lengths, default=1), sum(lengths)
    whole_share = -(-total // (free or threads)) + longest - 1
    return max(-(-total // (_PIECES * threads)), longest, min(whole_share, _LEAST_TOKENS))


def pack(
    parts: Sequence[tuple[int, int, Window]], budget: int
) -> list[list[tuple[int, int, Window]]]:
    """Cut sorted ``parts`` into batches of at most ``budget`` padded tokens.

    A single window longer than the budget makes a batch of its own.
    """
    batches: list[list[tuple[int, int, Window]]] = []
    longest = 0
    for part in parts:
        longest = max(longest, part[2].length)
        if not batches or longest * (len(batches[-1]) + 1) > budget:
            batches.append([])
            longest = part[2].length
        batches[-1].append(part)
    return batches


def _rough_size(request: Any) -> int:
    """Estimate the tokens before tokenisation, to decide when enough work is waiting."""
    if isinstance(request, str):
        return 2 + len(request) // 4
    return 2 + sum(len(t) for t in request) // 4


def as_model_error(e: Exception) -> ModelError:
    return e if isinstance(e, ModelError) else ModelError(f"{type(e).__name__}: {e}")
