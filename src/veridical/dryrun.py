"""The dry run: the run's own code over models that count instead of computing."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.claims.retrieved import RetrievedSource
from veridical.decide.planned import PlannedRepairs
from veridical.decide.repair import Repairing
from veridical.decide.steps import Asking, folder_of
from veridical.engine import Engine
from veridical.errors import RowError
from veridical.evidence.encoders import EncoderService
from veridical.evidence.rundir import Rows, RunDirectory
from veridical.evidence.store import Store
from veridical.llm.journal import Held, Journal
from veridical.llm.ledger import rough_tokens
from veridical.llm.llms import Llms
from veridical.llm.messages import ChatRequest, LlmError, Reply, Usage
from veridical.llm.pretend import pretend
from veridical.llm.service import Account, LlmService
from veridical.llm.tokens import TokenProbabilities
from veridical.models.protocols import LABELS, Encoded, Window
from veridical.models.seq2seq import KINDS
from veridical.plan_figures import Figures
from veridical.results import Results
from veridical.run import Progress, Task
from veridical.scores import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.claims.corpus.planning import PlannedRetriever
    from veridical.decide.steps import Step
    from veridical.io import Source
    from veridical.llm.endpoints import Endpoint
    from veridical.llm.stream import SampledSource
    from veridical.models.protocols import Encoder, LanguageModel, NliModel
    from veridical.run import Input

_TIMED = 3  # real forwards that give the rate


class _Counting:
    """Tokenises like the model it stands for and computes nothing, but for a few timed
    forwards of a local model."""

    workers = 1

    def __init__(self, model: Any) -> None:
        self._model = model
        self.name: str = model.name
        self.revision: str = model.revision
        self.scripts: frozenset[str] | None = getattr(model, "scripts", None)
        self.batch_tokens: int = model.batch_tokens
        self._timings: list[tuple[int, float]] = []

    def windows(self, requests: Sequence[Any]) -> list[list[Window]]:
        found: list[list[Window]] = self._model.windows(requests)
        return found

    def _timed(
        self, batch: Sequence[Window], *mode: bool, forward: str = "run"
    ) -> list[Any] | None:
        """Outputs of a real forward; None once there have been enough."""
        if not self.local or len(self._timings) >= _TIMED:
            return None
        started = time.perf_counter()
        outputs: list[Any] = getattr(self._model, forward)(batch, *mode)
        padded = len(batch) * max(w.length for w in batch)
        self._timings.append((padded, time.perf_counter() - started))
        return outputs

    @property
    def local(self) -> bool:
        """Whether a forward costs nothing but time here."""
        return getattr(self._model, "local", True)

    def seconds(self, padded: int) -> float | None:
        """Time for ``padded`` tokens by the rate of the timed forwards; None when unknown."""
        timed = self._timings[1:] or self._timings  # the first forward warms up
        if not padded:
            return 0.0
        if not timed:
            return None
        return padded * sum(s for _, s in timed) / sum(n for n, _ in timed)


class CountingEncoder(_Counting):
    """Stands for an :class:`Encoder`."""

    def __init__(self, model: Encoder) -> None:
        super().__init__(model)
        self.has_tokens = model.has_tokens
        self._dims = (1, 1)

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        outputs = self._timed(batch, tokens)
        if outputs is not None:
            first = self._model.assemble(batch[:1], outputs[:1], tokens)
            width = 0 if first.tokens is None else first.tokens.shape[1]
            self._dims = (first.vector.shape[0], width)
        return [None] * len(batch)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        n = sum(w.length - w.overlap for w in windows)
        vector = np.zeros(self._dims[0], np.float32)
        if not tokens:
            return Encoded(vector=vector)
        return Encoded(
            vector=vector,
            tokens=np.zeros((n, self._dims[1]), np.float32),
            token_ids=np.zeros(n, np.int64),
            content=np.ones(n, np.bool_),
        )


class CountingNli(_Counting):
    """Stands for an :class:`NliModel`."""

    def __init__(self, model: NliModel) -> None:
        super().__init__(model)
        self.contradicts = model.contradicts

    def run(self, batch: Sequence[Window]) -> list[Any]:
        self._timed(batch)
        return [None] * len(batch)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        return np.full(len(LABELS), 1 / len(LABELS), np.float32)


class CountingReader(_Counting):
    """Stands for a :class:`LanguageModel`."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self.chat_prompt = model.chat_prompt
        self.state_shape = getattr(model, "state_shape", None)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        self._timed(batch)
        return [None] * len(batch)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        """One token, as likely as not: lengths do not count here."""
        place, even = np.zeros(1, np.int64), np.full(1, -0.7)
        return TokenProbabilities(
            place, place + 1, even, even[:, None], np.full(1, 0.7), np.full(1, -9.0)
        )

    def state_windows(self, texts: Sequence[tuple[str, ...]]) -> list[list[Window]]:
        found: list[list[Window]] = self._model.state_windows(texts)
        return found

    def states(self, batch: Sequence[Window]) -> list[Any]:
        self._timed(batch, forward="states")
        return [np.zeros(self.state_shape, np.float32) for _ in batch]


class CountingCheckpoint(_Counting):
    """Stands for a :class:`Checkpoint`."""

    def run(self, batch: Sequence[Window]) -> list[Any]:
        self._timed(batch)
        return [self._model.pretend(window) for window in batch]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._model.assemble(windows, outputs)
        return found


class CountingLlm:
    """Stands for what makes the calls: counts, and answers with whatever fits."""

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        usage = Usage(rough_tokens(request), request.max_tokens)
        return [pretend(request, usage) for _ in ordinals]

    async def close(self) -> None:
        """Nothing was opened."""


class CountingAnswers(CountingLlm):
    """Answers prompts, each time by another short sentence: equal ones would be judged once."""

    def __init__(self) -> None:
        self._told = 0

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        usage = Usage(rough_tokens(request), request.max_tokens)
        first = self._told
        self._told += len(ordinals)
        return [Reply(f"Answer {first + i}.", "stop", usage=usage) for i in range(len(ordinals))]


class _CountingChat:
    """The calls of sampling, on accounts of their own.

    Attributes:
        needed: of the draws up to number ``least``, and of the greedy responses.
        further: of the draws beyond, which adaptive sampling may find unnecessary.
    """

    def __init__(self, endpoint: Endpoint, identity: str, journal: Journal, least: int) -> None:
        self._service = LlmService(endpoint, client=CountingAnswers())
        self._service.identity = identity
        self._least = least
        self.needed, self.further = Account(journal), Account(journal)

    async def chat_each(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        needed = [r for r in requests if r.ordinal < self._least]  # ordinals only go up
        further = requests[len(needed) :]
        return [
            *await self._service.chat_each(needed, self.needed),
            *await self._service.chat_each(further, self.further),
        ]


class _CountingLlms(Llms):
    """The engine's LLMs, none of which is called."""

    def __init__(self, real: Llms) -> None:
        super().__init__(real.default)
        self._real = real

    def service(self, spec: str | None = None) -> LlmService:
        endpoint = self._real.endpoint(spec)
        found = self._services.get(endpoint.name)
        if found is None:
            found = LlmService(endpoint, client=CountingLlm())
            found.identity = self._real.identity(spec)
            self._services[endpoint.name] = found
        return found

    def label(self, spec: str | None = None) -> str:
        return self._real.label(spec)


class _PretendJournal(Journal):
    """What the run would find in the journal: what ``real`` holds, and its own replies."""

    def __init__(self, path: Path, real: Journal | None) -> None:
        super().__init__(path)
        self._real = real

    async def find(self, keys: Sequence[bytes]) -> dict[bytes, Held]:
        found = {} if self._real is None else await self._real.find(keys)
        return await super().find([k for k in keys if k not in found]) | found


class _PretendStore(Store):
    """What the run would find stored: what ``real`` holds, and what earlier records would have
    put there. Keeps shapes, in a folder of its own, and gives zeros, or where pairs were judged
    even probabilities."""

    def __init__(self, path: Path, real: Store | None) -> None:
        super().__init__(path)
        self._real = real

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found = {} if self._real is None else self._real.get_many(keys)
        shapes = super().get_many([k for k in keys if k not in found])
        for key, shape in shapes.items():
            found[key] = np.zeros(shape.astype(np.int64), np.float32)
        return found

    def beginning_with(
        self, prefixes: Iterable[bytes]
    ) -> dict[bytes, dict[bytes, NDArray[np.float32]]]:
        prefixes = list(prefixes)
        found = {} if self._real is None else self._real.beginning_with(prefixes)
        for prefix, shapes in super().beginning_with(prefixes).items():
            even = {
                k: np.full(s.astype(np.int64), 1 / len(LABELS), np.float32)
                for k, s in shapes.items()
            }
            found[prefix] = even | found.get(prefix, {})
        return found

    def put_many(self, items: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        super().put_many((key, np.array(value.shape, np.float32)) for key, value in items)

    def replace(self, old: Iterable[bytes], key: bytes, value: NDArray[np.float32]) -> None:
        """Nothing: what is said of the old keys is all that counts."""


class _CountingSink:
    """Counts what a run directory would keep, and keeps it in ``kept`` for the steps after the
    scoring."""

    def __init__(self, kept: RunDirectory | None = None) -> None:
        self._kept = kept
        self.done = Rows()
        self.records = 0
        self.row_errors = 0
        self.status: dict[str, Counter[str]] = {}

    def write(self, row: int, line: bytes) -> None:
        self.records += 1
        for name, score in Result.model_validate_json(line).scores.items():
            self.status.setdefault(name, Counter())[score.status] += 1
        if self._kept is not None:
            self._kept.write(row, line)

    def write_error(self, error: RowError) -> None:
        self.row_errors += 1


def dry_run(
    engine: Engine,
    source: Source | SampledSource | RetrievedSource,
    task: Task,
    stores: bool,
    retriever: PlannedRetriever | None = None,
    steps: Sequence[Step] = (),
    true: bool = True,
) -> dict[str, Any]:
    """Counts of what ``task`` would ask of each model, and an estimate of the time.

    ``stores`` says whether the run would have a store, be it one that does not exist yet.
    ``models[].requests`` are distinct texts or pairs, ``stored`` those the store would answer,
    ``windows`` and ``tokens`` what would go through the model, ``padded`` the same with padding;
    ``seconds`` is None where nothing tells, as it is where an LLM is called. Of a scorer that asks
    checkpoints on by what they wrote, the later rounds are counted as far as pretended texts lead.

    ``llm``: ``calls`` to be paid, ``journaled`` ones that are not, ``tokens_in`` by the length of
    the texts, and ``tokens_out`` and ``cost`` as though every answer were as long as it may be;
    None where nothing limits it, or prices are not known. ``sampling`` (None where no prompt is
    answered) and ``scoring`` have the same, each for its part, and ``least`` (as ``calls``,
    ``tokens_in``, ``tokens_out``, ``cost``) where adaptive sampling stops as early as it can;
    the other figures are of all the samples that there may be.

    Where a scorer asks on by what was answered, ``calls`` is exact as far as a pretended answer
    leads. ``complete`` is false where there may be more of them: one failed on that, or what
    scorers ask is about answers that are still to be given. These count as one short sentence,
    with the fewest samples; ``models`` counts them so too.

    ``retrieval``: of a corpus or a search service distinct ``queries``, and ``files``,
    ``documents``, ``passages`` and ``skipped`` of a corpus; None where there is no ``retriever``.

    ``steps`` are counted in all of these figures, and each is told of with the ``answers`` that it
    has scored, and how few there can be (``least``). Which answers are repaired is known where a
    scorer without a model tells what is unsupported (and ``true``: its scores are those of the
    run). Elsewhere all are counted that can be, and the plan's own ``least`` is the same plan with
    none repaired; it is None where all is known. ``rewriting`` of ``llm`` are the calls that have
    sentences written anew, None where there is no such step.
    """
    from veridical.llm.stream import SampledSource

    given = source
    source = given.inner if isinstance(given, RetrievedSource) else given

    def wrap(role: str, model: Any) -> _Counting:
        if role.startswith("proxy"):
            return CountingReader(model)
        if role.partition(" ")[0] in KINDS:
            return CountingCheckpoint(model)
        return CountingNli(model) if role.startswith("nli") else CountingEncoder(model)

    for name in engine.llms_of(task):
        engine.llms.endpoint(name)  # that there is one

    counted = task
    started = time.perf_counter()
    with contextlib.ExitStack() as stack:
        store, account, chat = None, None, None
        llms = _CountingLlms(engine.llms)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="veridical-plan-")))
        if stores:
            store = _PretendStore(folder, engine.store)
            stack.callback(store.close)
        asks = any(step.asks for step in steps)
        if isinstance(source, SampledSource) or asks or engine.llms_of(task):
            account = Account(_PretendJournal(folder / "llm", engine.llms.kept()))
            stack.callback(account.journal.close)
        if isinstance(source, SampledSource) and account is not None:
            source, least = _all_draws(source)
            if isinstance(given, RetrievedSource):
                given.inner = source
            else:
                given = source
            chat = _CountingChat(
                engine.llms.endpoint(),
                engine.llms.identity(),
                account.journal,
                least + (source.sampling.response == "first"),
            )
            source.attach(folder, chat, engine.submit, limit=task.limit)
            if least < source.sampling.n:
                counted = replace(counted, samples=min(least, task.samples or least))
        services = engine.services(task, wrap, store)
        distinct = {id(s): s for s in services.values()}
        for service in distinct.values():
            stack.callback(service.close)
        if retriever is not None:
            stack.callback(lambda: engine.submit(retriever.close()).result())
            if isinstance(given, RetrievedSource):
                given.attach(folder, retriever, engine.submit, limit=task.limit)
            if retriever.corpus is not None:
                corpus = _count_corpus(engine, retriever)
                distinct[id(corpus)] = services["corpus"] = corpus
                stack.callback(corpus.close)
        kept = None
        if steps:
            known = {"parameters": {"limit": task.limit}}
            kept = RunDirectory(folder / "run", known, {})
            stack.callback(kept.close)
        sink = _CountingSink(kept)

        def score(records: Input, task: Task, sink: _CountingSink) -> None:
            run = engine.run(records, task, sink, Progress(), services, account, llms)
            engine.submit(run).result()

        score(given, counted, sink)
        figures = Figures(
            task, sink, services, distinct.values(), account, chat, retriever, started
        )
        if kept is None:
            return figures.plan()
        records: Any = given
        results = Results(kept, records, task.scorers, samples=counted.samples)
        plain = replace(task, samples=None, limit=None)
        for step in steps:
            own = RunDirectory(folder_of(kept.path, step), {}, {})
            stack.callback(own.close)
            further = _CountingSink(own)
            if isinstance(step, Repairing):
                figures.mark()
                asking = None
                if step.asks and account is not None:
                    figures.rewriting = Account(account.journal)
                    asking = Asking(engine.submit, llms.service(), figures.rewriting)
                repairs = PlannedRepairs(results, step, task.scorers, asking, true and chat is None)
                score(repairs, plain, further)
                figures.repaired(step, further, guessed=repairs.guessed)
            else:
                score(step.source(results, own.path, None), plain, further)
                figures.add(step, further)
        return figures.plan()


def _count_corpus(engine: Engine, retriever: PlannedRetriever) -> EncoderService:
    """Counts what embedding a corpus and the queries would take."""
    backend = engine.embedding().backend
    service = EncoderService(CountingEncoder(backend), engine.gate, None, tokens=False)

    async def count(texts: Sequence[str]) -> None:
        await service.embed(texts, [])

    retriever.count = count
    for texts in retriever.missing(f"{backend.name}@{backend.revision}"):
        engine.submit(count(texts)).result()
    return service


def _all_draws(source: SampledSource) -> tuple[SampledSource, int]:
    """``source`` with as many samples as there can be, and how few there can be."""
    from veridical.llm.stream import SampledSource

    sampling = source.sampling
    if sampling.adaptive is None:
        return source, sampling.n
    drawn = replace(sampling, n=sampling.adaptive.most, adaptive=None)
    return SampledSource(source.prompts, drawn, ""), sampling.adaptive.least
