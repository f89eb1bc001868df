"""Advisory locks that a killed process lets go of."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def try_lock(path: Path) -> int | None:
    """Take the exclusive lock of file ``path``: its descriptor (closing it releases), or None
    when another process holds it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd
