"""Terminal summary of a run: the outcome, then the worst answers."""

from __future__ import annotations

import heapq
import os
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.core.bands import band, meaning
from veridical.core.prompt_text import question_text
from veridical.core.verdict_cuts import FLAGGED
from veridical.report.outcome import outcome
from veridical.text.display import display

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.core.scores import Result, ResultSummary
    from veridical.report.results import Results

WIDTH = 80
_SHOWN = 3
_LONGEST = 240  # characters of a text that is shown
_STYLES = {
    "contradicted": "bold red",
    "unsupported": "bold yellow",
    "inconsistent": "bold yellow",
    "unclear": "bold magenta",
}


@dataclass
class Worst:
    """Rows of the worst answers, collected one at a time."""

    _heap: list[tuple[bool, float, int]] = field(default_factory=list)

    def add(self, result: ResultSummary) -> None:
        """Consider a record: one whose verdict is bad is worse than any other, then risk counts."""
        if result.risk is None or result.verdict not in FLAGGED:
            return
        rank = (result.verdict == "contradicted", result.risk, -result.row)
        heapq.heappush(self._heap, rank)
        if len(self._heap) > _SHOWN:
            heapq.heappop(self._heap)

    @property
    def rows(self) -> list[int]:
        """The rows, worst first."""
        return [-row for _, _, row in sorted(self._heap, reverse=True)]


def answer(results: Results, worst: Worst) -> Iterator[tuple[str, str]]:
    """Yield lines to print and their styles."""
    yield wrapped(outcome(results.summary())), "bold"
    rows = worst.rows
    shown = {result.row: (record, result) for record, result in results.pairs(set(rows))}
    for row in rows:
        yield "", ""
        yield from described(f"row {row}", *shown[row])
    if rows:
        yield "", ""
        prior = shown[rows[0]][1].shown().prior
        if prior is not None:
            yield wrapped(meaning(prior)), ""


def described(where: str, record: Record, result: Result) -> Iterator[tuple[str, str]]:
    """Yield lines and styles for one answer: position, verdict, risk, question and evidence."""
    risk = "" if result.risk is None else f"  risk {result.risk:.2f} ({band(result.risk)})"
    name = "" if result.id == record.row else f"  id {plain(str(result.id), 40)}"
    decision = "" if result.decision is None else f"  {result.decision}"
    yield f"{where}{name}  {result.verdict}{risk}{decision}", _STYLES.get(result.verdict, "bold")
    if record.prompt:
        yield _field("question", question_text(record.prompt)), ""
    shown = result.shown()
    yield _field("answer", shown.worst_text(record.response)), ""
    for item in shown.evidence[:1]:
        if item.kind != "token":
            yield _field(item.source, item.text), ""
    if shown.worst is not None and not shown.evidence:
        yield _field("evidence", "none"), ""
    if shown.why is not None:
        yield _field("unchecked", shown.why), ""


def _field(name: str, text: str) -> str:
    return textwrap.fill(
        plain(text),
        WIDTH,
        initial_indent=f"  {name:<12}",
        subsequent_indent=" " * 14,
        break_on_hyphens=False,
    )


def plain(text: str, longest: int = _LONGEST) -> str:
    """Return a text on one line, cut after ``longest`` characters, with controls escaped."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line[: 4 * longest])
    return line if len(line) <= longest else line[:longest].rsplit(" ", 1)[0] + " [...]"


def wrapped(text: str) -> str:
    """Wrap ``text`` at 80 columns, with later lines indented."""
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def shown_path(path: Path) -> str:
    """Return ``path`` relative to the current folder, if it is below it."""
    relative = os.path.relpath(path)
    return display(path if relative.startswith("..") else relative)
