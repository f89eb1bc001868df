"""Live processes that write to one journal."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from veridical.files.locks import try_lock

_NAME = re.compile(r"[0-9a-f]{16}")


class Writers:
    """Processes that write to the journal ``path``.

    Each locks a file of its own in a folder next to it; the lock ends with a killed process.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.with_name(path.name + ".writers")
        self._name: str | None = None
        self._lock: int | None = None

    @property
    def name(self) -> str:
        """Return the name of this writer, created on first use.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._name is None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for other in self._folder.iterdir():
                self.alive(other.name)  # removes the files of dead writers
            while self._lock is None:
                name = secrets.token_hex(8)
                self._lock = try_lock(self._folder / name)
            self._name = name
        return self._name

    @property
    def known(self) -> bool:
        """Return True if this writer has a name yet."""
        return self._name is not None

    def alive(self, name: str) -> bool:
        """Return True if the writer ``name`` is alive, which includes this one."""
        if not _NAME.fullmatch(name):
            return False
        path = self._folder / name
        try:
            lock = try_lock(path) if path.exists() else None
        except OSError:
            return True  # liveness cannot be determined
        if lock is None:
            return path.exists()
        path.unlink(missing_ok=True)
        os.close(lock)
        return False

    def close(self) -> None:
        """Release the name of this writer."""
        if self._name is not None and self._lock is not None:
            (self._folder / self._name).unlink(missing_ok=True)
            os.close(self._lock)
            self._name = self._lock = None
