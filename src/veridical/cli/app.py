"""The commands of ``veridical``, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command, get_group

from veridical import plugins
from veridical.cli.help import App, HelpGroup
from veridical.version import __version__

#: Each command's module in this package, in the order of ``--help``; empty where another
#: distribution brings the command.
_MODULES = {
    "demo": "demo",
    "check": "check",
    "explain": "explain",
    "watch": "watch",
    "mcp": "mcp",
    "init": "init",
    "plan": "check",
    "sample": "sample",
    "bench": "",
    "corrupt": "corrupt",
    "tune": "tune",
    "rank": "",
    "diff": "diff",
    "report": "report",
    "view": "view",
    "review": "review",
    "rate": "rate",
    "redteam": "",
    "guard": "guard",
    "prompts": "prompts",
    "doctor": "doctor",
    "serve": "serve",
    "corpus": "corpus",
    "scorers": "scorers",
    "models": "models",
    "shard": "shard",
    "hook": "hook",
    "study": "",
    "train": "",
}


class _Commands(Mapping[str, Any]):
    """The commands by name: a module with an ``app`` is a group of commands; of others it is the
    function of that name, with its ``..._EXAMPLES``."""

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
        """The module of a command.

        Raises:
            KeyError: no distribution knows the command.
            MissingDistribution: the one that brings it is not installed.
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
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


app = App(
    cls=_Veridical,
    name="veridical",
    help="How far can an LLM's answer be trusted: how likely is it hallucinated, where, and on "
    "what evidence.",
    no_args_is_help=True,
    add_completion=True,
    epilog="Examples:\n\n  veridical check answers.jsonl --report report.html\n\n"
    "  veridical scorers\n\n  veridical check --help",
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"veridical {__version__}")
        raise typer.Exit
