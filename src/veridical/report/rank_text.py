"""A ranking of models in the terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from veridical.evaluate.rank.result import Ranking
from veridical.report.bench_markdown import code, text
from veridical.report.bench_text import wide_enough
from veridical.report.bench_view import one_line, plain
from veridical.report.rank_view import PartView, part_views

_NAME = 12  #: characters of a model's name on a line, at least
_WIDTH = 116  #: of a pipe or file


def print_ranking(ranking: Ranking, console: Console) -> None:
    """Print every part, then what is to be known of all."""
    with wide_enough(console, _WIDTH):
        _print(ranking, console)


def _print(ranking: Ranking, console: Console) -> None:
    for view in part_views(ranking):
        console.print(Text(one_line(view.title), style="bold"))
        console.print(Text(one_line(view.facts)))
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
        for i, head in enumerate(view.heads):
            table.add_column(
                Text(head),
                justify="right" if i else "left",
                no_wrap=i > 0,
                overflow="fold",
                min_width=None if i else _NAME,
            )
        for row in view.rows:
            table.add_row(*(Text(one_line(cell)) for cell in row))
        console.print(table)
        if view.pairs:
            console.print(Text(f"the lowest, {one_line(view.rows[0][0])}, is (paired, Holm):"))
        for said in view.pairs:
            console.print(Text(f"  {one_line(said)}"))
        for names in view.level:
            console.print(Text(f"no difference shown among: {one_line(names)}"))
        for said in view.agreement:
            console.print(Text(one_line(said)))
        for note in view.notes:
            _note(console, note)
        console.print()
    for note in ranking.notes:
        _note(console, note)
    if ranking.n_row_errors:
        console.print(Text(f"bad rows, left out: {ranking.n_row_errors:,}", style="bold red"))
    _note(console, f"{ranking.scorer}; {ranking.signature}", "signature")


def _note(console: Console, note: str, kind: str = "note") -> None:
    console.print(Text.assemble((f"{kind}: ", "dim"), one_line(note)))


def ranking_markdown(ranking: Ranking) -> str:
    """The document, a second-level heading a part."""
    return "\n".join(_document(ranking)) + "\n"


def _document(ranking: Ranking) -> Iterator[str]:
    for view in part_views(ranking):
        yield from _part(view)
    yield from ("## How it was made", "")
    yield from (f"- {text(note)}" for note in ranking.notes)
    yield f"- scorer: {code(ranking.signatures.get(ranking.scorer, ranking.scorer))}"
    yield f"- signature: {code(ranking.signature)}"
    yield f"- made: {text(ranking.created)} with veridical {text(ranking.version)}"
    yield from (f"- {text(k)}: {text(plain(v))}" for k, v in ranking.settings.items())
    if ranking.n_row_errors:
        yield f"- bad rows, left out: {ranking.n_row_errors:,}"


def _part(view: PartView) -> Iterator[str]:
    yield from (f"## {text(view.title.capitalize())}", "", text(view.facts), "")
    yield "| " + " | ".join(map(text, view.heads)) + " |"
    yield "|" + "---|" * len(view.heads)
    yield from ("| " + " | ".join(map(text, row)) + " |" for row in view.rows)
    yield ""
    if view.pairs:
        yield from (f"The lowest, {text(view.rows[0][0])}, is (paired over prompts, Holm):", "")
        yield from (f"- {text(said)}" for said in view.pairs)
        yield ""
    for names in view.level:
        yield from (f"No difference shown among: {text(names)}.", "")
    yield from (f"- {text(said)}" for said in (*view.agreement, *view.notes))
    yield ""
