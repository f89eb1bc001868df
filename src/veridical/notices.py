"""Warnings on standard error, at most once per process."""

from __future__ import annotations

import contextlib
import sys
import threading

_told: set[str] = set()
_mutex = threading.Lock()


def warn_once(message: str) -> None:
    """Print ``message`` as a warning unless this process has printed it before."""
    with _mutex:
        if message in _told:
            return
        _told.add(message)
    flat = "".join(c if c.isprintable() else "?" for c in message)
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # a closed stream
            print(f"warning: {flat}", file=sys.stderr, flush=True)


def reset_warnings() -> None:
    """Forget which warnings were printed, as for another user of this process."""
    with _mutex:
        _told.clear()
