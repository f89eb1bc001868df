"""Writer of a run's CI files, in one pass over the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from veridical.integrations.ci.junit import Case, write_junit
from veridical.integrations.ci.rows import INVALID, case, findings, rows
from veridical.integrations.ci.sarif import write_sarif
from veridical.integrations.ci.summary import WorstRows, run_summary

if TYPE_CHECKING:
    from veridical.decide.gates import Tally
    from veridical.report.results import Results


def write_run(
    results: Results,
    tally: Tally,
    failed: Sequence[str],
    *,
    junit: IO[str] | None = None,
    sarif: IO[str] | None = None,
    markdown: IO[str] | None = None,
) -> list[str]:
    """Write the CI files of a finished run.

    Args:
        tally: the run's records counted at its gates.
        failed: failures, a sentence each.

    Returns:
        Omissions, a sentence each.
    """
    left_out = []
    if junit is not None:
        facts = {"run": results.path.name, **{f"failed {i + 1}": t for i, t in enumerate(failed)}}
        write_junit(junit, "veridical check", _cases(results, tally), facts)
    if sarif is not None:
        found = (finding for row in rows(results) for finding in findings(row, tally))
        omitted = write_sarif(sarif, found)
        if omitted:
            left_out.append(f"SARIF: only the worst findings are listed; {omitted} are omitted")
    if markdown is not None:
        worst = WorstRows()
        for row in rows(results):
            worst.add(row)
        markdown.write(run_summary(results, worst, failed))
    return left_out


def _cases(results: Results, tally: Tally) -> Iterator[Case]:
    yield from (case(row, tally) for row in rows(results))
    uncounted = results.counted_errors
    if uncounted:
        text = f"{uncounted} more rows are not valid records"
        yield Case("further rows", "veridical", "error", INVALID.id, text, text)
