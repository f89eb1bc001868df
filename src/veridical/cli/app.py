"""Command table of ``veridical``; each command is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command, get_group

from veridical import plugins
from veridical.cli.help import App, HelpGroup
from veridical.version import __version__

#: Commands by heading of ``--help``, each with its module in this package; an empty module is
#: one that another distribution provides.
HEADINGS: dict[str, dict[str, str]] = {
    "Everyday": {
        "check": "check",
        "explain": "explain",
        "report": "report",
        "view": "view",
        "demo": "demo",
        "init": "init",
    },
    "Set up and plan": {
        "doctor": "doctor",
        "models": "models",
        "corpus": "corpus",
        "plan": "check",
    },
    "Tune and decide": {
        "tune": "tune",
        "diff": "diff",
        "sample": "sample",
        "corrupt": "corrupt",
        "scorers": "scorers",
        "prompts": "prompts",
    },
    "Production": {
        "serve": "serve",
        "guard": "guard",
        "watch": "watch",
        "mcp": "mcp",
        "hook": "hook",
        "shard": "shard",
    },
    "People": {"review": "review", "rate": "rate"},
    "Research": {"bench": "", "rank": "", "study": "", "train": "", "redteam": ""},
}
_MODULES = {name: module for named in HEADINGS.values() for name, module in named.items()}


class _Commands(Mapping[str, Any]):
    """Commands by name, imported on first use.

    A module with an ``app`` is a group of commands. Any other has a function of the command's name
    and its ``..._EXAMPLES``.
    """

    def __init__(self) -> None:
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            module = self._module(name)
            if hasattr(module, "app"):
                self._read[name] = get_group(module.app)
            else:
                alone = App()
                examples = getattr(module, f"{name.upper()}_EXAMPLES")
                alone.command(name, epilog=examples)(getattr(module, name))
                self._read[name] = get_command(alone)
        return self._read[name]

    def _module(self, name: str) -> Any:
        """Import the module of a command.

        Raises:
            KeyError: no distribution has the command.
            MissingDistribution: the distribution of the command is not installed.
        """
        if own := _MODULES.get(name):
            return import_module(f"veridical.cli.{own}")
        if name in _MODULES or name in plugins.points(plugins.COMMANDS):
            return plugins.load(plugins.COMMANDS, name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        added = plugins.points(plugins.COMMANDS)
        yield from (name for name, own in _MODULES.items() if own or name in added)
        yield from (name for name in added if name not in _MODULES)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Veridical(HelpGroup):
    headings = HEADINGS

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


app = App(
    cls=_Veridical,
    name="veridical",
    help="Check LLM answers for hallucination: a calibrated risk per answer and sentence, with "
    "evidence.",
    no_args_is_help=True,
    add_completion=True,
    epilog="Examples:\n\n  veridical demo\n\n"
    "  veridical check answers.jsonl --report report.html\n\n  veridical check --help",
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"veridical {__version__}")
        raise typer.Exit
