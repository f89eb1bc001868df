"""A tuned ensemble in the terminal, in Markdown and as a page of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from veridical.report.bench_markdown import text
from veridical.report.bench_text import wide_enough
from veridical.report.bench_view import one_line
from veridical.report.tune_view import Section, sections

if TYPE_CHECKING:
    from markupsafe import Markup

    from veridical.decide.tuned import Tuned

_NAME = 14  #: characters of a component's name on a line, at least
_WIDTH = 150  #: of a pipe or file


def print_tuned(tuned: Tuned, console: Console) -> None:
    """Print every section."""
    with wide_enough(console, _WIDTH):
        for section in sections(tuned):
            _print(section, console)


def _print(section: Section, console: Console) -> None:
    console.print(Text(one_line(section.title), style="bold"))
    for fact in section.facts:
        console.print(Text(one_line(fact)))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for i, head in enumerate(section.heads):
        table.add_column(
            Text(one_line(head)),
            justify="right" if i else "left",
            overflow="fold",
            min_width=None if i else _NAME,
        )
    for row in section.rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console.print(table)
    for note in section.notes:
        console.print(Text.assemble(("note: ", "dim"), one_line(note)))
    console.print()


def tuned_markdown(tuned: Tuned) -> str:
    """The document, a second-level heading a section."""
    return "\n".join(line for section in sections(tuned) for line in _markdown(section)) + "\n"


def _markdown(section: Section) -> Iterator[str]:
    yield from (f"## {text(section.title.capitalize())}", "")
    for fact in section.facts:
        yield from (text(fact), "")
    yield "| " + " | ".join(map(text, section.heads)) + " |"
    yield "|" + "---|" * len(section.heads)
    yield from ("| " + " | ".join(map(text, row)) + " |" for row in section.rows)
    yield ""
    yield from (f"- {text(note)}" for note in section.notes)
    if section.notes:
        yield ""


def write_tuned_page(tuned: Tuned, path: Path, title: str = "veridical tuned ensemble") -> None:
    """Write one self-contained page: no network, no script.

    Raises:
        OSError: the file cannot be written; an older page then stays as it was.
    """
    from markupsafe import Markup

    from veridical.report.html import asset, content_security_policy, environment, write_whole
    from veridical.version import __version__

    style = asset("report.css") + asset("bench.css")
    page = (
        environment()
        .get_template("tune.html")
        .generate(
            policy=content_security_policy(style, ""),
            style=Markup(style),
            title=title,
            version=__version__,
            sections=sections(tuned),
            plot=_reliability(tuned),
        )
    )
    write_whole(Path(path), page)


def _reliability(tuned: Tuned) -> Markup | None:
    """The reliability diagram before and after calibration."""
    from veridical.report.plots import Axis, Series, legend, lines

    parts = (("before", tuned.nested.before), ("after", tuned.nested.after))
    series = [
        Series(name, _points(part["bins"]), style, dots=True)
        for style, (name, part) in enumerate(parts)
        if part is not None
    ]
    if not series:
        return None
    drawn = lines(
        "Reliability on answers that it was not fitted to",
        Axis("risk", 0.0, 1.0),
        Axis("share hallucinated", 0.0, 1.0),
        series,
        diagonal=True,
    )
    return drawn + legend([(s.name, s.style) for s in series])


def _points(bins: Any) -> list[tuple[float, float]]:
    return [(b["mean"], b["rate"]) for b in bins if b["n"]]
