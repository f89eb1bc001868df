"""What Ctrl-C does to the command: exit code 130 and one line, however often it comes.

While the command starts, it ends at once: nothing is open yet. While it works, the first one
raises KeyboardInterrupt, so that what is open is closed, and no other disturbs that. Who still
asks after :data:`PATIENCE` is let go: a run can be resumed after any kind of end.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time

#: Exit code of what was interrupted.
INTERRUPTED = 130
#: Seconds that closing may take before another Ctrl-C ends it.
PATIENCE = 2.0

_first = 0.0
_told = False


def at_start() -> None:
    """End at once from here on."""
    if not _ignored():
        signal.signal(signal.SIGINT, _leave)


def at_work() -> None:
    """Raise KeyboardInterrupt once from here on."""
    if not _ignored():
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


def came() -> bool:
    """Whether KeyboardInterrupt was raised."""
    return _first > 0


def at_end(code: int) -> None:
    """End with ``code`` from here on: all is done, and Python only waits for threads. What it
    does after that is short, and ends by setting its handlers back."""
    if not _ignored():
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def forget() -> None:
    """Let the exit code count. ``python -m`` ends by SIGINT, whatever its exit code, where the last
    text that it executed was left by KeyboardInterrupt; dataclasses are made by executing texts."""
    exec("")  # noqa: S102


def _ignored() -> bool:
    """Whether whoever started the command has it ignore Ctrl-C, as shells do in the background."""
    return signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)


def _leave(*_: object) -> None:
    global _told
    said_before, _told = _told, True  # before the write, in which another one may come
    if not said_before:
        try:  # noqa: SIM105  (contextlib is not imported yet)
            os.write(2, b"interrupted\n")  # the stream may be in the middle of a write
        except OSError:  # closed
            pass
    os._exit(INTERRUPTED)


def _interrupt(*_: object) -> None:
    global _first
    _first = time.monotonic()
    signal.signal(signal.SIGINT, _again)
    raise KeyboardInterrupt


def _again(*_: object) -> None:
    if time.monotonic() - _first > PATIENCE:
        if sys.stderr.isatty():
            os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
        os._exit(INTERRUPTED)


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """An interrupt that came where nothing can be raised, as in a destructor, would be shown as a
    traceback and be lost."""
    if unraisable.exc_type is KeyboardInterrupt:
        _leave()
    sys.__unraisablehook__(unraisable)


def tell(text: str = "interrupted") -> None:
    """Say what was interrupted, once."""
    global _told
    if not _told:
        _told = True
        print(text, file=sys.stderr)
