"""The dry run: the run's own code over models that count instead of computing."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.engine import Engine, Progress, Task
from veridical.errors import RowError
from veridical.evidence.rundir import Rows
from veridical.evidence.store import Store
from veridical.models.protocols import LABELS, Encoded, Window
from veridical.scores import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.io import Source
    from veridical.models.protocols import Encoder, NliModel

_TIMED = 3  # real forwards that give the rate


class _Counting:
    """Tokenises like the model it stands for and computes nothing, but for a few timed
    forwards of a local model."""

    workers = 1

    def __init__(self, model: Any) -> None:
        self._model = model
        self.name: str = model.name
        self.revision: str = model.revision
        self.scripts: frozenset[str] | None = model.scripts
        self.batch_tokens: int = model.batch_tokens
        self._timings: list[tuple[int, float]] = []

    def windows(self, requests: Sequence[Any]) -> list[list[Window]]:
        found: list[list[Window]] = self._model.windows(requests)
        return found

    def _timed(self, batch: Sequence[Window], *mode: bool) -> list[Any] | None:
        """Outputs of a real forward; None once there have been enough."""
        if not self.local or len(self._timings) >= _TIMED:
            return None
        started = time.perf_counter()
        outputs: list[Any] = self._model.run(batch, *mode)
        padded = len(batch) * max(w.length for w in batch)
        self._timings.append((padded, time.perf_counter() - started))
        return outputs

    @property
    def local(self) -> bool:
        """Whether a forward costs nothing but time here."""
        return getattr(self._model, "local", True)

    def seconds(self, padded: int) -> float | None:
        """Time for ``padded`` tokens by the rate of the timed forwards; None when unknown."""
        timed = self._timings[1:] or self._timings  # the first forward warms up
        if not padded:
            return 0.0
        if not timed:
            return None
        return padded * sum(s for _, s in timed) / sum(n for n, _ in timed)


class CountingEncoder(_Counting):
    """Stands for an :class:`Encoder`."""

    def __init__(self, model: Encoder) -> None:
        super().__init__(model)
        self.has_tokens = model.has_tokens
        self._dims = (1, 1)

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        outputs = self._timed(batch, tokens)
        if outputs is not None:
            first = self._model.assemble(batch[:1], outputs[:1], tokens)
            width = 0 if first.tokens is None else first.tokens.shape[1]
            self._dims = (first.vector.shape[0], width)
        return [None] * len(batch)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        n = sum(w.length - w.overlap for w in windows)
        vector = np.zeros(self._dims[0], np.float32)
        if not tokens:
            return Encoded(vector=vector)
        return Encoded(
            vector=vector,
            tokens=np.zeros((n, self._dims[1]), np.float32),
            token_ids=np.zeros(n, np.int64),
            content=np.ones(n, np.bool_),
        )


class CountingNli(_Counting):
    """Stands for an :class:`NliModel`."""

    def __init__(self, model: NliModel) -> None:
        super().__init__(model)
        self.contradicts = model.contradicts

    def run(self, batch: Sequence[Window]) -> list[Any]:
        self._timed(batch)
        return [None] * len(batch)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        return np.full(len(LABELS), 1 / len(LABELS), np.float32)


class _PretendStore(Store):
    """What the run would find stored: what ``real`` holds, and what earlier records would have
    put there. Keeps shapes, in a folder of its own, and gives zeros."""

    def __init__(self, path: Path, real: Store | None) -> None:
        super().__init__(path)
        self._real = real

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found = {} if self._real is None else self._real.get_many(keys)
        shapes = super().get_many([k for k in keys if k not in found])
        for key, shape in shapes.items():
            found[key] = np.zeros(shape.astype(np.int64), np.float32)
        return found

    def beginning_with(
        self, prefixes: Iterable[bytes]
    ) -> dict[bytes, dict[bytes, NDArray[np.float32]]]:
        prefixes = list(prefixes)
        found = {} if self._real is None else self._real.beginning_with(prefixes)
        for prefix, shapes in super().beginning_with(prefixes).items():
            zeros = {k: np.zeros(s.astype(np.int64), np.float32) for k, s in shapes.items()}
            found[prefix] = zeros | found.get(prefix, {})
        return found

    def put_many(self, items: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        super().put_many((key, np.array(value.shape, np.float32)) for key, value in items)

    def replace(self, old: Iterable[bytes], key: bytes, value: NDArray[np.float32]) -> None:
        """Nothing: what is said of the old keys is all that counts."""


class _CountingSink:
    """Counts what a run directory would keep."""

    def __init__(self) -> None:
        self.done = Rows()
        self.records = 0
        self.row_errors = 0
        self.status: dict[str, Counter[str]] = {}

    def write(self, row: int, line: bytes) -> None:
        self.records += 1
        for name, score in Result.model_validate_json(line).scores.items():
            self.status.setdefault(name, Counter())[score.status] += 1

    def write_error(self, error: RowError) -> None:
        self.row_errors += 1


def dry_run(engine: Engine, source: Source, task: Task, stores: bool) -> dict[str, Any]:
    """Counts of what ``task`` would ask of each model, and an estimate of the time.

    ``stores`` says whether the run would have a store, be it one that does not exist yet.
    ``models[].requests`` are distinct texts or pairs, ``stored`` those the store would answer,
    ``windows`` and ``tokens`` what would go through the model, ``padded`` the same with padding;
    ``seconds`` is None where nothing tells. ``llm`` is exact: no scorer here calls one.
    """

    def wrap(role: str, model: Any) -> _Counting:
        return CountingNli(model) if role == "nli" else CountingEncoder(model)

    sink = _CountingSink()
    started = time.perf_counter()
    with contextlib.ExitStack() as stack:
        store = None
        if stores:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="veridical-plan-"))
            store = _PretendStore(Path(folder), engine.store)
            stack.callback(store.close)
        services = engine.services(task, wrap, store)
        distinct = {id(s): s for s in services.values()}
        for service in distinct.values():
            stack.callback(service.close)
        engine.submit(engine.run(source, task, sink, Progress(), services)).result()
    spent = time.perf_counter() - started
    models = []
    seconds: float | None = 0.0
    for service in distinct.values():
        model: Any = service.backend
        work = service.work
        needed = model.seconds(work.padded)
        seconds = None if seconds is None or needed is None else seconds + needed
        models.append(
            {
                "model": f"{model.name}@{model.revision}",
                "roles": [role for role, s in services.items() if s is service],
                "requests": work.requests,
                "shared": work.shared,
                "stored": work.stored,
                "windows": work.windows,
                "tokens": work.tokens,
                "padded": work.padded,
                "batches": work.batches,
                "seconds": needed,
            }
        )
    return {
        "records": sink.records,
        "row_errors": sink.row_errors,
        "scorers": [
            {
                "name": s.key,
                "cost": s.scorer.cost,
                "applicable": sink.records - sink.status.get(s.key, Counter())["not_applicable"],
                "not_applicable": sink.status.get(s.key, Counter())["not_applicable"],
            }
            for s in task.scorers
        ],
        "models": models,
        "llm": {"calls": 0, "tokens": 0, "cost": 0.0},
        "seconds": None if seconds is None else seconds + spent,
    }
