"""Command line. Results go to stdout on request; everything else to stderr."""

from __future__ import annotations

import os
import sys

from veridical.cli import interrupts
from veridical.errors import typed_options


def main() -> None:
    """Run ``veridical`` and exit with its code."""
    interrupts.at_start()
    _settle_streams()
    code = interrupts.INTERRUPTED
    try:
        try:
            with typed_options():
                code = _run()
        finally:
            interrupts.at_end(code)
    except KeyboardInterrupt:  # came while an error was printed
        code = interrupts.INTERRUPTED
    interrupts.forget()
    sys.exit(code)


def _run() -> int:
    """Run the command that the arguments name: its exit code."""
    import typer

    from veridical.cli.app import app
    from veridical.errors import VeridicalError

    # click's own, or the copy that newer typers carry
    usage = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
    code: object
    try:
        interrupts.at_work()
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except typer.Exit as e:
        code = e.exit_code
    except (typer.Abort, KeyboardInterrupt):
        code = interrupts.INTERRUPTED
    except VeridicalError as e:
        print(f"error: {e}", file=sys.stderr)
        code = 1
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 1
    except OSError as e:  # a full disk, a folder that was taken away
        if os.environ.get("VERIDICAL_DEBUG"):
            raise
        place = f": {e.filename}" if e.filename else ""
        print(f"error: {e.strerror or e}{place}", file=sys.stderr)
        code = 1
    except Exception as e:
        if isinstance(e, usage):
            e.show(file=sys.stderr)  # type: ignore[attr-defined]
        elif os.environ.get("VERIDICAL_DEBUG"):
            raise
        elif interrupts.came():  # libraries turn its exception into errors of their own
            pass
        elif _of_a_path(e):
            print(f"error: a path cannot be used: {ascii(str(e))[1:-1]}", file=sys.stderr)
        else:
            print(
                f"internal error: {type(e).__name__}: {e} (VERIDICAL_DEBUG=1 shows the traceback)",
                file=sys.stderr,
            )
        code = interrupts.came() or 1
    if code == interrupts.INTERRUPTED:
        interrupts.tell()
    return code if isinstance(code, int) else 0


def _of_a_path(error: Exception) -> bool:
    """Return True if ``error`` means an impossible file name or a loop of symbolic links."""
    if isinstance(error, (UnicodeEncodeError, RuntimeError)):
        return isinstance(error, UnicodeEncodeError) or "Symlink loop" in str(error)
    return isinstance(error, ValueError) and "null byte" in str(error)


def _settle_streams() -> None:
    """Discard output to closed streams; replace characters that the locale lacks by ``?``."""
    import io
    from pathlib import Path

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
