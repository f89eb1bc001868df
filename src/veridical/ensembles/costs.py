"""Costs of scorers: seconds and money per record, measured on some.

A scorer's cost is what it adds to the scorers before it: an embedding or NLI verdict that one of
them requested is free. Stored values of earlier runs do not count as free. Journaled LLM calls
are not repeated: their money is known from the journal, and their time from calls of this process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.core.evidence import score_locally
from veridical.engine.progress import Progress
from veridical.engine.run import Lines, RecordList, Task
from veridical.ensembles.cascade_file import Cost
from veridical.errors import UsageError
from veridical.files.store import Store
from veridical.files.temporary import temporary_folder
from veridical.llm.llms import Llms

if TYPE_CHECKING:
    from veridical.core.messages import ChatRequest, Reply
    from veridical.core.records import Record
    from veridical.core.registry import BoundScorer
    from veridical.engine.engine import Engine
    from veridical.engine.results import RunResults
    from veridical.llm.cost_accounting import Account
    from veridical.llm.service import LlmService

#: Number of records for a measurement.
MEASURED = 16


def measure(
    engine: Engine, records: Sequence[Record], scorers: Sequence[BoundScorer], folder: Path
) -> dict[str, Cost]:
    """Measure the mean cost per record of each scorer, by its key, in this order.

    Seconds are those inside the models' forwards, or of the processor for scorers without models.
    They are None for a scorer that calls an LLM if this process made no such call. Money is None if
    prices or the tokens of an answer are unknown.

    Args:
        records: at least one record; :data:`MEASURED` are enough.
        folder: the run directory with the journal of LLM replies, if the engine has no store.
    """
    task = Task(scorers)
    costs: dict[str, Cost] = {}
    source = RecordList(sorted(records, key=lambda record: record.row))
    with temporary_folder("costs") as place:
        store = Store(place)
        services = engine.services(task, lambda role, model: model, store)
        distinct = list({id(s): s for s in services.values()}.values())
        llms = _MeteredLlms(engine.llms)
        # named, so that spending of an earlier attempt counts towards the budget
        run = f"{folder.name} costs"
        account = engine.llms.account(run, folder) if engine.llms_of(task) else None
        try:
            for bound in scorers:
                if bound.scorer.cost == "free":
                    costs[bound.key] = Cost(seconds=_local(bound, records), money=0.0)
                    continue
                before = sum(s.work.seconds for s in distinct)
                llms.start()
                sink = Lines(lambda *_: None)
                asking = engine.run(
                    source, Task([bound]), sink, Progress(), services, account, llms
                )
                engine.submit(asking).result()
                seconds = sum(s.work.seconds for s in distinct) - before
                waited, money = llms.spent()
                costs[bound.key] = Cost(
                    seconds=None if waited is None else (seconds + waited) / len(records),
                    money=None if money is None else money / len(records),
                )
        finally:
            if account is not None:
                engine.llms.leave(account)
            for service in distinct:
                service.close()
            store.close()
    return costs


def measured(
    engine: Engine,
    results: RunResults,
    scorers: Sequence[BoundScorer],
    labels: Mapping[int, float | None] | None,
    seed: int,
) -> dict[str, Cost]:
    """Run :func:`measure` on randomly drawn graded records of a finished run.

    Args:
        labels: row -> label, instead of the records' own.

    Raises:
        UsageError: no record is graded.
    """

    def graded(record: Record) -> bool:
        return (record.label if labels is None else labels.get(record.row)) is not None

    rows = [record.row for record, line in results.records() if line is not None and graded(record)]
    if not rows:
        raise UsageError("learning a cascade requires labels, but no record has one")
    most = min(MEASURED, len(rows))
    chosen = set(np.random.default_rng(seed).choice(rows, most, replace=False).tolist())
    records = [record for record, _ in results.records() if record.row in chosen]
    return measure(engine, records, scorers, results.path)


def _local(bound: BoundScorer, records: Sequence[Record]) -> float:
    """Measure the seconds per record; the first pass loads what is loaded once."""
    score_locally(records[0], [bound])
    started = time.perf_counter()
    for record in records:
        score_locally(record, [bound])
    return (time.perf_counter() - started) / len(records)


class _MeteredLlms(Llms):
    """The engine's LLMs, with the costs of their answers."""

    def __init__(self, real: Llms) -> None:
        super().__init__(real.default)
        self._real = real
        self._meters: dict[str, _Meter] = {}

    def service(self, spec: str | None = None) -> Any:
        name = self._real.endpoint(spec).name
        if name not in self._meters:
            self._meters[name] = _Meter(self._real.service(spec))
        return self._meters[name]

    def label(self, spec: str | None = None) -> str:
        return self._real.label(spec)

    def start(self) -> None:
        """Start the measurement of another scorer: only its own requests count."""
        for meter in self._meters.values():
            meter.fresh.clear()

    def spent(self) -> tuple[float | None, float | None]:
        """Return seconds and money since :meth:`start`; None if unknown."""
        seconds: list[float | None] = [0.0]
        money: list[float | None] = [0.0]
        for meter in self._meters.values():
            if meter.fresh:
                real = meter.real
                each = real.waited / real.awaited if real.awaited else None
                seconds.append(None if each is None else each * len(meter.fresh))
                money += meter.fresh
        return _sum(seconds), _sum(money)


class _Meter:
    """A service that records the cost of its distinct answers."""

    def __init__(self, real: LlmService) -> None:
        self.real = real
        self.fresh: list[float | None] = []
        self._seen: set[str] = set()

    async def chat(self, requests: Sequence[ChatRequest], account: Account) -> list[Reply]:
        replies = await self.real.chat(requests, account)
        for request, reply in zip(requests, replies, strict=True):
            if repr(request) not in self._seen:
                self._seen.add(repr(request))
                usage = reply.usage
                self.fresh.append(self.real.endpoint.cost(usage.prompt, usage.completion))
        return replies

    async def reject(self, request: ChatRequest, account: Account) -> None:
        """Do nothing: measurements reject no replies."""


def _sum(values: Sequence[float | None]) -> float | None:
    return None if None in values else sum(v for v in values if v is not None)
