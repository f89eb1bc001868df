"""The command line. Results go to stdout only where asked; everything else to stderr."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Entry point of ``veridical``. Exit codes: contract section 5."""
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
