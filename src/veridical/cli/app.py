"""``veridical check | plan | bench | report | scorers``, and the commands of other modules."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veridical.cli import models
from veridical.cli.bench import BENCH_EXAMPLES, bench
from veridical.cli.corpus import CORPUS_EXAMPLES, telling
from veridical.cli.corpus import corpus as corpus_command
from veridical.cli.options import (
    AdaptiveOption,
    AgainstOption,
    Alpha,
    Budget,
    CascadeOption,
    Claims,
    Corpus,
    CorpusTop,
    Embedder,
    Inputs,
    Limit,
    Llm,
    Map,
    N,
    Nli,
    PolicyOption,
    Preset,
    PresetOption,
    Processes,
    Proxy,
    Reader,
    RepairOption,
    RetryFailed,
    Samples,
    Scorers,
    SelectOption,
    Store,
    Temperature,
    TokenEncoder,
    cascade_of,
    mapping_of,
    sampling_of,
)
from veridical.cli.outputs import opened, writable
from veridical.cli.prompts import PROMPTS_EXAMPLES, prompts
from veridical.cli.rank import RANK_EXAMPLES, rank
from veridical.cli.redteam import REDTEAM_EXAMPLES, redteam
from veridical.cli.sample import SAMPLE_EXAMPLES, sample
from veridical.cli.train import train
from veridical.cli.tune import TUNE_EXAMPLES, tune
from veridical.errors import UsageError
from veridical.version import __version__

if TYPE_CHECKING:
    from veridical.llm.sampling import Sampling

app = typer.Typer(
    name="veridical",
    help="How far can an LLM's answer be trusted: how likely is it hallucinated, where, and on "
    "what evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
err = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"veridical {__version__}")
        raise typer.Exit


@app.command(
    epilog="Examples:\n\n"
    "  veridical check answers.jsonl\n\n"
    "  veridical check answers.jsonl --preset fast --json results.jsonl --report report.html\n\n"
    '  veridical check rag.parquet --scorers "support, knowledge_f1" --against contexts\n\n'
    "  veridical check rag.jsonl --claims --report report.html\n\n"
    "  veridical check answers.jsonl --claims --corpus ./documents --report report.html\n\n"
    "  veridical check answers.csv --map response=reply --fail-over 0.8\n\n"
    "  veridical check answers.jsonl --policy policy.toml --json decided.jsonl\n\n"
    "  veridical check answers.jsonl --cascade cascade.json --report report.html\n\n"
    "  veridical check answers.jsonl --select best --repair drop --report report.html\n\n"
    "  veridical check prompts.jsonl --llm openai:gpt-4o-mini --samples 5 --budget 2.00\n\n"
    "  veridical check prompts.jsonl --llm NAME --n 3:20 --temperature 0.7\n\n"
    "Exit codes: 0 fine; 1 usage, no valid input or internal error; 2 coverage under the minimum; "
    "3 a record over --fail-over; 130 interrupted (run the same command again to resume)."
)
def check(
    inputs: Inputs,
    out: Annotated[
        Path | None,
        typer.Option(help="Run directory; the same one resumes. Default: .veridical/runs/..."),
    ] = None,
    scorers: Scorers = None,
    cascade: CascadeOption = None,
    preset: PresetOption = Preset.auto,
    against: AgainstOption = None,
    samples: Samples = None,
    claims: Claims = False,
    corpus: Corpus = None,
    corpus_top: CorpusTop = None,
    json_path: Annotated[
        str | None,
        typer.Option("--json", help="Write one JSON result a line, in input order; - for stdout."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write one self-contained HTML report.")
    ] = None,
    policy: PolicyOption = None,
    select: SelectOption = None,
    repair: RepairOption = None,
    limit: Limit = None,
    store: Store = str(Path(".veridical") / "store"),
    fail_over: Annotated[
        str | None,
        typer.Option(help="Exit 3 when a record's risk is over X; NAME:X for one scorer's risk."),
    ] = None,
    min_coverage: Annotated[
        float, typer.Option(min=0, max=1, help="Exit 2 when any scorer's coverage is under this.")
    ] = 0.98,
    strict: Annotated[bool, typer.Option(help="Stop at the first bad row.")] = False,
    retry_failed: RetryFailed = False,
    mapping: Map = None,
    reader: Reader = None,
    embedder: Embedder = "minilm",
    token_encoder: TokenEncoder = None,
    nli: Nli = "veridical-nli-mini",
    llm: Llm = None,
    n: N = None,
    temperature: Temperature = 1.0,
    adaptive: AdaptiveOption = None,
    alpha: Alpha = None,
    proxy: Proxy = None,
    budget: Budget = None,
    processes: Processes = None,
) -> int:
    """Check a file of answers: per-record and per-sentence risk, with evidence."""
    from veridical.api import AUTO, RUNS, Job
    from veridical.cli.finish import Limits, finish
    from veridical.cli.progress import watch

    limits = Limits.parse(fail_over, min_coverage)
    writable(report, json_path, inputs=_read(inputs, policy, cascade))
    job = Job(
        _inputs(inputs),
        scorers if cascade is None else cascade_of(cascade, scorers),
        preset=preset.value,
        against=None if against is None else against.value,
        samples=samples,
        claims=claims,
        corpus=corpus,
        corpus_top=corpus_top,
        limit=limit,
        out=RUNS / AUTO if out is None else out,
        mapping=mapping_of(mapping),
        reader=reader,
        strict=strict,
        retry_failed=retry_failed,
        embedder=embedder,
        token_encoder=token_encoder,
        nli=nli,
        llm=llm,
        proxy=proxy,
        budget=budget,
        sampling=_sampling(samples, n, temperature, adaptive, alpha),
        policy=policy,
        select=None if select is None else select.value,
        repair=None if repair is None else repair.value,
        store=None if store == "none" else store,
        processes=processes,
        notify=telling(err),
    )
    limits.check_names(job.results.scorers)
    try:
        results = watch(job, err)
    except KeyboardInterrupt:
        err.print(
            f"interrupted after {job.progress.records + job.progress.resumed} records; "
            f"run the same command again to resume ({escape(str(job.directory.path))})"
        )
        return 130
    with opened(json_path) as lines:
        drawn = None if job.sampled is None else job.sampled.progress
        notes = () if job.after.policy is None else job.after.policy.notes
        return finish(results, lines, report, limits, err, drawn, notes)


@app.command(
    epilog="Examples:\n\n  veridical plan answers.jsonl\n\n"
    '  veridical plan answers.jsonl --scorers "checkembed, bert_score" --json -\n\n'
    "  veridical plan answers.jsonl --cascade cascade.json\n\n"
    "  veridical plan answers.jsonl --select best --repair drop\n\n"
    "  veridical plan prompts.jsonl --llm NAME --n 3:20"
)
def plan(
    inputs: Inputs,
    scorers: Scorers = None,
    cascade: CascadeOption = None,
    preset: PresetOption = Preset.auto,
    against: AgainstOption = None,
    samples: Samples = None,
    claims: Claims = False,
    corpus: Corpus = None,
    corpus_top: CorpusTop = None,
    json_path: Annotated[
        str | None, typer.Option("--json", help="Write the plan as JSON; - for stdout.")
    ] = None,
    policy: PolicyOption = None,
    select: SelectOption = None,
    repair: RepairOption = None,
    limit: Limit = None,
    store: Store = str(Path(".veridical") / "store"),
    mapping: Map = None,
    reader: Reader = None,
    embedder: Embedder = "minilm",
    token_encoder: TokenEncoder = None,
    nli: Nli = "veridical-nli-mini",
    llm: Llm = None,
    n: N = None,
    temperature: Temperature = 1.0,
    adaptive: AdaptiveOption = None,
    alpha: Alpha = None,
    proxy: Proxy = None,
    budget: Budget = None,
    processes: Processes = None,
) -> int:
    """Dry run: count what check would ask of each model, and estimate time and cost."""
    from veridical import api
    from veridical.cli.finish import plan_table

    writable(json_path, inputs=_read(inputs, policy, cascade))
    found = api.plan(
        _inputs(inputs),
        scorers if cascade is None else cascade_of(cascade, scorers),
        preset=preset.value,
        against=None if against is None else against.value,
        samples=samples,
        claims=claims,
        corpus=corpus,
        corpus_top=corpus_top,
        limit=limit,
        mapping=mapping_of(mapping),
        reader=reader,
        embedder=embedder,
        token_encoder=token_encoder,
        nli=nli,
        llm=llm,
        proxy=proxy,
        budget=budget,
        sampling=_sampling(samples, n, temperature, adaptive, alpha),
        policy=policy,
        select=None if select is None else select.value,
        repair=None if repair is None else repair.value,
        store=None if store == "none" else store,
        processes=processes,
    )
    if json_path is not None:
        with opened(json_path) as lines:
            assert lines is not None
            lines.write(json.dumps(found) + "\n")
    if json_path != "-":
        plan_table(found, Console(highlight=False))
    return 0 if found["records"] else 1


app.command(epilog=SAMPLE_EXAMPLES)(sample)
app.command(epilog=BENCH_EXAMPLES)(bench)
app.command(epilog=TUNE_EXAMPLES)(tune)
app.command(epilog=RANK_EXAMPLES)(rank)
app.command(epilog=REDTEAM_EXAMPLES)(redteam)
app.command(epilog=PROMPTS_EXAMPLES)(prompts)
app.command(name="corpus", epilog=CORPUS_EXAMPLES)(corpus_command)


@app.command(
    epilog="Examples:\n\n  veridical report .veridical/runs/0123456789abcdef --out r.html\n\n"
    "  veridical report .veridical/bench/0123456789abcdef --out results.md"
)
def report(
    run: Annotated[Path, typer.Argument(help="A run directory, or a benchmark's.")],
    out: Annotated[
        Path,
        typer.Option(help="The file to write: .html; of a benchmark also .md, .json or .txt."),
    ] = Path("report.html"),
) -> int:
    """Write the report of a finished run or benchmark again, without scoring anything."""
    from veridical.api import reopen
    from veridical.cli.bench import render, stored

    writable(out)
    found = stored(run)
    if found is not None:
        render(found, out)
    else:
        reopen(run).report(out)
    print(out, file=sys.stderr)
    return 0


@app.command(epilog="Examples:\n\n  veridical scorers\n\n  veridical scorers --json")
def scorers(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with parameters.")] = False,
) -> int:
    """List the scorers: level, needs, cost, parameters and source."""
    from veridical.registry import REGISTRY

    rows = [
        {
            "name": s.name,
            "level": s.level,
            "needs": sorted(s.needs),
            "cost": s.cost,
            "presets": sorted(s.presets),
            "parameters": {n: p.default for n, p in s.parameters.items()},
            "raw_is": s.raw_is,
            "source": s.source,
            "summary": s.summary,
        }
        for s in REGISTRY.all()
    ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return 0
    table = Table("scorer", "level", "needs", "cost", "presets", "source", "what it does")
    for r in rows:
        cells = (
            r["name"],
            r["level"],
            r["needs"],
            r["cost"],
            r["presets"],
            r["source"],
            r["summary"],
        )
        table.add_row(*(escape(", ".join(c) if isinstance(c, list) else str(c)) for c in cells))
    Console(highlight=False).print(table)
    return 0


app.add_typer(models.app, name="models")
app.add_typer(train)


def _sampling(
    samples: int | None,
    n: str | None,
    temperature: float,
    adaptive: str | None,
    alpha: float | None,
) -> Sampling | None:
    """How prompts are answered; None where nothing was said of it."""
    from veridical.api import ANSWER_LOGPROBS
    from veridical.llm.sampling import Sampling

    if (n, temperature, adaptive, alpha) == (None, Sampling.temperature, None, None):
        return None
    most = samples or Sampling.n
    return sampling_of(n, temperature, adaptive, alpha, default_n=most, logprobs=ANSWER_LOGPROBS)


def _read(inputs: list[str], *files: Path | None) -> list[str | Path]:
    """The files that a command reads."""
    return [*(i for i in inputs if i != "-"), *(f for f in files if f is not None)]


def _inputs(inputs: list[str]) -> str | list[str]:
    if "-" in inputs and len(inputs) > 1:
        raise UsageError("- (stdin) cannot be mixed with files")
    return "-" if inputs == ["-"] else inputs
