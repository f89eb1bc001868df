"""The results of a run, read from its directory: they need not fit in memory."""

from __future__ import annotations

import heapq
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from veridical.core.records import Record
from veridical.core.scores import Result, ResultSummary
from veridical.engine.causes import Cause, of_rows
from veridical.engine.failures import Failure, Failures
from veridical.engine.summary import Summary
from veridical.errors import RowError, UsageError
from veridical.files.decisions import decided, decisions_log, with_decision
from veridical.files.rowlog import Distrusted, RowIndex, Rows
from veridical.files.rundir import RunFiles, Stored, stored_line
from veridical.text.display import visible

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.files.temporary import TemporaryFolder
    from veridical.io.source import InputSource
    from veridical.io.unused import UnusedColumn

#: What a run's LLM calls came to, in its directory.
LEDGER = "ledger.json"
#: A scorer that covers less of its applicable records than this is not to be trusted.
MIN_COVERAGE = 0.98
_T = TypeVar("_T")


class RunResults:
    """Iterates over :class:`~veridical.core.scores.Result` in input order.

    Attributes:
        path: the run directory.
        temporary: whether it goes when this object does.
        waiting: records without a result at the latest pass of :meth:`records_with_summaries`.
    """

    waiting = 0

    def __init__(
        self,
        directory: RunFiles,
        source: InputSource,
        scorers: Sequence[BoundScorer],
        *,
        samples: int | None = None,
        temporary: TemporaryFolder | None = None,
    ) -> None:
        self.path = directory.path
        self.scorers = list(scorers)
        self._directory = directory
        self._source = source
        self._samples = samples
        self._summary: Summary | None = None
        self._indexed: tuple[RowIndex, RowIndex] | None = None
        self.temporary = temporary is not None
        self._folder = temporary  # which goes when nobody holds it any more

    def __iter__(self) -> Iterator[Result]:
        for _, line in self.numbered():
            yield Result.model_validate_json(line)

    def __len__(self) -> int:
        return self.summary().records

    @overload
    def __getitem__(self, which: SupportsIndex | str) -> Result: ...

    @overload
    def __getitem__(self, which: slice) -> list[Result]: ...

    def __getitem__(self, which: SupportsIndex | str | slice) -> Result | list[Result]:
        """The result at a place from 0 (negative: from the end), of an id that is a text, or those
        of a slice, as a list. One is read without the others; an id is looked for in all.

        Raises:
            IndexError: there are not so many.
            KeyError: no result has that id, or several have.
        """
        if isinstance(which, str):
            return self._with_id(which)
        count = len(self._index()[0])
        if isinstance(which, slice):
            return [self._at(place) for place in range(*which.indices(count))]
        place = operator.index(which)
        if not -count <= place < count:
            raise IndexError(f"there is no result {place}: there are {count}")
        return self._at(place % count)

    def _with_id(self, wanted: str) -> Result:
        places = []
        for place, (_, result_summary) in enumerate(self.summaries()):
            if result_summary.id == wanted:
                places.append(place)
        if len(places) != 1:
            raise KeyError(f"{len(places)} results have the id {visible(wanted)!r}")
        return self._at(places[0])

    def _index(self) -> tuple[RowIndex, RowIndex]:
        """Where the results and the decisions are. Of a run that nothing vouches for, too."""
        if self._indexed is None or not all(index.current for index in self._indexed):
            decisions = decisions_log(self.path, self.key)
            keep = None
            if self._directory.unsealed:
                decisions.unsealed = True
                keep = Rows()
                for stored in self._stored():
                    keep.add(stored.row)
            self._indexed = self._directory.results.index(keep), decisions.index()
        return self._indexed

    def _at(self, place: int) -> Result:
        results, decisions = self._index()
        row = results.rows[place]
        stored = stored_line(row, results.line(place))
        decision = decisions.find(row)
        if decision is not None:
            stored = with_decision(stored, decision)
        return Result.model_validate_json(stored.line)

    def worst(self, n: int = 10) -> list[Result]:
        """The ``n`` riskiest results, the riskiest first; those without a risk are not among
        them."""
        summaries = enumerate(result_summary for _, result_summary in self.summaries())
        risks = ((-h.risk, place) for place, h in summaries if h.risk is not None)
        return [self._at(place) for _, place in heapq.nsmallest(n, risks)]

    def failures(self) -> list[Failure]:
        """What went wrong, by cause, the most frequent first: rows that were no valid records,
        and scores that failed."""
        causes = Failures()
        for error in self.errors():
            causes.add("row", error.field or "", error.error, error.row, str(error))
        for cause, n in self._directory.more_errors().items():
            causes.add("row", "", cause, None, cause, n)
        for _, result_summary in self.summaries():
            for key, score in result_summary.scores.items():
                if score.status == "failed":
                    cause = score.reason or ""
                    example = f"row {result_summary.row}: {key}: {cause}"
                    causes.add("score", key, cause, result_summary.row, example)
        return causes.ranked()

    def lines(self) -> Iterator[bytes]:
        """The results as JSON lines (contract section 2), in input order, without newlines."""
        for _, line in self.numbered():
            yield line

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """:meth:`lines` with their rows."""
        return ((stored.row, stored.line) for stored in self._stored())

    def _stored(self) -> Iterator[Stored]:
        """Result lines with what was decided on them."""
        stored = self._directory.stored()
        if not self._directory.unsealed:
            return decided(stored, decisions_log(self.path, self.key))
        keys = {s.key for s in self.scorers}
        readable = (row for row in stored if _readable(row, keys))
        log = decisions_log(self.path, self.key)
        log.unsealed = True
        return (row for row in decided(readable, log) if _readable(row, keys))

    @property
    def distrusted(self) -> Distrusted:
        """Lines of the run directory that are not used."""
        return self._directory.distrusted

    @property
    def key(self) -> str:
        """What the lines of the run directory are bound to."""
        return self._directory.key

    @property
    def identity(self) -> dict[str, Any]:
        """What makes two runs the same: inputs, scorers, models, parameters."""
        return dict(self._directory.manifest()["identity"])

    def fraction(self) -> float | None:
        """How much of the input its latest reading has passed."""
        return self._source.fraction()

    def unused_columns(self) -> list[UnusedColumn]:
        """The columns of the input that feed no field, with the likeliest meaning of each; see
        :meth:`veridical.io.Source.unused_columns`.

        Raises:
            UsageError: a file of the input has changed since, or is not there any more.
        """
        return self._source.unused_columns()

    def errors(self) -> Iterator[RowError]:
        """Rows of the input that were no valid records; of very many the first (see
        :meth:`error_causes`)."""
        return self._directory.errors()

    def error_causes(self) -> Iterator[tuple[str, int]]:
        """Why rows of the input were no valid records, and how many of them; a cause may come
        several times."""
        yield from ((error.error, 1) for error in self.errors())
        yield from self._directory.more_errors().items()

    def row_error_causes(self) -> list[Cause]:
        """Rows without a valid record or an answer by their cause, the commonest first, each with
        one example."""
        return of_rows(self.errors(), self._directory.more_errors())

    @property
    def counted_errors(self) -> int:
        """Rows that were no valid records and are only counted, not among :meth:`errors`."""
        return self._directory.more_errors().total()

    def filter(self, keep: Callable[[Result], bool]) -> Iterator[Result]:
        """The results for which ``keep`` holds, in input order."""
        return (r for r in self if keep(r))

    @property
    def ledger(self) -> dict[str, Any] | None:
        """What the run's LLM calls came to, over all its lives (see
        :class:`veridical.llm.ledger.Ledger`); None where it made none or has not ended."""
        try:
            ledger = json.loads((self.path / LEDGER).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(ledger, dict):
            return None
        ledger = {**dict.fromkeys(_NEWER, 0), **ledger}
        return ledger if _is_ledger(ledger) else None

    def summaries(self) -> Iterator[tuple[bytes, ResultSummary]]:
        """Each result line with what it says, units aside. A full pass leaves the summary known."""
        lines = ((None, line) for line in self.lines())
        return ((line, result_summary) for _, line, result_summary in self._summed(lines))

    def records_with_summaries(self) -> Iterator[tuple[Record, bytes, ResultSummary]]:
        """Every record that has a result, with its line and what that says, in input order. A full
        pass leaves the summary known.

        Raises:
            UsageError: a record is not what was scored.
        """
        return self._summed(self._scored())

    def _scored(self) -> Iterator[tuple[Record, bytes]]:
        self.waiting = 0
        for record, line in self.records():
            if line is not None:
                yield record, line
            else:
                self.waiting += 1

    def _summed(
        self, lines: Iterable[tuple[_T, bytes]]
    ) -> Iterator[tuple[_T, bytes, ResultSummary]]:
        summary = Summary(self.scorers)
        for given, line in lines:
            result_summary = ResultSummary.model_validate_json(line)
            summary.add(result_summary)
            if summary.stopped:
                summary.add_stops(line)
            yield given, line, result_summary
        for cause, n in self.error_causes():
            summary.add_row_error(cause, n)
        summary.llm = self.ledger
        summary.resumed = self._directory.resumed
        summary.untrusted = self._directory.distrusted.count
        summary.sealed = not self._directory.unsealed
        self._summary = summary

    def summary(self) -> Summary:
        """Counts, coverage and mean risk of each scorer; computed once, in one pass."""
        if self._summary is None:
            for _ in self.summaries():
                pass
        assert self._summary is not None
        return self._summary

    @property
    def given(self) -> InputSource:
        """The input of the run, before anything was sampled or retrieved for it."""
        return self._source.given

    @property
    def sampled(self) -> bool:
        """Whether prompts of the input were answered in the run."""
        return bool(self._directory.manifest()["request"].get("prompts"))

    @property
    def limit(self) -> int | None:
        """The row before which the run has stopped."""
        limit: int | None = self.identity.get("parameters", {}).get("limit")
        return limit

    def rows(self) -> Iterator[Record | RowError]:
        """The records of the run, with what was sampled and retrieved, and its row errors."""
        return self._source.rows()

    def records(self) -> Iterator[tuple[Record, bytes | None]]:
        """Every record of the run, with the samples that were used, and its result line, in input
        order; None where it has none yet."""
        limit = self.limit
        stored = self._stored()
        line = next(stored, None)
        for record in self._source.rows():
            if limit is not None and record.row >= limit:
                break
            if not isinstance(record, Record):
                continue
            while line is not None and line.row < record.row:
                self._missing(line.row)
                line = next(stored, None)
            if line is not None and line.row == record.row:
                yield self._verified(record, line), line.line
                line = next(stored, None)
            else:
                yield self._used(record), None
        for orphan in chain([] if line is None else [line], stored):
            self._missing(orphan.row)

    def _used(self, record: Record) -> Record:
        """The record as scorers saw it."""
        if self._samples is None or len(record.samples) <= self._samples:
            return record
        return record.model_copy(update={"samples": record.samples[: self._samples]})

    def pairs(self, rows: set[int] | None = None) -> Iterator[tuple[Record, Result]]:
        """Every record that has a result, with it, in input order; with ``rows`` those alone."""
        if rows is not None and not rows:
            return
        first, last = (0, None) if rows is None else (min(rows), max(rows))
        # both are in row order, so one walk joins them
        records = (r for r in self._source.rows(first) if isinstance(r, Record))
        record = next(records, None)
        for line in self._stored():
            if last is not None and line.row > last:
                return
            if rows is not None and line.row not in rows:
                continue
            while record is not None and record.row < line.row:
                record = next(records, None)
            if record is None or record.row != line.row:
                self._missing(line.row)
                continue
            yield self._verified(record, line), Result.model_validate_json(line.line)

    def _verified(self, record: Record, line: Stored) -> Record:
        """The record as scorers saw it.

        Raises:
            UsageError: it is another one by now.
        """
        used = self._used(record)
        if line.record is not None and used.digest() != line.record:
            raise UsageError(
                f"row {line.row} is not what was scored: the input has changed since "
                f"({', '.join(str(source['path']) for source in self._source.describe())})"
            )
        return used

    def _missing(self, row: int) -> None:
        """A result has no record.

        Raises:
            UsageError: the run is one that this computer vouches for.
        """
        if not self._directory.unsealed:
            raise UsageError(
                f"row {row} has a result, and its record is not there any more: the input, or what "
                f"{self.path} kept of its answers or contexts, has changed; run the same check "
                "again"
            )


def _readable(stored: Stored, scorers: set[str]) -> bool:
    """Whether a line that nothing vouches for is a result of the run."""
    try:
        result = Result.model_validate_json(stored.line)
    except ValueError:
        return False
    return result.row == stored.row and result.scores.keys() >= scorers


#: Of a ledger, what may be null.
_UNKNOWN = ("tokens", "tokens_in", "tokens_out", "cost", "charged")
_NEWER = ("tokens_cached", "again")  # of a ledger, what version 0.1 did not count


def _is_ledger(entries: dict[str, Any]) -> bool:
    from veridical.llm.ledger import Ledger

    return all(
        type(entries.get(name)) in (int, float) or (entries.get(name) is None and name in _UNKNOWN)
        for name in Ledger().as_dict()
    )
