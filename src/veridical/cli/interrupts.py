"""Handling of Ctrl-C, SIGTERM and SIGHUP.

Ctrl-C: exit code 130 and one line, however often it comes. During the start the command ends
immediately, as nothing is open yet. During the work the first Ctrl-C raises KeyboardInterrupt, so
that open files are closed. Another one after :data:`PATIENCE` ends the process; a run can be
resumed after any kind of end.

SIGTERM and SIGHUP: exit code 128 plus their number, by SystemExit, so that nothing is left behind.
A second signal ends the process immediately.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time

#: Exit code of an interrupted command.
INTERRUPTED = 130
#: Seconds of closing after which another Ctrl-C ends the process.
PATIENCE = 2.0
#: Seconds after which a lost exception is raised again.
_LOST = 0.01

_first = 0.0
_raised = 0  # the signal whose exception was raised last
_told = False


def at_start() -> None:
    """Exit immediately on Ctrl-C and cleanly on other signals from here on."""
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
    """Return the exit code of the last signal, or 0."""
    return 128 + _raised if _raised else 0


def at_end(code: int) -> None:
    """Exit with ``code`` on Ctrl-C from here on.

    The work is done, and Python only waits for threads before it restores its handlers.
    """
    if not _ignored():
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def forget() -> None:
    """Keep the exit code under ``python -m``.

    ``python -m`` ends by SIGINT if the last executed text raised KeyboardInterrupt. Dataclasses
    execute texts.
    """
    exec("")  # noqa: S102


def _ignored() -> bool:
    """Return True if Ctrl-C is ignored, as shells arrange for background jobs."""
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
    """Raise a signal's exception again if it was lost, as in a destructor.

    Otherwise it would be printed as a traceback and ignored.
    """
    if not _raised or unraisable.exc_type not in (KeyboardInterrupt, SystemExit):
        sys.__unraisablehook__(unraisable)
        return
    signal.signal(_raised, _interrupt if _raised == signal.SIGINT else _end)
    _thread.start_new_thread(_send, (_thread.get_ident(), _raised))


def _send(thread: int, number: int) -> None:
    """Send the signal to a thread, which may be waiting.

    On Windows a waiting thread cannot be woken; it receives the signal after its wait.
    """
    time.sleep(_LOST)
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        signal.pthread_kill(thread, number)


def tell(text: str = "interrupted") -> None:
    """Report the interrupt, once."""
    global _told
    if not _told:
        _told = True
        print(text, file=sys.stderr)
