"""Private temporary folders that are always removed."""

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
    """An empty folder that only its owner reads.

    It is removed with this object, at the latest when the process ends. The folder of a killed
    process is removed by the next process.

    Args:
        name: purpose; the last part of :attr:`path`.

    Raises:
        OSError: it cannot be created.
    """

    def __init__(self, name: str) -> None:
        _clear_abandoned()
        for _ in range(_TRIES):
            # named and registered for removal before it is created: an interrupt may come at any
            # step
            root = Path(tempfile.gettempdir()) / f"{_PREFIX}{secrets.token_hex(8)}"
            locks: list[int] = []
            self._end = weakref.finalize(self, _remove, root, locks, os.getpid())
            root.mkdir(PRIVATE_FOLDER)
            lock = try_lock(root / _LOCK)
            if lock is not None:
                locks.append(lock)
                break
            self._end.detach()  # another process removed it as abandoned, before it was locked
        else:
            raise FileExistsError(f"cannot create a temporary folder in {tempfile.gettempdir()}")
        self.path = root / name
        self.path.mkdir(PRIVATE_FOLDER)

    def close(self) -> None:
        """Remove the folder and its content."""
        self._end()


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """Create a :class:`TemporaryFolder` for the duration of the block."""
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
    """Remove, once per process, the unlocked folders of killed processes."""
    owner = os.getuid() if hasattr(os, "getuid") else None
    for root in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = root.lstat()
            ours = stat.S_ISDIR(status.st_mode) and owner in (None, status.st_uid)
            if ours and (root / _LOCK).is_file():
                lock = try_lock(root / _LOCK)
                if lock is not None:
                    _remove(root, [lock], os.getpid())
