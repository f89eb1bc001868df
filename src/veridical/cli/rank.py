"""``veridical rank``: models by the claims of their answers."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from veridical.cli.options import (
    Budget,
    Embedder,
    Limit,
    Llm,
    Map,
    Nli,
    Processes,
    Proxy,
    Reader,
    RetryFailed,
    Store,
    mapping_of,
)
from veridical.cli.outputs import coverage_code, form_of, opened, writable, write_report_as

if TYPE_CHECKING:
    from veridical.api import Job
    from veridical.evaluate.rank import Ranking

RANK_EXAMPLES = (
    "Examples:\n\n"
    "  veridical rank answers.jsonl --by model --report ranking.html\n\n"
    "  veridical rank gpt4.jsonl llama=answers/run3.jsonl --json ranking.json\n\n"
    "  veridical rank .veridical/runs/0123456789abcdef --order contradiction\n\n"
    '  veridical rank answers.jsonl --scorers "claims(extractor=triplets)" --split-by task\n\n'
    "  veridical rank refchecker/ --suite refchecker_responses --split-by part --every-prompt\n\n"
    "Exit codes: 0 fine; 1 usage, no valid input or internal error; 2 coverage of a model under "
    "the minimum; 130 interrupted (run the same command again to resume)."
)


class Order(str, Enum):
    hallucination = "hallucination"
    contradiction = "contradiction"
    abstain = "abstain"


class PairBy(str, Enum):
    prompt = "prompt"
    id = "id"


def rank(
    answers: Annotated[
        list[str],
        typer.Argument(
            help="Files of answers, or run directories with claims (not scored again); NAME=PATH "
            "names the model of answers that do not."
        ),
    ],
    by: Annotated[
        str, typer.Option(help="Column that names the model; without it each file is a model.")
    ] = "model",
    split_by: Annotated[
        str | None, typer.Option(help="Column that tells parts, each ranked on its own too.")
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            "--scorers", help='The scorer "claims" with its parameters; of a run, which one.'
        ),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="The inputs are data of this benchmark suite.")
    ] = None,
    order: Annotated[
        Order, typer.Option(help="The rate that models are listed by.")
    ] = Order.hallucination,
    pair_by: Annotated[
        PairBy | None,
        typer.Option(help="What tells that answers are to one prompt. Default: prompt, else id."),
    ] = None,
    every_prompt: Annotated[
        bool,
        typer.Option(
            "--every-prompt",
            help="Take all answers, not only those to prompts that every model answered.",
        ),
    ] = False,
    three_way: Annotated[
        bool,
        typer.Option(
            "--three-way", help="unit_labels are 0 entailed, 0.5 neutral, 1 contradicted."
        ),
    ] = False,
    json_path: Annotated[
        str | None, typer.Option("--json", help="Write the figures as JSON; - for stdout.")
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Write a report: .html, .md, .txt or .json. Repeatable."),
    ] = None,
    limit: Limit = None,
    mapping: Map = None,
    reader: Reader = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the resamples.")] = 0,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Resamples behind each interval and test; 0 for none.")
    ] = 1000,
    store: Store = str(Path(".veridical") / "store"),
    min_coverage: Annotated[
        float, typer.Option(min=0, max=1, help="Exit 2 when a model's coverage is under this.")
    ] = 0.98,
    retry_failed: RetryFailed = False,
    embedder: Embedder = "minilm",
    nli: Nli = "veridical-nli-mini",
    llm: Llm = None,
    proxy: Proxy = None,
    budget: Budget = None,
    processes: Processes = None,
) -> int:
    """Compare models by the claims of their answers to the same prompts: hallucination,
    contradiction and abstain rates."""
    from veridical.cli.finish import ledger_lines
    from veridical.cli.progress import watch
    from veridical.evaluate.rank import rank as run_rank
    from veridical.report.rank_text import print_ranking

    err = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())
    writable(json_path, *(report or ()), inputs=answers)
    for path in report or ():
        form_of(path)

    def show(name: str, job: Job) -> None:
        err.print(f"{name}: scoring into {job.results.path}", markup=False)
        watch(job, err)
        for line in ledger_lines(job.results.ledger):
            err.print(line, markup=False)

    try:
        made = run_rank(
            answers,
            by=by,
            split_by=split_by,
            scorer=scorer,
            suite=suite,
            three_way=three_way,
            order=order.value,
            pair_by=None if pair_by is None else pair_by.value,
            every_prompt=every_prompt,
            limit=limit,
            mapping=mapping_of(mapping),
            reader=reader,
            seed=seed,
            bootstrap=bootstrap,
            retry_failed=retry_failed,
            watch=show,
            embedder=embedder,
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
        _render(made, path)
        err.print(f"report: {path}", markup=False)
    print_ranking(made, err if json_path == "-" else Console(highlight=False))
    low = {
        m.model: m.coverage
        for part in made.parts
        for m in part.models
        if m.coverage is not None and m.coverage < min_coverage
    }  # of several parts those that are low
    return coverage_code(low, min_coverage, err)


def _render(made: Ranking, path: Path) -> None:
    from veridical.report.rank_html import write_ranking_report
    from veridical.report.rank_text import print_ranking, ranking_markdown

    write_report_as(
        path,
        html=lambda to: write_ranking_report(made, to),
        markdown=lambda: ranking_markdown(made),
        text=lambda console: print_ranking(made, console),
        json=lambda: made.model_dump_json(indent=1),
    )
