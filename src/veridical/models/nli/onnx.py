"""NLI cross-encoders in ONNX form, run by ONNX Runtime on the CPU. The embedded one is of them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import LABELS, Pair, Window
from veridical.errors import ModelError, UsageError
from veridical.models.folder import load_tokenizer
from veridical.models.nli.folder import NliSettings, PairJudge
from veridical.models.nli.pairs import merge, merge_words
from veridical.models.nli.tokens import PairWindower
from veridical.models.onnx import BATCH_TOKENS, Graph, need_graph, usable_processors, weight_files

#: Output of graphs that tell which words of a hypothesis are wrong.
_WORDS = "words"


class OnnxNli(PairJudge):
    """A folder with ``model.onnx`` (or ``onnx/model.onnx``), ``tokenizer.json``, ``config.json``.

    The graph gives logits (batch, classes), which are divided by the temperature of
    ``calibration.json`` where there is one, and may give ``words`` (batch, sequence): log-odds that
    a token of the hypothesis is wrong. Thread-safe: each forward runs on one thread,
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
        languages: codes of the languages that the model reads (``en``); None = any.

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
        languages: frozenset[str] | None = None,
    ) -> None:
        if precision not in ("float32", "int8"):
            raise UsageError(f"unknown precision {precision!r}; known: float32, int8")
        root = Path(folder)
        path = need_graph(root)
        self._settings = settings = NliSettings.read(root)
        shipped = path.with_name("model.int8.onnx")
        files = [*weight_files(path), root / "tokenizer.json"]
        if precision == "int8" and shipped.is_file():
            files += weight_files(shipped)
        stated = settings.stated_order(labels)
        with ThreadPoolExecutor(2) as pool:  # which all leave Python's lock alone
            opening, hashing = pool.submit(Graph, path), None
            if stated is not None:
                hashing = pool.submit(settings.revision, files, stated, "onnx", precision)
            tokenizer = load_tokenizer(root)
            graph = opening.result()
        self.tells_words = graph.outputs.get(_WORDS) == 2
        self._windower = PairWindower(tokenizer, settings.max_length, words=self.tells_words)
        self._logits = _Logits(graph, path, settings, self._windower)
        self.name = name or root.name
        self._order = settings.order(self._windower, self._logits, self.name, labels)
        self.contradicts = self._order.contradicts
        self.revision = (
            settings.revision(files, self._order, "onnx", precision)
            if hashing is None
            else hashing.result()
        )
        if precision == "int8":
            self._quicken(path, shipped)
        self.languages = languages
        self.batch_tokens = BATCH_TOKENS
        self.workers = threads or usable_processors()

    def _quicken(self, path: Path, shipped: Path) -> None:
        """Take the 8-bit graph: the shipped one, one kept by an earlier start, or a new one."""
        from veridical.models.nli import int8  # most starts do without

        if not shipped.is_file():
            int8.need_exact_products(self.name)
            if (kept := int8.kept_graph(self.revision)) is not None:
                self._logits = self._of_int8(kept)
                return
        exact = self._judge(int8.agreement_pairs())
        feeds = [self._logits.feeds(ws) for ws in self.windows(int8.range_pairs())]
        with int8.int8_graph(path, shipped, feeds) as quantised:
            self._logits = self._of_int8(quantised)
            int8.require_agreement(self.name, exact, self._judge(int8.agreement_pairs()))
            if quantised != shipped:
                int8.keep_graph(self.revision, quantised)

    def _of_int8(self, path: Path) -> _Logits:
        return _Logits(Graph(path), path, self._settings, self._windower, alone=True)

    def _answers(self, batch: Sequence[Window]) -> NDArray[np.float64]:
        return self._settings.probabilities(self._logits(batch))

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """(3,) probabilities of each window or, where it tells words, these and the risks of the
        hypothesis's tokens."""
        if not self.tells_words:
            return super().run(batch)
        logits, words = self._logits.with_words(batch)
        rows = self._order(self._settings.probabilities(logits))
        return [_Read(row, risks) for row, risks in zip(rows, words, strict=True)]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        if not self.tells_words:
            return super().assemble(windows, outputs)
        row = merge(windows, [o.probabilities for o in outputs])
        return np.concatenate([row, merge_words(windows, [o.words for o in outputs])])

    def _judge(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        rows = [self.assemble(ws, self.run(ws)) for ws in self.windows(pairs)]
        return np.stack([row[: len(LABELS)] for row in rows])


class _Read(NamedTuple):
    """What a window gave: (3,) probabilities, and the risk of each token of the hypothesis."""

    probabilities: NDArray[np.float32]
    words: NDArray[np.float64]


class _Logits:
    """Forwards of a file's graph: (batch, classes) logits. ``alone``: of one window each."""

    def __init__(
        self,
        graph: Graph,
        path: Path,
        settings: NliSettings,
        windower: PairWindower,
        *,
        alone: bool = False,
    ) -> None:
        self._graph = graph
        outputs = graph.outputs
        suitable = [n for n in ("logits", *outputs) if outputs.get(n) == 2 and n != _WORDS]
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
        return np.concatenate([self._forward([self._output], g)[0] for g in self._groups(batch)])

    def with_words(
        self, batch: Sequence[Window]
    ) -> tuple[NDArray[np.floating], list[NDArray[np.float64]]]:
        """The logits, and for each window the risks of the tokens of its hypothesis."""
        logits, risks = [], []
        head, between, _ = map(len, self._windower.template.ids)
        for group in self._groups(batch):
            own, words = self._forward([self._output, _WORDS], group)
            logits.append(own)
            for row, window in zip(words, group, strict=True):
                start = head + len(window.content.premise) + between
                odds = row[start : start + len(window.content.hypothesis)].astype(np.float64)
                risks.append((1 + np.tanh(odds / 2)) / 2)
        return np.concatenate(logits), risks

    def _groups(self, batch: Sequence[Window]) -> list[Sequence[Window]]:
        return [[window] for window in batch] if self._alone else [batch]

    def _forward(self, outputs: Sequence[str], batch: Sequence[Window]) -> list[NDArray[Any]]:
        return self._graph.outputs_of(outputs, *self._settings.rows(self._windower, batch))
