"""Advisory locks that a killed process lets go of."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Descriptors that locks were taken by, and the device and inode of their files.
_taken: dict[int, tuple[int, int]] = {}


def try_lock(path: Path) -> int | None:
    """Take the exclusive lock of file ``path``: its descriptor (closing it releases), or None
    when another process holds it. A forked process does not hold its parent's locks."""
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
    status = os.fstat(fd)
    _taken[fd] = status.st_dev, status.st_ino
    return fd


def _leave_to_parent() -> None:
    """Close the copies of locks' descriptors: with one open, the lock would stay taken when the
    parent lets it go. Their numbers stay in use, as whoever holds them may close them."""
    for fd, file in _taken.items():
        try:
            status = os.fstat(fd)
            if (status.st_dev, status.st_ino) == file:  # not closed since, and another's now
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, fd, inheritable=False)
                os.close(null)
        except OSError:
            continue
    _taken.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
