"""Which of the processes that write to one journal are alive."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from veridical.files.locks import try_lock

_NAME = re.compile(r"[0-9a-f]{16}")


class Writers:
    """The processes that write to the journal ``path``.

    Each holds the lock of a file of its own, in a folder beside it, which a killed process lets
    go of.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.with_name(path.name + ".writers")
        self._name: str | None = None
        self._lock: int | None = None

    @property
    def name(self) -> str:
        """The name of this writer; there is none before it is first asked for.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._name is None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for other in self._folder.iterdir():
                self.alive(other.name)  # removes what the dead have left
            while self._lock is None:
                name = secrets.token_hex(8)
                self._lock = try_lock(self._folder / name)
            self._name = name
        return self._name

    @property
    def known(self) -> bool:
        """Whether this writer has a name yet."""
        return self._name is not None

    def alive(self, name: str) -> bool:
        """Whether the writer ``name`` is at work; this one is, for itself too."""
        if not _NAME.fullmatch(name):
            return False
        path = self._folder / name
        try:
            lock = try_lock(path) if path.exists() else None
        except OSError:
            return True  # it cannot be told
        if lock is None:
            return path.exists()
        path.unlink(missing_ok=True)
        os.close(lock)
        return False

    def close(self) -> None:
        """This writer is no more."""
        if self._name is not None and self._lock is not None:
            (self._folder / self._name).unlink(missing_ok=True)
            os.close(self._lock)
            self._name = self._lock = None
