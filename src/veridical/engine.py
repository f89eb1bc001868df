"""The engine: warm models on a loop thread of their own, shared by every run.

A run streams records through their scorers with a bounded number in flight, and writes each
result to its sink as soon as it is complete.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from veridical.errors import RowError, StrictError, UsageError
from veridical.evidence.batching import Gate, Work
from veridical.evidence.encoders import EncoderService
from veridical.evidence.lexical import Lexical
from veridical.evidence.nli import NliService
from veridical.evidence.reading import LanguageService
from veridical.evidence.run_evidence import ROLES, RunEvidence
from veridical.evidence.rundir import DISORDER, Rows
from veridical.evidence.store import Store
from veridical.llm.endpoints import find_endpoint
from veridical.records import Record
from veridical.scorers.ensembles.quantile_mean import combine
from veridical.scores import Result, Scored

if TYPE_CHECKING:
    from veridical.llm.ledger import Ledger
    from veridical.llm.llms import Llm, Llms
    from veridical.llm.service import Account
    from veridical.models.nli.llm import LlmNli
    from veridical.models.protocols import Encoder, LanguageModel, NliModel
    from veridical.registry import BoundScorer

T = TypeVar("T")

_IN_FLIGHT = 1024  # records
_IN_FLIGHT_BYTES = 256 << 20
#: Of a record in flight.
_BYTES_PER_CHAR = {"free": 16, "embed": 16, "tokens": 900, "nli": 200, "probabilities": 60}

Backend: TypeAlias = "Encoder | NliModel | LanguageModel"
Service: TypeAlias = EncoderService | NliService | LanguageService


class Input(Protocol):
    """Where records come from: a :class:`~veridical.io.Source`, or one that is being sampled."""

    read: int  # rows to take at once

    def rows(self, start: int = 0) -> Iterator[Record | RowError]: ...
    def fraction(self) -> float | None: ...


class Sink(Protocol):
    """Where results go."""

    done: Rows

    def write(self, row: int, line: bytes) -> None: ...
    def write_error(self, error: RowError) -> None: ...


@dataclass
class Progress:
    """How far a run is. ``fraction`` of the input read is None where it cannot be known,
    ``ledger`` where no LLM is called."""

    records: int = 0
    row_errors: int = 0
    resumed: int = 0
    in_flight: int = 0
    fraction: float | None = None
    ledger: Ledger | None = None

    @property
    def done(self) -> float | None:
        """How much of the input is through: what was read of it, less what is in flight."""
        if self.fraction is None:
            return None
        finished = self.records + self.row_errors + self.resumed
        return self.fraction * finished / max(finished + self.in_flight, 1)


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
        return {cost for s in self.scorers for cost in s.costs}

    def named(self, kind: str) -> list[str | None]:
        """The models of a ``kind`` (``llm`` or ``proxy``) that scorers are known to ask for, by
        their parameter of that name; None stands for the run's own."""
        cost = "llm" if kind == "llm" else "probabilities"
        asked = [s for s in self.scorers if cost in s.costs]
        return list(dict.fromkeys(name for s in asked for name in s.models(kind)))


class Engine:
    """Owns models, store and an event loop; reusable from notebooks, servers and threads.

    Args:
        embedder: sentence encoder, as :func:`veridical.models.load_encoder` reads it.
        token_encoder: encoder for the BERTScore family; the embedder unless named.
        nli: NLI model, as :func:`veridical.models.load_nli` reads it, or ``llm:NAME``.
        llm: of the scorers that call one, as :func:`veridical.llm.endpoints.find_endpoint` reads
            it, or a scripted one (:class:`veridical.llm.fake.FakeLlm`).
        proxy: language model that reads texts for their token probabilities, as
            :func:`veridical.models.causal.load_language_model` reads it.
        budget: money that LLM calls may cost, in the currency of the endpoints' prices.
        named_only: scorers may name LLMs and proxies of ``veridical.toml`` and give no address or
            path: for an engine that serves requests from elsewhere.
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
        llm: Llm | None = None,
        proxy: str | None = None,
        budget: float | None = None,
        named_only: bool = False,
        store: Path | str | None = None,
        processes: int | None = None,
        threads: int | None = None,
        device: str | None = None,
        age: float = 0.05,
    ) -> None:
        cores = os.cpu_count() or 1
        self.processes = (cores if cores > 1 else 0) if processes is None else processes
        self.llms = _llms(llm, store, budget, named_only)
        self._named_only = named_only
        self.store = None if store is None else Store(Path(store))
        self.proxy = proxy
        self.llm_nli = _llm_nli(nli)
        self._specs = {
            "embedder": embedder,
            "token_encoder": token_encoder or embedder,
            "nli": nli,
        }
        self._options = {"threads": threads, "device": device}
        self._age = age
        self._loaded: dict[tuple[str, str], Backend] = {}
        self._services: dict[tuple[str, str], Service] = {}
        self._runs: set[Run] = set()
        self._load_lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, daemon=True, name="veridical"
        )
        self._thread.start()
        self._closed = False
        self.gate = self.submit(self._make_gate()).result()

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

    def llms_of(self, task: Task) -> list[str | None]:
        """LLMs that ``task`` is known to ask, one in the place of the NLI model among them; None
        stands for the engine's own."""
        names = task.named("llm")
        if self.llm_nli is not None and "nli" in task.costs():
            names.append(self.llm_nli.llm)
        return list(dict.fromkeys(names))

    def models(self, task: Task) -> dict[str, str]:
        """Role and ``name@revision`` of each model ``task`` needs; loads them, and opens the LLMs.

        Raises:
            UsageError: a scorer needs an LLM and none was named; or one cannot be opened.
        """
        models = {role: f"{b.name}@{b.revision}" for role, b in self._needed(task).items()}
        if self.llm_nli is not None and "nli" in task.costs():
            models["nli"] = f"{self.llm_nli.name}@{self.llm_nli.revision}"
        for spec in self.llms_of(task):
            service = self.llms.service(spec)
            role = "llm" if spec is None else f"llm {spec}"
            models[role] = f"{service.endpoint.name}@{service.identity}"
        return models

    def _needed(self, task: Task) -> dict[str, Backend]:
        """The loaded model of each role that ``task`` has. Proxies that scorers name are roles of
        their own, ``proxy NAME``."""
        needed: dict[str, Backend] = {}
        costs = task.costs() - {"probabilities"}
        if self.llm_nli is not None:
            costs.discard("nli")
        for role in (role for cost, role in ROLES.items() if cost in costs):
            needed[role] = self._load(role, self._specs[role])
        for spec in task.named("proxy"):
            name = spec or self.proxy
            if name is not None:
                needed["proxy" if spec is None else f"proxy {spec}"] = self._load("proxy", name)
        return needed

    def _load(self, role: str, spec: str) -> Backend:
        from veridical.models import load_encoder, load_nli

        load: Callable[..., Backend] = load_nli if role == "nli" else load_encoder
        if role == "proxy":
            from veridical.models.causal import load_language_model

            load = load_language_model
            if self._named_only and spec != self.proxy:
                find_endpoint(spec, named_only=True)
        key = (load.__name__, spec)
        with self._load_lock:
            if key not in self._loaded:
                self._loaded[key] = load(spec, **self._options)
            return self._loaded[key]

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
            kind = role.partition(" ")[0]
            if kind in ("embedder", "token_encoder"):
                kind = "tokens" if needed.get("token_encoder") is backend else "vectors"
            key = (kind, backend.revision)
            if key not in shared:
                model: Any = backend if wrap is None else wrap(role, backend)
                place = self.store if wrap is None else store
                shared[key] = _service(kind, model, self.gate, place)
            services[role] = shared[key]
        return services

    async def proxy_service(self, spec: str) -> LanguageService:
        """The queue of a language model that a scorer names while it works."""
        backend: Any = await asyncio.to_thread(self._load, "proxy", spec)
        service = self._services.setdefault(
            ("proxy", backend.revision), LanguageService(backend, self.gate, self.store)
        )
        assert isinstance(service, LanguageService)
        return service

    def work(self) -> dict[str, Work]:
        """What each model has been asked for and has done so far, by name and mode."""
        return {
            f"{s.backend.name}@{s.backend.revision}"
            + ("+tokens" if kind == "tokens" else ""): s.work
            for (kind, _), s in self._services.items()
        }

    async def run(
        self,
        source: Input,
        task: Task,
        sink: Sink,
        progress: Progress,
        services: Mapping[str, Service],
        account: Account | None = None,
        llms: Llms | None = None,
    ) -> None:
        """Score every record of ``source`` that ``sink`` does not hold yet.

        LLM calls are on ``account``, and made by the engine's own LLMs unless ``llms`` (the dry
        run's) are given.
        """
        progress.ledger = None if account is None else account.ledger
        run = Run(self, task, sink, progress, services, account, llms or self.llms)
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
        self.submit(self.llms.close()).result()
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        for service in self._services.values():
            service.close()
        if self.store is not None:
            self.store.close()

    async def _cancel(self) -> None:
        self.gate.close()
        own = asyncio.current_task()
        tasks = [t for t in asyncio.all_tasks() if t is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Run:
    """One pass over one source."""

    def __init__(
        self,
        engine: Engine,
        task: Task,
        sink: Sink,
        progress: Progress,
        services: Mapping[str, Service],
        account: Account | None,
        llms: Llms,
    ) -> None:
        self.engine = engine
        self.task = task
        self.sink = sink
        self.progress = progress
        self.services = services
        self.account = account
        self.llms = llms
        self.gate = gate = engine.gate
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

    async def all(self, source: Input) -> None:
        loop = asyncio.get_running_loop()
        reader = ThreadPoolExecutor(1, thread_name_prefix="veridical-read")
        rows: Iterator[Record | RowError] = source.rows(self.sink.done.first_gap())
        rows = itertools.takewhile(
            lambda r: self.task.limit is None or r.row < self.task.limit, rows
        )
        try:
            while chunk := await loop.run_in_executor(reader, _take, rows, source.read):
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
        self.progress.in_flight = len(self._flying)
        flying.add_done_callback(lambda t: self._land(row.row, size, t))

    async def _landing(self) -> None:
        self._landed.clear()
        await self._landed.wait()

    def _land(self, row: int, size: int, flying: asyncio.Task[None]) -> None:
        self._flying.pop(row, None)
        self.progress.in_flight = len(self._flying)
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


def _llm_nli(spec: str) -> LlmNli | None:
    from veridical.models import llm_nli

    return llm_nli(spec)


def _llms(
    llm: Llm | None, store: Path | str | None, budget: float | None, named_only: bool
) -> Llms:
    from veridical.llm.llms import Llms

    place = None if store is None else Path(store)
    return Llms(llm, store=place, budget=budget, named_only=named_only)


def _service(kind: str, model: Any, gate: Gate, store: Store | None) -> Service:
    if kind == "nli":
        return NliService(model, gate, store)
    if kind == "proxy":
        return LanguageService(model, gate, store)
    return EncoderService(model, gate, store, tokens=kind == "tokens")


def _take(rows: Iterator[Record | RowError], most: int) -> list[Record | RowError]:
    return list(itertools.islice(rows, most))


def _chars(record: Record) -> int:
    texts = [record.response, *record.sample_texts, *record.reference]
    return 512 + sum(map(len, texts)) + sum(len(c.text) for c in record.contexts)
