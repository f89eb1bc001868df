"""``veridical bench``: scorers against human labels."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veridical.cli.options import (
    Against,
    Budget,
    DecodingOption,
    Embedder,
    Llm,
    MaxTokens,
    Nli,
    Processes,
    Proxy,
    RetryFailed,
    Store,
    System,
    Temperature,
    TokenEncoder,
    mapping_of,
)
from veridical.cli.outputs import coverage_code, form_of, opened, writable, write_report_as
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.api import Job
    from veridical.evaluate.result import Bench
    from veridical.llm.sampling import Sampling

BENCH_EXAMPLES = (
    "Examples:\n\n"
    "  veridical bench --list\n\n"
    "  veridical bench graded --data my_graded_answers.jsonl --report report.html\n\n"
    "  veridical bench wikibio --data wikibio_gpt3/ --scorers "
    '"ngram(n=1,stat=max,counting=paper), ngram" --json -\n\n'
    "  veridical bench wikibio begin --data wikibio=PATH --data begin=PATH --report results.md\n\n"
    "  veridical bench wikibio --data wikibio_gpt3/ --samples 2,4,10,20\n\n"
    "  veridical bench qa --data qa/ --llm openai:gpt-4o-mini --n 5 --report table1.html\n\n"
    "  veridical bench qa --data qa/ --llm NAME --n 10 --temperature 0.7 --samples 2,5,10\n\n"
    "  veridical bench begin --data begin/ --study --as-published\n\n"
    '  veridical bench begin --data begin/ --multi-sentence --scorers "claims(extractor=response), '
    'claims(extractor=sentences), claims"\n\n'
    '  veridical bench extraction --data refchecker/ --scorers "clauses, triplets"\n\n'
    "  veridical bench --study --table generations.csv --report study.html\n\n"
    "Exit codes: 0 fine; 1 usage, no valid item or internal error; 2 coverage under the minimum; "
    "130 interrupted (run the same command again to resume)."
)


class ProtocolName(str, Enum):
    quick = "quick"
    full = "full"


class ResponseName(str, Enum):
    greedy = "greedy"
    first = "first"


def bench(
    suites: Annotated[
        list[str] | None, typer.Argument(help="Suites to run; --list shows them.", metavar="SUITE")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="File or folder in the published format, or the public hub id; NAME=PATH for "
            "each of several suites."
        ),
    ] = None,
    list_suites: Annotated[
        bool, typer.Option("--list", help="List the suites and what each needs.")
    ] = False,
    scorers: Annotated[
        str | None,
        typer.Option(
            help='Scorers, such as "cosine, ngram(n=2)"; for extraction: claim extractors. '
            "Default: all the data allows."
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="Splits or parts, separated by commas; heldout: HaluEval's last 20 %."),
    ] = None,
    samples: Annotated[
        str | None,
        typer.Option(help="Use at most N samples a record; 2,4,10 gives a curve from one run."),
    ] = None,
    protocol: Annotated[
        ProtocolName,
        typer.Option(help="quick: at most 1 000 seeded items a part; full: all of them."),
    ] = ProtocolName.quick,
    keep_generic: Annotated[
        bool, typer.Option("--keep-generic", help="Keep BEGIN's generic responses.")
    ] = False,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map", help="field=column, for graded: where the usual column names do not serve."
        ),
    ] = None,
    grader: Annotated[
        str | None,
        typer.Option(
            help="For qa: choice, numeric, exact, contains, llm or llm:FILE.toml. Default: by each "
            "data set's own rule, where an answer has no label."
        ),
    ] = None,
    against: Annotated[
        Against | None,
        typer.Option(
            help="What scorers that can choose compare with; items without it are left out. "
            "Default: what the suite has."
        ),
    ] = None,
    multi_sentence: Annotated[
        bool,
        typer.Option(
            "--multi-sentence",
            help="Only responses of several sentences, where claims of several sizes differ.",
        ),
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(help="For extraction: the checker that judges claims: nli, llm, llm_joint."),
    ] = None,
    study: Annotated[
        bool,
        typer.Option("--study", help="Add the meta-evaluation of metrics (Kulkarni 2025)."),
    ] = False,
    table: Annotated[
        Path | None,
        typer.Option(
            help="For --study: rows of model, size, tuning, decoding, item, scorer, value "
            "(CSV, JSONL, Parquet) to test for effects."
        ),
    ] = None,
    famd: Annotated[
        str | None, typer.Option(help="For --study: scorers to combine by factor analysis.")
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published", help="Fit thresholds on the test targets, as papers did; flagged."
        ),
    ] = False,
    beta: Annotated[
        float | None, typer.Option(help="Also report F-beta, for this beta (above 0).")
    ] = None,
    json_path: Annotated[
        str | None, typer.Option("--json", help="Write the figures as JSON; - for stdout.")
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Write a report: .html (with plots), .md, .txt or .json. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the run; the same one resumes. Default: .veridical/bench/..."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of draw, folds and resamples.")] = 0,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Resamples behind each interval and test; 0 for none.")
    ] = 1000,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Take the first N items of each part, before any draw."),
    ] = None,
    store: Store = str(Path(".veridical") / "store"),
    min_coverage: Annotated[
        float, typer.Option(min=0, max=1, help="Exit 2 when any scorer's coverage is under this.")
    ] = 0.98,
    embedder: Embedder = "minilm",
    token_encoder: TokenEncoder = None,
    nli: Nli = "veridical-nli-mini",
    llm: Llm = None,
    proxy: Proxy = None,
    budget: Budget = None,
    retry_failed: RetryFailed = False,
    processes: Processes = None,
    n: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="For qa with --llm: samples drawn besides the response. Default: the most of "
            "--samples, or 5.",
        ),
    ] = None,
    temperature: Temperature = 1.0,
    response: Annotated[
        ResponseName | None,
        typer.Option(help="greedy; first: the first draw (the default where --decoding draws)."),
    ] = None,
    decoding: DecodingOption = None,
    max_tokens: MaxTokens = 512,
    system: System = None,
) -> int:
    """Measure scorers against human labels, with baselines, intervals and warnings."""
    from veridical.api import AUTO
    from veridical.cli.finish import ledger_lines
    from veridical.cli.progress import watch
    from veridical.evaluate import BENCHES
    from veridical.evaluate import bench as run_bench
    from veridical.report.bench_text import print_bench

    err = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())
    if list_suites:
        _list(Console(highlight=False))
        return 0
    if not suites and table is None:
        raise UsageError("name a suite (veridical bench --list shows them), or give --table")
    if table is not None and not study:
        raise UsageError("--table belongs to --study")
    paths = _data(data, suites or [])
    read = paths.values() if isinstance(paths, dict) else [paths] if paths is not None else []
    counts = _samples(samples)
    writable(json_path, *(report or ()), inputs=[*read, *([table] if table else [])])
    for path in report or ():
        form_of(path)

    def show(name: str, job: Job) -> None:
        records = job.results
        err.print(f"{name}: scoring into {records.path}", markup=False)
        watch(job, err)
        for line in ledger_lines(records.ledger):
            err.print(line, markup=False)

    try:
        made = run_bench(
            suites or [],
            paths,
            scorers,
            split=split,
            samples=counts,
            protocol=protocol.value,
            keep_generic=keep_generic,
            mapping=mapping_of(mapping),
            seed=seed,
            bootstrap=bootstrap,
            limit=limit,
            out=BENCHES / AUTO if out is None else out,
            as_published=as_published,
            study=study,
            table=table,
            famd=_names(famd),
            beta=beta,
            retry_failed=retry_failed,
            grader=grader,
            sampling=_sampling(
                counts, n, temperature, response, decoding, max_tokens=max_tokens, system=system
            ),
            against=None if against is None else against.value,
            multi_sentence=multi_sentence,
            judge=judge,
            tell=lambda text: err.print(text, markup=False),
            watch=show,
            embedder=embedder,
            token_encoder=token_encoder,
            nli=nli,
            llm=llm,
            proxy=proxy,
            budget=budget,
            store=None if store == "none" else store,
            processes=processes,
        )
    except KeyboardInterrupt:
        err.print("interrupted; run the same command again to resume")
        return 130
    with opened(json_path) as lines:
        if lines is not None:
            lines.write(made.model_dump_json() + "\n")
    for path in report or ():
        render(made, path)
    print_bench(made, err if json_path == "-" else Console(highlight=False))
    err.print(f"benchmark: {BENCHES / made.run if out is None else out}", markup=False)
    for path in report or ():
        err.print(f"report: {path}", markup=False)
    several = len(suites or ()) > 1
    coverage = {
        f"{r.scorer} on {f'{r.suite} {r.split}' if several else r.split}": r.coverage
        for r in made.rows
        if r.coverage is not None and r.coverage < min_coverage
    }
    return coverage_code(coverage, min_coverage, err)


def stored(path: Path) -> Bench | None:
    """The benchmark in a folder, or in its JSON file; None where ``path`` is something else."""
    from veridical.evaluate.result import STORED, Bench

    if path.suffix == ".json" and path.is_file():
        return Bench.read(path)
    return Bench.read(path / STORED) if (path / STORED).is_file() else None


def render(made: Bench, path: Path) -> None:
    """Write ``made`` in the form that the name of ``path`` asks for."""
    from veridical.report.bench_html import write_bench_report
    from veridical.report.bench_markdown import markdown
    from veridical.report.bench_text import print_bench

    write_report_as(
        path,
        html=lambda to: write_bench_report(made, to),
        markdown=lambda: markdown(made),
        text=lambda console: print_bench(made, console),
        json=lambda: made.model_dump_json(indent=1),
    )


def _list(console: Console) -> None:
    from veridical.evaluate.datasets import all_suites

    for s in all_suites():
        told = {"needs": s.needs, "source": s.source, **({"hub": s.hub} if s.hub else {})}
        console.print(f"[bold]{escape(s.name)}[/bold]: {escape(s.summary)}")
        grid = Table.grid(padding=(0, 1))
        for name, text in told.items():
            grid.add_row(f"  {name}", escape(text))
        console.print(grid)


def _data(given: list[str] | None, suites: list[str]) -> str | dict[str, str] | None:
    if not given:
        return None
    if len(suites) == 1:
        if len(given) > 1:
            raise UsageError(f"{suites[0]!r} takes one --data: a file, or a folder of files")
        name, sep, path = given[0].partition("=")
        path = path if sep and name == suites[0] else given[0]
        if not path:
            raise UsageError("--data is empty: name a file or folder")
        return path
    found: dict[str, str] = {}
    for pair in given:
        name, sep, path = pair.partition("=")
        if not (sep and name and path):
            raise UsageError(f"several suites need --data NAME=PATH for each, not {pair!r}")
        if name in found:
            raise UsageError(f"--data gives {name!r} twice")
        found[name] = path
    return found


def _samples(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(n) for n in text.split(",")]
    except ValueError:
        raise UsageError(f"--samples takes N, or several like 2,4,10, not {text!r}") from None


def _sampling(
    counts: list[int] | None,
    n: int | None,
    temperature: float,
    response: ResponseName | None,
    decoding: str | None,
    **settings: Any,
) -> Sampling | None:
    """How questions are answered; None where nothing was said of it."""
    from veridical.evaluate.answering import LOGPROBS, SAMPLES
    from veridical.llm.decoding import parse_decoding
    from veridical.llm.sampling import Sampling

    usual = Sampling(n=max(counts or (), default=SAMPLES), logprobs=LOGPROBS)
    by = None if decoding is None else parse_decoding(decoding)
    drawn = response is ResponseName.first or (response is None and by is not None and by.draws)
    made = replace(
        usual,
        n=usual.n if n is None else n,
        temperature=temperature,
        response="first" if drawn else "greedy",
        decoding=by,
        **settings,
    )
    return None if n is None and response is None and made == usual else made


def _names(text: str | None) -> list[str]:
    if text is None:
        return []
    from veridical.registry import REGISTRY

    return [b.key for b in REGISTRY.parse(text)]
