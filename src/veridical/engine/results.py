"""Results of a run, read from its directory without holding them."""

from __future__ import annotations

import heapq
import json
import operator
import warnings
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
from veridical.text.display import shown

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.files.temporary import TemporaryFolder
    from veridical.io.source import InputSource
    from veridical.io.unused import UnusedColumn

#: File of the LLM ledger in a run directory.
LEDGER = "ledger.json"
#: Minimum coverage of applicable records for a scorer to be trusted.
MIN_COVERAGE = 0.98
_T = TypeVar("_T")


class RunResults:
    """Results of a run; iterating yields :class:`~veridical.core.scores.Result` in input order.

    Attributes:
        path: the run directory.
        temporary: True if the directory is deleted together with this object.
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
        self._folder = temporary  # deleted when its last owner is

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
        """Return the result at an index (negative: from the end), with a text id, or those of a
        slice, as a list. A single result is read without the others; an id is searched in all.

        Raises:
            IndexError: the index is out of range.
            KeyError: no result has the id, or several have it.
        """
        if isinstance(which, str):
            return self._with_id(which)
        count = len(self._index()[0])
        if isinstance(which, slice):
            return [self._at(place) for place in range(*which.indices(count))]
        place = operator.index(which)
        if not -count <= place < count:
            raise IndexError(f"there is no result {place}; there are {count}")
        return self._at(place % count)

    def _with_id(self, wanted: str) -> Result:
        places = []
        for place, (_, result_summary) in enumerate(self.summaries()):
            if result_summary.id == wanted:
                places.append(place)
        if len(places) != 1:
            raise KeyError(f"{len(places)} results have the id {shown(wanted)}")
        return self._at(places[0])

    def _index(self) -> tuple[RowIndex, RowIndex]:
        """Return the row indices of results and decisions, also for an unsealed run."""
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
        """Return the ``n`` riskiest results, riskiest first; results without a risk are
        excluded."""
        summaries = enumerate(result_summary for _, result_summary in self.summaries())
        risks = ((-h.risk, place) for place, h in summaries if h.risk is not None)
        return [self._at(place) for _, place in heapq.nsmallest(n, risks)]

    def failures(self) -> list[Failure]:
        """Return failures by cause, most frequent first: invalid rows, and failed scores."""
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
        """Yield the results as JSON lines (contract section 2), in input order, without
        newlines."""
        for _, line in self.numbered():
            yield line

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """Return the :meth:`lines` with their rows."""
        return ((stored.row, stored.line) for stored in self._stored())

    def _stored(self) -> Iterator[Stored]:
        """Return result lines with their decisions."""
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
        """Key that seals the lines of the run directory."""
        return self._directory.key

    @property
    def identity(self) -> dict[str, Any]:
        """Identity of the run: inputs, scorers, models, parameters."""
        return dict(self._directory.manifest()["identity"])

    def fraction(self) -> float | None:
        """Return the share of the input read in its latest pass."""
        return self._source.fraction()

    def unused_columns(self) -> list[UnusedColumn]:
        """Return the columns of the input that feed no field, with the likeliest meaning of each;
        see :meth:`veridical.io.source.InputSource.unused_columns`.

        Raises:
            UsageError: a file of the input has changed or is missing.
        """
        return self._source.unused_columns()

    def errors(self) -> Iterator[RowError]:
        """Yield invalid rows of the input; of very many, only the first (see
        :meth:`error_causes`)."""
        return self._directory.errors()

    def error_causes(self) -> Iterator[tuple[str, int]]:
        """Yield causes of invalid rows and their counts; a cause may occur several times."""
        yield from ((error.error, 1) for error in self.errors())
        yield from self._directory.more_errors().items()

    def row_error_causes(self) -> list[Cause]:
        """Return rows without a valid record or an answer by cause, most common first, each with
        one example."""
        return of_rows(self.errors(), self._directory.more_errors())

    @property
    def counted_errors(self) -> int:
        """Number of invalid rows that are only counted, and not among :meth:`errors`."""
        return self._directory.more_errors().total()

    def filter(self, keep: Callable[[Result], bool]) -> Iterator[Result]:
        """Yield the results for which ``keep`` returns True, in input order."""
        return (r for r in self if keep(r))

    @property
    def ledger(self) -> dict[str, Any] | None:
        """Ledger of the run's LLM calls, over all its sessions (see
        :class:`veridical.llm.ledger.Ledger`); None without calls, or before the run has ended."""
        try:
            ledger = json.loads((self.path / LEDGER).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(ledger, dict):
            return None
        ledger = {**dict.fromkeys(_NEWER, 0), **ledger}
        return ledger if _is_ledger(ledger) else None

    def summaries(self) -> Iterator[tuple[bytes, ResultSummary]]:
        """Yield each result line with its summary. A full pass caches :meth:`summary`."""
        lines = ((None, line) for line in self.lines())
        return ((line, result_summary) for _, line, result_summary in self._summed(lines))

    def headlines(self) -> Iterator[tuple[bytes, ResultSummary]]:
        """Return :meth:`summaries`, under its name before 0.3. Removed in 0.4."""
        warnings.warn("use Results.summaries()", DeprecationWarning, stacklevel=2)
        return self.summaries()

    def records_with_summaries(self) -> Iterator[tuple[Record, bytes, ResultSummary]]:
        """Yield every record that has a result, with its line and summary, in input order. A full
        pass caches :meth:`summary`.

        Raises:
            UsageError: a record differs from the one that was scored.
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
        """Return counts, coverage and mean risk of each scorer; computed once, in one pass."""
        if self._summary is None:
            for _ in self.summaries():
                pass
        assert self._summary is not None
        return self._summary

    @property
    def given(self) -> InputSource:
        """Input of the run, before sampling and retrieval."""
        return self._source.given

    @property
    def sampled(self) -> bool:
        """True if prompts of the input were answered in the run."""
        return bool(self._directory.manifest()["request"].get("prompts"))

    @property
    def limit(self) -> int | None:
        """Row before which the run stopped; None without a limit."""
        limit: int | None = self.identity.get("parameters", {}).get("limit")
        return limit

    def rows(self) -> Iterator[Record | RowError]:
        """Yield the records of the run, with sampled and retrieved texts, and its row errors."""
        return self._source.rows()

    def records(self) -> Iterator[tuple[Record, bytes | None]]:
        """Yield every record of the run and its result line, in input order.

        The record has the samples that were used. A line that does not exist yet is None.
        """
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
        """Return the record as scorers saw it."""
        if self._samples is None or len(record.samples) <= self._samples:
            return record
        return record.model_copy(update={"samples": record.samples[: self._samples]})

    def pairs(self, rows: set[int] | None = None) -> Iterator[tuple[Record, Result]]:
        """Yield every record that has a result, with it, in input order; with ``rows``, only
        those."""
        if rows is not None and not rows:
            return
        first, last = (0, None) if rows is None else (min(rows), max(rows))
        # both are in row order, so one pass joins them
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
        """Return the record as scorers saw it.

        Raises:
            UsageError: the record has changed.
        """
        used = self._used(record)
        if line.record is not None and used.digest() != line.record:
            raise UsageError(
                f"row {line.row} differs from the record that was scored: the input has changed "
                f"({', '.join(str(source['path']) for source in self._source.describe())})"
            )
        return used

    def _missing(self, row: int) -> None:
        """Handle a result without a record.

        Raises:
            UsageError: the run was sealed by this computer.
        """
        if not self._directory.unsealed:
            raise UsageError(
                f"row {row} has a result, but its record is missing: the input, or the answers or "
                f"contexts stored in {self.path}, have changed; run the same check again"
            )


def _readable(stored: Stored, scorers: set[str]) -> bool:
    """Return True if an unsealed line is a result of the run."""
    try:
        result = Result.model_validate_json(stored.line)
    except ValueError:
        return False
    return result.row == stored.row and result.scores.keys() >= scorers


#: Fields of a ledger that may be null.
_UNKNOWN = ("tokens", "tokens_in", "tokens_out", "cost", "charged")
_NEWER = ("tokens_cached", "again")  # fields of a ledger that version 0.1 did not have


def _is_ledger(entries: dict[str, Any]) -> bool:
    from veridical.llm.ledger import Ledger

    return all(
        type(entries.get(name)) in (int, float) or (entries.get(name) is None and name in _UNKNOWN)
        for name in Ledger().as_dict()
    )
