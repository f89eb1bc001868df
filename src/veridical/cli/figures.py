"""Shared parts of the measuring commands: options, scoring and output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console

from veridical.cli import interrupts
from veridical.cli.declared import check_files, flags, output
from veridical.cli.outputs import opened
from veridical.report.forms import form_of

if TYPE_CHECKING:
    from veridical.api import Job
    from veridical.report.results import Results

T = TypeVar("T")

JSON_FIGURES = output("Write the figures as JSON; - for stdout.", "--json")


@flags()
class FigureFlags:
    """Outputs of commands that print figures."""

    json_path: str | None = JSON_FIGURES
    report: list[Path] | None = output("Write a report: .html, .md, .txt or .json; repeatable.")


def error_console() -> Console:
    """Open a console on standard error, without wrapping unless it is a terminal."""
    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def check_outputs(options: Any, *, table: bool = False) -> None:
    """Check before the work that the outputs of a command can be written.

    Args:
        table: a report may be a table of figures.

    Raises:
        UsageError: as :func:`~veridical.cli.declared.check_files` and
            :func:`~veridical.report.forms.form_of` do.
    """
    check_files(options)
    for path in options.report or ():
        form_of(path, table=table)


def score(job: Job, err: Console, name: str = "", *, table: bool = False) -> Results:
    """Wait for ``job`` and show its progress and outcome."""
    from veridical.cli.finish import ledger_lines, resumed_lines, summary_table
    from veridical.cli.progress import watch

    err.print(f"{name}: " * bool(name) + f"scoring into {job.results.path}", markup=False)
    results = watch(job, err)
    if table:
        summary_table(results.summary(), err)
    else:
        for line in resumed_lines(job.directory.resumed, job.directory.distrusted.count):
            err.print(line, markup=False)
    for line in ledger_lines(results.ledger):
        err.print(line, markup=False)
    return results


def or_interrupted(work: Callable[[], T]) -> T | None:
    """Return the result of ``work``; report an interrupt and return None."""
    try:
        return work()
    except KeyboardInterrupt:
        interrupts.tell("interrupted; run the same command again to resume")
        return None


def write(
    options: Any,
    err: Console,
    *,
    json: Callable[[], str],
    render: Callable[[Path], None],
    show: Callable[[Console], None],
) -> None:
    """Write the figures to ``--json`` and ``--report``, and print them."""
    with opened(options.json_path) as lines:
        if lines is not None:
            lines.write(json() + "\n")
    for path in options.report or ():
        render(path)
        err.print(f"report: {path}", markup=False)
    show(err if options.json_path == "-" else Console(highlight=False))
