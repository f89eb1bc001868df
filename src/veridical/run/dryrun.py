"""Dry run: the run's own code with counting models."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veridical.core.kinds import KINDS, Kind
from veridical.decide.planned import PlannedRepairs
from veridical.decide.repair import Repairing
from veridical.decide.steps import Asking, folder_of
from veridical.engine.encoders import EncoderService
from veridical.engine.engine import Engine
from veridical.engine.progress import Progress
from veridical.engine.results import RunResults
from veridical.engine.run import Task
from veridical.files.rundir import RunDirectory
from veridical.files.temporary import temporary_folder
from veridical.llm.cost_accounting import Account
from veridical.retrieval.corpus.planning import PlannedRetriever
from veridical.run.counting import CountingChat, CountingLlms, stand_in
from veridical.run.figures import Figures, distinct
from veridical.run.pretending import CountingSink, PretendJournal, PretendStore

if TYPE_CHECKING:
    from pathlib import Path

    from veridical.decide.steps import Step
    from veridical.engine.run import Input
    from veridical.engine.service import Service
    from veridical.retrieval.search import Retriever
    from veridical.run.inputs import Inputs
    from veridical.sampling.stream import Prompts

#: Stand-ins of models, by kind and revision.
StandIns = dict[tuple[str, str], Any]


def dry_run(
    engine: Engine,
    inputs: Inputs,
    task: Task,
    stores: bool,
    corpus: str | Path | Retriever | None = None,
    steps: Sequence[Step] = (),
    true: bool = True,
    *,
    pages: int | None = None,
    cold: bool = False,
    stand_ins: StandIns | None = None,
) -> dict[str, Any]:
    """Count the requests of ``task`` to each model, and estimate the time.

    ``stores`` is True if the run would have a store, even one that does not exist yet.
    ``models[].requests`` are distinct texts or pairs, ``stored`` those that the store answers.
    ``windows`` and ``tokens`` pass through the model; ``padded`` includes padding. ``seconds`` is
    None if unknown, as with an LLM. ``scoring_seconds`` excludes one-time work, such as loading
    models or indexing a corpus, and LLM calls. If a scorer requests further checkpoint outputs
    depending on earlier ones, later rounds are counted as far as pretended texts lead.

    ``llm`` has ``calls`` to be paid and ``journaled`` ones that are not. ``tokens_in`` are
    estimated from the length of the texts, ``tokens_out`` and ``cost`` for answers of maximum
    length. They are None if there is no limit, or prices are unknown. ``tokens_cached`` of
    ``tokens_in`` need not be read by a local llama.cpp model, because the previous prompt has the
    same beginning. ``sampling`` (None if no prompt is answered) and ``scoring`` have the same
    figures for their parts. Their ``least`` (``calls``, ``tokens_in``, ``tokens_out``, ``cost``)
    applies if adaptive sampling stops as early as possible; the other figures include all possible
    samples.

    ``again`` has ``calls``, ``tokens_in``, ``tokens_out`` and ``cost`` of possible repeated calls:
    one for each reply that should have a verdict.

    If a scorer's requests depend on answers, ``calls`` is exact as far as a pretended answer leads.
    ``complete`` is False if there may be more calls: a request failed for that reason, or scorers
    need answers that do not exist yet. These count as one short sentence each, with the fewest
    samples, also in ``models``.

    ``retrieval`` has distinct ``queries`` of a corpus or search service and the maximum ``pages``
    fetched. It also has ``files``, ``documents``, ``passages`` and ``skipped`` of a corpus. It is
    None without a ``corpus``. Calls that write queries are counted with those of scorers.

    ``steps`` are included in all figures, and each is listed with the ``answers`` that it scores
    and their minimum (``least``). The repaired answers are known if a scorer without a model finds
    unsupported text (and ``true``: its scores are those of the run). Otherwise all candidates are
    counted, and the plan's own ``least`` is the plan without repairs; it is None if all is known.
    ``rewriting`` of ``llm`` are the calls that rewrite sentences, None without such a step.

    Args:
        pages: results per query whose pages are read; None reads no page.
        cold: True if nothing counts as stored or journaled.
        stand_ins: stand-ins of earlier and later dry runs: models with a known rate are not timed
            again.
    """
    for name in engine.llms_of(task):
        engine.llms.endpoint(name)  # raises if it does not exist
    with contextlib.ExitStack() as stack:
        run = _DryRun(engine, task, stack, cold, {} if stand_ins is None else stand_ins)
        records = run.open(inputs, stores, corpus, steps, pages)
        if steps:
            directory = RunDirectory(run.folder / "run", {"parameters": {"limit": task.limit}}, {})
            stack.callback(directory.close)
            run.score(records, run.task, CountingSink(directory))
            run.follow(steps, directory, records, true)
        else:
            run.score(records, run.task, CountingSink())
        return run.figures.plan()


class _DryRun:
    """Counting models and their folder; closed with ``stack``.

    Attributes:
        folder: temporary folder of everything that is stored.
        task: the task with as few samples as adaptive sampling may draw.
        figures: the figures, once records have been scored.
    """

    figures: Figures

    def __init__(
        self,
        engine: Engine,
        task: Task,
        stack: contextlib.ExitStack,
        cold: bool,
        stand_ins: StandIns,
    ) -> None:
        self.folder = stack.enter_context(temporary_folder("plan"))
        self.task = self._asked = task
        self._engine = engine
        self._stack = stack
        self._cold = cold
        self._stand_ins = stand_ins
        self._started = time.perf_counter()
        self._llms = CountingLlms(engine.llms)
        self._account: Account | None = None
        self._chat: CountingChat | None = None
        self._retriever: PlannedRetriever | None = None
        self._services: dict[str, Service] = {}

    def open(
        self,
        inputs: Inputs,
        stores: bool,
        corpus: str | Path | Retriever | None,
        steps: Sequence[Step],
        pages: int | None,
    ) -> Input:
        """Open the services of the run, and ``inputs`` with pretended answers and passages."""
        engine, limit = self._engine, self.task.limit
        store = None
        if stores:
            store = PretendStore(self.folder, None if self._cold else engine.store)
            self._stack.callback(store.close)
        prompts = inputs.prompts
        asks = prompts is not None or inputs.writes or any(step.asks for step in steps)
        if asks or engine.llms_of(self.task):
            kept = None if self._cold else engine.llms.kept()
            journal = PretendJournal(self.folder / "llm", kept)
            self._account = Account(journal)
            self._stack.callback(journal.close)
            if prompts is not None:
                inputs = replace(inputs, prompts=self._draw(prompts, journal))
        self._services = engine.services(self.task, self._stand_in, store)
        for service in distinct(self._services):
            self._stack.callback(service.close)
        if corpus is not None:
            self._retriever = retriever = PlannedRetriever(corpus, engine, pages)
            self._stack.callback(lambda: engine.submit(retriever.close()).result())
            if retriever.corpus is not None:
                self._services["corpus"] = indexing = _count_corpus(engine, retriever)
                self._stack.callback(indexing.close)
        opened = inputs.open(
            self.folder,
            chat=self._chat,
            retriever=self._retriever,
            submit=engine.submit,
            writing=self._llms.chat(self._account) if inputs.writes and self._account else None,
            limit=limit,
        )
        records: Input = opened.records
        return records

    def _stand_in(self, kind: Kind, back_end: Any) -> Any:
        key = (kind.name, back_end.revision)
        if key not in self._stand_ins:
            self._stand_ins[key] = stand_in(kind, back_end)
        return self._stand_ins[key]

    def _draw(self, prompts: Prompts, journal: PretendJournal) -> Prompts:
        """Return ``prompts`` with the maximum number of pretended answers."""
        prompts, least = prompts.with_all_draws()
        llms, sampling = self._engine.llms, prompts.sampling
        needed = least + (sampling.response == "first")
        self._chat = CountingChat(llms.endpoint(), llms.identity(), journal, needed)
        if least < sampling.n:
            self.task = replace(self.task, samples=min(least, self.task.samples or least))
        return prompts

    def score(self, records: Input, task: Task, sink: CountingSink) -> None:
        """Count the requests of scoring ``records``."""
        services, account = self._services, self._account
        if not hasattr(self, "figures"):
            self.figures = Figures(
                self._asked,
                sink,
                services,
                account,
                self._chat,
                self._llms.again,
                self._retriever,
                self._started,
            )
        run = self._engine.run(records, task, sink, Progress(), services, account, self._llms)
        self._engine.submit(run).result()

    def follow(
        self, steps: Sequence[Step], directory: RunDirectory, records: Any, true: bool
    ) -> None:
        """Count the requests of the ``steps`` after scoring."""
        scorers = self.task.scorers
        results = RunResults(directory, records, scorers, samples=self.task.samples)
        plain = replace(self.task, samples=None, limit=None)
        for step in steps:
            further = RunDirectory(folder_of(directory.path, step), {}, {})
            self._stack.callback(further.close)
            sink = CountingSink(further)
            if not isinstance(step, Repairing):
                self.score(step.source(results, further.path, None), plain, sink)
                self.figures.add(step, sink)
                continue
            self.figures.mark()
            asking = None
            if step.asks and self._account is not None:
                self.figures.rewriting = Account(self._account.journal)
                asking = Asking(self._engine.submit, self._llms.service(), self.figures.rewriting)
            sure = true and self._chat is None
            repairs = PlannedRepairs(results, step, scorers, asking, sure)
            self.score(repairs, plain, sink)
            self.figures.repaired(step, sink, guessed=repairs.guessed)


def _count_corpus(engine: Engine, retriever: PlannedRetriever) -> EncoderService:
    """Count the requests of embedding a corpus and the queries."""
    backend = engine.embedding().backend
    service = EncoderService(stand_in(KINDS["embedder"], backend), engine.idle_signal, None)

    async def count(texts: Sequence[str]) -> None:
        await service.embed(texts, [])

    retriever.count = count
    for texts in retriever.missing(f"{backend.name}@{backend.revision}"):
        engine.submit(count(texts)).result()
    return service
