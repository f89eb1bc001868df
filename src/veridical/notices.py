"""Notices: what a user should know and need not act on, told on standard error once a process."""

from __future__ import annotations

import contextlib
import sys
import threading

_told: set[str] = set()
_mutex = threading.Lock()


def warn_once(message: str) -> None:
    """Print ``message`` as a warning, unless this process has done so before."""
    with _mutex:
        if message in _told:
            return
        _told.add(message)
    flat = "".join(c if c.isprintable() else "?" for c in message)
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # a closed one
            print(f"warning: {flat}", file=sys.stderr, flush=True)


def reset_warnings() -> None:
    """Tell everything again, as to another user of this process."""
    with _mutex:
        _told.clear()
