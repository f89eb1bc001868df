"""Error summary of a run: each cause, its count and an example."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.engine.causes import Cause, of_scores
from veridical.errors import NO_ANSWER
from veridical.text.display import printable

if TYPE_CHECKING:
    from veridical.errors import RowError
    from veridical.report.results import Results

_WIDTH = 80
_MAX_CAUSES = 5  # per kind
_MAX_SCORERS = 3  # named per cause


def error_lines(results: Results) -> list[str]:
    """Return lines on bad rows, unanswered prompts and failed scores, each cause once.

    Lines have at most 80 columns. A run without errors has no lines.
    """
    rows = results.row_error_causes()
    bad = [cause for cause in rows if not cause.of_llm]
    unanswered = [cause for cause in rows if cause.of_llm]
    failed = of_scores(results.summary())
    lines: list[str] = []
    for causes, one, several in (
        (bad, "1 row is no valid record", "{} rows are no valid records"),
        (unanswered, "1 prompt has no answer", "{} prompts have no answer"),
        (failed, "1 score failed", "{} scores failed"),
    ):
        lines += _section(causes, one, several)
    if rows and not results.temporary:
        lines += _wrapped(f"all of them: {_relative(results.path / 'errors.jsonl')}", "  ")
    if unanswered or failed:
        lines += _wrapped("--retry-failed runs again what failed; the rest is kept", "  ")
    return lines


def _section(causes: Sequence[Cause], one: str, several: str) -> list[str]:
    if not causes:
        return []
    total = sum(cause.count for cause in causes)
    lines = [(one if total == 1 else several).format(f"{total:,}") + ":"]
    for cause in causes[:_MAX_CAUSES]:
        field = f"{cause.column}: " if cause.column is not None and not cause.of_llm else ""
        reason = cause.reason.removeprefix(NO_ANSWER)
        lines += _wrapped(f"{cause.count:,} x {field}{reason}", "  ", "    ")
        if cause.scorers:
            lines += _wrapped(f"of {_named(cause.scorers)}", "    ")
        elif cause.example is not None:
            lines += _wrapped(f"for example {_place(cause.example, cause.of_llm)}", "    ")
    hidden = causes[_MAX_CAUSES:]
    if hidden:
        n = sum(cause.count for cause in hidden)
        lines.append(f"  {n:,} more, for {len(hidden)} other reason{'s' * (len(hidden) > 1)}")
    return lines


def _place(error: RowError, of_llm: bool) -> str:
    """Return the position of a row: file and line, or its number."""
    if of_llm or error.file.startswith("<"):
        return f"row {error.row}"
    file = _relative(Path(error.file))
    return f"{file}, row {error.row}" if error.line is None else f"{file}:{error.line}"


def _relative(path: Path) -> str:
    """Return a path relative to the current folder, if it is below it."""
    try:
        shorter = os.path.relpath(path)
    except ValueError:  # on another drive
        return str(path)
    return str(path) if shorter.startswith(os.pardir) else shorter


def _named(scorers: Sequence[str]) -> str:
    more = len(scorers) - _MAX_SCORERS
    return ", ".join(scorers[:_MAX_SCORERS]) + (f" and {more} more" if more > 0 else "")


def _wrapped(text: str, before: str, later: str | None = None) -> list[str]:
    """Wrap a text at 80 columns, with control characters escaped."""
    return textwrap.wrap(
        printable(text),
        _WIDTH,
        initial_indent=before,
        subsequent_indent=before if later is None else later,
        break_on_hyphens=False,
    )
