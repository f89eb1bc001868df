"""``veridical study``: the studies of papers; ``checkembed``, run on texts made for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from veridical.cli import figures, interrupts
from veridical.cli.counted import calls_line, check_planned, speed_lines, tell
from veridical.cli.declared import argument, coverage, flag, flags, long_command
from veridical.cli.figures import FigureFlags
from veridical.cli.help import App
from veridical.cli.options import STORE, EncoderFlags, PlanFlags, keywords_of
from veridical.cli.outputs import coverage_code
from veridical.engine.options import EngineOptions, Precision
from veridical.errors import UsageError
from veridical.report.forms import write_report_as
from veridical_lab.commands.study_refchecker import app as refchecker_app
from veridical_lab.studies.checkembed.options import STUDIES, CheckEmbedSetup

CHECKEMBED_EXAMPLES = (
    "Examples:\n\n"
    "  veridical study checkembed errors --llm local:smollm2 --limit 2 --n 3 --plan\n\n"
    "  veridical study checkembed pairs errors --llm openai:gpt-4o-mini --report studies.html\n\n"
    "  veridical study checkembed errors --about scientific --errors 1,5,10 --llm NAME --json -\n\n"
    "  veridical study checkembed terms --data legal_definitions.json --llm NAME\n\n"
    "  veridical study checkembed runtime --ks 2,6,10 --lengths 200,1000 --embedders minilm\n\n"
    "Exit codes: 0 fine; 1 usage, no text written, or the budget stopped it; 2 fewer replies or "
    "scores of use than --min-coverage; 130 interrupted. The same command resumes."
)

app = App(
    help="Studies of published papers, run on texts made for them.",
    no_args_is_help=True,
    epilog=CHECKEMBED_EXAMPLES,
)
app.add_typer(refchecker_app, name="refchecker")


@flags(CheckEmbedSetup, EngineOptions)
class CheckEmbedOptions(EncoderFlags, FigureFlags, PlanFlags):
    """The options of ``veridical study checkembed``."""

    studies: list[str] = argument(
        "; ".join(f"{name}: {what}" for name, what in STUDIES.items()) + ".", metavar="STUDY"
    )
    data: Path | None
    about: str
    errors: str = flag(metavar="LIST")
    limit: int | None
    ks: str = flag(metavar="LIST")
    lengths: str = flag(metavar="LIST")
    embedders: str = flag(metavar="LIST")
    scorers: str | None
    llm: str | None
    nli: str = flag(after="image_embedder")
    precision: Precision | None = flag(after="nli")
    budget: float | None = flag(after="precision")
    n: int
    temperature: float
    max_tokens: int
    min_coverage: float = coverage("Exit 2 if a smaller share of replies or scores is usable.", 0.5)
    out: Path | None = flag(after="tokens_per_second")
    store: str = flag(default=STORE, after="out")
    seed: int
    retry_failed: bool = flag(after="store")


@app.command(epilog=CHECKEMBED_EXAMPLES)
@long_command(
    "studies",
    "scorers",
    "llm",
    "n",
    "limit",
    "data",
    "embedder",
    "budget",
    "plan",
    "out",
    "report",
    "json_path",
)
def checkembed(options: CheckEmbedOptions) -> int:
    """Run the studies of CheckEmbed (Besta et al. 2025) on texts written by an LLM.

    Replies are stored, so an interrupted study can be resumed.
    """
    from veridical.run.display import Display
    from veridical_lab.studies.checkembed.document import markdown, print_studies
    from veridical_lab.studies.checkembed.html import write_studies_report
    from veridical_lab.studies.checkembed.planning import plan_studies
    from veridical_lab.studies.checkembed.running import run_studies

    err = figures.error_console()
    check_planned(options.plan, tokens_per_second=options.tokens_per_second)
    if options.plan and options.report:
        raise UsageError("--report cannot be combined with --plan, which has no figures")
    figures.check_outputs(options)
    chosen = CheckEmbedSetup(**keywords_of(options, CheckEmbedSetup))
    engine = EngineOptions(**keywords_of(options, EngineOptions))
    if options.plan:
        plan = plan_studies(options.studies, chosen, engine)
        return tell(plan, _plan_lines(plan), options.json_path)
    with Display(err) as display:
        result = figures.or_interrupted(
            lambda: run_studies(options.studies, chosen, engine, display)
        )
    if result is None:
        return interrupts.INTERRUPTED
    figures.write(
        options,
        err,
        json=result.model_dump_json,
        render=lambda path: write_report_as(
            path,
            html=lambda to: write_studies_report(result, to),
            markdown=lambda: markdown(result),
            text=lambda console: print_studies(result, console),
            json=lambda: result.model_dump_json(indent=1),
        ),
        show=lambda console: print_studies(result, console),
    )
    err.print(f"studies: {result.folder}", markup=False)
    shares = {f"replies of {r.study}": r.usable / r.asked for r in result.replies if r.asked}
    for study, of_study in result.coverage.items():
        shares |= {f"{scorer} on {study}": share for scorer, share in of_study.items()}
    return coverage_code(shares, options.min_coverage, err)


def _plan_lines(plan: dict[str, Any]) -> Iterator[str]:
    for study in plan["studies"]:
        yield f"{study['study']}: {study['size']}"
        yield f"  {calls_line(study)}; {study['records']} records to score"
    yield f"in all: {calls_line(plan)}"
    yield from speed_lines(plan["llm"], plan["hours"], plan["tokens_per_second"])
