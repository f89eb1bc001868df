"""Markdown summary of a run for a CI job."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

from veridical.core.prompt_text import question_text
from veridical.core.verdict_cuts import FLAGGED, Verdict
from veridical.integrations.ci.rows import CiRow
from veridical.integrations.words import headline, shortened
from veridical.report.document import (
    Block,
    BulletList,
    Heading,
    Opening,
    Paragraph,
    StyledText,
    markdown,
    plain_table,
)
from veridical.report.formats import interval, number, share
from veridical.report.outcome import outcome

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.core.scores import Result
    from veridical.report.results import Results

_SHOWN = 10  # maximum answers
_CAUSES = 5
_LONGEST = 300


class WorstRows:
    """Worst answers of a run, collected one at a time."""

    def __init__(self) -> None:
        self._heap: list[tuple[bool, float, int, Record, Result]] = []

    def add(self, row: CiRow) -> None:
        """Add a row; rows without a negative verdict are ignored."""
        if row.result is None or row.record is None:
            return
        verdict, risk = row.result.verdict, row.result.risk
        if verdict not in FLAGGED:
            return
        rank = (verdict == "contradicted", risk or 0.0, -row.place.row)
        heapq.heappush(self._heap, (*rank, row.record, row.result))
        if len(self._heap) > _SHOWN:
            heapq.heappop(self._heap)

    def ranked(self) -> list[tuple[Record, Result]]:
        """Return the rows, the worst first."""
        return [(x[3], x[4]) for x in sorted(self._heap, key=lambda x: x[:3], reverse=True)]


def run_summary(results: Results, worst: WorstRows, failed: Sequence[str]) -> str:
    """Return the summary of the run in Markdown.

    Args:
        failed: failures (gates, coverage), a sentence each.
    """
    return markdown(_blocks(results, worst, failed))


def _blocks(results: Results, worst: WorstRows, failed: Sequence[str]) -> Iterator[Block]:
    summary = results.summary()
    yield Opening(outcome(summary))
    if failed:
        yield BulletList([[StyledText(text, "strong")] for text in failed])
    counts = [(v, summary.verdicts[v]) for v in get_args(Verdict) if summary.verdicts[v]]
    rows = [[v, str(n), share(n / summary.records)] for v, n in counts]
    if rows:
        yield plain_table(["Verdict", "answers", "share"], rows)
    if summary.decisions is not None:
        decided = [[name, str(n)] for name, n in summary.decisions.items()]
        yield plain_table(["Decision", "answers"], decided)
    scorers = [s.as_dict() for s in summary.scorers.values() if s.coverage is not None]
    if scorers:
        heads = ["Scorer", "coverage", "mean risk", "95 % interval"]
        yield plain_table(heads, map(_scorer, scorers))
    shown = worst.ranked()
    if shown:
        yield Heading("The worst answers", 3)
    for record, result in shown:
        name: list[str | StyledText] = [f"row {result.row}"]
        if result.id != result.row:
            name += [" ", StyledText(str(result.id), "quote")]
        yield Paragraph([*name, f": {headline(result)}"])
        yield BulletList(list(_details(record, result)))
    if summary.row_errors:
        yield Heading(f"Invalid rows: {summary.row_errors}", 3)
        yield BulletList([[StyledText(str(e), "quote")] for e in islice(results.errors(), _CAUSES)])


def _scorer(s: dict[str, Any]) -> list[str]:
    spread = interval(s["ci_low"], s["ci_high"])
    return [s["name"], share(s["coverage"]), number(s["mean"]), spread]


def _details(record: Record, result: Result) -> Iterator[list[str | StyledText]]:
    question = question_text(record.prompt)
    if question:
        yield ["question: ", _quote(question)]
    shown = result.shown()
    yield ["answer: ", _quote(shown.worst_text(record.response))]
    for item in shown.evidence[:1]:
        yield [f"{item.source}: ", _quote(item.text)]


def _quote(text: str) -> StyledText:
    return StyledText(shortened(text, _LONGEST), "quote")
