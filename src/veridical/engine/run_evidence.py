"""Evidence of a record within a run, answered by the run's services."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from veridical.core.evidence import Evidence, guarded
from veridical.core.kinds import KINDS, kind_of
from veridical.core.records import Record
from veridical.core.scores import Score, ScoreJson
from veridical.errors import ModelError, NotApplicable, UsageError
from veridical.notices import warn_once
from veridical.text.languages import language_of
from veridical.text.scripts import UNREAD, reads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.core.images import Picture
    from veridical.core.messages import ChatRequest, Reply
    from veridical.core.protocols import TokenVectors
    from veridical.core.registry import BoundScorer
    from veridical.core.tokens import GivenText, TokenProbabilities
    from veridical.core.verdicts import Verdicts
    from veridical.engine.batching import IdleSignal
    from veridical.engine.encoders import EncoderService
    from veridical.engine.lexical import Lexical
    from veridical.engine.nli import NliService
    from veridical.engine.reading import LanguageService
    from veridical.engine.service import Service
    from veridical.llm.cost_accounting import Account
    from veridical.llm.llms import Llms
    from veridical.models.nli.llm import LlmNli

_ASKER: ContextVar[str | None] = ContextVar("asker", default=None)


class Models(Protocol):
    """Models of an engine, as seen by its runs."""

    processes: int
    idle_signal: IdleSignal

    @property
    def llms(self) -> Llms: ...
    def own(self, kind: str) -> str | None: ...
    def nli_judge(self, spec: str | None) -> LlmNli | None: ...
    async def service(self, kind: str, spec: str) -> Service: ...


class RunView(Protocol):
    """A run, as seen by the evidence of its records."""

    engine: Models
    services: Mapping[str, Service]
    account: Account | None
    lexical: Lexical
    bundled: dict[str, int]

    @property
    def llms(self) -> Llms: ...


class RunEvidence(Evidence):
    """Evidence of one record within a run."""

    def __init__(self, record: Record, run: RunView) -> None:
        super().__init__(record)
        self._run = run
        self._tasks: dict[str, asyncio.Task[ScoreJson]] = {}
        self._waits: dict[str, set[str]] = {}
        self._keep: list[Any] = []
        self._bundle: asyncio.Future[list[ScoreJson]] | None = None
        self._asked: dict[str | None, list[str]] = {}  # models by the scorer that requested them
        self._heard: list[tuple[str | None, str | None, ChatRequest, Reply]] = []

    def bundle(self) -> asyncio.Future[list[ScoreJson]]:
        """Return the scores of the run's bundled free scorers, in their order."""
        if self._bundle is None:
            self._bundle = self._run.lexical.ask(self.record)
        return self._bundle

    def start(self, bound: BoundScorer) -> asyncio.Task[ScoreJson]:
        """Return the single task that computes ``bound`` for this record."""
        task = self._tasks.get(bound.key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._compute(bound))
            self._tasks[bound.key] = task
        return task

    def cancel(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    def failed(self, bound: BoundScorer, reason: str) -> ScoreJson:
        """Return the failed score of ``bound``, which is no longer awaited."""
        score = Score.failed(reason)
        signature = bound.signature(self._models(bound))
        return ScoreJson.of(score.model_copy(update={"signature": signature}))

    async def _compute(self, bound: BoundScorer) -> ScoreJson:
        _ASKER.set(bound.key)
        return ScoreJson.of(
            await guarded(bound, self.record, self, lambda: self._models(bound)),
        )

    def _models(self, bound: BoundScorer) -> str:
        """Return the models in the signature of ``bound``: of its declared roles, then those it
        named."""
        models = []
        for kind in KINDS.values():
            if not kind.signed or kind.cost not in bound.costs:
                continue
            for spec in bound.models(kind.name):
                service = self._run.services.get(role_of(kind.name, spec))
                if service is not None:
                    models.append(_signature(kind.name, service.backend))
        labels = self._asked.get(bound.key, [])
        if not labels and "llm" in bound.costs:
            labels = [self._run.llms.label(name) for name in bound.models("llm")]
        return "|".join([*models, *labels])

    def _note(self, model: str) -> None:
        labels = self._asked.setdefault(_ASKER.get(), [])
        if model not in labels:
            labels.append(model)

    async def note_failure(self, error: Exception) -> None:
        """Mark an unusable reply in the journal, so that ``--retry-failed`` requests another."""
        text = getattr(error, "text", None)
        account = self._run.account
        if text is None or account is None:
            return
        asker = _ASKER.get()
        for who, llm, request, reply in self._heard:
            if who == asker and text in (reply.text, reply.refusal):
                await self._run.llms.service(llm).reject(request, account)

    async def _score(self, bound: BoundScorer) -> Score:
        asker = _ASKER.get()
        if asker is not None:
            ring = self._path(bound.key, asker)
            if ring:
                ring_text = " -> ".join([asker, *ring])
                raise UsageError(f"scorers depend on each other in a cycle: {ring_text}")
            self._waits.setdefault(asker, set()).add(bound.key)
        place = self._run.bundled.get(bound.key)
        if place is not None:
            bundle = self.bundle()
            await asyncio.wait([bundle])
            return bundle.result()[place].score
        task = self.start(bound)
        await asyncio.wait([task])
        for model in self._asked.get(bound.key, ()):
            self._note(model)
        return task.result().score

    def _path(self, start: str, goal: str) -> list[str]:
        """Return the chain of waiting scorers from ``start`` to ``goal``; empty without one."""
        if start == goal:
            return [goal]
        for following in self._waits.get(start, ()):
            path = self._path(following, goal)
            if path:
                return [start, *path]
        return []

    async def _service(
        self, name: str, model: str | None = None, texts: Iterable[str] | None = None
    ) -> Any:
        """Return the queue of the run's own model of a kind, or of the one called ``model``.

        Raises:
            UsageError: the cost was not declared.
            NotApplicable: there is no model, or it does not read the language of ``texts``.
        """
        kind = kind_of(name)
        service: Any = self._run.services.get(role_of(name, model))
        opened = service is None
        if opened:
            if model is None and (kind.signed or not kind.of_run):
                raise UsageError(f"a scorer requested the {name} without declaring its cost")
            spec = model or self._run.engine.own(name)
            if spec is None:
                raise NotApplicable(f"no {name} was named; name one by --{name} MODEL")
            service = await self._run.engine.service(name, spec)
        if opened or not kind.signed:
            self._note(_signature(name, service.backend))
        if texts is not None:
            _need_read(service.backend, " ".join(texts))
        return service

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        service: EncoderService = await self._service("embedder", texts=texts)
        return await service.embed(texts, self._keep)

    async def embed_images(self, pictures: Mapping[str, Picture]) -> NDArray[np.float32]:
        service: Service = await self._service("image_embedder")

        async def one(field: str, picture: Picture) -> Any:
            try:
                (vector,) = await service.ask([picture], self._keep)
            except ModelError as e:
                raise ModelError(f"{field}: {e}") from None
            return vector

        return np.stack(await asyncio.gather(*(one(f, p) for f, p in pictures.items())))

    async def bertscore(
        self,
        candidates: Sequence[str],
        references: Sequence[str],
        idf: Mapping[int, float] | bool | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        service: EncoderService = await self._service(
            "token_encoder", texts=[*candidates, *references]
        )
        return await service.bertscore(candidates, references, idf, self._keep)

    async def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        service: EncoderService = await self._service("token_encoder", texts=texts)
        return await service.token_vectors(texts, self._keep)

    async def token_encoder_identity(self) -> tuple[str, str]:
        model = (await self._service("token_encoder")).backend
        return model.name, model.revision

    async def nli(self, pairs: Sequence[tuple[str, str]], model: str | None = None) -> Verdicts:
        judge = self._run.engine.nli_judge(model)
        if judge is not None:
            self._note(_signature("nli", judge))
            by_token = self.tells_tokens(judge.llm)
            return await judge.judge(pairs, partial(self.chat, llm=judge.llm), by_token=by_token)
        service = await self._nli_service(pairs, model)
        return await service.judge(pairs, self._keep)

    async def _nli_service(self, pairs: Sequence[tuple[str, str]], model: str | None) -> NliService:
        """Return the queue of an NLI model.

        Raises:
            NotApplicable: the model does not read the language of the premises or of the
                hypotheses.
        """
        service: NliService = await self._service("nli", model)
        if service.backend.languages is not None:
            for side in zip(*pairs, strict=True):
                _need_read(service.backend, " ".join(dict.fromkeys(side)))
        return service

    async def nli_languages(self, model: str | None = None) -> frozenset[str] | None:
        if self._run.engine.nli_judge(model) is not None:
            return None
        service: NliService = await self._service("nli", model)
        languages: frozenset[str] | None = service.backend.languages
        return languages

    def nli_by_llm(self, model: str | None = None) -> bool:
        return self._run.engine.nli_judge(model) is not None

    async def nli_name(self, model: str | None = None) -> str:
        judge = self._run.engine.nli_judge(model)
        name: str = (judge or (await self._service("nli", model)).backend).name
        return name

    async def wrong_words(
        self, pairs: Sequence[tuple[str, str]], model: str | None = None
    ) -> list[NDArray[np.float64]]:
        judge = self._run.engine.nli_judge(model)
        if judge is None:
            service = await self._nli_service(pairs, model)
            if service.tells_words:
                return await service.words(pairs, self._keep)
        name = judge.name if judge is not None else service.backend.name
        raise NotApplicable(
            f"{name} does not report wrong words; --spans MODEL names a model that does"
        )

    async def chat(self, requests: Sequence[ChatRequest], llm: str | None = None) -> list[Reply]:
        run = self._run
        if run.account is None:
            raise UsageError("a scorer requested an LLM without declaring its cost")
        self._note(run.llms.label(llm))
        replies = await run.llms.service(llm).chat(requests, run.account)
        asker = _ASKER.get()
        self._heard += ((asker, llm, q, r) for q, r in zip(requests, replies, strict=True))
        return replies

    def tells_tokens(self, llm: str | None = None) -> bool:
        return self._run.llms.endpoint(llm).llama_cpp

    def calibration(self, llm: str | None = None) -> tuple[float, float] | None:
        from veridical.weights import checkers

        checker = checkers.named_by(self._run.llms.endpoint(llm).base_url)
        return None if checker is None else checkers.calibration(checker)

    async def read(
        self, texts: Sequence[GivenText], proxy: str | None = None
    ) -> list[TokenProbabilities]:
        return await self.ask("proxy", texts, proxy)

    async def hidden(
        self,
        texts: Sequence[tuple[str, ...]],
        proxy: str | None = None,
        layers: Sequence[int] | None = None,
    ) -> NDArray[np.float32]:
        reader: LanguageService = await self._service("proxy", proxy)
        return await reader.hidden(texts, layers)

    async def proxy_identity(self, proxy: str | None = None) -> tuple[str, str]:
        model = (await self._service("proxy", proxy)).backend
        return model.name, model.revision

    async def ask(self, kind: str, requests: Sequence[Any], model: str | None = None) -> list[Any]:
        service: Service = await self._service(kind, model)
        return await service.ask(requests, self._keep)

    async def chat_prompt(
        self, messages: Sequence[dict[str, Any]], proxy: str | None = None
    ) -> str:
        reader: LanguageService = await self._service("proxy", proxy)
        return await reader.chat_prompt(messages)


def role_of(role: str, spec: str | None) -> str:
    """Return the role, in a run's services, of the model that a scorer names, or of the run's
    own."""
    return role if spec is None else f"{role} {spec}"


def _need_read(backend: Any, text: str) -> None:
    """Check that a model reads the script and language of ``text``."""
    languages = getattr(backend, "languages", None)
    scripts = getattr(backend, "scripts", None)
    if languages is not None and language_of(text) not in (None, *languages):
        read = ", ".join(sorted(languages))
    elif scripts is not None and not reads(text, scripts):
        read = f"{', '.join(sorted(scripts))} script"
    else:
        return
    warn_once(
        f"{backend.name} reads {read} only and does not judge texts in another language; "
        "name a model that reads them by --llm NAME or --nli ID"
    )
    raise NotApplicable(f"{backend.name} reads {read}; {UNREAD}")


def _signature(kind: str, model: Any) -> str:
    """Return the name of a model in signatures."""
    return f"{kind}:{model.name}@{model.revision}"
