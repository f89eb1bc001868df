"""Study run directory: locked, resumable."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from veridical.errors import UsageError
from veridical.files.atomic import PRIVATE_FOLDER, write_atomic
from veridical.files.locks import try_lock
from veridical.text.display import display

_MANIFEST = "study.json"
_LOCK = "study.lock"


class StudyFolder:
    """A context: while it lasts, no other process works in the folder.

    Args:
        path: made if it is not there.
        identity: what the run is made of, by name.

    Raises:
        UsageError: it holds a run of another identity (saying what differs), is in use, or cannot
            be made.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._identity = json.loads(json.dumps(identity))
        self._lock: int | None = None

    def __enter__(self) -> StudyFolder:
        shown = display(self.path)
        try:
            self.path.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._lock = try_lock(self.path / _LOCK)
        except OSError as e:
            raise UsageError(f"cannot make the folder {shown}: {e.strerror or e}") from None
        if self._lock is None:
            raise UsageError(f"{shown} is in use by another process")
        try:
            self._check(shown)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _check(self, shown: str) -> None:
        manifest = self.path / _MANIFEST
        try:
            held = json.loads(manifest.read_bytes())
            if not isinstance(held, dict):
                raise ValueError("it is not an object")
        except FileNotFoundError:
            write_atomic(manifest, json.dumps(self._identity) + "\n", private=True)
            return
        except (OSError, ValueError, RecursionError) as e:
            raise UsageError(f"{shown}: {_MANIFEST} cannot be read ({e}); name another") from None
        differing = [
            f"{name}: it has {json.dumps(held.get(name))}, this run has {json.dumps(value)}"
            for name, value in self._identity.items()
            if held.get(name) != value
        ]
        if differing:
            raise UsageError(
                f"{shown} holds another run of studies; what differs: {'; '.join(differing)}. "
                "Name another folder"
            )
