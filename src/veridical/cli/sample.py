"""``veridical sample``: answers to prompts, as records to check."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import MISSING, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from veridical import plugins
from veridical.cli.counted import calls_line, check_planned, speed_lines, tell
from veridical.cli.declared import check_files, coverage, flag, flags, long_command, output
from veridical.cli.figures import error_console
from veridical.cli.options import (
    INPUTS,
    MAP,
    STORE,
    AnswerFlags,
    PlanFlags,
    SampleFlags,
    keywords_of,
    mapping_of,
    rows_of,
    sampling_of,
)
from veridical.core.options import Group
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError
from veridical.files.outputs import place_of
from veridical.files.temporary import temporary_folder
from veridical.run.options import RunOptions, SpeedOptions

if TYPE_CHECKING:
    from veridical.io.source import InputSource
    from veridical.llm.decoding import Decoding
    from veridical.sampling.sample_run import Leg
    from veridical.sampling.sampling import Sampling

SAMPLE_EXAMPLES = (
    "Examples:\n\n"
    "  veridical sample prompts.jsonl --llm openai:gpt-4o-mini --n 10 --out answers.jsonl\n\n"
    "  veridical sample questions.csv --map prompt=q --llm local --logprobs 5 --out a.jsonl\n\n"
    "  veridical sample prompts.jsonl --llm NAME --n 3:20 --budget 5.00 --out a.jsonl\n\n"
    "  veridical sample prompts.jsonl --grid models.toml --out a.jsonl --table table.csv\n\n"
    "  veridical sample prompts.jsonl --grid models.toml --out a.jsonl --plan\n\n"
    "Exit codes: 0 fine; 1 usage, no prompt, the budget or the endpoint stopped it; 2 fewer "
    "prompts answered than --min-coverage; 130 interrupted. The same command resumes."
)


@flags(RunOptions, EngineOptions)
class SampleOptions(SampleFlags, AnswerFlags, PlanFlags):
    """Options of ``veridical sample``."""

    inputs: list[str] = INPUTS
    out: Path = output("File of records to write; an existing one is resumed.", default=MISSING)
    llm: str | None
    response: Literal["greedy", "first", "given"] | None = flag(
        "Response: greedy, the first sample (the default if --decoding samples), or the row's own "
        "(given).",
        Group.ANSWERS,
        after="temperature",
    )
    logprobs: int | None = flag(
        "Record log-probabilities with K alternatives per token.",
        Group.ANSWERS,
        least=0,
        most=20,
        metavar="K",
        after="decoding",
    )
    seed: int | None = flag(
        "Random seed, if the server supports it.", Group.ANSWERS, after="system"
    )
    grid: Path | None = flag("TOML file of models and decodings to sample from.", Group.MODELS)
    table: Path | None = output(
        "With --grid: score the answers and write a table (.csv or .jsonl) for bench --study."
    )
    scorers: str | None = flag(
        "With --table: scorers to run. Default: all applicable.", Group.OUTPUT
    )
    mapping: list[str] | None = MAP
    reader: str | None
    limit: int | None
    budget: float | None
    retry_failed: bool = flag("Retry failed prompts.")
    min_coverage: float = coverage("Exit 2 if a smaller share of the rows is answered.")
    json_path: str | None = output(
        "With --plan: write the estimate as JSON; - for stdout.", "--json"
    )
    store: str = flag(default=STORE, after="tokens_per_second")


@long_command(
    "inputs",
    "out",
    "llm",
    "n",
    "temperature",
    "logprobs",
    "max_tokens",
    "system",
    "budget",
    "mapping",
    "limit",
    "plan",
)
def sample(options: SampleOptions) -> int:
    """Generate a response and samples for each prompt, as records to check."""
    from veridical.cli.sample_work import SamplingWork
    from veridical.sampling.answers_file import AnswersFile, errors_path, kept_answers
    from veridical.sampling.sampling import Sampling

    if (options.llm is None) == (options.grid is None):
        raise UsageError("no model, or two: give either --llm NAME or --grid FILE")
    if options.grid is None and (options.table is not None or options.scorers is not None):
        raise UsageError("--table and --scorers require --grid FILE")
    if options.grid is not None and options.decoding is not None:
        raise UsageError(
            "--decoding cannot be combined with --grid: name decodings in the grid file"
        )
    if options.scorers is not None and options.table is None:
        raise UsageError("--scorers requires --table FILE")
    check_planned(options.plan, tokens_per_second=options.tokens_per_second, json=options.json_path)
    speeds = SpeedOptions(**keywords_of(options, SpeedOptions))
    err = error_console()
    check_files(options, also=[errors_path(options.out)] if options.out.name else [])
    out = place_of(options.out) or options.out
    sampling = sampling_of(
        options.n,
        options.temperature,
        options.adaptive,
        options.alpha,
        default_n=0 if options.grid else Sampling.n,
        response=options.response or "greedy",
        max_tokens=options.max_tokens,
        system=options.system,
        seed=options.seed,
        logprobs=options.logprobs,
    )
    if options.table is not None:
        _check_scorers(options.scorers)
    store = None if options.store == "none" else Path(options.store)
    with _source(options) as source:
        legs, grid_identity = _legs(sampling, options)
        work = SamplingWork(legs, source, options.limit, options.budget, store)
        identity = {"inputs": source.fingerprint(), **work.identity(), **grid_identity}
        if options.plan:
            plan = work.plan(kept_answers(out, identity), options.retry_failed, speeds)
            scored = None if options.table is None else plan["prompts"] + plan["answered"]
            plan = {**plan, "records": scored}
            return tell(plan, _plan_lines(plan), options.json_path)
        with AnswersFile(out, identity) as file:
            code = work.run(file, options.retry_failed, options.min_coverage, err)
    if code == 0 and options.table is not None:
        _table(out, options.table, options.scorers, store, err)
    return code


@contextlib.contextmanager
def _source(options: SampleOptions) -> Iterator[InputSource]:
    """Open the prompts; copy input that can be read only once, so that a rerun can resume."""
    from veridical.io import open_source

    source = open_source(
        rows_of(options.inputs),
        mapping=mapping_of(options.mapping) or None,
        reader=options.reader,
        prompts=True,
    )
    with temporary_folder("input") as folder:
        yield source if source.reiterable else source.spool(folder / "input")


def _legs(sampling: Sampling, options: SampleOptions) -> tuple[list[Leg], dict[str, Any]]:
    """Return the models to sample, and the grid's part of the identity.

    Without ``--response``, the response is drawn if the decoding draws.
    """
    from veridical.llm.decoding import parse_decoding
    from veridical.sampling.sample_run import Leg

    def decoded(by: Decoding | None) -> Sampling:
        draws = options.response is None and by is not None and by.draws
        return replace(sampling, decoding=by, response="first" if draws else sampling.response)

    if options.grid is None:
        assert options.llm is not None
        by = None if options.decoding is None else parse_decoding(options.decoding)
        return [Leg(options.llm, decoded(by), {})], {}
    cells = _grid().read_grid(options.grid)
    legs = [Leg(c.llm, decoded(c.decoding), c.columns) for c in cells]
    return legs, {"grid": [[leg.llm, leg.columns, leg.sampling.response] for leg in legs]}


def _grid() -> Any:
    """Load the module that reads grids and writes their tables."""
    return plugins.load(plugins.NAMES, "sampling.grid", "--grid")


def _check_scorers(scorers: str | None) -> None:
    """Check before sampling that the answers can be scored.

    Raises:
        UsageError: a scorer is unknown, or requires an LLM that is not named.
    """
    from veridical.engine.engine import Engine
    from veridical.engine.run import Task
    from veridical.run.request import Request

    task = Task(Request.of(scorers, {}).scorers)
    with Engine(store=None) as engine:
        for name in engine.llms_of(task):
            if name is None:
                raise UsageError(
                    "--table scores without an LLM: remove scorers that require one from --scorers"
                )
            engine.llms.endpoint(name)


def _plan_lines(plan: dict[str, Any]) -> Iterator[str]:
    legs = plan["legs"]
    unknown: dict[str, None] = {}
    for leg in legs:
        by = "" if leg["decoding"] is None else f", {leg['decoding']}"
        yield f"{leg['name']}{by}: {_prompts(leg)}"
        yield f"  {calls_line(leg)}"
        for line in speed_lines(leg["llm"], leg["hours"], plan["tokens_per_second"]):
            unknown[line] = None
    if len(legs) > 1:
        yield f"in all: {_prompts(plan)}"
        yield f"  {calls_line(plan)}"
    if plan["bad_row"] is not None:
        yield f"bad rows are skipped; the first: {plan['bad_row']}"
    if plan["records"] is not None:
        yield f"{plan['records']} records to score; their hours are not counted"
    yield from unknown


def _prompts(of: dict[str, Any]) -> str:
    answered = f" ({of['answered']} more are answered)" if of["answered"] else ""
    bad = f", {of['bad_rows']} bad rows" if of["bad_rows"] else ""
    return f"{of['prompts']} prompts{answered}{bad}"


def _table(
    out: Path, table: Path, scorers: str | None, store: Path | None, console: Console
) -> None:
    from veridical.api import check
    from veridical.io import open_source

    results = check(str(out), scorers, store=store)
    grid = _grid()
    rows = grid.write_table(grid.table_rows(results, open_source(str(out)).rows()), table)
    console.print(f"{rows} values in {table}", markup=False)
