"""The engine: warm models on a loop thread of their own, shared by every run.

A run streams records through their scorers with a bounded number in flight, and writes each
result to its sink as soon as it is complete.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from veridical.errors import NotApplicable, RowError, StrictError, UsageError
from veridical.evidence.batching import Gate, Work
from veridical.evidence.encoders import EncoderService
from veridical.evidence.evidence import Evidence, guarded
from veridical.evidence.lexical import Lexical
from veridical.evidence.nli import NliService
from veridical.evidence.rundir import DISORDER, Rows
from veridical.evidence.store import Store
from veridical.records import Record
from veridical.scorers.ensembles.quantile_mean import combine
from veridical.scores import Result, Score, Scored
from veridical.text.scripts import reads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from veridical.evidence.verdicts import Verdicts
    from veridical.io import Source
    from veridical.models.protocols import Encoder, NliModel
    from veridical.registry import BoundScorer

T = TypeVar("T")

_IN_FLIGHT = 1024  # records
_IN_FLIGHT_BYTES = 256 << 20
_READ = 64  # rows a read
_BYTES_PER_CHAR = {"free": 16, "embed": 16, "tokens": 900, "nli": 200}  # of a record in flight
#: The role of the model behind each cost of a scorer.
ROLES = {"embed": "embedder", "tokens": "token_encoder", "nli": "nli"}

Backend: TypeAlias = "Encoder | NliModel"
Service: TypeAlias = EncoderService | NliService


class Sink(Protocol):
    """Where results go."""

    done: Rows

    def write(self, row: int, line: bytes) -> None: ...
    def write_error(self, error: RowError) -> None: ...


@dataclass
class Progress:
    """How far a run is. ``fraction`` of the input read is None where it cannot be known."""

    records: int = 0
    row_errors: int = 0
    resumed: int = 0
    fraction: float | None = None


@dataclass(frozen=True)
class Task:
    """What to do with every record."""

    scorers: Sequence[BoundScorer]
    samples: int | None = None
    limit: int | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        for name in ("samples", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1, not {value}")

    def costs(self) -> set[str]:
        return {s.scorer.cost for s in self.scorers}


class Engine:
    """Owns models, store and an event loop; reusable from notebooks, servers and threads.

    Args:
        embedder: sentence encoder, as :func:`veridical.models.load_encoder` reads it.
        token_encoder: encoder for the BERTScore family; the embedder unless named.
        nli: NLI model, as :func:`veridical.models.load_nli` reads it.
        store: folder of the content-addressed store, or None for none.
        processes: worker processes for free scorers; default: one a core, 0 on a single core.
        threads: CPU threads of a model; default: all cores.
        device: torch device of torch models.
        age: seconds a request may wait for company while more records are being read.

    Use as a context manager, or call :meth:`close`.
    """

    def __init__(
        self,
        *,
        embedder: str = "minilm",
        token_encoder: str | None = None,
        nli: str = "veridical-nli-mini",
        store: Path | str | None = None,
        processes: int | None = None,
        threads: int | None = None,
        device: str | None = None,
        age: float = 0.05,
    ) -> None:
        cores = os.cpu_count() or 1
        self.processes = (cores if cores > 1 else 0) if processes is None else processes
        self.store = None if store is None else Store(Path(store))
        self._specs = {
            "embedder": embedder,
            "token_encoder": token_encoder or embedder,
            "nli": nli,
        }
        self._options = {"threads": threads, "device": device}
        self._age = age
        self._loaded: dict[tuple[str, str], Backend] = {}
        self._services: dict[tuple[str, str], Service] = {}
        self._runs: set[_Run] = set()
        self._load_lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, daemon=True, name="veridical"
        )
        self._thread.start()
        self._closed = False
        self._gate = self.submit(self._make_gate()).result()

    async def _make_gate(self) -> Gate:
        gate = Gate(self._age)
        gate.filling = lambda: any(run.filling for run in self._runs)
        return gate

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run ``coroutine`` on the engine's loop."""
        if self._closed:
            coroutine.close()
            raise UsageError("the engine is closed")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def models(self, task: Task) -> dict[str, str]:
        """Role and ``name@revision`` of each model ``task`` needs; loads them."""
        return {role: f"{b.name}@{b.revision}" for role, b in self._needed(task).items()}

    def _needed(self, task: Task) -> dict[str, Backend]:
        """The loaded model of each role that ``task`` has."""
        from veridical.models import load_encoder, load_nli

        needed: dict[str, Backend] = {}
        with self._load_lock:
            for role in (role for cost, role in ROLES.items() if cost in task.costs()):
                load: Callable[..., Backend] = load_nli if role == "nli" else load_encoder
                key = (load.__name__, self._specs[role])
                if key not in self._loaded:
                    self._loaded[key] = load(self._specs[role], **self._options)
                needed[role] = self._loaded[key]
        return needed

    def services(
        self,
        task: Task,
        wrap: Callable[[str, Backend], Any] | None = None,
        store: Store | None = None,
    ) -> dict[str, Service]:
        """The queue of each model ``task`` needs. One model in two roles has one queue.

        ``wrap(role, model)`` gives the run queues of its own over wrapped models and ``store``
        (the dry run's).
        """
        needed = self._needed(task)
        own: dict[tuple[str, str], Service] = {}
        shared = self._services if wrap is None else own
        services: dict[str, Service] = {}
        for role, backend in needed.items():
            tokens = role != "nli" and needed.get("token_encoder") is backend
            kind = "nli" if role == "nli" else "tokens" if tokens else "vectors"
            key = (kind, backend.revision)
            if key not in shared:
                model: Any = backend if wrap is None else wrap(role, backend)
                place = self.store if wrap is None else store
                shared[key] = (
                    NliService(model, self._gate, place)
                    if role == "nli"
                    else EncoderService(model, self._gate, place, tokens)
                )
            services[role] = shared[key]
        return services

    def work(self) -> dict[str, Work]:
        """What each model has been asked for and has done so far, by name and mode."""
        return {
            f"{s.backend.name}@{s.backend.revision}"
            + ("+tokens" if kind == "tokens" else ""): s.work
            for (kind, _), s in self._services.items()
        }

    async def run(
        self,
        source: Source,
        task: Task,
        sink: Sink,
        progress: Progress,
        services: Mapping[str, Service],
    ) -> None:
        """Score every record of ``source`` that ``sink`` does not hold yet."""
        run = _Run(self, task, sink, progress, services, self._gate)
        self._runs.add(run)
        try:
            await run.all(source)
        finally:
            self._runs.discard(run)

    def close(self) -> None:
        """Stop the loop and let go of models and store. Runs under way are cancelled."""
        if self._closed:
            return
        self.submit(self._cancel()).result()
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        for service in self._services.values():
            service.close()
        if self.store is not None:
            self.store.close()

    async def _cancel(self) -> None:
        self._gate.close()
        own = asyncio.current_task()
        tasks = [t for t in asyncio.all_tasks() if t is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Run:
    """One pass over one source."""

    def __init__(
        self,
        engine: Engine,
        task: Task,
        sink: Sink,
        progress: Progress,
        services: Mapping[str, Service],
        gate: Gate,
    ) -> None:
        self.task = task
        self.sink = sink
        self.progress = progress
        self.services = services
        self.gate = gate
        self.filling = True
        bundled = [s for s in task.scorers if s.scorer.cost == "free" and s.portable]
        self.lexical = Lexical(bundled, gate, engine.processes)
        self.bundled = {s.key: i for i, s in enumerate(bundled)}
        costs = task.costs()
        self._weight = max((_BYTES_PER_CHAR.get(c, 16) for c in costs), default=16)
        self._flying: dict[int, asyncio.Task[None]] = {}
        self._bytes = 0
        self._landed = asyncio.Event()
        self._error: BaseException | None = None

    async def all(self, source: Source) -> None:
        loop = asyncio.get_running_loop()
        reader = ThreadPoolExecutor(1, thread_name_prefix="veridical-read")
        rows: Iterator[Record | RowError] = source.rows(self.sink.done.first_gap())
        rows = itertools.takewhile(
            lambda r: self.task.limit is None or r.row < self.task.limit, rows
        )
        try:
            while chunk := await loop.run_in_executor(reader, _take, rows):
                self.progress.fraction = source.fraction()
                for row in chunk:
                    await self._admit(row)
            self.filling = False
            self.gate.touch()
            while self._flying and self._error is None:
                await self._landing()
            if self._error is not None:
                raise self._error
        finally:
            self.filling = False
            for flying in list(self._flying.values()):
                flying.cancel()
            await asyncio.gather(*self._flying.values(), return_exceptions=True)
            await self.lexical.close()
            reader.shutdown(wait=False, cancel_futures=True)

    async def _admit(self, row: Record | RowError) -> None:
        if isinstance(row, RowError):
            if self.task.strict:
                raise StrictError(str(row))
            self.sink.write_error(row)
            self.progress.row_errors += 1
            return
        if row.row in self.sink.done:
            return
        if self.task.samples is not None and len(row.samples) > self.task.samples:
            row = row.model_copy(update={"samples": row.samples[: self.task.samples]})
        size = self._weight * _chars(row)
        while self._flying and (
            len(self._flying) >= _IN_FLIGHT
            or self._bytes + size > _IN_FLIGHT_BYTES
            or row.row - next(iter(self._flying)) >= DISORDER
        ):
            self.filling = False  # full: what waits may leave
            self.gate.touch()
            await self._landing()
        if self._error is not None:
            raise self._error
        self.filling = True
        self._bytes += size
        flying = asyncio.get_running_loop().create_task(self._one(row))
        self._flying[row.row] = flying
        flying.add_done_callback(lambda t: self._land(row.row, size, t))

    async def _landing(self) -> None:
        self._landed.clear()
        await self._landed.wait()

    def _land(self, row: int, size: int, flying: asyncio.Task[None]) -> None:
        self._flying.pop(row, None)
        self._bytes -= size
        if not flying.cancelled() and flying.exception() is not None:
            self._error = self._error or flying.exception()
        self._landed.set()
        self.gate.touch()

    async def _one(self, record: Record) -> None:
        evidence = RunEvidence(record, self)
        own = {s.key: evidence.start(s) for s in self.task.scorers if s.key not in self.bundled}
        scores: dict[str, Scored] = {}
        try:
            if self.bundled:
                together = await evidence.bundle()
                scores = {key: together[place] for key, place in self.bundled.items()}
            if own:
                await asyncio.wait(own.values())
        except asyncio.CancelledError:
            evidence.cancel()
            raise
        scores.update((key, task.result()) for key, task in own.items())
        scores = {s.key: scores[s.key] for s in self.task.scorers}
        risk, by = combine({key: s.risk for key, s in scores.items()}, len(record.samples))
        record_id = record.row if record.id is None else record.id
        self.sink.write(record.row, Result.line(record_id, record.row, risk, by, scores))
        self.progress.records += 1


_ASKER: ContextVar[str | None] = ContextVar("asker", default=None)


class RunEvidence(Evidence):
    """Evidence of one record within a run."""

    def __init__(self, record: Record, run: _Run) -> None:
        super().__init__(record)
        self._run = run
        self._tasks: dict[str, asyncio.Task[Scored]] = {}
        self._waits: dict[str, set[str]] = {}
        self._keep: list[Any] = []
        self._bundle: asyncio.Future[list[Scored]] | None = None

    def bundle(self) -> asyncio.Future[list[Scored]]:
        """Scores by the run's bundled free scorers, in their order."""
        if self._bundle is None:
            self._bundle = self._run.lexical.ask(self.record)
        return self._bundle

    def start(self, bound: BoundScorer) -> asyncio.Task[Scored]:
        """The one task that computes ``bound`` for this record."""
        task = self._tasks.get(bound.key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._compute(bound))
            self._tasks[bound.key] = task
        return task

    def cancel(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def _compute(self, bound: BoundScorer) -> Scored:
        _ASKER.set(bound.key)
        role = ROLES.get(bound.scorer.cost)
        models = ""
        if role is not None:
            backend = self._run.services[role].backend
            models = f"{role}:{backend.name}@{backend.revision}"
        return Scored.of(await guarded(bound, self.record, self, models))

    async def _score(self, bound: BoundScorer) -> Score:
        asker = _ASKER.get()
        if asker is not None:
            ring = self._path(bound.key, asker)
            if ring:
                raise UsageError(f"scorers ask for each other: {' -> '.join([asker, *ring])}")
            self._waits.setdefault(asker, set()).add(bound.key)
        place = self._run.bundled.get(bound.key)
        if place is not None:
            bundle = self.bundle()
            await asyncio.wait([bundle])
            return bundle.result()[place].score
        task = self.start(bound)
        await asyncio.wait([task])
        return task.result().score

    def _path(self, start: str, goal: str) -> list[str]:
        """Who waits for whom from ``start`` to ``goal``; empty when nobody does."""
        if start == goal:
            return [goal]
        for following in self._waits.get(start, ()):
            path = self._path(following, goal)
            if path:
                return [start, *path]
        return []

    def _service(self, role: str, texts: Iterable[str]) -> Any:
        service = self._run.services.get(role)
        if service is None:
            raise UsageError(f"a scorer asked for the {role} without declaring its cost")
        scripts = service.backend.scripts
        if scripts is not None and not reads(" ".join(texts), scripts):
            raise NotApplicable(
                f"{service.backend.name} reads {', '.join(sorted(scripts))} script; "
                "most of this text is in another"
            )
        return service

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        service: EncoderService = self._service("embedder", texts)
        return await service.embed(texts, self._keep)

    async def bertscore(
        self,
        candidates: Sequence[str],
        references: Sequence[str],
        idf: Mapping[int, float] | bool | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        service: EncoderService = self._service("token_encoder", [*candidates, *references])
        return await service.bertscore(candidates, references, idf, self._keep)

    async def nli(self, pairs: Sequence[tuple[str, str]]) -> Verdicts:
        service: NliService = self._service("nli", {text: None for pair in pairs for text in pair})
        return await service.judge(pairs, self._keep)


def _take(rows: Iterator[Record | RowError]) -> list[Record | RowError]:
    return list(itertools.islice(rows, _READ))


def _chars(record: Record) -> int:
    texts = [record.response, *record.sample_texts, *record.reference]
    return 512 + sum(map(len, texts)) + sum(len(c.text) for c in record.contexts)
