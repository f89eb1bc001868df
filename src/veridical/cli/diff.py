"""``veridical diff``: has a run got worse than another?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from veridical.cli.declared import check_files, command, option_of
from veridical.cli.figures import JsonFigures, error_console
from veridical.cli.options import JUnit, Markdown, Sarif, keywords_of
from veridical.cli.outputs import opened
from veridical.core.options import Group, Names
from veridical.diff.options import DiffOptions

DIFF_EXAMPLES = (
    "Examples:\n\n"
    "  veridical diff base.jsonl head.jsonl\n\n"
    "  veridical diff .veridical/runs/0123456789abcdef .veridical/runs/fedcba9876543210 "
    "--split-by topic --html changes.html\n\n"
    "  veridical diff base.jsonl.gz head.jsonl.gz --tolerate 0.02 --markdown comment.md\n\n"
    "  veridical diff base.jsonl head.jsonl --junit changes.xml --sarif changes.sarif\n\n"
    "Exit codes: 0 not shown to be worse; 1 usage; 2 no pair could be compared; 4 worse: the share "
    "of unsupported, contradicted and inconsistent answers (else the mean risk) rises by more than "
    "--tolerate at p < .05."
)


class PairingName(str, Enum):
    id = "id"
    prompt = "prompt"
    row = "row"


@dataclass(frozen=True, kw_only=True)
class DiffCommand:
    """The options of ``veridical diff``."""

    a: Annotated[
        Path,
        typer.Argument(
            help="The run before: a run directory, or a file of results (--json), gzipped or not."
        ),
    ]
    b: Annotated[Path, typer.Argument(help="The run now.")]
    pair_by: Annotated[PairingName | None, option_of(DiffOptions, "pair_by")] = None
    split_by: Annotated[str | None, option_of(DiffOptions, "split_by")] = None
    allow_different: Annotated[
        bool, option_of(DiffOptions, "allow_different", "--allow-different")
    ] = False
    tolerate: Annotated[float, option_of(DiffOptions, "tolerate", metavar="X")] = 0.0
    json_path: JsonFigures = None
    html: Annotated[
        Path | None,
        typer.Option(help="Write one self-contained page.", metavar="FILE"),
        Names.OUTPUT,
        Group.OUTPUT,
    ] = None
    markdown: Markdown = None
    junit: JUnit = None
    sarif: Sarif = None


@command
def diff(options: DiffCommand) -> int:
    """Compare two runs record by record: tests on risk, verdicts, decisions and claims, and the
    answers that changed."""
    from veridical.diff.comparing import diff as compare
    from veridical.diff.html import write_diff_report
    from veridical.diff.view import markdown, print_diff
    from veridical.integrations.ci.changes import write_changes

    check_files(options)
    compared = compare(options.a, options.b, **keywords_of(options, DiffOptions))
    with opened(options.json_path) as lines:
        if lines is not None:
            lines.write(compared.model_dump_json() + "\n")
    with opened(options.markdown) as page:
        if page is not None:
            page.write(markdown(compared))
    if options.html is not None:
        write_diff_report(compared, options.html)
    with opened(options.junit) as junit, opened(options.sarif) as sarif:
        write_changes(compared, junit=junit, sarif=sarif)
    to_stdout = "-" in (options.json_path, options.markdown, options.junit, options.sarif)
    print_diff(compared, error_console() if to_stdout else Console(highlight=False))
    if compared.gate is None:
        return 2
    return 4 if compared.gate.worse else 0
