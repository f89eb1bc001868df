"""``veridical diff``: a comparison of two runs."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from veridical.cli.declared import argument, check_files, command, flag, flags, output
from veridical.cli.figures import JSON_FIGURES, error_console
from veridical.cli.options import JUNIT, MARKDOWN, SARIF, keywords_of
from veridical.cli.outputs import opened
from veridical.diff.options import DiffOptions, Pairing

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


@flags(DiffOptions)
class DiffCommand:
    """Options of ``veridical diff``."""

    a: Path = argument("Baseline: a run directory, or a results file of --json, also gzipped.")
    b: Path = argument("Run to compare with the baseline, in the same forms.")
    pair_by: Pairing | None
    split_by: str | None
    allow_different: bool
    tolerate: float = flag(metavar="X")
    json_path: str | None = JSON_FIGURES
    html: Path | None = output("Write a self-contained HTML page.")
    markdown: str | None = MARKDOWN
    junit: str | None = JUNIT
    sarif: str | None = SARIF


@command
def diff(options: DiffCommand) -> int:
    """Compare two runs record by record, with significance tests.

    Risks, verdicts, decisions and claims are compared, and changed answers are listed.
    """
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
