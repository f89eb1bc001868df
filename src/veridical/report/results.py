"""Results of a run with drift, frames and report."""

from __future__ import annotations

import datetime
import heapq
import random
import textwrap
from collections import Counter
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from veridical.core.bands import meaning
from veridical.core.verdict_cuts import Verdict
from veridical.engine.results import MIN_COVERAGE, RunResults
from veridical.errors import UsageError, VeridicalError, unknown_name
from veridical.files.outputs import check_outputs
from veridical.report.outcome import outcome
from veridical.text.display import display, reason
from veridical.version import __version__

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from veridical.core.scores import Score
    from veridical.decide.drift import Drift

#: Records that a report shows in full; of more, half are the riskiest and half a random draw.
REPORT_RECORDS = 10_000
_SHOWN_FAILURES = 3


class Results(RunResults):
    """Results of a run; iterating yields :class:`~veridical.core.scores.Result` in input order.

    Attributes:
        path: the run directory.
        temporary: True if the directory is deleted together with this object.
    """

    _drift: dict[str, dict[str, Drift]] | None = None

    def __repr__(self) -> str:
        try:
            return self._told()
        except (OSError, VeridicalError) as e:
            return f"<{type(self).__name__} in {display(self.path)}: {reason(e)}>"

    def _told(self) -> str:
        lines = textwrap.wrap(outcome(self.summary()), 80, subsequent_indent="  ")
        if self.summary().row_errors or any(s.n_failed for s in self.summary().scorers.values()):
            lines += [f"  {failure}" for failure in self.failures()[:_SHOWN_FAILURES]]
        if not self.temporary:
            lines.append(f"  in {display(self.path)}")
        return "\n".join(lines)

    def drift(self) -> dict[str, dict[str, Drift]]:
        """Return the drift of risks from those of tuning, by tuned ensemble and component; computed
        once. See :func:`veridical.decide.drift.of_run`."""
        if self._drift is None:
            from veridical.decide.drift import of_run

            self._drift = of_run(self)
        return self._drift

    def cross_table(
        self, first: str, second: str, *, at: float = 0.5
    ) -> Counter[tuple[bool, bool]]:
        """Count how often two scorers, such as two judges, flag the same unit.

        Args:
            first, second: keys of scorers of the run. Units are those that both have; for scorers
                without units, whole answers.
            at: the risk at or above which a unit is flagged.

        Returns:
            Counts by (flagged by first, flagged by second), without units that either did not
                score.

        Raises:
            UsageError: the run has no such scorer.
        """
        names = list(self.summary().scorers)
        for name in (first, second):
            if name not in names:
                raise unknown_name("scorer of this run", name, names)
        table: Counter[tuple[bool, bool]] = Counter()
        for result in self:
            risks = [_unit_risks(result.scores[name]) for name in (first, second)]
            for place in risks[0].keys() & risks[1].keys():
                table[risks[0][place] >= at, risks[1][place] >= at] += 1
        return table

    def to_arrow(self, *, wide: bool = False) -> pyarrow.Table:
        """Return every row of the input, in order, with its own columns and those of the results.

        Added are ``verdict``, ``risk``, ``worst_sentence``, its first piece of ``evidence``, and
        ``error``. A row that is not a valid record is ``unchecked``, with the reason in ``error``,
        as is an answer that could not be checked. Rows that the run has not read (``limit``) have
        no verdict. With a policy there is also a column ``decision``. If the input has a column
        with such a name, the added one is called ``veridical_...``. Columns of a list or file with
        several types are JSON text.

        Args:
            wide: add ``by``, ``decision``, and for each scorer its risk (the scorer's key),
                ``.raw``, ``.status`` and ``.reason``.

        Raises:
            UsageError: the input has changed, or has columns with both names.
        """
        from veridical.report.frames import to_arrow

        return to_arrow(self, wide)

    def to_pandas(self, *, wide: bool = False) -> pandas.DataFrame:
        """Return :meth:`to_arrow` as a pandas frame.

        A checked pandas frame keeps its index, columns and types. For a frame of another kind, a
        list or a file, the index counts from 0.

        Raises:
            UsageError: as :meth:`to_arrow`; or pandas is not installed.
        """
        from veridical.report.frames import to_pandas

        return to_pandas(self, wide)

    def to_polars(self, *, wide: bool = False) -> polars.DataFrame:
        """Return :meth:`to_arrow` as a polars frame. A checked polars frame keeps its columns.

        Raises:
            UsageError: as :meth:`to_arrow`; or polars is not installed.
        """
        from veridical.report.frames import to_polars

        return to_polars(self, wide)

    def _repr_html_(self) -> str:
        from veridical.report.notebook import results_html

        return results_html(self)

    def report(
        self,
        path: str | Path,
        *,
        title: str = "veridical report",
        min_coverage: float = MIN_COVERAGE,
        only: Collection[str] | None = None,
        redact: bool = False,
    ) -> Path:
        """Write one self-contained HTML file.

        Of more than :data:`REPORT_RECORDS` records, it shows the riskiest and a random draw, and
        states this.

        Args:
            only: show only records with these verdicts; counts still cover the whole run.
            redact: show lengths instead of texts, and keep verdicts, risks and offsets.

        Raises:
            UsageError: it would overwrite an input or a file of the run, or cannot be written; or
                ``only`` contains no verdict.
        """
        from veridical.decide.guarantees import PolicyGuarantees
        from veridical.report.claim_rates import rates_by_model, rates_tables
        from veridical.report.decided import tables_of
        from veridical.report.guarantees import drift_remarks, drift_tables, guarantee_table
        from veridical.report.html import write_report
        from veridical.report.redacted import NOTE, redacted, redacted_summary

        verdicts = _verdicts(only)
        target = Path(path)
        inputs = self._source.describe()
        if target.parent.exists():
            check_outputs(target, reads=[str(i["path"]) for i in inputs], runs=[self.path])
        rows, shown = self._choose_rows(verdicts)
        judging = [s.key for s in self.scorers if s.scorer.level == "claim"]
        tables = tables_of(self.summary())
        guarantees = PolicyGuarantees.load(self.path)
        if guarantees is not None:
            tables.append(guarantee_table(guarantees))
        tables += drift_tables(self.drift())
        if judging:
            tables += rates_tables(rates_by_model(self.pairs(), judging))
        summary = {
            **self.summary().as_dict(),
            "outcome": outcome(self.summary()),
            "remarks": drift_remarks(self.drift()),
            "min_coverage": min_coverage,
            "signature": self._signature(),
            "inputs": inputs,
            "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "version": __version__,
            "meaning": self._meaning(),
            "unused_columns": [list(column) for column in self.unused_columns()],
            "errors": [e.as_dict() for e in islice(self._directory.errors(), 50)],
        }
        pairs = self.pairs(rows)
        if redact:
            summary = redacted_summary(summary)
            pairs = (redacted(*pair) for pair in pairs)
            shown = "; ".join(filter(None, (shown, NOTE)))
        write_report(target, pairs, summary, title=title, shown=shown, tables=tables)
        return target

    def _meaning(self) -> list[str]:
        """Return sentences on the meaning of the default's risks; an empty list for other risks."""
        defaults = [
            s.values["prior"]
            for s in self.scorers
            if s.scorer.name == "ensemble"
            and s.values["file"] is None
            and s.values["weights"] == s.scorer.defaults["weights"]
        ]
        return [meaning(prior) for prior in defaults[:1]]

    def _signature(self) -> dict[str, str]:
        models = {role: str(name) for role, name in self.identity.get("models", {}).items()}
        return {"run": self.path.name, **models, "scorers": ", ".join(s.key for s in self.scorers)}

    def _choose_rows(
        self, verdicts: frozenset[str] = frozenset()
    ) -> tuple[set[int] | None, str | None]:
        """Return the rows that a report shows (None: all) and their description.

        They are all rows with the ``verdicts`` (with any verdict if these are empty), unless there
        are too many.
        """
        summary = self.summary()
        named = ", ".join(v for v in get_args(Verdict) if v in verdicts)
        total = sum(summary.verdicts[v] for v in verdicts) if verdicts else summary.records
        what = f"{named} records" if named else "records"
        if total <= REPORT_RECORDS and not verdicts:
            return None, None
        half = REPORT_RECORDS // 2
        keep = half if total > REPORT_RECORDS else total
        worst: list[tuple[float, int]] = []
        draw: list[int] = []
        rng = random.Random(0)
        i = 0
        for _, result in self.summaries():
            if verdicts and result.verdict not in verdicts:
                continue
            heapq.heappush(worst, (-1.0 if result.risk is None else result.risk, -result.row))
            if len(worst) > keep:
                heapq.heappop(worst)
            if i < half:
                draw.append(result.row)
            elif (j := rng.randrange(i + 1)) < half:
                draw[j] = result.row
            i += 1
        rows = {-row for _, row in worst} | set(draw)
        if keep == total:
            return rows, f"the {total:,} {what} of {summary.records:,}"
        drawn = f"the {half:,} riskiest and {half:,} drawn at random of {total:,} {what}"
        return rows, drawn


def _verdicts(only: Collection[str] | None) -> frozenset[str]:
    """Return the verdicts that a report is to show; empty for all.

    Raises:
        UsageError: a name is not a verdict.
    """
    known = get_args(Verdict)
    for name in only or ():
        if name not in known:
            raise unknown_name("verdict in only", name, known)
    if only is not None and not only:
        raise UsageError(f"only contains no verdict; choose among {', '.join(known)}")
    return frozenset(only or ())


def _unit_risks(score: Score) -> dict[tuple[str, int, int] | None, float]:
    """Return the risks of a score by level and offsets of its units; for a score without units, its
    own risk under None."""
    if not score.units:
        return {} if score.risk is None else {None: score.risk}
    return {(u.level, u.start, u.end): u.risk for u in score.units if u.risk is not None}
