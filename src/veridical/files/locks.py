"""Advisory locks that a killed process releases."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

#: Descriptors of taken locks, and the device and inode of their files.
_taken: dict[int, tuple[int, int]] = {}


#: Seconds between two attempts.
_PAUSE = 0.01


def try_lock(path: Path, patience: float = 0.0) -> int | None:
    """Take the exclusive lock of file ``path``.

    Return its descriptor (closing it releases the lock), or None if another process holds it. A
    forked process does not hold its parent's locks.

    Args:
        patience: seconds of further attempts: a process that checks for a lock
            (:func:`is_locked`) holds it for a moment.
    """
    end = time.monotonic() + patience
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    while not _lock(fd):
        if time.monotonic() >= end:
            os.close(fd)
            return None
        time.sleep(_PAUSE)
    status = os.fstat(fd)
    _taken[fd] = status.st_dev, status.st_ino
    return fd


def is_locked(path: Path) -> bool:
    """Return True if a process holds the exclusive lock of the existing file ``path``. Concurrent
    checks do not affect each other, except on Windows, which has no shared locks."""
    fd = os.open(path, os.O_RDWR)
    try:
        return not _lock(fd, shared=True)
    finally:
        os.close(fd)


def _lock(fd: int, *, shared: bool = False) -> bool:
    """Lock an open file; return False if another process holds the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _leave_to_parent() -> None:
    """Close the copies of lock descriptors, which would keep the lock after the parent releases it.
    Their numbers stay in use, because their holders may close them."""
    for fd, file in _taken.items():
        try:
            status = os.fstat(fd)
            if (status.st_dev, status.st_ino) == file:  # not closed since and reused
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, fd, inheritable=False)
                os.close(null)
        except OSError:
            continue
    _taken.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
