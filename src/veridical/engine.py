"""The engine: warm models on a loop thread of their own, shared by every run."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from veridical.errors import UsageError
from veridical.evidence.batching import Gate, Work
from veridical.evidence.checkpoints import CheckpointService
from veridical.evidence.encoders import EncoderService
from veridical.evidence.nli import NliService
from veridical.evidence.reading import LanguageService
from veridical.evidence.run_evidence import ROLES, role_of
from veridical.evidence.store import Store
from veridical.llm.endpoints import find_endpoint
from veridical.models.seq2seq import KINDS
from veridical.run import Input, Progress, Run, Service, Sink, Task

if TYPE_CHECKING:
    from veridical.llm.llms import Llm, Llms
    from veridical.llm.service import Account
    from veridical.models.nli.llm import LlmNli
    from veridical.models.protocols import Checkpoint, Encoder, LanguageModel, NliModel

T = TypeVar("T")

Backend: TypeAlias = "Encoder | NliModel | LanguageModel | Checkpoint"


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
        named_only: scorers may name LLMs and proxies of ``veridical.toml`` and published NLI
            models, and give no address or path: for an engine that serves requests from elsewhere.
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
        self._judges: dict[str, LlmNli | None] = {}
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

    @property
    def named_only(self) -> bool:
        """Whether it serves requests from elsewhere, which may give no address or path."""
        return self._named_only

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run ``coroutine`` on the engine's loop."""
        if self._closed:
            coroutine.close()
            raise UsageError("the engine is closed")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def llms_of(self, task: Task) -> list[str | None]:
        """LLMs that ``task`` is known to ask, one in the place of the NLI model among them; None
        stands for the engine's own."""
        judges = [self.nli_judge(spec) for spec in task.named("nli")]
        names = [*task.named("llm"), *(j.llm for j in judges if j is not None)]
        return list(dict.fromkeys(names))

    def nli_judge(self, spec: str | None) -> LlmNli | None:
        """The language model in the place of the NLI model ``spec``, None for the run's own; None
        where it is no language model."""
        if spec is None:
            return self.llm_nli
        if spec not in self._judges:
            self._judges[spec] = _llm_nli(spec)
        return self._judges[spec]

    def models(self, task: Task) -> dict[str, str]:
        """Role and ``name@revision`` of each model ``task`` needs; loads them, and opens the LLMs.

        Raises:
            UsageError: a scorer needs an LLM and none was named; or one cannot be opened.
        """
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

    def _needed(self, task: Task) -> dict[str, Backend]:
        """The loaded model of each role that ``task`` has. Proxies and NLI models that scorers
        name are roles of their own, ``proxy NAME`` and ``nli NAME``."""
        needed: dict[str, Backend] = {}
        costs = task.costs() - {"probabilities", "nli"}
        for role in (role for cost, role in ROLES.items() if cost in costs):
            needed[role] = self._load(role, self._specs[role])
        for spec in task.named("nli"):
            if self.nli_judge(spec) is None:
                needed[role_of("nli", spec)] = self._load("nli", spec or self._specs["nli"])
        for spec in task.named("proxy"):
            name = spec or self.proxy
            if name is not None:
                needed[role_of("proxy", spec)] = self._load("proxy", name)
        for kind, name, given in task.checkpoints():
            if given and self._named_only:
                raise UsageError(f"a scorer may not name a model of its own here: {name}")
            needed[role_of(kind, name)] = self._checkpoint(kind, name)
        return needed

    def _load(self, role: str, spec: str) -> Backend:
        from veridical.models import load_encoder, load_nli, published_nli

        load: Callable[..., Backend] = load_nli if role == "nli" else load_encoder
        if role == "proxy":
            from veridical.models.causal import load_language_model

            load = load_language_model
            if self._named_only and spec != self.proxy:
                find_endpoint(spec, named_only=True)
        elif role == "nli" and self._named_only and spec != self._specs["nli"]:
            published_nli(spec)
        key = (load.__name__, spec)
        with self._load_lock:
            if key not in self._loaded:
                self._loaded[key] = load(spec, **self._options)
            return self._loaded[key]

    def _checkpoint(self, kind: str, spec: str) -> Checkpoint:
        from veridical.models.seq2seq import load_checkpoint

        load: Callable[..., Checkpoint] = load_checkpoint
        with self._load_lock:
            if (kind, spec) not in self._loaded:
                self._loaded[kind, spec] = load(kind, spec, **self._options)
            found: Any = self._loaded[kind, spec]
        made: Checkpoint = found
        return made

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

    def embedding(self, *, kept: bool = True) -> EncoderService:
        """The queue of the embedder, whether or not a task needs it. If what it gives is not to
        be ``kept`` in the store, a queue of its own, which the caller closes."""
        backend: Any = self._load("embedder", self._specs["embedder"])
        if not kept:
            return EncoderService(backend, self.gate, None, tokens=False)
        key = ("vectors", backend.revision)
        if key not in self._services:
            self._services[key] = EncoderService(backend, self.gate, self.store, tokens=False)
        service = self._services[key]
        assert isinstance(service, EncoderService)
        return service

    async def nli_service(self, spec: str) -> NliService:
        """The queue of an NLI model that a scorer names while it works."""
        backend: Any = await asyncio.to_thread(self._load, "nli", spec)
        key = ("nli", backend.revision)
        if key not in self._services:
            self._services[key] = NliService(backend, self.gate, self.store)
        service = self._services[key]
        assert isinstance(service, NliService)
        return service

    async def checkpoint_service(self, kind: str, spec: str) -> CheckpointService:
        """The queue of a checkpoint that a scorer names while it works.

        Raises:
            UsageError: this engine lets nobody name one.
        """
        if self._named_only:
            raise UsageError(f"a scorer may not name a model of its own here: {spec}")
        backend = await asyncio.to_thread(self._checkpoint, kind, spec)
        key = (kind, backend.revision)
        if key not in self._services:
            self._services[key] = CheckpointService(backend, self.gate, self.store)
        service = self._services[key]
        assert isinstance(service, CheckpointService)
        return service

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
    if kind in KINDS:
        return CheckpointService(model, gate, store)
    return EncoderService(model, gate, store, tokens=kind == "tokens")
