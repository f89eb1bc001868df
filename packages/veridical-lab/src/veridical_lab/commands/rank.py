"""``veridical rank``: models by the claims of their answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from veridical.cli import figures, interrupts
from veridical.cli.declared import argument, coverage, flag, flags, long_command
from veridical.cli.figures import FigureFlags
from veridical.cli.options import MAP, STORE, keywords_of
from veridical.cli.outputs import coverage_code
from veridical.engine.options import EngineOptions, Precision
from veridical.errors import UsageError
from veridical.report.forms import write_report_as
from veridical.run.options import RunOptions
from veridical.text.display import display
from veridical_lab.bench.options import Order, Pairing, RankOptions

if TYPE_CHECKING:
    from veridical_lab.rank import Ranking

RANK_EXAMPLES = (
    "Examples:\n\n"
    "  veridical rank answers.jsonl --by model --report ranking.html\n\n"
    "  veridical rank gpt4.jsonl llama=answers/run3.jsonl --json ranking.json\n\n"
    "  veridical rank .veridical/runs/0123456789abcdef --order contradiction\n\n"
    '  veridical rank answers.jsonl --scorers "claims(extractor=triplets)" --split-by task\n\n'
    "  veridical rank refchecker/ --suite refchecker_responses --split-by part --every-prompt\n\n"
    "  veridical rank refchecker/ --suite refchecker_responses --split-by part --every-prompt "
    "--scorers people\n\n"
    "Exit codes: 0 fine; 1 usage, no valid input or internal error; 2 coverage of a model under "
    "the minimum; 130 interrupted (run the same command again to resume)."
)


@flags(RunOptions, RankOptions, EngineOptions)
class RankCommand(FigureFlags):
    """The options of ``veridical rank``."""

    answers: list[str] = argument(
        "Files of answers, or run directories with claims (not scored again). NAME=PATH names the "
        "model."
    )
    by: str
    split_by: str | None
    scorer: str | None = flag(called="--scorers")
    suite: str | None
    order: Order
    pair_by: Pairing | None
    every_prompt: bool
    three_way: bool
    limit: int | None
    mapping: list[str] | None = MAP
    reader: str | None
    seed: int
    bootstrap: int
    store: str = STORE
    min_coverage: float = coverage("Exit 2 when a model's coverage is under this.")
    retry_failed: bool
    embedder: str
    nli: str
    precision: Precision | None
    llm: str | None
    proxy: str | None
    budget: float | None
    processes: int | None


@long_command(
    "answers",
    "by",
    "scorer",
    "order",
    "pair_by",
    "mapping",
    "limit",
    "nli",
    "llm",
    "budget",
    "report",
    "json_path",
)
def rank(options: RankCommand) -> int:
    """Rank models by the hallucination rate of their answers to the same prompts.

    Rates of hallucinated, contradicted and abstaining answers come from checked claims.
    """
    from veridical_lab.rank import rank as run_rank
    from veridical_lab.rank.rank_text import print_ranking

    err = figures.error_console()
    figures.check_outputs(options)
    ranking = figures.or_interrupted(
        lambda: run_rank(
            options.answers,
            watch=lambda name, job: figures.score(job, err, name),
            **keywords_of(options, RankOptions, EngineOptions),
        )
    )
    if ranking is None:
        return interrupts.INTERRUPTED
    figures.write(
        options,
        err,
        json=ranking.model_dump_json,
        render=lambda path: _render(ranking, path),
        show=lambda console: print_ranking(ranking, console),
    )
    low = {
        m.model: m.coverage
        for part in ranking.parts
        for m in part.models
        if m.coverage is not None and m.coverage < options.min_coverage
    }  # of several parts those that are low
    return coverage_code(low, options.min_coverage, err)


def _render(ranking: Ranking, path: Path) -> None:
    from veridical_lab.rank.rank_html import write_ranking_report
    from veridical_lab.rank.rank_text import print_ranking, ranking_markdown

    write_report_as(
        path,
        html=lambda to: write_ranking_report(ranking, to),
        markdown=lambda: ranking_markdown(ranking),
        text=lambda console: print_ranking(ranking, console),
        json=lambda: ranking.model_dump_json(indent=1),
    )


def write_stored(stored: Path, path: Path) -> None:
    """Write the report of a ranking in a JSON file.

    Raises:
        UsageError: it cannot be read.
    """
    from veridical_lab.rank.result import Ranking

    try:
        ranking = Ranking.model_validate_json(stored.read_bytes())
    except ValueError:
        raise UsageError(
            f"{display(stored)} is not a ranking of this version; run rank again"
        ) from None
    _render(ranking, path)
