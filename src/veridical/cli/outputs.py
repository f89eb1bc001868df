"""Where a command writes: checked before the work, replaced whole after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from veridical.errors import UsageError


def writable(*paths: Path | str | None) -> None:
    """Find out before hours of work, not after, that an output cannot be written."""
    for path in (Path(p) for p in paths if p not in (None, "-")):
        folder = path.resolve().parent
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise UsageError(f"cannot write {path}: its folder must exist and be writable")


@contextmanager
def opened(path: str | None) -> Iterator[TextIO | None]:
    """The text output at ``path``: ``-`` is standard output, None is none."""
    if path is None:
        yield None
    elif path == "-":
        yield sys.stdout
        sys.stdout.flush()
    else:
        draft = Path(path).with_name(Path(path).name + ".tmp")
        with draft.open("w", encoding="utf-8", newline="\n") as f:
            yield f
        draft.replace(path)
