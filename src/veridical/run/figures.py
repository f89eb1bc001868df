"""Figures of a dry run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from veridical.llm.ledger import Ledger

if TYPE_CHECKING:
    from veridical.decide.repair import Repairing
    from veridical.decide.steps import Step
    from veridical.engine.batching import Work
    from veridical.engine.run import Task
    from veridical.engine.service import Service
    from veridical.llm.cost_accounting import Account
    from veridical.retrieval.corpus.planning import PlannedRetriever
    from veridical.run.counting import CountingChat
    from veridical.run.pretending import CountingSink


class Figures:
    """The figures of a dry run; see :func:`veridical.run.dryrun.dry_run` for their meaning.

    Args:
        sink: counter of the records.
        services: request queue of each role.
        account: account of scorers' calls; None without calls.
        chat: counter of the calls that answer prompts; None without prompts.
        again: ledger of possible repeated calls after replies without a verdict.
        started: start time by ``time.perf_counter``. The object is made when scoring begins:
            earlier time and counts occur once, whatever the number of records.

    Attributes:
        rewriting: account of the calls that rewrite sentences.
    """

    def __init__(
        self,
        task: Task,
        sink: CountingSink,
        services: Mapping[str, Service],
        account: Account | None,
        chat: CountingChat | None,
        again: Ledger,
        retriever: PlannedRetriever | None,
        started: float,
    ) -> None:
        self._scorers = task.scorers
        self._sink = sink
        self._sinks = [sink]
        self._services = services
        self._distinct = distinct(services)
        self._account = account
        self._chat = chat
        self._again = again
        self._retriever = retriever
        self._started = started
        self._steps: list[dict[str, Any]] = []
        self._before: _State | None = None
        self.rewriting: Account | None = None
        self._timed = self._timings()
        self._setup = self._state()

    def add(self, step: Step, sink: CountingSink) -> None:
        """Add a step whose number of answers is known exactly."""
        self._sinks.append(sink)
        entry = {"step": step.key, "answers": sink.records, "least": sink.records}
        self._steps.append(entry)

    def mark(self) -> None:
        """Mark the figures so far as the minimum: later scoring is uncertain."""
        self._before = self._state()

    def repaired(self, step: Repairing, sink: CountingSink, *, guessed: int) -> None:
        """Add a repair that began at :meth:`mark`.

        Args:
            guessed: number of answers that may or may not be repaired.
        """
        self.add(step, sink)
        if not guessed and not step.asks:
            self._before = None
            return
        assert self._before is not None
        self._steps[-1]["least"] = 0
        if not guessed and self.rewriting is not None:  # the text that an LLM will write is unknown
            self._before = replace(self._before, rewriting=replace(self.rewriting.ledger))

    def plan(self) -> dict[str, Any]:
        """Return the figures, with the minimum figures if these are lower."""
        now = self._state()
        before = self._before
        figures = self._figures_of(now, before or now, self._steps)
        if before is None:
            return {**figures, "least": None}
        none = [{**step, "answers": step["least"]} for step in self._steps]
        return {**figures, "least": {**self._figures_of(before, before, none), "least": None}}

    def _state(self) -> _State:
        return _State(
            [replace(service.work) for service in self._distinct],
            _ledger(self._account),
            _ledger(self.rewriting),
            time.perf_counter() - self._started - (self._timings() - self._timed),
        )

    def _timings(self) -> float:
        """Return the seconds of the timed forwards, which are not part of the work."""
        return float(sum(service.backend.timed for service in self._distinct))

    def _figures_of(
        self, most: _State, least: _State, steps: list[dict[str, Any]]
    ) -> dict[str, Any]:
        sink = self._sink
        models = [
            self._model(service, work)
            for service, work in zip(self._distinct, most.works, strict=True)
        ]
        needed = [m["seconds"] for m in models]
        once = [
            service.backend.seconds(work.padded)
            for service, work in zip(self._distinct, self._setup.works, strict=True)
        ]
        rated = None not in needed
        unknown = not rated or self._account is not None
        absent = {s.key: sink.status.get(s.key, Counter())["not_applicable"] for s in self._scorers}
        return {
            "records": sink.records,
            "row_errors": sink.row_errors,
            "scorers": [
                {
                    "name": s.key,
                    "cost": s.cost,
                    "applicable": sink.records - absent[s.key],
                    "not_applicable": absent[s.key],
                }
                for s in self._scorers
            ],
            "steps": steps,
            "models": models,
            "llm": self._llm(most, least),
            "retrieval": None if self._retriever is None else self._retriever.entries(),
            "seconds": None if unknown else sum(needed) + most.spent,
            "scoring_seconds": sum(needed) - sum(once) + most.spent - self._setup.spent
            if rated
            else None,
        }

    def _model(self, service: Service, work: Work) -> dict[str, Any]:
        model: Any = service.backend
        return {
            "model": f"{model.name}@{model.revision}",
            "roles": [role for role, s in self._services.items() if s is service],
            "requests": work.requests,
            "shared": work.shared,
            "stored": work.stored,
            "windows": work.windows,
            "tokens": work.tokens,
            "padded": work.padded,
            "batches": work.batches,
            "seconds": model.seconds(work.padded),
        }

    def _llm(self, most: _State, least: _State) -> dict[str, Any]:
        chat, rewriting = self._chat, self.rewriting
        needed = Ledger() if chat is None else chat.needed.ledger
        sampling = needed if chat is None else _sum(needed, chat.further.ledger)
        callers = [s.key for s in self._scorers if "llm" in s.costs]
        failed = any(s.status.get(k, Counter())["failed"] for s in self._sinks for k in callers)
        calls_llm = bool(callers) or rewriting is not None
        complete = not failed and not (calls_llm and sampling.calls)
        every = _sum(_sum(sampling, most.scoring), most.rewriting)
        fewest = _sum(_sum(needed, least.scoring), least.rewriting)
        return {
            **_ranged(every, fewest),
            "complete": complete,
            "again": called(self._again),
            "sampling": None if chat is None else _ranged(sampling, needed),
            "scoring": {**_ranged(most.scoring, least.scoring), "complete": complete},
            "rewriting": None
            if rewriting is None
            else {**_ranged(most.rewriting, least.rewriting), "complete": complete},
        }


def distinct(services: Mapping[str, Service]) -> list[Service]:
    """Return each of the queues once, whatever its roles."""
    return list({id(service): service for service in services.values()}.values())


@dataclass(frozen=True)
class _State:
    """Counts at one moment: the ``works`` of the models, the calls of scorers and of rewriting, and
    the seconds ``spent``."""

    works: list[Work]
    scoring: Ledger
    rewriting: Ledger
    spent: float


def _ledger(account: Account | None) -> Ledger:
    return Ledger() if account is None else replace(account.ledger)


def _sum(one: Ledger, two: Ledger) -> Ledger:
    other = asdict(two)
    return Ledger(**{name: value + other[name] for name, value in asdict(one).items()})


def called(ledger: Ledger) -> dict[str, Any]:
    """Return the figures of the calls of a ledger."""
    return {
        "calls": ledger.calls,
        "tokens_in": ledger.tokens_in,
        "tokens_cached": ledger.tokens_cached,
        "tokens_out": None if ledger.without_usage else ledger.tokens_out,
        "cost": ledger.cost,
    }


def _ranged(most: Ledger, least: Ledger) -> dict[str, Any]:
    return {
        **called(most),
        "journaled": most.journaled,
        "tokens": most.tokens,
        "least": called(least),
    }
