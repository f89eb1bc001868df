"""``veridical check | plan | bench | report | scorers``, and the commands of other modules."""

from __future__ import annotations

from typing import Annotated

import typer

from veridical.cli import hook, models, shard, study
from veridical.cli.bench import BENCH_EXAMPLES, bench
from veridical.cli.check import CHECK_EXAMPLES, PLAN_EXAMPLES, check, plan
from veridical.cli.corpus import CORPUS_EXAMPLES
from veridical.cli.corpus import corpus as corpus_command
from veridical.cli.demo import DEMO_EXAMPLES, demo
from veridical.cli.diff import DIFF_EXAMPLES, diff
from veridical.cli.doctor import DOCTOR_EXAMPLES, doctor
from veridical.cli.explain import EXPLAIN_EXAMPLES, explain
from veridical.cli.guard import GUARD_EXAMPLES, guard
from veridical.cli.help import App
from veridical.cli.init import INIT_EXAMPLES, init
from veridical.cli.mcp import MCP_EXAMPLES, mcp
from veridical.cli.prompts import PROMPTS_EXAMPLES, prompts
from veridical.cli.rank import RANK_EXAMPLES, rank
from veridical.cli.rate import RATE_EXAMPLES, rate
from veridical.cli.redteam import REDTEAM_EXAMPLES, redteam
from veridical.cli.report import REPORT_EXAMPLES, report
from veridical.cli.review import REVIEW_EXAMPLES, review
from veridical.cli.sample import SAMPLE_EXAMPLES, sample
from veridical.cli.scorers import SCORERS_EXAMPLES, scorers
from veridical.cli.serve import SERVE_EXAMPLES, serve
from veridical.cli.train import train
from veridical.cli.tune import TUNE_EXAMPLES, tune
from veridical.cli.view import VIEW_EXAMPLES, view
from veridical.cli.watch import WATCH_EXAMPLES, watch
from veridical.version import __version__

app = App(
    name="veridical",
    help="How far can an LLM's answer be trusted: how likely is it hallucinated, where, and on "
    "what evidence.",
    no_args_is_help=True,
    add_completion=True,
    epilog="Examples:\n\n  veridical check answers.jsonl --report report.html\n\n"
    "  veridical scorers\n\n  veridical check --help",
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"veridical {__version__}")
        raise typer.Exit


app.command(epilog=DEMO_EXAMPLES)(demo)
app.command(epilog=CHECK_EXAMPLES)(check)
app.command(epilog=EXPLAIN_EXAMPLES)(explain)
app.command(epilog=WATCH_EXAMPLES)(watch)
app.command(epilog=MCP_EXAMPLES)(mcp)
app.command(epilog=INIT_EXAMPLES)(init)
app.command(epilog=PLAN_EXAMPLES)(plan)
app.command(epilog=SAMPLE_EXAMPLES)(sample)
app.command(epilog=BENCH_EXAMPLES)(bench)
app.command(epilog=TUNE_EXAMPLES)(tune)
app.command(epilog=RANK_EXAMPLES)(rank)
app.command(epilog=DIFF_EXAMPLES)(diff)
app.command(epilog=REPORT_EXAMPLES)(report)
app.command(epilog=VIEW_EXAMPLES)(view)
app.command(epilog=REVIEW_EXAMPLES)(review)
app.command(epilog=RATE_EXAMPLES)(rate)
app.command(epilog=REDTEAM_EXAMPLES)(redteam)
app.command(epilog=GUARD_EXAMPLES)(guard)
app.command(epilog=PROMPTS_EXAMPLES)(prompts)
app.command(epilog=DOCTOR_EXAMPLES)(doctor)
app.command(epilog=SERVE_EXAMPLES)(serve)
app.command(name="corpus", epilog=CORPUS_EXAMPLES)(corpus_command)


app.command(epilog=SCORERS_EXAMPLES)(scorers)
app.add_typer(models.app, name="models")
app.add_typer(shard.app, name="shard")
app.add_typer(hook.app, name="hook")
app.add_typer(study.app, name="study")
app.add_typer(train)
