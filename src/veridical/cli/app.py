"""``veridical check | plan | bench | report | scorers | models``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veridical.cli.bench import BENCH_EXAMPLES, bench
from veridical.cli.options import (
    AgainstOption,
    Embedder,
    Inputs,
    Limit,
    Map,
    Nli,
    Preset,
    PresetOption,
    Processes,
    Reader,
    Samples,
    Scorers,
    Store,
    TokenEncoder,
    mapping_of,
)
from veridical.cli.outputs import opened, writable
from veridical.errors import UsageError
from veridical.version import __version__

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
    "  veridical check answers.csv --map response=reply --fail-over 0.8\n\n"
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
    preset: PresetOption = Preset.auto,
    against: AgainstOption = None,
    samples: Samples = None,
    json_path: Annotated[
        str | None,
        typer.Option("--json", help="Write one JSON result a line, in input order; - for stdout."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write one self-contained HTML report.")
    ] = None,
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
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run records with a failed score again.")
    ] = False,
    mapping: Map = None,
    reader: Reader = None,
    embedder: Embedder = "minilm",
    token_encoder: TokenEncoder = None,
    nli: Nli = "veridical-nli-mini",
    processes: Processes = None,
) -> int:
    """Check a file of answers: per-record and per-sentence risk, with evidence."""
    from veridical.api import AUTO, RUNS, Job
    from veridical.cli.finish import Limits, finish
    from veridical.cli.progress import watch

    limits = Limits.parse(fail_over, min_coverage)
    writable(report, json_path, inputs=[i for i in inputs if i != "-"])
    job = Job(
        _inputs(inputs),
        scorers,
        preset=preset.value,
        against=None if against is None else against.value,
        samples=samples,
        limit=limit,
        out=RUNS / AUTO if out is None else out,
        mapping=mapping_of(mapping),
        reader=reader,
        strict=strict,
        retry_failed=retry_failed,
        embedder=embedder,
        token_encoder=token_encoder,
        nli=nli,
        store=None if store == "none" else store,
        processes=processes,
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
        return finish(results, lines, report, limits, err)


@app.command(
    epilog="Examples:\n\n  veridical plan answers.jsonl\n\n"
    '  veridical plan answers.jsonl --scorers "checkembed, bert_score" --json -'
)
def plan(
    inputs: Inputs,
    scorers: Scorers = None,
    preset: PresetOption = Preset.auto,
    against: AgainstOption = None,
    samples: Samples = None,
    json_path: Annotated[
        str | None, typer.Option("--json", help="Write the plan as JSON; - for stdout.")
    ] = None,
    limit: Limit = None,
    store: Store = str(Path(".veridical") / "store"),
    mapping: Map = None,
    reader: Reader = None,
    embedder: Embedder = "minilm",
    token_encoder: TokenEncoder = None,
    nli: Nli = "veridical-nli-mini",
    processes: Processes = None,
) -> int:
    """Dry run: count what check would ask of each model, and estimate time and cost."""
    from veridical import api
    from veridical.cli.finish import plan_table

    found = api.plan(
        _inputs(inputs),
        scorers,
        preset=preset.value,
        against=None if against is None else against.value,
        samples=samples,
        limit=limit,
        mapping=mapping_of(mapping),
        reader=reader,
        embedder=embedder,
        token_encoder=token_encoder,
        nli=nli,
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


app.command(epilog=BENCH_EXAMPLES)(bench)


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


@app.command(epilog="Examples:\n\n  veridical models\n\n  veridical models --json")
def models(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """List the models that come with the package, and how to name others."""
    from veridical.models import list_models

    rows = [asdict(row) for row in list_models()]
    if as_json:
        print(json.dumps(rows, indent=1))
        return 0
    console = Console(highlight=False)
    table = Table(*rows[0])
    for r in rows:
        table.add_row(*(escape(str(v)) for v in r.values()))
    console.print(table)
    console.print(
        "Others by --embedder / --token-encoder: a folder, onnx:PATH, torch:HUB_ID_OR_PATH, "
        "org/name, http://HOST/v1#model, tei:http://HOST; by --nli: the same but for "
        "http://HOST/v1#model",
        markup=False,
    )
    return 0


def _inputs(inputs: list[str]) -> str | list[str]:
    if "-" in inputs and len(inputs) > 1:
        raise UsageError("- (stdin) cannot be mixed with files")
    return "-" if inputs == ["-"] else inputs
