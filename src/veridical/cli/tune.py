"""``veridical tune``: an ensemble tuned on graded answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from veridical.cli import figures, interrupts
from veridical.cli.declared import coverage, flag, flags, long_command
from veridical.cli.figures import FigureFlags
from veridical.cli.options import (
    STORE,
    ComparedFlags,
    ModelFlags,
    Preset,
    RecordFlags,
    keywords_of,
    rows_of,
)
from veridical.cli.outputs import coverage_code
from veridical.core.options import Group
from veridical.engine.options import EngineOptions
from veridical.report.forms import write_report_as
from veridical.run.options import RunOptions
from veridical.tuning.options import TuneOptions

if TYPE_CHECKING:
    from veridical.tuning.tuned import Tuned

TUNE_EXAMPLES = (
    "Examples:\n\n"
    "  veridical tune graded.jsonl --out ensemble.json\n\n"
    '  veridical tune graded.jsonl --scorers "ngram, selfcheck_nli, cosine" --objective f1 --joint '
    "--out ensemble.json --report tuning.html\n\n"
    "  veridical tune answers.jsonl --grader contains --calibrate platt --alpha 0.05 --delta 0.1 "
    "--out ensemble.json\n\n"
    "  veridical tune graded.jsonl --objective f1 --positive correct --joint\n\n"
    "  veridical tune graded.jsonl --min-precision 0.95 --report tuning.html\n\n"
    "  veridical tune graded.jsonl --by task --method logistic --json -\n\n"
    "  veridical tune graded.jsonl --cascade cascade.json --keep 0.99\n\n"
    "Then: veridical check answers.jsonl --scorers \"ensemble(file='ensemble.json')\"\n\n"
    "Exit codes: 0 fine; 1 usage, or too few graded answers; 2 coverage under the minimum; 130 "
    "interrupted (run the same command again to resume)."
)


@flags(TuneOptions, RunOptions, EngineOptions)
class TuneCommand(RecordFlags, FigureFlags, ComparedFlags, ModelFlags):
    """Options of ``veridical tune``."""

    out: Path | None
    cascade: Path | None
    keep: float
    hour: float
    scorers: str | None = flag(
        'Component scorers, such as "cosine, ngram(n=2)". Default: those of --preset.',
        Group.SCORING,
    )
    preset: Preset = "all"
    objective: Literal[
        "auroc",
        "average_precision",
        "brier",
        "log_loss",
        "f1",
        "f_beta",
        "balanced_accuracy",
        "accuracy",
    ]
    positive: Literal["hallucinated", "correct"]
    min_precision: float | None
    joint: bool
    beta: float
    method: Literal["weighted", "logistic", "boosted", "famd"]
    calibrate: Literal["none", "platt", "isotonic", "beta", "temperature"] = "none"
    alpha: float | None
    delta: float
    by: str | None
    simultaneous: bool
    level: Literal["response", "sentence"]
    labels: Path | None
    grader: str | None
    cv: int
    bootstrap: int
    seed: int
    run: Path | None
    store: str = STORE
    min_coverage: float = coverage("Exit 2 if the coverage of a component is below this share.")
    retry_failed: bool
    processes: int | None


@long_command(
    "inputs",
    "out",
    "preset",
    "scorers",
    "objective",
    "method",
    "calibrate",
    "alpha",
    "labels",
    "grader",
    "by",
    "mapping",
    "llm",
    "report",
)
def tune(options: TuneCommand) -> int:
    """Tune an ensemble of scorers on graded answers.

    The file has its weights, threshold, calibration and guarantee. Figures are cross-validated.
    """
    from veridical.api import AUTO, RUNS
    from veridical.tuning import tuning
    from veridical.tuning.tune_text import print_tuned

    err = figures.error_console()
    figures.check_outputs(options)
    keywords = keywords_of(options, TuneOptions, RunOptions, EngineOptions)
    keywords["run"] = RUNS / AUTO if options.run is None else options.run
    if options.calibrate == "none":
        keywords["calibrate"] = None
    tuned = figures.or_interrupted(
        lambda: tuning.tune(
            rows_of(options.inputs),
            options.scorers,
            tell=lambda text: err.print(text, markup=False),
            watch=lambda job: figures.score(job, err, table=True),
            **keywords,
        )
    )
    if tuned is None:
        return interrupts.INTERRUPTED
    figures.write(
        options,
        err,
        json=lambda: json.dumps(tuned.as_dict()),
        render=lambda path: _render(tuned, path),
        show=lambda console: print_tuned(tuned, console),
    )
    if options.out is None:
        err.print("the ensemble is not saved: give --out ensemble.json")
    else:
        err.print(f"ensemble: {options.out}", markup=False)
    if options.cascade is not None:
        err.print(f"cascade: {options.cascade}", markup=False)
    assert tuned.results is not None
    keys = {bound.key for bound in tuned.ensemble.scorers.values()}
    scorers = tuned.results.summary().scorers.items()
    coverage = {key: scorer.coverage for key, scorer in scorers if key in keys}
    return coverage_code(coverage, options.min_coverage, err)


def _render(tuned: Tuned, path: Path) -> None:
    from veridical.tuning.tune_text import print_tuned, tuned_markdown, write_tuned_page

    write_report_as(
        path,
        html=lambda to: write_tuned_page(tuned, to),
        markdown=lambda: tuned_markdown(tuned),
        text=lambda console: print_tuned(tuned, console),
        json=lambda: json.dumps(tuned.as_dict(), indent=1),
    )
