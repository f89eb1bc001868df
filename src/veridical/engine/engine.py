"""The engine: warm models on one loop thread, shared by all runs."""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from veridical.core.kinds import KINDS, Kind, kind_of
from veridical.core.options import made_of
from veridical.engine.batching import IdleSignal, Work
from veridical.engine.judges import warn_of_idle_budget, warn_of_small_judges
from veridical.engine.options import DEFAULT_STORE, EngineOptions
from veridical.engine.progress import Meter, Progress
from veridical.engine.run import Input, Lines, RecordList, Run, Sink, Task
from veridical.engine.run_evidence import role_of
from veridical.errors import UsageError
from veridical.files.store import Store, open_store
from veridical.models import nli_in
from veridical.models.nli.packaged import full_name
from veridical.notices import warn_once

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from veridical.core.records import Record
    from veridical.engine.encoders import EncoderService
    from veridical.engine.options import EngineKeywords
    from veridical.engine.service import Service
    from veridical.llm.cost_accounting import Account
    from veridical.llm.llms import Llms
    from veridical.models.nli.llm import LlmNli

T = TypeVar("T")

_RATE = 1e-4  # assumed seconds per token of a model that has not answered yet
_CALL = 1.0  # assumed seconds of an LLM call
_NO_WORK = Work()


class Engine:
    """Owner of models, store and an event loop; reusable from notebooks, servers and threads.

    Use as a context manager, or call :meth:`close`. A forked process has none of the engine's
    threads: every use there raises a UsageError, and closing does nothing.

    Args:
        options: options object instead of the keywords, which are its fields.
        embedder: sentence encoder; see :func:`veridical.models.load_encoder`.
        token_encoder: encoder for the BERTScore family; default: the embedder.
        image_embedder: image encoder; see
            :func:`veridical.models.images.names.load_image_embedder`.
        nli: NLI model (see :func:`veridical.models.load_nli`), or ``llm:NAME``.
        precision: precision of the NLI model: ``auto``, ``exact`` or ``fast``
            (:func:`veridical.models.nli_in`). ``auto`` also applies to models named by scorers;
            otherwise these have their own, as in ``nli='mini?precision=int8'``.
        llm: LLM of scorers that call one (see :func:`veridical.llm.endpoints.find_endpoint`), or
            a scripted one (:class:`veridical.llm.fake.FakeLlm`).
        proxy: language model that reads texts for their token probabilities; see
            :func:`veridical.models.causal.load_language_model`.
        spans: token classifier of the scorer ``spans``; see
            :func:`veridical.models.token_classification.load_detector`.
        budget: maximum cost of LLM calls, in the currency of the endpoints' prices.
        named_only: restrict scorers to LLMs and proxies of ``veridical.toml`` and published NLI
            models, without addresses or paths: for an engine that serves external requests.
        store: folder of the content-addressed store; default ``.veridical/store``. None or
            "none" disables it. If the default folder cannot be written, the engine runs without
            a store and warns once.
        processes: worker processes for free scorers; default: one per core, 0 on a single core.
        threads: CPU threads of a model; default: all cores.
        device: torch device of torch models.
        age: seconds that a request may wait for others while more records are being read.
        fair: callers take turns at the models: for an engine that serves several interactive
            callers. A single long run takes somewhat longer.
    """

    def __init__(
        self, options: EngineOptions | None = None, /, **keywords: Unpack[EngineKeywords]
    ) -> None:
        chosen = made_of(EngineOptions, keywords) if options is None else options
        cores = os.cpu_count() or 1
        default = cores if cores > 1 else 0
        self.processes = default if chosen.processes is None else chosen.processes
        self._named_only = chosen.named_only
        self.proxy = chosen.proxy
        self.spans = chosen.spans
        self.llm_nli = _llm_nli(chosen.nli)
        self._judges: dict[str, LlmNli | None] = {}
        self._specs: dict[str, str] = {
            "embedder": chosen.embedder,
            "token_encoder": chosen.token_encoder or chosen.embedder,
            "image_embedder": chosen.image_embedder,
            "nli": full_name(chosen.nli),
            **({} if chosen.proxy is None else {"proxy": chosen.proxy}),
            **({} if chosen.spans is None else {"detector": chosen.spans}),
        }
        self._chosen = {
            "embedder": chosen.embedder != EngineOptions.embedder,
            "image_embedder": chosen.image_embedder != EngineOptions.image_embedder,
            "nli": chosen.nli != EngineOptions.nli or chosen.precision != EngineOptions.precision,
        }
        self._precision = chosen.precision
        nli_in(self._specs["nli"], chosen.precision)  # raises if the precision is not available
        self._options = {"threads": chosen.threads, "device": chosen.device}
        self.store = _store(chosen.store_path)
        self._chosen_llm = chosen
        self._llms: Llms | None = None
        self._llm_lock = threading.Lock()
        try:
            if chosen.llm is not None or chosen.budget is not None:
                self.llms  # noqa: B018 (its errors are raised now)
        except BaseException:
            if self.store is not None:
                self.store.close()
            raise
        self._age = chosen.age
        self._fair = chosen.fair
        self._loaded: dict[tuple[Any, str], Any] = {}
        self._services: dict[tuple[str, str], Service] = {}
        self._runs: set[Run] = set()
        self._load_lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, daemon=True, name="veridical"
        )
        self._thread.start()
        self._closed = False
        self._process = os.getpid()
        self.idle_signal = self.submit(self._make_idle_signal()).result()

    async def _make_idle_signal(self) -> IdleSignal:
        idle_signal = IdleSignal(self._age, fair=self._fair)
        idle_signal.filling = lambda: any(run.filling for run in self._runs)
        return idle_signal

    @property
    def llms(self) -> Llms:
        """LLMs of the engine, opened on first use; a given client is opened at once."""
        with self._llm_lock:
            if self._llms is None:
                self._llms = _llms(self._chosen_llm, self.store)
            return self._llms

    @property
    def named_only(self) -> bool:
        """True if it serves external requests, which may not name addresses or paths."""
        return self._named_only

    def check_usable(self) -> None:
        """Check that the engine can be used."""
        if self._forked:
            raise UsageError(
                "the engine belongs to the process that made it; make one in each forked process"
            )
        if self._closed:
            raise UsageError("the engine is closed")

    @property
    def _forked(self) -> bool:
        return os.getpid() != self._process

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run ``coroutine`` on the engine's loop.

        Raises:
            UsageError: as for :meth:`check_usable`.
        """
        try:
            self.check_usable()
        except UsageError:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def llms_of(self, task: Task) -> list[str | None]:
        """Return the LLMs that ``task`` is known to use, including those used as NLI models; None
        is the engine's own."""
        judges = [self.nli_judge(spec) for spec in task.named("nli")]
        names = [*task.named("llm"), *(j.llm for j in judges if j is not None)]
        return list(dict.fromkeys(names))

    def nli_judge(self, spec: str | None) -> LlmNli | None:
        """Return the language model used as the NLI model ``spec`` (None: the run's own); None if
        that is not a language model."""
        if spec is None:
            return self.llm_nli
        if spec not in self._judges:
            self._judges[spec] = _llm_nli(spec)
        return self._judges[spec]

    def models(self, task: Task) -> dict[str, str]:
        """Load the models that ``task`` needs, open its LLMs, and return ``name@revision`` by role.

        Raises:
            UsageError: a scorer needs an LLM and none was named, or an LLM cannot be opened.
        """
        self.check_usable()
        models = {role: f"{b.name}@{b.revision}" for role, b in self._needed(task).items()}
        for spec in task.named("nli"):
            judge = self.nli_judge(spec)
            if judge is not None:
                models[role_of("nli", spec)] = f"{judge.name}@{judge.revision}"
        for spec in self.llms_of(task):
            service = self.llms.service(spec)
            role = "llm" if spec is None else f"llm {spec}"
            models[role] = f"{service.endpoint.name}@{service.identity}"
        return models

    def own(self, kind: str) -> str | None:
        """Return the name of the run's own model of a kind; None without one."""
        return self._specs.get(kind)

    def _needed(self, task: Task) -> dict[str, Any]:
        """Return the loaded model of each role of ``task``. Models named by scorers have their own
        roles, such as ``proxy NAME`` and ``nli NAME``."""
        needed = {}
        for name, spec, by_scorer in task.needs():
            if name == "nli" and self.nli_judge(spec) is not None:
                continue
            place = spec or self.own(name)
            if place is not None:
                needed[role_of(name, spec)] = self._load(KINDS[name], place, by_scorer=by_scorer)
        return needed

    def check_unused(self, task: Task) -> None:
        """Load models that were named for the run although no scorer uses them.

        A wrong name is then an error, and unused models are reported.

        Raises:
            UsageError: there is no such model.
        """
        used = {(name, spec) for name, spec, _ in task.needs()}
        for name, chosen in self._chosen.items():
            spec = self._specs[name]
            if not chosen or (name, None) in used or (name == "nli" and self.llm_nli):
                continue
            if name == "embedder" and ("token_encoder", None) in used:
                continue
            self._load(KINDS[name], spec)
            warn_once(
                f"{name} {spec}: no scorer of this run uses it; --preset all has some that do"
            )

    def _load(self, kind: Kind, spec: str, *, by_scorer: bool = False) -> Any:
        """Load the back end ``spec``, named ``by_scorer`` or as the run's own."""
        from veridical.engine.back_ends import BackEnd, check_name, load

        if by_scorer and self._named_only and spec != self.own(kind.name):
            check_name(kind, spec)
        key = (BackEnd.of(kind).loader or kind.name, spec)
        with self._load_lock:
            if key not in self._loaded:
                self._loaded[key] = load(kind, self._in_precision(kind, spec), **self._options)
            return self._loaded[key]

    def _in_precision(self, kind: Kind, spec: str) -> str:
        """Return ``spec`` in the run's precision, if that applies to it."""
        if kind.name == "nli" and (spec == self.own("nli") or self._precision == "auto"):
            return nli_in(spec, self._precision)
        return spec

    def services(
        self,
        task: Task,
        wrap: Callable[[Kind, Any], Any] | None = None,
        store: Store | None = None,
    ) -> dict[str, Service]:
        """Return the queue of each model that ``task`` needs. A model in two roles has one queue.

        ``wrap(kind, model)`` gives the run its own queues over wrapped models and ``store`` (for
        the dry run).
        """
        self.check_usable()
        needed = self._needed(task)
        shared = self._services if wrap is None else {}
        services: dict[str, Service] = {}
        for role, backend in needed.items():
            kind = KINDS[role.partition(" ")[0]]
            for other in KINDS.values():
                if other.serves == kind.name and needed.get(other.name) is backend:
                    kind = other
            key = (kind.name, backend.revision)
            if key not in shared:
                if wrap is None:
                    self._queue(kind, backend)
                else:
                    shared[key] = _service(kind, wrap(kind, backend), self.idle_signal, store)
            services[role] = shared[key]
        return services

    def _queue(self, kind: Kind, backend: Any) -> Any:
        """Return the queue of a model, shared by all runs."""
        key = (kind.name, backend.revision)
        if key not in self._services:
            self._services[key] = _service(kind, backend, self.idle_signal, self.store)
        return self._services[key]

    def embedding(self, *, stored: bool = True) -> EncoderService:
        """Return the queue of the embedder, whether or not a task needs it. If outputs are not to
        be ``stored``, it is a separate queue, which the caller closes."""
        self.check_usable()
        kind = KINDS["embedder"]
        backend = self._load(kind, self._specs["embedder"])
        service: EncoderService = (
            self._queue(kind, backend)
            if stored
            else _service(kind, backend, self.idle_signal, None)
        )
        return service

    async def service(self, kind: str, spec: str) -> Service:
        """Return the queue of a model that a scorer names while it runs.

        Raises:
            UsageError: there is no such kind, or this engine does not allow the model to be named.
        """
        row = kind_of(kind)
        backend = await asyncio.to_thread(self._load, row, spec, by_scorer=True)
        service: Service = self._queue(row, backend)
        return service

    def work(self) -> dict[str, Work]:
        """Return the requests and work of each model so far, by name and mode."""
        return {
            f"{s.backend.name}@{s.backend.revision}"
            + ("+tokens" if kind == "token_encoder" else ""): s.work
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
        deadline: float | None = None,
    ) -> None:
        """Score every record of ``source`` that ``sink`` does not hold yet.

        LLM calls are charged to ``account``. They use the engine's own LLMs unless ``llms`` (the
        dry run's) are given.

        Args:
            deadline: monotonic clock time at which unfinished scores fail.
        """
        warn_of_small_judges(self, task)
        if self._chosen_llm.budget is not None:  # otherwise no LLM need be opened to check
            warn_of_idle_budget(self, task)
        progress.ledger = None if account is None else account.ledger
        progress.meter = self._meter(llms)
        run = Run(self, task, sink, progress, services, account, llms, deadline)
        self._runs.add(run)
        try:
            await run.all(source)
        finally:
            self._runs.discard(run)

    async def score(
        self,
        records: Input | Sequence[Record],
        task: Task,
        done: Callable[[Record, bytes], object],
        *,
        folder: Path | None = None,
        pay: Callable[[Account], None] | None = None,
        deadline: float | None = None,
    ) -> None:
        """Score records without keeping results; models are loaded first. Submit it by
        :meth:`submit`; cancelling stops the work.

        Args:
            done: called with each record and its result line, on the engine's thread, as soon as it
                is complete.
            folder: holds replies of LLMs meanwhile if the engine has no store; default: memory.
            pay: called with the account of the calls.
            deadline: as for :meth:`run`.

        Raises:
            UsageError: a required model or LLM is not available.
        """
        services = await asyncio.to_thread(self.services, task)
        account = None
        if self.llms_of(task):
            account = self.llms.account(uuid.uuid4().hex, folder)
        try:
            if account is not None and pay is not None:
                pay(account)
            source = RecordList(records) if isinstance(records, Sequence) else records
            await self.run(
                source, task, Lines(done), Progress(), services, account, deadline=deadline
            )
        finally:
            if account is not None:
                await asyncio.to_thread(self.llms.leave, account)

    async def score_one(self, record: Record, task: Task) -> bytes:
        """Return the result line of one record; see :meth:`score`."""
        lines: list[bytes] = []
        await self.score([record], task, lambda _, line: lines.append(line))
        return lines[0]

    def _meter(self, llms: Llms | None) -> Meter:
        """Return a function that reports the seconds of model work completed and requested from now
        on."""
        before = {key: replace(service.work) for key, service in self._services.items()}

        def counted() -> tuple[int, int]:
            made = llms or self._llms
            return (0, 0) if made is None else made.calls()

        calls = counted()

        def meter() -> tuple[float, float]:
            answered, asked = counted()
            done = _CALL * (answered - calls[0])
            all_asked = done + _CALL * (asked - answered)
            for key, service in list(self._services.items()):
                work, start = service.work, before.get(key, _NO_WORK)
                size = work.answered - start.answered
                rate = (work.seconds - start.seconds) / size if size else _RATE
                done += rate * size
                all_asked += rate * (work.asked - start.asked)
            return done, max(done, all_asked)

        return meter

    def close(self) -> None:
        """Stop the loop and release models and store. Running work is cancelled."""
        if self._closed or self._forked:  # open resources belong to the parent, which closes them
            return
        self.submit(self._cancel()).result()
        if self._llms is not None:
            self.submit(self._llms.close()).result()
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        for service in self._services.values():
            service.close()
        # Tasks and callbacks form reference cycles with the engine: models must not stay in memory
        # until the cycle collector runs.
        self._services.clear()
        self._loaded.clear()
        if self.store is not None:
            self.store.close()

    async def _cancel(self) -> None:
        self.idle_signal.close()
        current = asyncio.current_task()
        tasks = [t for t in asyncio.all_tasks() if t is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _llm_nli(spec: str) -> LlmNli | None:
    from veridical.models import llm_nli

    return llm_nli(spec)


def _service(kind: Kind, backend: Any, idle_signal: IdleSignal, store: Store | None) -> Any:
    from veridical.engine.back_ends import BackEnd

    return BackEnd.of(kind).service(backend, idle_signal, store)


def _store(path: Path | None) -> Store | None:
    """Open the store in a folder. The default folder may be missing: it was not requested."""
    return None if path is None else open_store(path, required=path != DEFAULT_STORE)


def _llms(options: EngineOptions, store: Store | None) -> Llms:
    from veridical.engine.clients import open_client
    from veridical.llm.llms import Llms

    return Llms(
        options.llm,
        store=None if store is None or not store.open else store.path,
        budget=options.budget,
        named_only=options.named_only,
        connect=open_client,
    )
