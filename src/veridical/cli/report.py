"""``veridical report``: the report of a finished run or benchmark."""

from __future__ import annotations

import sys
from pathlib import Path

from veridical.cli import figures
from veridical.cli.declared import argument, check_files, command, flag, flags
from veridical.core.options import Names
from veridical.errors import UsageError

REPORT_EXAMPLES = (
    "Examples:\n\n  veridical report .veridical/runs/0123456789abcdef --out r.html\n\n"
    "  veridical report RUN --only unsupported,contradicted --redact\n\n"
    "  veridical report .veridical/bench/0123456789abcdef --out results.md"
)


@flags()
class ReportOptions:
    """Options of ``veridical report``."""

    run: Path = argument("Directory of a run or benchmark.", names=Names.OTHER)
    out: Path = flag(
        "File to write: .html; for a benchmark also .md, .json or .txt.",
        default=Path("report.html"),
        names=Names.OUTPUT,
    )
    only: str | None = flag(
        "Show only records with these verdicts, comma-separated: contradicted, unsupported, "
        "inconsistent, unclear, supported, consistent, unchecked.",
        metavar="VERDICTS",
    )
    redact: bool = flag(
        "Replace texts by their lengths; verdicts, risks and ids remain.", default=False
    )


@command
def report(options: ReportOptions) -> int:
    """Write the report of a finished run or benchmark, without scoring."""
    from veridical.api import reopen
    from veridical.cli.finish import trust_lines
    from veridical.report.stored import BENCH_FILE, write_stored

    check_files(options)
    only = None
    if options.only is not None:
        only = [name for part in options.only.split(",") if (name := part.strip())]
    if (options.run.suffix == ".json" and options.run.is_file()) or (
        options.run / BENCH_FILE
    ).is_file():
        if only is not None or options.redact:
            raise UsageError(
                "--only and --redact apply to runs of check, not to benchmarks: remove them"
            )
        write_stored("bench", options.run, options.out)
    else:
        results = reopen(options.run)
        results.report(options.out, only=only, redact=options.redact)
        err = figures.error_console()
        for text in (*results.distrusted.lines, *trust_lines(results.summary())):
            err.print(text, markup=False)
    print(options.out, file=sys.stderr)
    return 0
