"""``veridical explain RUN ROW``: one answer of a run, its sentences, and the evidence."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.cli.declared import argument, command, flag, flags
from veridical.core.options import Group, Names
from veridical.core.prompt_text import question_text
from veridical.errors import UsageError
from veridical.text.display import shown as shown_name

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.core.scores import Result
    from veridical.report.results import Results

EXPLAIN_EXAMPLES = (
    "Examples:\n\n  veridical explain .veridical/runs/0123456789abcdef 17\n\n"
    "  veridical explain .veridical/runs/0123456789abcdef 17 --json"
)


@flags()
class ExplainOptions:
    """Options of ``veridical explain``."""

    run: Path = argument("Run directory.", names=Names.OTHER)
    row: str = argument("Row of the input, from 0, or record id.")
    as_json: bool = flag("Print the JSON result line.", Group.OUTPUT, False, called="--json")


@command
def explain(options: ExplainOptions) -> int:
    """Print one answer of a run with its verdict, sentences and evidence."""
    from veridical.api import reopen
    from veridical.core.explain import ansi, pieces, plain

    results = reopen(options.run)
    record, result = _find(results, options)
    if options.as_json:
        print(result.model_dump_json())
        return 0
    question = question_text(record.prompt) or None
    shown = pieces(result.shown([c.id for c in record.contexts]), question)
    sys.stdout.write(ansi(shown) if sys.stdout.isatty() else plain(shown))
    return 0


def _find(results: Results, options: ExplainOptions) -> tuple[Record, Result]:
    """Find a record and its result by row, or the first one by id.

    Raises:
        UsageError: no record has this row or id.
    """
    wanted = options.row
    row = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 16 else None
    if row is None or row not in {row for row, _ in results.numbered()}:
        row = next((h.row for _, h in results.summaries() if str(h.id) == wanted), row)
    pair = None if row is None else next(results.pairs({row}), None)
    if pair is not None:
        return pair
    error = next((e for e in results.errors() if e.row == row), None)
    if error is not None:
        raise UsageError(f"row {row} was not read: {error.error}")
    raise UsageError(
        f"{options.run} has no row or id {shown_name(wanted)} ({len(results)} results)"
    )
