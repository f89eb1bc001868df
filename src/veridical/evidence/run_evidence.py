"""What a scorer asks for within a run, and from which of the run's services it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from veridical.errors import NotApplicable, UsageError
from veridical.evidence.encoders import EncoderService
from veridical.evidence.evidence import Evidence, guarded
from veridical.evidence.nli import NliService
from veridical.evidence.reading import LanguageService
from veridical.records import Record
from veridical.scores import Score, Scored
from veridical.text.scripts import reads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from veridical.evidence.verdicts import Verdicts
    from veridical.llm.messages import ChatRequest, Reply
    from veridical.llm.tokens import GivenText, TokenProbabilities
    from veridical.registry import BoundScorer
    from veridical.run import Run

#: The role of the model behind each cost of a scorer. LLMs have theirs, "llm", apart.
ROLES = {"embed": "embedder", "tokens": "token_encoder", "nli": "nli", "probabilities": "proxy"}

_ASKER: ContextVar[str | None] = ContextVar("asker", default=None)


class RunEvidence(Evidence):
    """Evidence of one record within a run."""

    def __init__(self, record: Record, run: Run) -> None:
        super().__init__(record)
        self._run = run
        self._tasks: dict[str, asyncio.Task[Scored]] = {}
        self._waits: dict[str, set[str]] = {}
        self._keep: list[Any] = []
        self._bundle: asyncio.Future[list[Scored]] | None = None
        self._asked: dict[str | None, list[str]] = {}  # models by the scorer that asked for them
        self._heard: list[tuple[str | None, str | None, ChatRequest, Reply]] = []

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
        return Scored.of(
            await guarded(bound, self.record, self, lambda: self._models(bound)),
        )

    def _models(self, bound: BoundScorer) -> str:
        """The models in the signature of ``bound``: of its declared roles, then those it named."""
        models = []
        for cost, role in ROLES.items():
            if cost == "probabilities" or cost not in bound.costs:
                continue
            for spec in bound.models(cost):
                service = self._run.services.get(role_of(role, spec))
                if service is not None:
                    models.append(f"{role}:{service.backend.name}@{service.backend.revision}")
        asked = self._asked.get(bound.key, [])
        if not asked and "llm" in bound.costs:
            asked = [self._run.llms.label(name) for name in bound.models("llm")]
        return "|".join([*models, *asked])

    def _note(self, model: str) -> None:
        asked = self._asked.setdefault(_ASKER.get(), [])
        if model not in asked:
            asked.append(model)

    async def note_failure(self, error: Exception) -> None:
        """Of a reply that could not be used the journal says so: ``--retry-failed`` then asks for
        another."""
        said = getattr(error, "text", None)
        account = self._run.account
        if said is None or account is None:
            return
        asker = _ASKER.get()
        for who, llm, request, reply in self._heard:
            if who == asker and said in (reply.text, reply.refusal):
                await self._run.llms.service(llm).reject(request, account)

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
        for model in self._asked.get(bound.key, ()):
            self._note(model)
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
        return self._readable(role, self._run.services.get(role), texts)

    @staticmethod
    def _readable(role: str, service: Any, texts: Iterable[str]) -> Any:
        """``service``, if there is one and its model reads the script of ``texts``."""
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

    async def nli(self, pairs: Sequence[tuple[str, str]], model: str | None = None) -> Verdicts:
        engine = self._run.engine
        judge = engine.nli_judge(model)
        if judge is not None:
            self._note(f"nli:{judge.name}@{judge.revision}")
            return await judge.judge(pairs, partial(self.chat, llm=judge.llm))
        service: Any = self._run.services.get(role_of("nli", model))
        if service is None and model is not None:
            service = await engine.nli_service(model)
            self._note(f"nli:{service.backend.name}@{service.backend.revision}")
        found: NliService = self._readable("nli", service, {t: None for p in pairs for t in p})
        return await found.judge(pairs, self._keep)

    async def chat(self, requests: Sequence[ChatRequest], llm: str | None = None) -> list[Reply]:
        run = self._run
        if run.account is None:
            raise UsageError("a scorer asked for an LLM without declaring its cost")
        self._note(run.llms.label(llm))
        replies = await run.llms.service(llm).chat(requests, run.account)
        asker = _ASKER.get()
        self._heard += ((asker, llm, q, r) for q, r in zip(requests, replies, strict=True))
        return replies

    async def _reader(self, proxy: str | None) -> LanguageService:
        service: Any = self._run.services.get(role_of("proxy", proxy))
        if service is None:
            name = proxy or self._run.engine.proxy
            if name is None:
                raise NotApplicable("no proxy was named (--proxy MODEL)")
            service = await self._run.engine.proxy_service(name)
        self._note(f"proxy:{service.backend.name}@{service.backend.revision}")
        found: LanguageService = service
        return found

    async def read(
        self, texts: Sequence[GivenText], proxy: str | None = None
    ) -> list[TokenProbabilities]:
        return await (await self._reader(proxy)).read(texts, self._keep)

    async def hidden(
        self,
        texts: Sequence[tuple[str, ...]],
        proxy: str | None = None,
        layers: Sequence[int] | None = None,
    ) -> NDArray[np.float32]:
        return await (await self._reader(proxy)).hidden(texts, layers)

    async def proxy_identity(self, proxy: str | None = None) -> tuple[str, str]:
        model = (await self._reader(proxy)).backend
        return model.name, model.revision

    async def _ask(self, kind: str, model: str, requests: Sequence[Any]) -> list[NDArray[Any]]:
        service: Any = self._run.services.get(role_of(kind, model))
        if service is None:
            service = await self._run.engine.checkpoint_service(kind, model)
        self._note(f"{kind}:{service.backend.name}@{service.backend.revision}")
        found: list[NDArray[Any]] = await service.ask(requests, self._keep)
        return found

    async def chat_prompt(
        self, messages: Sequence[dict[str, Any]], proxy: str | None = None
    ) -> str:
        return await (await self._reader(proxy)).chat_prompt(messages)


def role_of(role: str, spec: str | None) -> str:
    """The place among a run's services of the model that a scorer names, or of the run's own."""
    return role if spec is None else f"{role} {spec}"
