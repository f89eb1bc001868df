"""A run: records streamed through their scorers, with a bounded number in flight.

Each result goes to the run's sink as soon as it is complete.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from veridical.errors import RowError, StrictError, UsageError
from veridical.evidence.checkpoints import CheckpointService
from veridical.evidence.encoders import EncoderService
from veridical.evidence.lexical import Lexical
from veridical.evidence.nli import NliService
from veridical.evidence.reading import LanguageService
from veridical.evidence.run_evidence import RunEvidence
from veridical.evidence.rundir import DISORDER, Rows
from veridical.records import Record
from veridical.scorers.ensembles.quantile_mean import combine
from veridical.scores import Result, Scored

if TYPE_CHECKING:
    from veridical.engine import Engine
    from veridical.llm.ledger import Ledger
    from veridical.llm.llms import Llms
    from veridical.llm.service import Account
    from veridical.registry import BoundScorer

_IN_FLIGHT = 1024  # records
_IN_FLIGHT_BYTES = 256 << 20
#: Of a record in flight.
_BYTES_PER_CHAR = {
    "free": 16,
    "embed": 16,
    "tokens": 900,
    "nli": 200,
    "probabilities": 60,
    "seq2seq": 60,
}

Service: TypeAlias = EncoderService | NliService | LanguageService | CheckpointService


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

    def asked(self) -> list[BoundScorer]:
        """The scorers, and those that they ask, each once."""
        found: dict[str, BoundScorer] = {}
        waiting = list(self.scorers)
        while waiting:
            bound = waiting.pop(0)
            found.setdefault(bound.key, bound)
            waiting += bound.parts
        return list(found.values())

    def named(self, kind: str) -> list[str | None]:
        """The models of a ``kind`` (``llm``, ``proxy`` or ``nli``) that scorers are known to ask
        for, by their parameter of that name; None stands for the run's own."""
        cost = "probabilities" if kind == "proxy" else kind
        asked = [s for s in self.scorers if cost in s.costs]
        return list(dict.fromkeys(name for s in asked for name in s.models(kind)))

    def checkpoints(self) -> list[tuple[str, str, bool]]:
        """Kind and name of the checkpoints that scorers name, and whether their arguments do."""
        return list(dict.fromkeys(c for s in self.scorers for c in s.checkpoints))


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
        bundled = [s for s in task.asked() if s.scorer.cost == "free" and s.portable]
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


def _take(rows: Iterator[Record | RowError], most: int) -> list[Record | RowError]:
    return list(itertools.islice(rows, most))


def _chars(record: Record) -> int:
    texts = [record.response, *record.sample_texts, *record.reference]
    return 512 + sum(map(len, texts)) + sum(len(c.text) for c in record.contexts)
