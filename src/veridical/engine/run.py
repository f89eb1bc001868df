"""A run: records streamed through their scorers, a bounded number at once.

Each result is passed to the run's sink as soon as it is complete.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from veridical.core.evidence import failure
from veridical.core.kinds import KINDS
from veridical.core.records import Record
from veridical.core.scores import Result, ScoreJson
from veridical.engine.lexical import Lexical
from veridical.engine.run_evidence import Models, RunEvidence
from veridical.engine.verdict import RecordVerdict, judge_record
from veridical.engine.visible import VisibleRecord
from veridical.errors import RowError, StrictError, UsageError
from veridical.files.rowlog import DISORDER, Rows

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.core.verdict_cuts import Strictness
    from veridical.engine.progress import Progress
    from veridical.engine.service import Service
    from veridical.llm.cost_accounting import Account
    from veridical.llm.llms import Llms

#: Reason of a score that missed the deadline.
DEADLINE = "deadline"
_IN_FLIGHT = 1024  # records
_IN_FLIGHT_BYTES = 256 << 20
_TAKEN_IMAGES = 32 << 20  # maximum image characters read at once, except those of a single row
_BYTES_A_CHAR = 16  # per record in flight whose scorers use no model


class Input(Protocol):
    """A source of records: a :class:`~veridical.io.source.InputSource`, or one that is being
    sampled."""

    read: int  # rows to take at once

    def rows(self, start: int = 0) -> Iterator[Record | RowError]: ...
    def fraction(self) -> float | None: ...


class Sink(Protocol):
    """A destination of results."""

    done: Rows

    def write(self, record: Record, line: bytes) -> None: ...
    def write_error(self, error: RowError) -> None: ...


class RecordList:
    """Records in memory, as an input."""

    read = 32

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    def rows(self, start: int = 0) -> Iterator[Record | RowError]:
        """Return the records from index ``start``."""
        return iter(self._records[start:])

    def fraction(self) -> float | None:
        """Return None: the progress of reading is unknown."""
        return None


class Lines:
    """A sink that passes each record and its result line to ``take`` and keeps nothing."""

    def __init__(self, take: Callable[[Record, bytes], object]) -> None:
        self.done = Rows()
        self._take = take

    def write(self, record: Record, line: bytes) -> None:
        self._take(record, line)

    def write_error(self, error: RowError) -> None:
        """Raise the error.

        Raises:
            UsageError: always, with the row's error.
        """
        raise UsageError(str(error))


class ModelNeed(NamedTuple):
    """A model that a task needs.

    Attributes:
        kind: a name in :data:`veridical.core.kinds.KINDS`.
        spec: name of the model; None is the run's own.
        given: True if arguments of a scorer name it, False if defaults do.
    """

    kind: str
    spec: str | None
    given: bool


@dataclass(frozen=True)
class Task:
    """The scorers of a run, and its limits on records and samples.

    Attributes:
        strictness: selects the fitted thresholds of the verdicts.
    """

    scorers: Sequence[BoundScorer]
    strictness: Strictness = "balanced"
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
        """Return the scorers, and those that they use, each once."""
        scorers: dict[str, BoundScorer] = {}
        waiting = list(self.scorers)
        while waiting:
            bound = waiting.pop(0)
            scorers.setdefault(bound.key, bound)
            waiting += bound.parts
        return list(scorers.values())

    def named(self, kind: str) -> list[str | None]:
        """Return the models of a ``kind`` that scorers are known to request; None is the run's own.

        Scorers name them by their parameter of that name (``llm``, ``proxy``, ``nli`` ...).
        """
        askers = [s for s in self.scorers if KINDS[kind].cost in s.costs]
        return list(dict.fromkeys(name for s in askers for name in s.models(kind)))

    def needs(self) -> list[ModelNeed]:
        """Return the models that scorers are known to use in batches."""
        kinds = [kind.name for kind in KINDS.values() if kind.of_run and kind.batched]
        models = [
            ModelNeed(kind, name, name is not None) for kind in kinds for name in self.named(kind)
        ]
        checkpoints = dict.fromkeys(c for s in self.scorers for c in s.checkpoints)
        return [*models, *(ModelNeed(*checkpoint) for checkpoint in checkpoints)]


class Run:
    """One pass over one source."""

    def __init__(
        self,
        engine: Models,
        task: Task,
        sink: Sink,
        progress: Progress,
        services: Mapping[str, Service],
        account: Account | None,
        llms: Llms | None = None,
        deadline: float | None = None,
    ) -> None:
        self.engine = engine
        self._deadline = deadline
        self.task = task
        self.sink = sink
        self.progress = progress
        self.services = services
        self.account = account
        self._llms = llms
        self.idle_signal = idle_signal = engine.idle_signal
        self.filling = True
        bundled = [s for s in task.asked() if s.scorer.cost == "free" and s.portable]
        self.lexical = Lexical(bundled, idle_signal, engine.processes)
        self.bundled = {s.key: i for i, s in enumerate(bundled)}
        costs = task.costs()
        weights = [kind.bytes_a_char for kind in KINDS.values() if kind.cost in costs]
        self._weight = max(weights, default=_BYTES_A_CHAR)
        self._flying: dict[int, asyncio.Task[None]] = {}
        self._bytes = 0
        self._landed = asyncio.Event()
        self._error: BaseException | None = None

    @property
    def llms(self) -> Llms:
        """LLMs in use: the engine's own, unless others were given."""
        return self._llms or self.engine.llms

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
                self.progress.seen = chunk[-1].row + 1
                for row in chunk:
                    await self._admit(row)
            self.filling = False
            self.idle_signal.touch()
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
        size = self._weight * _chars(row) + _image_chars(row)
        while self._flying and (
            len(self._flying) >= _IN_FLIGHT
            or self._bytes + size > _IN_FLIGHT_BYTES
            or row.row - next(iter(self._flying)) >= DISORDER
        ):
            self.filling = False  # full: waiting requests may leave
            self.idle_signal.touch()
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
        self.idle_signal.touch()

    async def _one(self, record: Record) -> None:
        seen = VisibleRecord(record)
        evidence = RunEvidence(seen.record, self)
        tasks = {s.key: evidence.start(s) for s in self.task.scorers if s.key not in self.bundled}
        bundle = evidence.bundle() if self.bundled else None
        waits: set[asyncio.Future[Any]] = {*tasks.values()} | ({bundle} if bundle else set())
        left = None if self._deadline is None else max(self._deadline - time.monotonic(), 0)
        try:
            if waits:
                await asyncio.wait(waits, timeout=left)
        except asyncio.CancelledError:
            evidence.cancel()
            raise
        if late := [s for s in self.task.scorers if s.key in tasks and not tasks[s.key].done()]:
            evidence.cancel()
        scores = {s.key: evidence.failed(s, DEADLINE) for s in late}
        if bundle is not None and bundle.done():
            scores |= {key: bundle.result()[place] for key, place in self.bundled.items()}
        for bound in self.task.scorers:
            if bound.key not in scores and bound.key in tasks:
                scores[bound.key] = tasks[bound.key].result()
            elif bound.key not in scores:
                scores[bound.key] = evidence.failed(bound, DEADLINE)
        scores = {s.key: scores[s.key] for s in self.task.scorers}
        record_id = record.row if record.id is None else record.id
        judged = self._judged(seen, scores, evidence)
        line = Result.line(record_id, record.row, *judged, invisible=seen.removed or None)
        self.sink.write(record, line)
        self.progress.records += 1

    def _judged(
        self, seen: VisibleRecord, scores: dict[str, ScoreJson], evidence: RunEvidence
    ) -> RecordVerdict:
        """Return the verdict from ``scores``; if its rules fail, failed scores with the reason."""
        scorers = self.task.scorers
        try:
            return seen.placed(judge_record(seen.record, scorers, scores, self.task.strictness))
        except Exception as e:  # a fault of one answer's verdict must not end the others
            failed = {s.key: evidence.failed(s, failure(e)) for s in scorers}
            return RecordVerdict(None, None, ("unchecked", "failed"), failed)


def _take(rows: Iterator[Record | RowError], most: int) -> list[Record | RowError]:
    """Take the next rows: ``most``, or fewer if their images are large."""
    taken: list[Record | RowError] = []
    images = 0
    for row in itertools.islice(rows, most):
        taken.append(row)
        images += _image_chars(row) if isinstance(row, Record) else 0
        if images > _TAKEN_IMAGES:
            break
    return taken


def _chars(record: Record) -> int:
    texts = [record.response, *record.sample_texts, *record.reference]
    return 512 + sum(map(len, texts)) + sum(len(c.text) for c in record.contexts)


def _image_chars(record: Record) -> int:
    """Count the characters of the images' URLs, which do not affect the memory of models."""
    images = (record.response_image, *(s.image for s in record.samples))
    return sum(len(image) for image in images if image is not None)
