"""Help pages: purpose, examples, then options under headings.

Every line fits a terminal of at least 80 columns, and nothing is cut.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from veridical.core.options import Group

Function = TypeVar("Function", bound=Callable[..., Any])

_WIDEST = 100
_LONGEST_CHOICES = 50  # columns
_FLAGS = 25  # columns before the helps
_CODES = 5  # columns before the meanings of exit codes
_FEW_EXAMPLES = 2  # on pages that leave options out
#: One shell word, or an option with its value.
_WORDS = re.compile(r"""(?:--[a-z-]+ (?!-))?(?:[^\s"']|"[^"]*"|'[^']*')+""")
_METAVARS = {
    "integer": "N",
    "int": "N",
    "float": "X",
    "path": "PATH",
    "text": "TEXT",
    "str": "TEXT",
}
#: Headings; arguments without one are listed under Input.
_ORDER = [group.value for group in Group]


class App(typer.Typer):
    """A typer application with the help pages of this module."""

    def __init__(self, **settings: Any) -> None:
        usual = {"cls": HelpGroup, "add_completion": False, "pretty_exceptions_enable": False}
        super().__init__(**{**usual, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        """Add a command, as :meth:`typer.Typer.command` does."""
        return super().command(name, **{"cls": HelpCommand, **settings})


class HelpCommand(TyperCommand):
    """A command with this module's help page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(page(self, ctx))


class HelpGroup(TyperGroup):
    """A group of commands with this module's help page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(page(self, ctx))


def page(command: Any, ctx: Any, *, everything: bool = False) -> str:
    """Format the help of a command.

    Args:
        everything: include the options and examples that ``--help`` leaves to ``--help-all``.
    """
    essential = () if everything else getattr(command.callback, "essential", ())
    width = min(_WIDEST, max(40, shutil.get_terminal_size().columns))
    examples, notes = split_epilog(command.epilog or "")
    notes = [_note(note, width) for note in notes]
    blocks = [_wrap(f"Usage: {usage(command, ctx)}", width)]
    blocks += [_wrap(p, width) for p in (command.help or "").split("\n\n") if p.strip()]
    if examples:
        examples = examples[: _FEW_EXAMPLES if essential else None]
        lines = [line for example in examples for line in shell_lines(example, width)]
        blocks.append(_titled("Examples", "\n".join(lines)))
    if hasattr(command, "list_commands"):
        blocks.append(_commands(command, ctx, width))
    options = options_by_heading(command, ctx, essential)
    blocks += [_titled(title, _table(rows, width)) for title, rows in options.items()]
    if essential:
        more = len(command.get_params(ctx)) - sum(map(len, options.values()))
        notes.append(_wrap(f"{ctx.command_path} --help-all shows {more} more options.", width))
    return "\n\n".join([*blocks, *notes]) + "\n"


def usage(command: Any, ctx: Any) -> str:
    """Return the command line with its arguments."""
    arguments = [p for p in command.get_params(ctx) if p.param_type_name == "argument"]
    pieces = [_flags(p) if p.required else f"[{_flags(p)}]" for p in arguments]
    pieces += ["COMMAND ..."] if hasattr(command, "list_commands") else []
    return " ".join([ctx.command_path, *pieces, "[OPTIONS]"])


def split_epilog(epilog: str) -> tuple[list[str], list[str]]:
    """Split an epilog into examples and other paragraphs."""
    examples: list[str] = []
    notes: list[str] = []
    paragraphs = [p for p in epilog.split("\n\n") if p.strip() and p.strip() != "Examples:"]
    for paragraph in paragraphs:
        example = paragraph.strip().removeprefix("Then: ")
        if example.startswith("veridical "):
            examples.append(example)
        else:
            notes.append(" ".join(paragraph.split()))
    return examples, notes


def exit_codes(note: str) -> list[tuple[str, str]]:
    """Split "Exit codes: 0 fine; 1 usage." into codes and meanings; empty for other notes."""
    if not note.startswith("Exit codes: "):
        return []
    parts = re.split(r"; (?=\d+ )", note.removeprefix("Exit codes: ").removesuffix("."))
    return [(code, meaning) for code, _, meaning in (part.partition(" ") for part in parts)]


def _note(note: str, width: int) -> str:
    codes = exit_codes(note)
    return _titled("Exit codes", _table(codes, width, _CODES)) if codes else _wrap(note, width)


def shell_lines(line: str, width: int) -> list[str]:
    """Break an example into lines shorter than ``width``, continued by backslashes.

    A word that is longer than a line stays whole.
    """
    lines = [" "]
    for word in _WORDS.findall(line):
        if len(lines[-1]) + len(word) + 3 > width and lines[-1].strip():
            lines[-1] += " \\"
            lines.append(" " * 5)
        lines[-1] += f" {word}"
    return lines


def _commands(group: Any, ctx: Any, width: int) -> str:
    rows = {}
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is not None and not command.hidden:
            rows[name] = first_sentence(command.help or "")
    headings: dict[str, list[tuple[str, str]]] = {}
    for title, names in getattr(group, "headings", {}).items():
        headings[title] = [(name, rows.pop(name)) for name in names if name in rows]
    headings["Others" if headings else "Commands"] = list(rows.items())
    return "\n\n".join(
        _titled(title, _table(listed, width, flags=12))
        for title, listed in headings.items()
        if listed
    )


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, without its full stop."""
    paragraph = " ".join(text.split("\n\n", 1)[0].split())
    return re.split(r"(?<=[.]) ", paragraph, maxsplit=1)[0].rstrip(".")


def options_by_heading(
    command: Any, ctx: Any, essential: Sequence[str] = ()
) -> dict[str, list[tuple[str, str]]]:
    """Return flags and helps by heading, in the order of the headings."""
    by_title: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        if getattr(parameter, "hidden", False):
            continue
        if essential and parameter.name not in (*essential, "help_all", "help"):
            continue
        default = Group.INPUT if parameter.param_type_name == "argument" else Group.OTHER
        title = getattr(parameter, "rich_help_panel", None) or default.value
        by_title.setdefault(title, []).append((_flags(parameter), _help(parameter, ctx)))
    titles = sorted(by_title, key=lambda t: _ORDER.index(t) if t in _ORDER else -1)
    if titles == [Group.OTHER.value]:
        return {"Options": by_title[Group.OTHER.value]}
    return {title: by_title[title] for title in titles}


def _flags(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = str(parameter.metavar or parameter.name).upper().replace("_", "-")
        return name + ("..." if parameter.nargs == -1 else "")
    flags = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return flags if parameter.is_flag else f"{flags} {_metavar(parameter)}"


def _metavar(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    kind = _kind(parameter)
    if choices := _choices(kind):
        listed = "|".join(map(str, choices))
        return listed if len(listed) <= _LONGEST_CHOICES else "NAME"
    name = str(kind.__name__ if isinstance(kind, type) else kind.name)
    return _METAVARS.get(name.lower().split()[0], "TEXT")


def _choices(kind: Any) -> list[str]:
    choices = getattr(kind, "choices", None) or getattr(kind, "__members__", None)
    return list(map(str, choices or ()))


def _kind(parameter: Any) -> Any:
    """Return the type of the values: an annotation, or the type of older versions of typer."""
    descriptor = getattr(parameter, "type_descriptor", None)
    kind = parameter.type if descriptor is None else descriptor.annotation
    return next(iter(get_args(kind)), kind)


def _bound(parameter: Any, end: str) -> float | None:
    older = getattr(getattr(parameter, "type", None), end, None)
    bound: float | None = getattr(parameter, end, older)
    return bound


def _help(parameter: Any, ctx: Any) -> str:
    notes = []
    if parameter.required:
        notes.append("required")
    choices = _choices(_kind(parameter))
    if choices and _metavar(parameter) == "NAME":
        notes.append(", ".join(choices))
    least, most = _bound(parameter, "min"), _bound(parameter, "max")
    if most is not None:
        notes.append(f"{least or 0:g} to {most:g}")
    elif least and least > 1:
        notes.append(f"at least {least:g}")
    default = parameter.get_default(ctx, call=False)
    if not (default in (None, "", (), []) or isinstance(default, bool) or parameter.required):
        notes.append(f"default {getattr(default, 'value', default)}")
    text = parameter.help or ""
    return f"{text} [{'; '.join(notes)}]".strip() if notes else text


def _table(rows: Iterable[tuple[str, str]], width: int, flags: int = _FLAGS) -> str:
    return "\n".join(line for flag, text in rows for line in _row(flag, text, width, flags))


def _row(flag: str, text: str, width: int, flags: int) -> Iterator[str]:
    lines = textwrap.wrap(text, width - flags - 2, break_on_hyphens=False) or [""]
    if len(flag) > flags - 1:
        yield f"  {flag}"
        flag = ""
    for line in lines:
        yield f"  {flag:<{flags}}{line}".rstrip()
        flag = ""


def _titled(title: str, text: str) -> str:
    return f"{typer.style(title, bold=True)}\n{text}"


def _wrap(text: str, width: int) -> str:
    return textwrap.fill(" ".join(text.split()), width - 1, break_on_hyphens=False)
