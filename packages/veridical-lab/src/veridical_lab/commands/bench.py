"""``veridical bench``: scorers against human labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from veridical.cli import figures, interrupts
from veridical.cli.declared import argument, coverage, flag, flags, long_command, output
from veridical.cli.figures import JSON_FIGURES
from veridical.cli.options import (
    MAP,
    MARKDOWN,
    PART,
    STORE,
    TEMPERATURE,
    AnswerFlags,
    ModelFlags,
    keywords_of,
)
from veridical.cli.outputs import coverage_code, opened
from veridical.core.options import Group
from veridical.core.verdict_cuts import Strictness
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError
from veridical.run.options import RunOptions
from veridical_lab.bench.options import BenchOptions, Protocol, StudyOptions
from veridical_lab.bench.suite_options import (
    OF_SUITES,
)

if TYPE_CHECKING:
    from veridical.sampling.sampling import Sampling

N = TypeVar("N", int, float)

BENCH_EXAMPLES = (
    "Examples:\n\n"
    "  veridical bench --list\n\n"
    "  veridical bench graded --data my_graded_answers.jsonl --report report.html\n\n"
    "  veridical bench grounded --data claims.parquet --reader aggrefact --by set\n\n"
    "  veridical bench wikibio --data wikibio_gpt3/ --scorers "
    '"ngram(n=1,stat=max,counting=paper), ngram" --json -\n\n'
    "  veridical bench wikibio begin --data wikibio=PATH --data begin=PATH --report results.md\n\n"
    "  veridical bench wikibio --data wikibio_gpt3/ --samples 2,4,10,20\n\n"
    "  veridical bench qa --data qa/ --llm openai:gpt-4o-mini --n 5 --report table1.html\n\n"
    '  veridical bench qa --data answers.jsonl --scorers "exact_match, cosine, noncontradiction" '
    "--tuned\n\n"
    "  veridical bench qa --data qa/ --llm NAME --n 10 --temperature 0.7 --samples 2,5,10\n\n"
    "  veridical bench begin --data begin/ --study --as-published\n\n"
    "  veridical bench begin --data begin/ --multi-sentence --scorers "
    '"claims(extractor=sentences), claims"\n\n'
    '  veridical bench extraction --data refchecker/ --scorers "clauses, triplets"\n\n'
    "  veridical bench --study --table generations.csv --report study.html\n\n"
    "Exit codes: 0 fine; 1 usage, no valid item or internal error; 2 coverage under the minimum; "
    "130 interrupted (run the same command again to resume)."
)


@flags(BenchOptions, StudyOptions, *OF_SUITES, EngineOptions, RunOptions)
class BenchCommand(ModelFlags, AnswerFlags):
    """The options of ``veridical bench``."""

    suites: list[str] | None = argument("Suites to run; --list shows all.", None, metavar="SUITE")
    data: list[str] | None = flag(
        "Data of the suite: a file or folder in the published format, or a hub id. Several suites "
        "each need NAME=PATH.",
        Group.INPUT,
        metavar="[NAME=]PATH",
    )
    list_suites: bool = flag(
        "List the suites with their required data.", Group.INPUT, False, called="--list"
    )
    scorers: str | None = flag(
        'Scorers to run, such as "cosine, ngram(n=2)"; for extraction, claim extractors. Default: '
        "all applicable.",
        Group.SCORING,
    )
    split: str | None
    samples: str | None
    protocol: Protocol
    keep_generic: bool
    mapping: list[str] | None = MAP
    by: Literal["set"] | None
    reader: str | None
    strictness: Strictness
    grader: str | None
    against: Literal["samples", "contexts", "reference"] | None
    answer: str | None = PART
    paper_forms: bool
    multi_sentence: bool
    judge: str | None
    study: bool
    table: Path | None
    size_bins: str | None = flag(metavar="X,Y")
    famd: str | None = flag(default=None)
    as_published: bool
    threshold: float | None
    tuned: bool
    beta: float | None
    json_path: str | None = JSON_FIGURES
    report: list[Path] | None = output(
        "Write a report: .html (with plots), .md, .txt, .json, .csv or .tex; repeatable."
    )
    markdown: str | None = MARKDOWN
    out: Path | None
    seed: int
    bootstrap: int
    limit: int | None
    store: str = STORE
    min_coverage: float = coverage("Exit 2 if the coverage of a scorer is below this share.")
    retry_failed: bool
    fresh: bool
    processes: int | None
    n: int | None = flag(
        "For qa with --llm: samples per prompt. Default: the largest number in --samples, or 5.",
        Group.ANSWERS,
        least=0,
    )
    temperature: float = TEMPERATURE
    response: Literal["greedy", "first"] | None = flag(
        "Response: greedy, or the first sample (the default if --decoding samples).",
        Group.ANSWERS,
        after="temperature",
    )


@long_command(
    "suites",
    "data",
    "list_suites",
    "scorers",
    "samples",
    "llm",
    "budget",
    "limit",
    "study",
    "report",
    "json_path",
    "markdown",
    "out",
)
def bench(options: BenchCommand) -> int:
    """Measure scorers against human labels, with baselines and confidence intervals."""
    from veridical.api import AUTO
    from veridical_lab.bench import BENCHES
    from veridical_lab.bench import bench as run_bench
    from veridical_lab.bench.report.bench_document import markdown, print_bench

    err = figures.error_console()
    if options.list_suites:
        _list(Console(highlight=False))
        return 0
    suites = options.suites or []
    if not suites and options.table is None:
        raise UsageError("name a suite (veridical bench --list shows them), or give --table")
    if options.table is not None and not options.study:
        raise UsageError("--table belongs to --study")
    data = _data(options.data, suites)
    keywords = keywords_of(options, BenchOptions, StudyOptions, EngineOptions, *OF_SUITES)
    counts = keywords["samples"] = _numbers(
        options.samples, int, "--samples takes N, or several like 2,4,10"
    )
    figures.check_outputs(options, table=True)
    keywords["famd"] = _names(options.famd)
    bins = "--size-bins takes numbers like 0.5,4"
    keywords["size_bins"] = _numbers(options.size_bins, float, bins)
    keywords["sampling"] = _sampling(options, counts)
    keywords["out"] = BENCHES / AUTO if options.out is None else options.out
    result = figures.or_interrupted(
        lambda: run_bench(
            suites,
            data,
            options.scorers,
            tell=lambda text: err.print(text, markup=False),
            watch=lambda name, job: figures.score(job, err, name),
            **keywords,
        )
    )
    if result is None:
        return interrupts.INTERRUPTED
    with opened(options.markdown) as page:
        if page is not None:
            page.write(markdown(result))
    figures.write(
        options,
        err,
        json=result.model_dump_json,
        render=result.write,
        show=lambda console: print_bench(result, console),
    )
    folder = BENCHES / result.run if options.out is None else options.out
    err.print(f"benchmark: {folder}", markup=False)
    coverage = {
        f"{r.scorer} on {f'{r.suite} {r.split}' if len(suites) > 1 else r.split}": r.coverage
        for r in result.rows
        if r.coverage is not None and r.coverage < options.min_coverage
    }
    return coverage_code(coverage, options.min_coverage, err)


def write_stored(stored: Path, path: Path) -> None:
    """Write the report of a benchmark in a folder, or in its JSON file.

    Raises:
        UsageError: it cannot be read.
    """
    from veridical.report.stored import BENCH_FILE
    from veridical_lab.bench.benchmark import Bench

    Bench.read(stored / BENCH_FILE if stored.is_dir() else stored).write(path)


def _list(console: Console) -> None:
    from veridical_lab.bench.datasets import all_suites

    for s in all_suites():
        facts = {"needs": s.needs, "source": s.source, **({"hub": s.hub} if s.hub else {})}
        console.print(f"[bold]{escape(s.name)}[/bold]: {escape(s.summary)}")
        grid = Table.grid(padding=(0, 1))
        for name, text in facts.items():
            grid.add_row(f"  {name}", escape(text))
        console.print(grid)


def _data(entries: list[str] | None, suites: list[str]) -> str | dict[str, str] | None:
    if not entries:
        return None
    if len(suites) == 1:
        if len(entries) > 1:
            raise UsageError(f"{suites[0]!r} takes one --data: a file, or a folder of files")
        name, sep, path = entries[0].partition("=")
        path = path if sep and name == suites[0] else entries[0]
        if not path:
            raise UsageError("--data is empty: name a file or folder")
        return path
    paths: dict[str, str] = {}
    for pair in entries:
        name, sep, path = pair.partition("=")
        if not (sep and name and path):
            raise UsageError(f"several suites need --data NAME=PATH for each, not {pair!r}")
        if name in paths:
            raise UsageError(f"--data gives {name!r} twice")
        paths[name] = path
    return paths


def _numbers(text: str | None, kind: Callable[[str], N], says: str) -> list[N] | None:
    """Parse numbers between commas; ``says`` is the error message for the option."""
    if text is None:
        return None
    try:
        return [kind(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(f"{says}, not {text!r}") from None


def _sampling(options: BenchCommand, counts: list[int] | None) -> Sampling | None:
    """Return the options for answering questions; None if none was given."""
    from veridical.llm.decoding import parse_decoding
    from veridical.sampling.sampling import Sampling
    from veridical_lab.bench.answering import LOGPROBS, SAMPLES

    usual = Sampling(n=max(counts or (), default=SAMPLES), logprobs=LOGPROBS)
    decoding = None if options.decoding is None else parse_decoding(options.decoding)
    response = options.response
    drawn = response == "first" or (response is None and decoding is not None and decoding.draws)
    sampling = replace(
        usual,
        n=usual.n if options.n is None else options.n,
        temperature=options.temperature,
        response="first" if drawn else "greedy",
        decoding=decoding,
        max_tokens=options.max_tokens,
        system=options.system,
    )
    said_nothing = options.n is None and response is None and sampling == usual
    return None if said_nothing else sampling


def _names(text: str | None) -> list[str]:
    if text is None:
        return []
    from veridical.core.registry import REGISTRY

    return [b.key for b in REGISTRY.parse(text)]
