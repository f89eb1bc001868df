"""Pretended journal and store of a dry run, and a counting sink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import LABELS
from veridical.core.records import Record
from veridical.core.scores import Result
from veridical.errors import RowError
from veridical.files.rowlog import Rows
from veridical.files.rundir import RunDirectory
from veridical.files.store import Store
from veridical.llm.journal import Journal
from veridical.llm.journal_rows import HeldReply


def nothing_follows(width: int) -> NDArray[np.float32]:
    """Return a pretended NLI answer: neutral, then zeros up to ``width``. All answers then differ
    and no claims merge, so the counts are upper bounds."""
    row = np.zeros(width, np.float32)
    row[: len(LABELS)] = 0.3, 0.4, 0.3
    return row


class PretendJournal(Journal):
    """Journal of a dry run: the replies of ``real``, and pretended ones."""

    def __init__(self, path: Path, real: Journal | None) -> None:
        super().__init__(path)
        self._real = real

    async def find(self, keys: Sequence[bytes]) -> dict[bytes, HeldReply]:
        stored = {} if self._real is None else await self._real.find(keys)
        return await super().find([k for k in keys if k not in stored]) | stored


class PretendStore(Store):
    """Store of a dry run: the values of ``real``, and those of earlier records. It stores shapes in
    its own folder, and returns zeros, or :func:`nothing_follows` for pairs."""

    def __init__(self, path: Path, real: Store | None) -> None:
        super().__init__(path)
        self._real = real

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        stored = {} if self._real is None else self._real.get_many(keys)
        shapes = super().get_many([k for k in keys if k not in stored])
        for key, shape in shapes.items():
            stored[key] = np.zeros(shape.astype(np.int64), np.float32)
        return stored

    def beginning_with(
        self, prefixes: Iterable[bytes]
    ) -> dict[bytes, dict[bytes, NDArray[np.float32]]]:
        prefixes = list(prefixes)
        stored = {} if self._real is None else self._real.beginning_with(prefixes)
        for prefix, shapes in super().beginning_with(prefixes).items():
            pretended = {k: nothing_follows(int(s[0])) for k, s in shapes.items()}
            stored[prefix] = pretended | stored.get(prefix, {})
        return stored

    def put_many(self, items: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        super().put_many((key, np.array(value.shape, np.float32)) for key, value in items)

    def replace(self, old: Iterable[bytes], key: bytes, value: NDArray[np.float32]) -> None:
        """Do nothing: the old keys suffice for counting."""


class CountingSink:
    """Counter of results, which also stores them in ``directory`` for the steps after scoring."""

    def __init__(self, directory: RunDirectory | None = None) -> None:
        self._directory = directory
        self.done = Rows()
        self.records = 0
        self.row_errors = 0
        self.status: dict[str, Counter[str]] = {}

    def write(self, record: Record, line: bytes) -> None:
        self.records += 1
        for name, score in Result.model_validate_json(line).scores.items():
            self.status.setdefault(name, Counter())[score.status] += 1
        if self._directory is not None:
            self._directory.write(record, line)

    def write_error(self, error: RowError) -> None:
        self.row_errors += 1
