"""``veridical init ci|pytest|promptfoo``: starter files."""

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
    """Options of ``veridical init``."""

    what: Literal["ci", "pytest", "promptfoo"] = argument(
        "Files to write: a GitHub workflow (ci), a test module (pytest) or a promptfoo config."
    )
    force: bool = flag("Overwrite existing files.", Group.OUTPUT, False)


@command
def init(options: InitOptions) -> int:
    """Write starter files for CI, pytest or promptfoo into this folder."""
    from veridical.integrations.starting import STARTERS, start

    for path in start(options.what, Path(), force=options.force):
        print(f"wrote {path}")
    first, *more = STARTERS[options.what].next
    print("\n".join([f"next: {first}", *(f"      {line}" for line in more)]))
    return 0
