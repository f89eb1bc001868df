"""Tuned ensembles in the terminal, in Markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from veridical.report import document
from veridical.report.document import Block, BulletList, Heading, Paragraph, StyledText, plain_table
from veridical.tuning.tune_view import sections, verdict

if TYPE_CHECKING:
    from veridical.tuning.tune_view import ShownTuned

_NAME = 14  #: minimum characters of a component's name on a line


def print_tuned(tuned: ShownTuned, console: Console) -> None:
    """Print the verdict, then every section."""
    document.show(_document(tuned), console)


def tuned_markdown(tuned: ShownTuned) -> str:
    """Return the document, from the verdict on, with a second-level heading per section."""
    return document.markdown(_document(tuned))


def _document(tuned: ShownTuned) -> Iterator[Block]:
    yield Heading("Verdict", only="markdown")
    yield verdict(tuned)
    for section in sections(tuned):
        yield Heading(section.title, capital=True)
        yield from map(Paragraph, section.facts)
        yield plain_table(section.heads, section.rows, least=_NAME)
        yield BulletList(section.notes, StyledText("note: ", "dim"))
        yield Paragraph("", only="terminal")


def write_tuned_page(
    tuned: ShownTuned, path: Path, title: str = "veridical tuned ensemble"
) -> None:
    """Write one self-contained page: no network, a script for the colours only.

    Raises:
        OSError: the file cannot be written; an older page then remains.
    """
    from markupsafe import Markup

    from veridical.report.html import asset, content_security_policy, environment, write_whole
    from veridical.tuning.tune_figures import figures
    from veridical.version import __version__

    style, script = asset("page.css") + asset("bench.css"), asset("theme.js")
    page = (
        environment()
        .get_template("tune.html")
        .generate(
            policy=content_security_policy(style, script),
            style=Markup(style),
            script=Markup(script),
            title=title,
            version=__version__,
            answer=verdict(tuned),
            figures=figures(tuned),
            sections=sections(tuned),
        )
    )
    write_whole(Path(path), page)
