"""A ranking of models in the terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from veridical.report import document
from veridical.report.document import Block, BulletList, Heading, Paragraph, StyledText, plain_table
from veridical.report.formats import plain
from veridical_lab.rank.rank_view import PartView, part_views
from veridical_lab.rank.result import Ranking

_NOTE = StyledText("note: ", "dim")


def print_ranking(ranking: Ranking, console: Console) -> None:
    """Print every part, then what is to be known of all."""
    document.show(_document(ranking), console)


def ranking_markdown(ranking: Ranking) -> str:
    """Return the document, with a second-level heading per part."""
    return document.markdown(_document(ranking))


def _document(ranking: Ranking) -> Iterator[Block]:
    for view in part_views(ranking):
        yield from _part(view)
    yield Heading("Run details", only="markdown")
    yield BulletList(ranking.notes, _NOTE)
    signature = f"{ranking.scorer}; {ranking.signature}"
    yield BulletList([signature], StyledText("signature: ", "dim"), only="terminal")
    scorer = ranking.signatures.get(ranking.scorer, ranking.scorer)
    yield BulletList(
        [
            ["scorer: ", StyledText(scorer, "name")],
            ["signature: ", StyledText(ranking.signature, "name")],
            f"made: {ranking.created} with veridical {ranking.version}",
            *(f"{k}: {plain(v)}" for k, v in ranking.settings.items()),
        ],
        only="markdown",
    )
    if ranking.n_row_errors:
        yield BulletList([StyledText(f"bad rows, left out: {ranking.n_row_errors:,}", "bad")], "")


def _part(view: PartView) -> Iterator[Block]:
    yield Heading(view.title, capital=True)
    yield Paragraph(view.facts)
    yield plain_table(view.heads, view.rows)
    if view.pairs:
        yield Paragraph(f"The lowest, {view.rows[0][0]}, is (paired over prompts, Holm):")
        yield BulletList(view.pairs)
    for names in view.level:
        yield Paragraph(f"No difference shown among: {names}.")
    yield BulletList(view.agreement, "")
    yield BulletList(view.notes, _NOTE)
    yield Paragraph("", only="terminal")
