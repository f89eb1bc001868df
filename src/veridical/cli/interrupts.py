"""What Ctrl-C, SIGTERM and SIGHUP do to the command.

Ctrl-C: exit code 130 and one line, however often it comes. While the command starts, it ends at
once: nothing is open yet. While it works, the first one raises KeyboardInterrupt, so that what is
open is closed, and no other disturbs that. Who still asks after :data:`PATIENCE` is let go: a run
can be resumed after any kind of end.

SIGTERM and SIGHUP: exit code 128 and their number, by SystemExit, so that nothing is left behind; a
second one ends at once.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time

#: Exit code of what was interrupted.
INTERRUPTED = 130
#: Seconds that closing may take before another Ctrl-C ends it.
PATIENCE = 2.0
#: Seconds after which an exception that was lost is raised again.
_LOST = 0.01

_first = 0.0
_raised = 0  # the signal whose exception was raised last
_told = False


def at_start() -> None:
    """End at once by Ctrl-C, cleanly by the others, from here on."""
    sys.unraisablehook = _unraisable
    if not _ignored():
        signal.signal(signal.SIGINT, _leave)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # not under nohup
            signal.signal(number, _end)


def at_work() -> None:
    """Raise KeyboardInterrupt once from here on."""
    if not _ignored():
        signal.signal(signal.SIGINT, _interrupt)


def came() -> int:
    """The exit code that a signal asked for; 0: none came."""
    return 128 + _raised if _raised else 0


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


def _interrupt(number: int, _: object) -> None:
    global _first, _raised
    _first = time.monotonic()
    _raised = number
    signal.signal(number, _again)
    raise KeyboardInterrupt


def _end(number: int, _: object) -> None:
    global _raised
    _raised = number
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)


def _again(*_: object) -> None:
    if time.monotonic() - _first > PATIENCE:
        if sys.stderr.isatty():
            os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
        os._exit(INTERRUPTED)


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise once more, a moment later, what a signal raised where nothing can be raised, as in a
    destructor: it would be shown as a traceback, and be lost."""
    if not _raised or unraisable.exc_type not in (KeyboardInterrupt, SystemExit):
        sys.__unraisablehook__(unraisable)
        return
    signal.signal(_raised, _interrupt if _raised == signal.SIGINT else _end)
    _thread.start_new_thread(_send, (_thread.get_ident(), _raised))


def _send(thread: int, number: int) -> None:
    """Send the signal to the thread, which may wait for something; on Windows, where it cannot be
    woken, as soon as it has waited."""
    time.sleep(_LOST)
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        signal.pthread_kill(thread, number)


def tell(text: str = "interrupted") -> None:
    """Say what was interrupted, once."""
    global _told
    if not _told:
        _told = True
        print(text, file=sys.stderr)
