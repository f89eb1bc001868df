"""The results of a run, read from its directory: they need not fit in memory."""

from __future__ import annotations

import datetime
import heapq
import json
import random
import shutil
import weakref
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.decide.decisions import decided
from veridical.errors import RowError
from veridical.evidence.rundir import RunFiles
from veridical.records import Record
from veridical.scores import Headline, Result
from veridical.summary import Summary
from veridical.version import __version__

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from veridical.decide.drift import Drift
    from veridical.io import Source
    from veridical.registry import BoundScorer

#: What a run's LLM calls came to, in its directory.
LEDGER = "ledger.json"
#: Records a report shows in full; of more, half are the riskiest and half a random draw.
REPORT_RECORDS = 10_000
#: A scorer that covers less of its applicable records than this is not to be trusted.
MIN_COVERAGE = 0.98


class Results:
    """Iterates over :class:`~veridical.scores.Result` in input order.

    Attributes:
        path: the run directory.
        temporary: whether it goes when this object does.
    """

    def __init__(
        self,
        directory: RunFiles,
        source: Source,
        scorers: Sequence[BoundScorer],
        *,
        samples: int | None = None,
        temporary: bool = False,
    ) -> None:
        self.path = directory.path
        self.scorers = list(scorers)
        self._directory = directory
        self._source = source
        self._samples = samples
        self._summary: Summary | None = None
        self._drift: dict[str, dict[str, Drift]] | None = None
        self.temporary = temporary
        if temporary:
            self._cleaner = weakref.finalize(self, shutil.rmtree, self.path, True)

    def __iter__(self) -> Iterator[Result]:
        for _, line in self.numbered():
            yield Result.model_validate_json(line)

    def __len__(self) -> int:
        return self.summary().records

    def lines(self) -> Iterator[bytes]:
        """The results as JSON lines (contract section 2), in input order, without newlines."""
        for _, line in self.numbered():
            yield line

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """:meth:`lines` with their rows."""
        return decided(self._directory.lines(), self.path)

    @property
    def identity(self) -> dict[str, Any]:
        """What makes two runs the same: inputs, scorers, models, parameters."""
        return dict(self._directory.manifest()["identity"])

    def fraction(self) -> float | None:
        """How much of the input its latest reading has passed."""
        return self._source.fraction()

    def errors(self) -> Iterator[RowError]:
        """Rows of the input that were no valid records."""
        return self._directory.errors()

    def filter(self, keep: Callable[[Result], bool]) -> Iterator[Result]:
        """The results for which ``keep`` holds, in input order."""
        return (r for r in self if keep(r))

    @property
    def ledger(self) -> dict[str, Any] | None:
        """What the run's LLM calls came to, over all its lives (see
        :class:`veridical.llm.ledger.Ledger`); None where it made none or has not ended."""
        try:
            found = json.loads((self.path / LEDGER).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def headlines(self) -> Iterator[tuple[bytes, Headline]]:
        """Each result line with what it says, units aside. A full pass leaves the summary known."""
        summary = Summary(self.scorers)
        for line in self.lines():
            headline = Headline.model_validate_json(line)
            summary.add(headline)
            if summary.stopped:
                summary.add_stops(line)
            yield line, headline
        for error in self.errors():
            summary.add_row_error(error.error)
        summary.llm = self.ledger
        self._summary = summary

    def summary(self) -> Summary:
        """Counts, coverage and mean risk of each scorer; computed once, in one pass."""
        if self._summary is None:
            for _ in self.headlines():
                pass
        assert self._summary is not None
        return self._summary

    def drift(self) -> dict[str, dict[str, Drift]]:
        """How risks differ from those that the run's tuned ensembles were tuned on, by scorer and
        component (see :func:`veridical.decide.drift.of_run`); computed once."""
        if self._drift is None:
            from veridical.decide.drift import of_run

            self._drift = of_run(self)
        return self._drift

    def to_arrow(self) -> pyarrow.Table:
        """One row a record: id, row, risk, by, decision, then risk, raw headline, status and
        reason of each scorer."""
        import pyarrow as pa

        columns: dict[str, list[Any]] = {
            name: [] for name in ("id", "row", "risk", "by", "decision")
        }
        for s in self.scorers:
            for part in ("", ".raw", ".status", ".reason"):
                columns[s.key + part] = []
        for result in self:
            columns["id"].append(str(result.id))
            for name in ("row", "risk", "by", "decision"):
                columns[name].append(getattr(result, name))
            for s in self.scorers:
                score = result.scores[s.key]
                signed = s.scorer.signed_raw(score)
                flip = -1.0 if s.scorer.raw_is == "confidence" else 1.0
                columns[s.key].append(score.risk)
                columns[s.key + ".raw"].append(None if signed is None else flip * signed)
                columns[s.key + ".status"].append(score.status)
                columns[s.key + ".reason"].append(score.reason)
        types = {"row": pa.int64(), "id": pa.string(), "by": pa.string(), "decision": pa.string()}

        def kind(name: str) -> Any:
            text = name.endswith((".status", ".reason"))
            return types.get(name, pa.string() if text else pa.float64())

        return pa.table({n: pa.array(v, kind(n)) for n, v in columns.items()})

    def to_pandas(self) -> pandas.DataFrame:
        """:meth:`to_arrow` as a pandas frame (pandas must be installed)."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """:meth:`to_arrow` as a polars frame (polars must be installed)."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def report(
        self,
        path: str | Path,
        *,
        title: str = "veridical report",
        min_coverage: float = MIN_COVERAGE,
    ) -> Path:
        """Write one self-contained HTML file. Of more than :data:`REPORT_RECORDS` records it
        shows the riskiest and a random draw, and says so."""
        from veridical.decide.promises import Promises
        from veridical.report.claim_rates import rates_by_model, rates_tables
        from veridical.report.decided import tables_of
        from veridical.report.html import write_report
        from veridical.report.promised import drift_tables, promise_table

        target = Path(path)
        rows, shown = self._choose_rows()
        judging = [s.key for s in self.scorers if s.scorer.level == "claim"]
        tables = tables_of(self.summary())
        promises = Promises.load(self.path)
        if promises is not None:
            tables.append(promise_table(promises))
        tables += drift_tables(self.drift())
        if judging:
            tables += rates_tables(rates_by_model(self._pairs(None), judging))
        summary = {
            **self.summary().as_dict(),
            "min_coverage": min_coverage,
            "signature": self._signature(),
            "inputs": self._source.describe(),
            "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "version": __version__,
            "errors": [e.as_dict() for e in islice(self._directory.errors(), 50)],
        }
        pairs = self._pairs(rows)
        write_report(target, pairs, summary, title=title, shown=shown, tables=tables)
        return target

    def _signature(self) -> dict[str, str]:
        models = {role: str(name) for role, name in self.identity.get("models", {}).items()}
        return {"run": self.path.name, **models, "scorers": ", ".join(s.key for s in self.scorers)}

    def _choose_rows(self) -> tuple[set[int] | None, str | None]:
        total = self.summary().records
        if total <= REPORT_RECORDS:
            return None, None
        half = REPORT_RECORDS // 2
        worst: list[tuple[float, int]] = []
        draw: list[int] = []
        rng = random.Random(0)
        for i, (_, result) in enumerate(self.headlines()):
            heapq.heappush(worst, (-1.0 if result.risk is None else result.risk, -result.row))
            if len(worst) > half:
                heapq.heappop(worst)
            if i < half:
                draw.append(result.row)
            elif (j := rng.randrange(i + 1)) < half:
                draw[j] = result.row
        rows = {-row for _, row in worst} | set(draw)
        return rows, f"the {half:,} riskiest and {half:,} drawn at random of {total:,} records"

    def records(self) -> Iterator[tuple[Record, bytes | None]]:
        """Every record of the run, with the samples that were used, and its result line, in input
        order; None where it has none yet."""
        limit = self.identity.get("parameters", {}).get("limit")
        lines = self.numbered()
        row, line = next(lines, (None, b""))
        for record in self._source.rows():
            if limit is not None and record.row >= limit:
                return
            if not isinstance(record, Record):
                continue
            if record.row == row:
                yield self._used(record), line
                row, line = next(lines, (None, b""))
            else:
                yield self._used(record), None

    def pairs(self) -> Iterator[tuple[Record, Result]]:
        """Every record that has a result, with it, in input order."""
        return self._pairs(None)

    def _used(self, record: Record) -> Record:
        """The record as scorers saw it."""
        if self._samples is None or len(record.samples) <= self._samples:
            return record
        return record.model_copy(update={"samples": record.samples[: self._samples]})

    def _pairs(self, rows: set[int] | None) -> Iterator[tuple[Record, Result]]:
        """Records with their results: both are in row order, so one walk joins them."""
        records = (r for r in self._source.rows() if isinstance(r, Record))
        for result in self:
            if rows is not None and result.row not in rows:
                continue
            for record in records:
                if record.row == result.row:
                    yield self._used(record), result
                    break
