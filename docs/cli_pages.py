"""Generated reference of the command line: index and command pages."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import typer
from typer.main import get_command

from veridical.cli.app import HEADINGS, app
from veridical.cli.help import (
    exit_codes,
    first_sentence,
    options_by_heading,
    shell_lines,
    split_epilog,
    usage,
)

WIDTH = 78

HEAD = """# Command line

Generated from the declarations of the commands by `python docs/generate.py`. `veridical COMMAND
--help` prints the most used options of a command. Commands with many options print the others by
`--help-all`.
"""


def _root() -> Any:
    return get_command(app)


def index() -> str:
    """Return the page that lists the commands by purpose."""
    root = _root()
    lines = [HEAD]
    for heading, names in HEADINGS.items():
        lines += [f"## {heading}", "", "| command | purpose |", "|---|---|"]
        for name in names:
            summary = first_sentence(root.commands[name].help or "")
            lines.append(
                f"| [`veridical {name}`]({name}.md) | {html.escape(summary, quote=False)} |"
            )
        lines.append("")
    return "\n".join(lines)


def page(name: str) -> str:
    """Return the page of a command, with its subcommands."""
    root = _root()
    parent = root.make_context("veridical", [], resilient_parsing=True)
    return "\n".join(_command(root.commands[name], name, parent, 1)).rstrip("\n") + "\n"


def _command(command: Any, name: str, parent: Any, level: int) -> Iterator[str]:
    ctx = typer.Context(command, info_name=name, parent=parent)
    yield f"{'#' * level} {ctx.command_path}"
    yield ""
    for paragraph in (command.help or "").split("\n\n"):
        yield from (html.escape(" ".join(paragraph.split()), quote=False), "")
    yield from ("```text", usage(command, ctx), "```", "")
    examples, notes = split_epilog(command.epilog or "")
    if examples:
        yield from (f"{'#' * (level + 1)} Examples{_of(ctx, level)}", "", "```text")
        for example in examples:
            yield from (line.removeprefix("  ") for line in shell_lines(example, WIDTH))
        yield from ("```", "")
    options = options_by_heading(command, ctx)
    if list(options) != ["Options"] or len(options["Options"]) > 1:
        yield from (f"{'#' * (level + 1)} Options{_of(ctx, level)}", "")
        for heading, rows in options.items():
            if rows := [row for row in rows if row[0] not in ("--help", "--help-all")]:
                yield from _table(heading, rows)
    for note in notes:
        if codes := exit_codes(note):
            listed = (f"- {code}: {html.escape(text, quote=False)}" for code, text in codes)
            yield from ("Exit codes:", "", *listed, "")
        else:
            yield from (html.escape(note, quote=False), "")
    for sub, subcommand in getattr(command, "commands", {}).items():
        yield from _command(subcommand, sub, ctx, level + 1)


def _of(ctx: Any, level: int) -> str:
    """Return what makes a heading of a subcommand unique."""
    return "" if level == 1 else f" of {ctx.command_path.removeprefix('veridical ')}"


def _table(heading: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    yield from (f"| {heading} | |", "|---|---|")
    for flags, text in rows:
        code = html.escape(flags, quote=False).replace("|", "&#124;")
        yield f"| <code>{code}</code> | {html.escape(text, quote=False).replace('|', '&#124;')} |"
    yield ""


PAGES: dict[str, Callable[[], str]] = {
    "cli/index.md": index,
    **{f"cli/{n}.md": partial(page, n) for names in HEADINGS.values() for n in names},
}
