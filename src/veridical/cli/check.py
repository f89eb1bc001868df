"""``veridical check`` and ``veridical plan``: a run, and its estimate."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console

from veridical.cli import interrupts
from veridical.cli.corpus import telling
from veridical.cli.declared import check_files, coverage, flag, flags, long_command, output
from veridical.cli.figures import error_console
from veridical.cli.options import (
    JUNIT,
    MARKDOWN,
    SARIF,
    STORE,
    ComparedFlags,
    ModelFlags,
    PresetFlags,
    RecordFlags,
    SampleFlags,
    cascade_of,
    keywords_of,
    rows_of,
    run_keywords,
    sampling_of,
)
from veridical.cli.outputs import opened
from veridical.core.options import Group
from veridical.engine.options import EngineOptions
from veridical.run.options import RunOptions, ScaleOptions

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.run.options import PlanKeywords
    from veridical.sampling.sampling import Sampling

CHECK_EXAMPLES = (
    "Examples:\n\n"
    "  veridical check answers.jsonl\n\n"
    "  veridical check answers.jsonl --preset fast --json results.jsonl --report report.html\n\n"
    '  veridical check rag.parquet --scorers "support, knowledge_f1" --against contexts\n\n'
    '  veridical check sums.jsonl --scorers "exact_match, semantic_entropy" --answer number\n\n'
    "  veridical check answers.jsonl --corpus ./documents --report report.html\n\n"
    "  veridical check answers.csv --map response=reply --fail-over 0.65\n\n"
    "  veridical check answers.jsonl --policy policy.toml --json decided.jsonl\n\n"
    "  veridical check answers.jsonl --cascade cascade.json --report report.html\n\n"
    "  veridical check answers.jsonl --select best --repair drop --report report.html\n\n"
    "  veridical check prompts.jsonl --llm openai:gpt-4o-mini --samples 5 --budget 2.00\n\n"
    "  veridical check prompts.jsonl --llm NAME --n 3:20 --temperature 0.7\n\n"
    "  veridical check answers.jsonl --fail-on contradicted,unsupported --max-share 5%\n\n"
    "  veridical check orders.jsonl --fail-on-field 'items[*].price=contradicted|unsupported'\n\n"
    "  veridical check answers.jsonl --junit report.xml --sarif findings.sarif "
    "--markdown summary.md\n\n"
    "Exit codes: 0 fine; 1 usage, no valid input or internal error; 2 coverage under the minimum, "
    "or nothing scored; 3 a gate failed (--fail-on, --fail-on-field, --fail-over), which wins "
    "over 2; 130 interrupted (run the same command again to resume)."
)
PLAN_EXAMPLES = (
    "Examples:\n\n  veridical plan answers.jsonl\n\n"
    '  veridical plan answers.jsonl --scorers "checkembed, bert_score" --json -\n\n'
    "  veridical plan answers.jsonl --cascade cascade.json\n\n"
    "  veridical plan answers.jsonl --select best --repair drop\n\n"
    "  veridical plan answers.jsonl --limit 500 --records 1000000000 --hours 48 --price 0.05\n\n"
    "  veridical plan prompts.jsonl --llm NAME --n 3:20"
)


@flags(RunOptions)
class SharedOptions(RecordFlags, PresetFlags, ComparedFlags, ModelFlags, SampleFlags):
    """The options that ``veridical check`` and ``veridical plan`` share."""

    cascade: Path | None = flag(
        "Cascade file from veridical tune, instead of --scorers.", Group.SCORING, after="scorers"
    )
    policy: Path | None
    select: str | None
    repair: str | None


@flags(ScaleOptions, EngineOptions)
class PlanOptions(SharedOptions):
    """Options of ``veridical plan``."""

    json_path: str | None = output("Write the plan as JSON; - for stdout.", "--json")
    store: str = STORE
    processes: int | None
    records: int | None = flag(metavar="N")
    machines: int | None = flag(metavar="M")
    hours: float | None = flag(metavar="H")
    cores: int | None = flag(metavar="C")
    price: float | None = flag(metavar="X")
    deferral: float | None = flag(metavar="X")


@flags(RunOptions, EngineOptions)
class CheckOptions(SharedOptions):
    """Options of ``veridical check``."""

    json_path: str | None = output("Write one JSON result per line; - for stdout.", "--json")
    report: Path | None = output("Write a self-contained HTML report.")
    junit: str | None = JUNIT
    sarif: str | None = SARIF
    markdown: str | None = MARKDOWN
    verbose: bool = flag("Also print the table of scorers.", Group.OUTPUT, False)
    fail_over: str | None = flag(
        "Exit 3 if a risk is over X; NAME:X limits the risk of one scorer.",
        Group.GATES,
        metavar="X|NAME:X",
    )
    fail_on: str | None = flag(
        "Exit 3 on these verdicts or decisions, such as contradicted,reject; also missed_answer.",
        Group.GATES,
    )
    fail_on_field: list[str] | None = flag(
        "Exit 3 if a field of a structured answer (JSON, YAML, XML, table) has this verdict.",
        Group.GATES,
        metavar="PATH=VERDICT",
    )
    max_share: str | None = flag(
        "Maximum share of records that may fail a gate, such as 5%.", Group.GATES, metavar="P%"
    )
    allow_unchecked: str | None = flag(
        "Maximum share of unchecked rows, such as 5%.", Group.GATES, metavar="P%"
    )
    min_coverage: float = coverage("Exit 2 if the coverage of a scorer is below this share.")
    strict: bool = flag(called="--strict/--no-strict", after="limit")
    out: Path | None
    store: str = STORE
    retry_failed: bool
    fresh: bool
    processes: int | None


@long_command(
    "inputs",
    "report",
    "json_path",
    "preset",
    "scorers",
    "strictness",
    "corpus",
    "mapping",
    "limit",
    "llm",
    "budget",
    "policy",
    "fail_on",
    "fail_over",
)
def check(options: CheckOptions) -> int:
    """Check answers: the risk of each answer and sentence, with evidence."""
    _open_early(options)
    from veridical.api import AUTO, RUNS, Job
    from veridical.cli.finish import CiFiles, ExitOptions, finish
    from veridical.cli.progress import loading, watch
    from veridical.decide.gates import Gates
    from veridical.run.request import Request

    err = error_console()
    check_files(options)
    by_name = options.scorers is not None
    files = CiFiles(options.junit, options.sarif, options.markdown)
    keywords = run_keywords(options)
    keywords["out"] = RUNS / AUTO if options.out is None else options.out
    keywords["sampling"] = _sampling(options)
    keywords["notify"] = telling(err)
    scorers = _scorers(options)
    request = Request.of(scorers, keywords)
    gates = Gates.parse(
        options.fail_on,
        options.fail_over,
        options.max_share,
        options.allow_unchecked,
        policy=options.policy is not None,
        strictness=request.strictness,
        fail_on_field=options.fail_on_field or (),
    )
    gates.check_names(request.scorers)
    asked = ExitOptions(gates, options.min_coverage, by_name, options.verbose, files)
    with loading(err):
        job = Job(rows_of(options.inputs), scorers, **keywords)
    try:
        results = watch(job, err)
    except KeyboardInterrupt:
        interrupts.tell(
            f"interrupted after {job.progress.records + job.progress.resumed} records; "
            f"run the same command again to resume ({job.directory.path})"
        )
        return interrupts.INTERRUPTED
    with opened(options.json_path) as lines:
        drawn = None if job.sampled is None else job.sampled.progress
        notes = () if job.follow_up.policy is None else job.follow_up.policy.notes
        return finish(results, lines, options.report, asked, err, drawn, notes)


def _open_early(options: CheckOptions) -> None:
    """Start to open the NLI model early if the default scorers need it.

    The model takes longer to open than everything else at the start.
    """
    plain = options.scorers is None and options.cascade is None and options.precision != "fast"
    here = all(map(os.path.isfile, options.inputs))  # else it ends at once
    if plain and here and options.preset == "auto":
        from veridical.models.nli.packaged import open_early

        open_early(options.nli, "float32" if options.precision == "exact" else "auto")


@long_command(
    "inputs",
    "records",
    "machines",
    "hours",
    "price",
    "preset",
    "scorers",
    "corpus",
    "mapping",
    "limit",
    "llm",
    "n",
    "policy",
    "json_path",
)
def plan(options: PlanOptions) -> int:
    """Estimate the model calls, time and cost of a check, without running it."""
    from veridical import api
    from veridical.cli.planned import plan_table

    check_files(options)
    keywords = cast("PlanKeywords", keywords_of(options, RunOptions, EngineOptions, ScaleOptions))
    keywords["sampling"] = _sampling(options)
    planned: dict[str, Any] = api.plan(rows_of(options.inputs), _scorers(options), **keywords)
    if options.json_path is not None:
        with opened(options.json_path) as lines:
            assert lines is not None
            lines.write(json.dumps(planned) + "\n")
    if options.json_path != "-":
        plan_table(planned, Console(highlight=False))
    return 0 if planned["records"] else 1


def _scorers(options: SharedOptions) -> str | list[BoundScorer] | None:
    if options.cascade is None:
        return options.scorers
    return cascade_of(options.cascade, options.scorers)


def _sampling(options: SharedOptions) -> Sampling | None:
    """Return the sampling of answers to prompts; None without such options."""
    from veridical.run.inputs import default_sampling

    default = default_sampling(options.samples)
    chosen = (options.n, options.temperature, options.adaptive, options.alpha)
    if chosen == (None, default.temperature, None, None):
        return None
    return sampling_of(*chosen, default_n=default.n, logprobs=default.logprobs)
