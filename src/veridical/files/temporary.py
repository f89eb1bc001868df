"""Folders for what is kept no longer than it is worked on: private, and gone on every way out."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from veridical.files.atomic import PRIVATE_FOLDER
from veridical.files.locks import try_lock

_PREFIX = "veridical-"
_LOCK = ".lock"
_TRIES = 100


class TemporaryFolder:
    """An empty folder that only its owner reads. It goes with this object, and at the latest with
    the process; of one that was killed, the next process clears it away.

    Args:
        name: what it is for; the last part of :attr:`path`.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, name: str) -> None:
        _clear_abandoned()
        for _ in range(_TRIES):
            # Named and to be removed before it is made: an interrupt may come at any step.
            root = Path(tempfile.gettempdir()) / f"{_PREFIX}{secrets.token_hex(8)}"
            locks: list[int] = []
            self._end = weakref.finalize(self, _remove, root, locks, os.getpid())
            root.mkdir(PRIVATE_FOLDER)
            lock = try_lock(root / _LOCK)
            if lock is not None:
                locks.append(lock)
                break
            self._end.detach()  # another process took it for abandoned, before it was locked
        else:
            raise FileExistsError(f"no temporary folder can be kept in {tempfile.gettempdir()}")
        self.path = root / name
        self.path.mkdir(PRIVATE_FOLDER)

    def close(self) -> None:
        """Remove it and all that is in it."""
        self._end()


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """A :class:`TemporaryFolder` for the time of the block."""
    folder = TemporaryFolder(name)
    try:
        yield folder.path
    finally:
        folder.close()


def _remove(root: Path, locks: list[int], owner: int) -> None:
    if os.getpid() != owner:
        return  # a forked child
    try:
        for lock in locks:
            with contextlib.suppress(OSError):
                os.close(lock)
        shutil.rmtree(root, ignore_errors=True)
    except BaseException:  # an interrupt
        shutil.rmtree(root, ignore_errors=True)
        raise


@cache
def _clear_abandoned() -> None:
    """Remove, once a process, the folders of processes that were killed: nobody has their lock."""
    owner = os.getuid() if hasattr(os, "getuid") else None
    for root in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = root.lstat()
            ours = stat.S_ISDIR(status.st_mode) and owner in (None, status.st_uid)
            if ours and (root / _LOCK).is_file():
                lock = try_lock(root / _LOCK)
                if lock is not None:
                    _remove(root, [lock], os.getpid())
