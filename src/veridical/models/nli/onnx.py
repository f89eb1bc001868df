"""ONNX NLI cross-encoders on the CPU, including the embedded one."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import LABELS, Pair, Window
from veridical.errors import ModelError, UsageError
from veridical.models.folder import load_tokenizer
from veridical.models.nli.folder import NliSettings, PairJudge
from veridical.models.nli.int8 import (
    RANGES,
    agreement_pairs,
    int8_graph,
    keep_ranges,
    kept_ranges,
    range_pairs,
    ranges_of,
    require_agreement,
    shipped_ranges,
)
from veridical.models.nli.labels import Order
from veridical.models.nli.pairs import merge, merge_words
from veridical.models.nli.tokens import PairWindower
from veridical.models.onnx import (
    BATCH_TOKENS,
    Graph,
    need_graph,
    need_room,
    usable_processors,
    weight_files,
)

#: Output of graphs that mark wrong words of a hypothesis.
_WORDS = "words"


class OnnxNli(PairJudge):
    """An NLI model in a folder with ``model.onnx``, tokenizer and configuration.

    The graph is ``model.onnx`` or ``onnx/model.onnx``. It returns logits (batch, classes), which
    are divided by the temperature in ``calibration.json``, if any. It may also return ``words``
    (batch, sequence): log-odds that a token of the hypothesis is wrong. Thread-safe: each forward
    runs on one thread, ``workers`` of them in parallel.

    Args:
        threads: concurrent forwards; default: the processors available to this process.
        labels: the model's classes in its own order, separated by commas. Without them, the
            configuration's labels are used and must fit its answers to plain pairs.
        precision: ``float32``, ``int8`` or ``auto``. ``auto`` is int8 if the folder has
            ``ranges.npz``, else float32. In int8, weights and activations of matrix products have 8
            bits, with one scale per column of weights and per row of activations. The graph is
            ``model.int8.onnx`` or converted on loading. It must agree with float32 on the pairs of
            ``agreement.json``; this is measured before its first use, unless ``ranges.npz``
            confirms it. Its revision begins with ``int8-``. Windows are then run one by one, as
            padding changes the last bits of sums, and a result must not depend on other requests.
        languages: codes of the supported languages (``en``); None = any.

    Raises:
        UsageError: ``labels`` or ``precision`` is invalid.
        ModelError: a file is missing or broken, or the graph has no logits. Or the order of classes
            cannot be determined, or int8 does not agree with float32.
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
        if precision not in ("float32", "int8", "auto"):
            raise UsageError(f"unknown precision {precision!r}; known: float32, int8, auto")
        root = Path(folder)
        path = need_graph(root)
        self._settings = settings = NliSettings.read(root)
        shipped = path.with_name("model.int8.onnx")
        files = [*weight_files(path), root / "tokenizer.json"]
        stated = settings.stated_order(labels)

        def revision(order: Order) -> str:
            if not rounds(path, precision):
                return settings.revision(files, order, "onnx", "float32")
            also = [f for f in (*weight_files(shipped), root / RANGES) if f.is_file()]
            return f"int8-{settings.revision([*files, *also], order, 'onnx', 'int8')}"

        with ThreadPoolExecutor(2) as pool:  # none of which holds Python's lock
            early = _EARLY.pop((path, precision), None)
            opening = pool.submit(_open, path, precision) if early is None else early
            hashing = None if stated is None else pool.submit(revision, stated)
            tokenizer = load_tokenizer(root)
            graph, int8 = opening.result()
        self.tells_words = graph.outputs.get(_WORDS) == 2
        self._windower = PairWindower(tokenizer, settings.max_length, words=self.tells_words)
        self._logits = self._forwards(graph, path, int8=int8)
        self.name = name or root.name
        self._order = settings.order(self._windower, self._logits, self.name, labels)
        self.contradicts = self._order.contradicts
        self.revision = revision(self._order) if hashing is None else hashing.result()
        if precision == "int8" and not int8:
            self._quicken(path, shipped)
        self.languages = languages
        self.batch_tokens = BATCH_TOKENS
        self.workers = threads or usable_processors()

    def _quicken(self, path: Path, shipped: Path) -> None:
        """Take the 8-bit graph: the shipped one, or one made here, once it agrees."""
        if shipped.is_file():
            self._take_agreeing(Graph(shipped), shipped)
            return
        ranges = kept_ranges(self.revision)
        if ranges is not None:
            self._logits = self._forwards(Graph(path, int8_graph(path, ranges)), path, int8=True)
            return
        ranges = ranges_of(path, self.forwards(range_pairs()))
        self._take_agreeing(Graph(path, int8_graph(path, ranges)), path)
        keep_ranges(self.revision, ranges)

    def forwards(self, pairs: Sequence[Pair]) -> list[dict[str, NDArray[Any]]]:
        """Return the graph's inputs, by name, for the windows of each pair."""
        return [self._logits.feeds(windows) for windows in self.windows(pairs)]

    def _take_agreeing(self, graph: Graph, path: Path) -> None:
        exact = self._judge(agreement_pairs())
        self._logits = self._forwards(graph, path, int8=True)
        require_agreement(self.name, exact, self._judge(agreement_pairs()))

    def _forwards(self, graph: Graph, path: Path, *, int8: bool) -> _Logits:
        return _Logits(graph, path, self._settings, self._windower, alone=int8)

    def _answers(self, batch: Sequence[Window]) -> NDArray[np.float64]:
        return self._settings.probabilities(self._logits(batch))

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """Return the (3,) probabilities of each window, with token risks if it marks words."""
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


#: Graphs being opened in advance, by file and precision.
_EARLY: dict[tuple[Path, str], Future[tuple[Graph, bool]]] = {}


def open_early(folder: Path, precision: str) -> None:
    """Start opening a model's graph in a thread, before it is needed.

    The thread does not hold Python's lock, so the rest of a start runs in parallel. The next
    :class:`OnnxNli` of the folder takes it, with its error, if any.
    """
    path = need_graph(folder)
    pool = ThreadPoolExecutor(1)
    _EARLY[path, precision] = pool.submit(_open, path, precision)
    pool.shutdown(wait=False)


def _open(path: Path, precision: str) -> tuple[Graph, bool]:
    """Return the graph of a file, and True if it is its 8-bit form, made by the folder's ranges."""
    ranges = shipped_ranges(path.parent) if rounds(path, precision) else None
    if ranges is None or path.with_name("model.int8.onnx").is_file():
        return Graph(path), False
    need_room(path)
    return Graph(path, int8_graph(path, ranges)), True


def rounds(path: Path, precision: str) -> bool:
    """Return True if a precision means the 8-bit form of this file."""
    if precision != "auto":
        return precision == "int8"
    return path.with_name(RANGES).is_file()


class _Read(NamedTuple):
    """Outputs of a window: (3,) probabilities, and the hypothesis's token risks."""

    probabilities: NDArray[np.float32]
    words: NDArray[np.float64]


class _Logits:
    """Forwards of a file's graph to (batch, classes) logits.

    With ``alone`` each forward has one window.
    """

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
        """Return the graph's inputs for ``batch``, by name."""
        return self._graph.feeds(*self._settings.rows(self._windower, batch))

    def __call__(self, batch: Sequence[Window]) -> NDArray[np.floating]:
        return np.concatenate([self._forward([self._output], g)[0] for g in self._groups(batch)])

    def with_words(
        self, batch: Sequence[Window]
    ) -> tuple[NDArray[np.floating], list[NDArray[np.float64]]]:
        """Return the logits, and the token risks of each window's hypothesis."""
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
