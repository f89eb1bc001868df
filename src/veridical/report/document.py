"""Reports as blocks of text and tables, for terminal or GitHub's Markdown.

Texts are foreign and never markup. A block for only one of the two forms declares it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Drawn
from rich.text import Text

from veridical.report.formats import broken, one_line

#: Styles of texts. ``name`` is a scorer's name or another name written like code, ``figures`` are
#: our own. ``quote`` is foreign text, in which nothing is a link, a mention or markup.
Style = Literal["", "name", "quote", "figures", "strong", "bad", "warn", "note", "dim"]
Form = Literal["terminal", "markdown"]
Severity = Literal["bad", "warn", "note"]

_TERMINAL = {"strong": "bold", "bad": "bold red", "warn": "yellow", "note": "cyan", "dim": "dim"}
_CODE = re.compile(r"[\w(),=.:/+%<> -]+", re.ASCII)
_SPECIAL = re.compile(r"([\\`*_\[\]{}#|~$!])")
#: Short column heads for narrow terminals.
_SHORT = {
    "avg. precision": "avg. prec.",
    "trapezoid PR": "trap. PR",
    "Scored / total": "scored",
    "Coverage": "cover.",
    "accuracy": "acc.",
    "threshold": "thresh.",
    "positive/negative": "pos./neg.",
}
_INTERVAL = "95 % interval"  #: a column for the figures before it
_LONGEST = 24  #: maximum characters of an unbroken cell
_NAME = 24  #: minimum characters for names before a table is split into parts
_COMMAND = 72  #: maximum characters of a command on one line


class ShownFlag(NamedTuple):
    """A flag as printed by a view."""

    name: str
    label: str
    explanation: str
    severity: Severity


class StyledText(NamedTuple):
    """Text of one style."""

    text: str
    style: Style = ""


Words = str | StyledText | Sequence[str | StyledText]


@dataclass(frozen=True)
class Opening:
    """Opening of a document.

    Attributes:
        sentence: the answer; the part after its first ``; `` is less important.
        meaning: sentences on the basis of the answer and on next steps.
        command: a command to type, in parts between which a line may be broken.
    """

    sentence: str
    meaning: Sequence[str] = ()
    command: Sequence[str] = ()
    only: Form | None = None

    def on_lines(self, indent: str = "") -> str:
        """Return the command on one line, or one part per line in shell syntax."""
        parts = [one_line(part) for part in self.command]
        if len(indent + " ".join(parts)) <= _COMMAND:
            return indent + " ".join(parts)
        return indent + f" \\\n{indent}    ".join(parts)


@dataclass(frozen=True)
class Heading:
    """A heading. ``level`` and ``capital`` (initial capital) apply to Markdown."""

    words: str
    level: int = 2
    capital: bool = False
    only: Form | None = None


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    words: Words
    only: Form | None = None


@dataclass(frozen=True)
class BulletList:
    """A list. In a terminal each line begins with ``mark``."""

    lines: Sequence[Words]
    mark: Words = "  "
    only: Form | None = None


class TableFigure(NamedTuple):
    """A table figure, its interval and the value printed in a paper."""

    value: str
    interval: str = ""
    paper: str = ""
    style: Style = ""


@dataclass(frozen=True)
class Line:
    """A table row: a name with its flags, and figures."""

    name: Words
    figures: Sequence[TableFigure]
    flags: Sequence[ShownFlag] = ()
    dim: bool = False
    section: bool = False  # starts a new section


@dataclass(frozen=True)
class Table:
    """Figures by name. ``flagged`` tables have a flags column in Markdown; ``details`` are folded
    there. ``least`` is the minimum width of names in a terminal."""

    heads: Sequence[str]
    lines: Sequence[Line]
    flagged: bool = False
    details: str = ""
    least: int = 12
    only: Form | None = None

    def has(self, column: int, part: Literal["interval", "paper"]) -> bool:
        """Return True if a figure of the column has an interval, or a paper's value."""
        return any(getattr(line.figures[column], part) for line in self.lines)


Block = Opening | Heading | Paragraph | BulletList | Table


def plain_table(heads: Sequence[str], rows: Iterable[Sequence[str]], least: int = 12) -> Table:
    """Make a table of texts."""
    return Table(
        heads, [Line(row[0], [TableFigure(cell) for cell in row[1:]]) for row in rows], least=least
    )


# --- Markdown


def text(value: object) -> str:
    """Escape foreign text: no markup, no line breaks, no end of a table cell."""
    clean = one_line(str(value)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", clean)


def code(name: str) -> str:
    """Return a name in code type if that is safe, else escaped text."""
    return f"`{name}`" if _CODE.fullmatch(name) else text(name)


def quoted(words: str) -> str:
    """Return foreign text in code type.

    No part of it can become markup, a mention or a link. Not for table cells.
    """
    line = one_line(words).strip() or " "
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def markdown(blocks: Iterable[Block]) -> str:
    """Return the blocks as a Markdown document."""
    shown = (block for block in blocks if block.only != "terminal")
    return "\n".join(line for block in shown for line in _lines(block)) + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Opening():
            yield from (f"**{text(block.sentence)}**", "")
            for said in block.meaning:
                yield from (text(said), "")
            if block.command:
                yield from (block.on_lines("    "), "")
        case Heading():
            words = block.words.capitalize() if block.capital else block.words
            yield from (f"{'#' * block.level} {text(words)}", "")
        case Paragraph():
            yield from (_marked(block.words), "")
        case BulletList():
            yield from (f"- {_marked(line)}" for line in block.lines)
            if block.lines:
                yield ""
        case Table():
            yield from _rows(block)


def _marked(words: Words) -> str:
    spans = [words] if isinstance(words, (str, StyledText)) else words
    return "".join(_span(span) for span in spans)


def _span(span: str | StyledText) -> str:
    words, style = span if isinstance(span, StyledText) else (span, "")
    if style == "name":
        return code(words)
    if style == "quote":
        return quoted(words)
    if style == "figures":
        return words
    return f"**{text(words)}**" if style in ("strong", "bad") else text(words)


def _rows(table: Table) -> Iterator[str]:
    if table.details:
        yield from (f"<details><summary>{text(table.details)}</summary>", "")
    heads = [text(table.heads[0])]
    for i, head in enumerate(table.heads[1:]):
        heads.append(text(head) + (" (95 % interval)" if table.has(i, "interval") else ""))
        heads += ["paper"] * table.has(i, "paper")
    heads += ["Flags"] * table.flagged
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join([' --- ', *[' ---: '] * (len(heads) - 1)])}|"
    for line in table.lines:
        cells = [("*baseline:* " if line.dim else "") + _marked(line.name)]
        for i, figure in enumerate(line.figures):
            cell = StyledText(figure.value, figure.style)
            cells.append(f"{_marked(cell)} {figure.interval}".strip())
            cells += [figure.paper] * table.has(i, "paper")
        if table.flagged:
            spans = (_span(StyledText(f.label, f.severity)) for f in line.flags)
            cells.append(", ".join(spans))
        yield f"| {' | '.join(cells)} |"
    yield ""
    if table.details:
        yield from ("</details>", "")


# --- the terminal


def show(blocks: Iterable[Block], console: Console) -> None:
    """Print the blocks within the console's width."""
    for block in blocks:
        if block.only == "markdown":
            continue
        match block:
            case Opening():
                console.print(_styled(StyledText(block.sentence, "strong")))
                for said in block.meaning:
                    console.print(_styled(said))
                if block.command:
                    console.print()
                    # never broken, so that it can be copied
                    console.print(Text(block.on_lines("  ")), soft_wrap=True)
                console.print()
            case Heading():
                console.print(Text(one_line(block.words), style="bold"))
            case Paragraph():
                console.print(_styled(block.words))
            case BulletList():
                for line in block.lines:
                    _hanging(_styled(block.mark), _styled(line), console)
            case Table():
                for i, grid in enumerate(_drawn(block, console.width)):
                    if i:
                        console.print()
                    console.print(grid)


def _hanging(mark: Text, words: Text, console: Console) -> None:
    """Print text after a mark, with further lines aligned to the text."""
    indent = cell_len(mark.plain)
    for i, line in enumerate(words.wrap(console, max(1, console.width - indent))):
        console.print((Text(" " * indent) if i else mark) + line)


def _styled(words: Words) -> Text:
    spans = [words] if isinstance(words, (str, StyledText)) else words
    pairs = (span if isinstance(span, StyledText) else StyledText(span) for span in spans)
    return Text.assemble(*((one_line(t), _TERMINAL.get(style, "")) for t, style in pairs))


class _Column(NamedTuple):
    """A drawn column: head, one cell per line, and True in ``marked`` if cells may be shown as
    bad."""

    head: str
    cells: list[str]
    marked: bool

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.head, *self.cells)))


def _columns(table: Table) -> list[list[_Column]]:
    """Return the columns, grouping intervals with their figures."""
    groups: list[list[_Column]] = []
    last = len(table.heads) - 3
    for i, head in enumerate(table.heads[1:]):
        figures = [line.figures[i] for line in table.lines]
        values = [one_line(f.value + (f" ({f.paper})" if f.paper else "")) for f in figures]
        printed = " (paper)" if table.has(i, "paper") else ""
        short = one_line(_SHORT.get(head, head)) + printed
        group = [_Column(short, values, i >= last)]
        if groups and head == _INTERVAL:
            groups[-1] += group
            continue
        if table.has(i, "interval"):
            intervals = [one_line(f.interval) for f in figures]
            group.append(_Column(_INTERVAL, intervals, i >= last))
        groups.append(group)
    return groups


def _drawn(table: Table, width: int) -> Iterator[Drawn]:
    """Yield the table, split into parts below each other if its columns are too wide."""
    groups = _columns(table)
    sizes = [sum(2 + column.width for column in group) for group in groups]
    names = [_styled(line.name).plain for line in table.lines]
    names += [" ! " + one_line(flag.label) for line in table.lines for flag in line.flags]
    longest = max(map(cell_len, [table.heads[0], *names]))
    least = min(longest, max(table.least, _NAME))
    parts: list[list[_Column]] = [[]]
    used = [0]
    for group, size in zip(groups, sizes, strict=True):
        if parts[-1] and least + used[-1] + size + 1 > width:
            parts.append([])
            used.append(0)
        parts[-1] += group
        used[-1] += size
    room = min(longest, max(table.least, width - max(used) - 1))
    for columns in parts:
        yield _grid(table, columns, room, width, flagged=columns is parts[0])


def _grid(
    table: Table, columns: Sequence[_Column], room: int, width: int, *, flagged: bool
) -> Drawn:
    """Draw one part of a table; names take ``room`` characters."""
    grid = Drawn(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    grid.add_column(one_line(table.heads[0]), overflow="fold", min_width=room)
    for column in columns:
        whole = column.width <= max(_LONGEST, width - room - 3)
        grid.add_column(Text(column.head), justify="right", no_wrap=whole, overflow="fold")
    for row, line in enumerate(table.lines):
        if line.section:
            grid.add_section()
        name = _styled(line.name)
        name = Text(broken(name.plain, room)) if len(name.spans) < 2 else name
        for flag in line.flags if flagged else ():
            name.append("\n ! " + one_line(flag.label), style=f"{_TERMINAL[flag.severity]} not dim")
        bad = "bold red" if any(f.style == "bad" for f in line.figures) else ""
        cells = (Text(c.cells[row], style=bad if c.marked else "") for c in columns)
        grid.add_row(name, *cells, style="dim" if line.dim else "")
    return grid
