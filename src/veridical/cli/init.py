"""``veridical init ci|pytest|promptfoo``: files to start with."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from veridical.cli.declared import argument, command, flag, flags
from veridical.core.options import Group

INIT_EXAMPLES = (
    "Examples:\n\n  veridical init ci\n\n  veridical init pytest\n\n"
    "  veridical init promptfoo --force"
)


@flags()
class InitOptions:
    """The options of ``veridical init``."""

    what: Literal["ci", "pytest", "promptfoo"] = argument(
        "A workflow of GitHub, a module of tests, or a promptfoo config."
    )
    force: bool = flag("Take the place of files that are there.", Group.OUTPUT, False)


@command
def init(options: InitOptions) -> int:
    """Write files to start with into this folder: each is ready to run."""
    from veridical.integrations.starting import STARTERS, start

    for path in start(options.what, Path(), force=options.force):
        print(f"wrote {path}")
    first, *more = STARTERS[options.what].next
    print("\n".join([f"next: {first}", *(f"      {line}" for line in more)]))
    return 0
