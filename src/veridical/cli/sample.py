"""``veridical sample``: answers to prompts, as records to check."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from veridical.cli.options import (
    AdaptiveOption,
    Alpha,
    Budget,
    DecodingOption,
    Inputs,
    Limit,
    Llm,
    Map,
    MaxTokens,
    N,
    Reader,
    Store,
    System,
    Temperature,
    mapping_of,
    sampling_of,
)
from veridical.cli.outputs import writable
from veridical.cli.sample_work import Leg, Work
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.io import Source
    from veridical.llm.grid import Cell
    from veridical.llm.sampling import Sampling

SAMPLE_EXAMPLES = (
    "Examples:\n\n"
    "  veridical sample prompts.jsonl --llm openai:gpt-4o-mini --n 10 --out answers.jsonl\n\n"
    "  veridical sample questions.csv --map prompt=q --llm local --logprobs 5 --out a.jsonl\n\n"
    "  veridical sample prompts.jsonl --llm NAME --n 3:20 --budget 5.00 --out a.jsonl\n\n"
    "  veridical sample prompts.jsonl --grid models.toml --out a.jsonl --table table.csv\n\n"
    "Exit codes: 0 fine; 1 usage, no prompt, the budget or the endpoint stopped it; 2 fewer "
    "prompts answered than --min-coverage; 130 interrupted. The same command resumes."
)


class ResponseName(str, Enum):
    greedy = "greedy"
    first = "first"
    given = "given"


def sample(
    inputs: Inputs,
    out: Annotated[Path, typer.Option(help="File of records to write; the same one resumes.")],
    llm: Llm = None,
    n: N = None,
    temperature: Temperature = 1.0,
    response: Annotated[
        ResponseName | None,
        typer.Option(
            help="greedy; first: the first draw (the default where --decoding draws); given: the "
            "row's own."
        ),
    ] = None,
    decoding: DecodingOption = None,
    logprobs: Annotated[
        int | None,
        typer.Option(min=0, max=20, help="Log-probabilities, with K alternatives a token."),
    ] = None,
    max_tokens: MaxTokens = 512,
    system: System = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the draws, where the server honours it.")
    ] = None,
    adaptive: AdaptiveOption = None,
    alpha: Alpha = None,
    grid: Annotated[
        Path | None,
        typer.Option(help="TOML file of models and decodings: all of them, in one file."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="With --grid: score the answers and write the table that bench --study --table "
            "reads (.csv or .jsonl)."
        ),
    ] = None,
    scorers: Annotated[
        str | None, typer.Option(help="With --table: the scorers. Default: all that apply.")
    ] = None,
    mapping: Map = None,
    reader: Reader = None,
    limit: Limit = None,
    budget: Budget = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again the prompts that have failed.")
    ] = False,
    min_coverage: Annotated[
        float, typer.Option(min=0, max=1, help="Exit 2 when fewer of the rows are answered.")
    ] = 0.98,
    store: Store = str(Path(".veridical") / "store"),
) -> int:
    """Ask an LLM every prompt: a response, and samples besides it, as records to check."""
    from veridical.llm.answers_file import AnswersFile
    from veridical.llm.decoding import parse_decoding
    from veridical.llm.sampling import Sampling

    if (llm is None) == (grid is None):
        raise UsageError("name the model by --llm, or several by --grid")
    if grid is None and (table is not None or scorers is not None):
        raise UsageError("--table and --scorers go with --grid")
    if grid is not None and decoding is not None:
        raise UsageError("with --grid, the file names the decodings")
    err = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())
    writable(out, table, inputs=[i for i in inputs if i != "-"])
    if table is not None and table.resolve() == out.resolve():
        raise UsageError("--table and --out are the same file")
    made = sampling_of(
        n,
        temperature,
        adaptive,
        alpha,
        default_n=0 if grid else Sampling.n,
        response="greedy" if response is None else response.value,
        max_tokens=max_tokens,
        system=system,
        seed=seed,
        logprobs=logprobs,
    )
    with _source(inputs, mapping, reader) as source:
        legs, grid_identity = _legs(
            made,
            llm,
            grid,
            None if decoding is None else parse_decoding(decoding),
            response is None,
        )
        work = Work(legs, source, limit, budget, None if store == "none" else Path(store))
        identity = {"inputs": source.fingerprint(), **work.identity(), **grid_identity}
        with AnswersFile(out, identity) as file:
            code = work.run(file, retry_failed, min_coverage, err)
    if code == 0 and table is not None:
        _table(out, table, scorers, store, err)
    return code


@contextlib.contextmanager
def _source(inputs: list[str], mapping: list[str] | None, reader: str | None) -> Iterator[Source]:
    """The prompts; what can be read only once is copied, so that a rerun finds where it was."""
    from veridical.io import open_source

    if "-" in inputs and len(inputs) > 1:
        raise UsageError("- (stdin) cannot be mixed with files")
    given: Any = "-" if inputs == ["-"] else inputs
    source = open_source(given, mapping=mapping_of(mapping) or None, reader=reader, prompts=True)
    with tempfile.TemporaryDirectory(prefix="veridical-") as folder:
        yield source if source.reiterable else source.spool(Path(folder) / "input")


def _legs(
    sampling: Sampling, llm: str | None, grid: Path | None, decoding: Any, free: bool
) -> tuple[list[Leg], dict[str, Any]]:
    """What to sample, and what the grid adds to the identity.

    Args:
        free: how the response comes about was not said: drawn where the decoding draws.
    """

    def decoded(by: Any) -> Sampling:
        draws = by is not None and by.draws
        return replace(
            sampling, decoding=by, response="first" if free and draws else sampling.response
        )

    if grid is None:
        assert llm is not None
        return [Leg(llm, decoded(decoding), {})], {}
    from veridical.llm.grid import read_grid

    cells: Sequence[Cell] = read_grid(grid)
    legs = [Leg(c.llm, decoded(c.decoding), c.columns) for c in cells]
    return legs, {"grid": [[leg.llm, leg.columns, leg.sampling.response] for leg in legs]}


def _table(out: Path, table: Path, scorers: str | None, store: str, console: Console) -> None:
    from veridical import check
    from veridical.io import open_source
    from veridical.llm.grid import table_rows, write_table

    kept = None if store == "none" else store
    results = check(str(out), scorers, store=kept)
    rows = write_table(table_rows(results, open_source(str(out)).rows()), table)
    console.print(f"{rows} values in {table}", markup=False)
