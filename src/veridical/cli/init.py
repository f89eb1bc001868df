"""``veridical init ci|pytest|promptfoo``: files to start with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.declared import command
from veridical.core.options import Group

INIT_EXAMPLES = (
    "Examples:\n\n  veridical init ci\n\n  veridical init pytest\n\n"
    "  veridical init promptfoo --force"
)


class What(str, Enum):
    ci = "ci"
    pytest = "pytest"
    promptfoo = "promptfoo"


@dataclass(frozen=True, kw_only=True)
class InitOptions:
    """The options of ``veridical init``."""

    what: Annotated[
        What,
        typer.Argument(help="A workflow of GitHub, a module of tests, or a promptfoo config."),
    ]
    force: Annotated[
        bool, typer.Option("--force", help="Take the place of files that are there."), Group.OUTPUT
    ] = False


@command
def init(options: InitOptions) -> int:
    """Write files to start with into this folder: each is ready to run."""
    from veridical.integrations.starting import STARTERS, start

    for path in start(options.what.value, Path(), force=options.force):
        print(f"wrote {path}")
    first, *more = STARTERS[options.what.value].next
    print("\n".join([f"next: {first}", *(f"      {line}" for line in more)]))
    return 0
