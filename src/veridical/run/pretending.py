"""Where a dry run keeps what a run would keep: pretended journal and store, and a counting sink."""

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
    """What an NLI model is taken to say of a pair: neutral, and after that zeros up to ``width``.
    All answers then differ and no claims merge, so that no run asks for more than is counted."""
    row = np.zeros(width, np.float32)
    row[: len(LABELS)] = 0.3, 0.4, 0.3
    return row


class PretendJournal(Journal):
    """What the run would find in the journal: what ``real`` holds, and its own replies."""

    def __init__(self, path: Path, real: Journal | None) -> None:
        super().__init__(path)
        self._real = real

    async def find(self, keys: Sequence[bytes]) -> dict[bytes, HeldReply]:
        stored = {} if self._real is None else await self._real.find(keys)
        return await super().find([k for k in keys if k not in stored]) | stored


class PretendStore(Store):
    """What the run would find stored: what ``real`` holds, and what earlier records would have
    put there. Keeps shapes, in a folder of its own, and gives zeros, or where pairs were judged
    :func:`nothing_follows`."""

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
        """Leave the old keys: what they say is all that counts."""


class CountingSink:
    """Counts what a run directory would keep, and keeps it in ``directory`` for the
    steps after the scoring."""

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
