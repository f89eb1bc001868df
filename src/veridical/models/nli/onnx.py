"""NLI cross-encoders in ONNX form, run by ONNX Runtime on the CPU. The embedded one is of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Pair, Window
from veridical.errors import ModelError, UsageError
from veridical.models.folder import load_tokenizer
from veridical.models.nli.folder import NliSettings, PairJudge
from veridical.models.nli.int8 import (
    agreement_pairs,
    int8_graph,
    range_pairs,
    require_agreement,
)
from veridical.models.nli.tokens import PairWindower
from veridical.models.onnx import BATCH_TOKENS, Graph, need_graph, usable_processors, weight_files


class OnnxNli(PairJudge):
    """A folder with ``model.onnx`` (or ``onnx/model.onnx``), ``tokenizer.json``, ``config.json``.

    The graph gives logits (batch, classes), which are divided by the temperature of
    ``calibration.json`` where there is one. Thread-safe: each forward runs on one thread,
    ``workers`` of them side by side.

    Args:
        threads: forwards side by side; default: the processors this process may use.
        labels: the model's classes in its own order, separated by commas; without them, its
            configuration says so and its answers to plain pairs must agree.
        precision: ``float32``, or ``int8``: weights and activations of matrix products in 8 bits,
            with one scale for each column of weights, by the folder's ``model.int8.onnx`` or made
            when loaded (which needs the package ``onnx``). It must agree with float32 on the pairs
            of ``agreement.json``, measured on this machine when loaded. The scale of activations
            is that of a whole batch, so windows are then run one by one: a result never depends
            on what else was asked.
        scripts: Unicode scripts the model reads; None = any.

    Raises:
        UsageError: ``labels`` or ``precision`` is none that there is.
        ModelError: a file is missing or broken, the graph gives no logits, the order of classes
            cannot be told, or int8 does not agree with float32.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        threads: int | None = None,
        labels: str | None = None,
        precision: str = "float32",
        name: str | None = None,
        scripts: frozenset[str] | None = None,
    ) -> None:
        if precision not in ("float32", "int8"):
            raise UsageError(f"unknown precision {precision!r}; known: float32, int8")
        root = Path(folder)
        path = need_graph(root)
        self._settings = settings = NliSettings.read(root)
        self._windower = PairWindower(load_tokenizer(root), settings.max_length)
        self._logits = _Logits(path, settings, self._windower)
        self.name = name or root.name
        self._order = settings.order(self._windower, self._logits, self.name, labels)
        self.contradicts = self._order.contradicts
        files = [*weight_files(path), root / "tokenizer.json"]
        if precision == "int8":
            shipped = path.with_name("model.int8.onnx")
            exact = self._judge(agreement_pairs())
            feeds = [self._logits.feeds(ws) for ws in self.windows(range_pairs())]
            with int8_graph(path, shipped, feeds) as quantised:
                self._logits = _Logits(quantised, settings, self._windower, alone=True)
            require_agreement(self.name, exact, self._judge(agreement_pairs()))
            files += weight_files(shipped) if shipped.is_file() else []
        self.revision = settings.revision(files, self._order, "onnx", precision)
        self.scripts = scripts
        self.batch_tokens = BATCH_TOKENS
        self.workers = threads or usable_processors()

    def _answers(self, batch: Sequence[Window]) -> NDArray[np.float64]:
        return self._settings.probabilities(self._logits(batch))

    def _judge(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        return np.stack([self.assemble(ws, self.run(ws)) for ws in self.windows(pairs)])


class _Logits:
    """Forwards of one graph: (batch, classes) logits. ``alone``: of one window each."""

    def __init__(
        self, path: Path, settings: NliSettings, windower: PairWindower, *, alone: bool = False
    ) -> None:
        self._graph = Graph(path)
        outputs = self._graph.outputs
        suitable = [n for n in ("logits", *outputs) if outputs.get(n) == 2]
        if not suitable:
            raise ModelError(f"{path}: no output has the shape (batch, classes)")
        self._output = suitable[0]
        self._settings = settings
        self._windower = windower
        self._alone = alone

    def feeds(self, batch: Sequence[Window]) -> dict[str, NDArray[Any]]:
        """The graph's inputs for ``batch``, by name."""
        return self._graph.feeds(*self._settings.rows(self._windower, batch))

    def __call__(self, batch: Sequence[Window]) -> NDArray[np.floating]:
        groups = [[window] for window in batch] if self._alone else [batch]
        return np.concatenate(
            [self._graph(self._output, *self._settings.rows(self._windower, g)) for g in groups]
        )
