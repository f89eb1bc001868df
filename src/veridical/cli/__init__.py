"""The command line. Results go to stdout only where asked; everything else to stderr."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path


def main() -> None:
    """Entry point of ``veridical``. Exit codes: contract section 5."""
    _settle_streams()
    import typer

    from veridical.cli.app import app
    from veridical.errors import VeridicalError

    # click's own, or the copy that newer typers carry
    usage = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
    code: object
    try:
        code = app(standalone_mode=False)
    except typer.Exit as e:
        code = e.exit_code
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except VeridicalError as e:
        print(f"error: {e}", file=sys.stderr)
        code = 1
    except BrokenPipeError:  # the reader of our output has gone: nobody to tell
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
        else:
            print(
                f"internal error: {type(e).__name__}: {e} (VERIDICAL_DEBUG=1 shows the traceback)",
                file=sys.stderr,
            )
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _settle_streams() -> None:
    """Closed streams swallow what is written; letters that a locale lacks become ``?``."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
