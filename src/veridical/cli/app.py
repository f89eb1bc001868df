"""The commands of ``veridical``, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command, get_group

from veridical.cli.help import App, HelpGroup
from veridical.version import __version__

#: Each command's module in this package, in the order of ``--help``.
_MODULES = {
    "demo": "demo",
    "check": "check",
    "explain": "explain",
    "watch": "watch",
    "mcp": "mcp",
    "init": "init",
    "plan": "check",
    "sample": "sample",
    "bench": "bench",
    "tune": "tune",
    "rank": "rank",
    "diff": "diff",
    "report": "report",
    "view": "view",
    "review": "review",
    "rate": "rate",
    "redteam": "redteam",
    "guard": "guard",
    "prompts": "prompts",
    "doctor": "doctor",
    "serve": "serve",
    "corpus": "corpus",
    "scorers": "scorers",
    "models": "models",
    "shard": "shard",
    "hook": "hook",
    "study": "study",
    "train": "train",
}


class _Commands(Mapping[str, Any]):
    """The commands by name: a module with an ``app`` is a group of commands; of others it is the
    function of that name, with its ``..._EXAMPLES``."""

    def __init__(self) -> None:
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            module = import_module(f"veridical.cli.{_MODULES[name]}")
            if hasattr(module, "app"):
                self._read[name] = get_group(module.app)
            else:
                alone = App()
                examples = getattr(module, f"{name.upper()}_EXAMPLES")
                alone.command(name, epilog=examples)(getattr(module, name))
                self._read[name] = get_command(alone)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


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
