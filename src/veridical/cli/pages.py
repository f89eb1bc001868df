"""What the commands of pages share: where they listen, and the links that they print."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from veridical.cli.declared import flag, flags

if TYPE_CHECKING:
    from veridical.serve.pages.door import Door


@flags()
class PageFlags:
    """Address of a page."""

    host: str = flag(
        "Address to listen at. The page needs its link's token at any.",
        default="127.0.0.1",
        metavar="H",
    )
    port: int = flag("Port to listen at; 0 for a free one.", default=0, least=0, most=65535)


def links(door: Door, end: str = "; what was labelled is kept") -> Callable[[str], None]:
    """What prints the links once the server answers, and opens the only one in a browser where a
    person sits before a terminal.

    Args:
        end: what is added to how the page is ended.
    """

    def started(address: str) -> None:
        for name in door.tokens:
            who = f"{name}: " if len(door.tokens) > 1 else ""
            print(f"{who}open {door.link(address, name)}", file=sys.stderr, flush=True)
        print(f"Ctrl-C ends the page{end}", file=sys.stderr, flush=True)
        if sys.stdout.isatty() and len(door.tokens) == 1:
            import webbrowser

            webbrowser.open(door.link(address, next(iter(door.tokens))))

    return started
