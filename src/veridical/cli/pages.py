"""Shared options of pages, and the links that they print."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from veridical.cli.declared import flag, flags

if TYPE_CHECKING:
    from veridical.serve.pages.access import PageAccess


@flags()
class PageFlags:
    """Address of a page."""

    host: str = flag(
        "Address to listen on. The page always requires the token of its link.",
        default="127.0.0.1",
        metavar="H",
    )
    port: int = flag("Port to listen on; 0 for any free port.", default=0, least=0, most=65535)


def links(access: PageAccess, end: str = "; labels are saved") -> Callable[[str], None]:
    """Return a callback that prints the links once the server answers.

    On a terminal, a single link is also opened in a browser.

    Args:
        end: text after the hint on Ctrl-C.
    """

    def started(address: str) -> None:
        for name in access.tokens:
            who = f"{name}: " if len(access.tokens) > 1 else ""
            print(f"{who}open {access.link(address, name)}", file=sys.stderr, flush=True)
        print(f"Ctrl-C ends the page{end}", file=sys.stderr, flush=True)
        if sys.stdout.isatty() and len(access.tokens) == 1:
            import webbrowser

            webbrowser.open(access.link(address, next(iter(access.tokens))))

    return started
