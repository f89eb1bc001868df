"""``veridical prompts``: prompt templates of judges."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from veridical.errors import unknown_name

PROMPTS_EXAMPLES = (
    "Examples:\n\n  veridical prompts\n\n  veridical prompts likert > mine.toml\n\n"
    "  veridical check answers.jsonl --llm NAME --scorers \"judge(template='mine.toml')\""
)


def prompts(
    name: Annotated[str | None, typer.Argument(help="Template to print.")] = None,
) -> int:
    """List the prompt templates of judges, or print one to copy."""
    from veridical.prompts import load_prompt, prompt_names

    if name is not None:
        if name not in prompt_names():
            raise unknown_name("prompt template", name, prompt_names())
        print((files("veridical.prompts") / f"{name}.toml").read_text("utf-8"), end="")
        return 0
    table = Table(Column("template", no_wrap=True), "version", "shows", "asks", "source")
    for prompt in map(load_prompt, prompt_names()):
        shows = ", ".join(sorted(prompt.parts))
        cells = (prompt.name, prompt.version, shows, prompt.title, prompt.source)
        table.add_row(*map(escape, cells))
    Console(highlight=False).print(table)
    return 0
