"""Llama-like transformers in 8-bit integers, run by ONNX Runtime.

Each token's input to a matrix is rounded to 255 steps of its largest absolute value;
:mod:`.int8_weights` explains why that is enough. Sums are exact, and all else is in float32. For
the first tokens of a text the rounding error is rounded and added too. All other tokens attend to a
few of them (attention sinks: Xiao et al. 2023, arXiv:2309.17453), whose states are sensitive to
rounding.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats32
from veridical.models.causal.int8_weights import NEIGHBOURS, Matrix, TurnedWeights, hadamard
from veridical.models.onnx_graph import GraphWriter, multiplies_exactly

_ZERO = 128  # zero point of a token's bytes
_MIN_SCALE = 1e-30  # also of a vector of zeros
_STEPS_PER_SIDE = 127  # of 0
_TOKENS_ROUNDED_TWICE = 16  # at the beginning of a text
_TOKENS_PER_SOFTMAX = 64  # over the vocabulary


class Int8Model:
    """Two graphs: the transformer's layers, and the token probabilities.

    Args:
        top: maximum number of largest probabilities returned.
        threads: threads per forward.

    Attributes:
        top: actual number.
        nothing: keys and values of no token.

    Raises:
        ModelError: weights are damaged.
    """

    def __init__(self, weights: TurnedWeights, threads: int, top: int) -> None:
        shape = weights.shape
        self.top = min(top, shape.vocabulary)
        exact = multiplies_exactly(threads)
        self._body = _draw_body(weights, exact, threads)
        self._head = _draw_head(weights, exact, threads, self.top)
        empty = np.zeros((1, shape.groups, 0, shape.head), np.float32)
        self.nothing: list[Floats32] = [empty] * (2 * shape.layers)

    def read(
        self, vectors: Floats32, past: list[Floats32]
    ) -> tuple[Floats32, Floats32, list[Floats32]]:
        """Run one forward over (n, width) ``vectors`` of tokens that follow ``past``.

        Returns:
            The vectors after the last layer, (n, width). The last token's vectors before each
            layer and after the last, (layers + 1, width). Keys and values of all tokens, (1,
            groups, tokens, head) for each layer.
        """
        total = past[0].shape[2] + len(vectors)
        feeds: dict[str, Any] = {
            "vectors": vectors,
            "twice": np.arange(min(max(_TOKENS_ROUNDED_TWICE - past[0].shape[2], 0), len(vectors))),
            "last": np.array([total - 1], np.int32),
            "total": np.array(total, np.int32),
        }
        feeds |= {f"past_{i}": values for i, values in enumerate(past)}
        after, states, *present = self._body.run(None, feeds)
        return after, states, present

    def measured(self, after: Floats32, followed: NDArray[np.int64]) -> Floats32:
        """Return (n, 3 + 2 top) statistics of the tokens ``followed``.

        A row has the log-probability, entropy, minimum log-probability, the largest ones and their
        ids. ``after`` has the (n, width) vectors of the preceding tokens.
        """
        tables = [np.zeros((0, 3 + 2 * self.top), np.float32)]
        for start in range(0, len(after), _TOKENS_PER_SOFTMAX):
            some = slice(start, start + _TOKENS_PER_SOFTMAX)
            feeds = {"after": after[some], "followed": followed[some, None]}
            tables += self._head.run(None, feeds)
        return np.concatenate(tables)


class _Drawing:
    """Shared parts of both graphs.

    For vectors that are rounded twice, the graph appends the rounding errors as further vectors.

    Args:
        vectors: name of the input with one row per vector.
        twice: name of the input that marks those rounded twice; empty for none.
    """

    def __init__(self, weights: TurnedWeights, exact: bool, vectors: str, twice: str = "") -> None:
        self.graph = GraphWriter()
        self._exact = exact
        self._twice = twice
        self._one, self._epsilon = self._number(1), self._number(weights.shape.epsilon)
        self._steps, self._least = self._number(_STEPS_PER_SIDE), self._number(_MIN_SCALE)
        self._finer = self._number(2 * _STEPS_PER_SIDE)  # a rounding error is at most half a step
        self._zero = self.graph.weight(np.array([_ZERO], np.uint8))
        self.first_axis, self._last_axis = self.axis(0), self.axis(1)
        if twice:
            self._rows = self.graph("Shape", vectors, end=1)
            self._beyond = self.axis(2**62)
            self._places = self.graph("Unsqueeze", twice, self._last_axis)

    def axis(self, value: int) -> str:
        return self.graph.weight(np.array([value], np.int64))

    def _number(self, value: float) -> str:
        return self.graph.weight(np.array(value, np.float32))

    def rounded(self, vectors: str) -> tuple[str, str]:
        """Round (n, k) vectors to bytes and (n, 1) scales, followed by those of the errors."""
        draw = self.graph
        greatest = draw("ReduceMax", draw("Abs", vectors), self._last_axis, keepdims=0)
        scales = draw("Max", draw("Div", greatest, self._steps), self._least)
        integers = self._bytes(vectors, scales)
        if self._twice:
            some, of_some = self._chosen(integers), self._chosen(scales)
            kept = draw("DequantizeLinear", some, of_some, self._zeros(of_some), axis=0)
            taken = draw("Sub", self._chosen(vectors), kept)
            finer = self._bytes(taken, draw("Div", of_some, self._finer))
            integers = draw("Concat", integers, finer, axis=0)
            scales = draw("Concat", scales, of_some, axis=0)  # :meth:`multiplied` completes it
        return integers, draw("Unsqueeze", scales, self._last_axis)

    def normed(self, vectors: str) -> tuple[str, str]:
        """Round the vectors after a norm, whose factor goes into the scales only."""
        draw = self.graph
        integers, scales = self.rounded(vectors)
        square = draw("ReduceMean", draw("Mul", vectors, vectors), self._last_axis, keepdims=1)
        size = draw("Sqrt", draw("Add", square, self._epsilon))
        if self._twice:
            size = draw("Concat", size, self._chosen(size), axis=0)
        return integers, draw("Div", scales, size)

    def multiplied(self, integers: str, matrix: Matrix) -> str:
        """Multiply vectors by ``matrix``, without their scales, adding the errors' products."""
        draw = self.graph
        values, zero = matrix.integers, np.array(0, np.int8)
        if not self._exact:
            values, zero = values.view(np.uint8) ^ _ZERO, np.array(_ZERO, np.uint8)
        product = draw(
            "MatMulIntegerToFloat", integers, draw.weight(values), self._one,
            draw.weight(matrix.scales), self._zero, draw.weight(zero),
        )  # fmt: skip
        if not self._twice:
            return product
        further = draw("Slice", product, self._rows, self._beyond, self.first_axis)
        further = draw("Div", further, self._finer)
        return draw("ScatterND", product, self._places, further, reduction="add")

    def own(self, vectors: str) -> str:
        """Return ``vectors`` without the appended errors."""
        return self.graph("Slice", vectors, self.first_axis, self._rows, self.first_axis)

    def _chosen(self, rows: str) -> str:
        return self.graph("Gather", rows, self._twice, axis=0)

    def _bytes(self, vectors: str, scales: str) -> str:
        return self.graph("QuantizeLinear", vectors, scales, self._zeros(scales), axis=0)

    def _zeros(self, scales: str) -> str:
        return self.graph("Expand", self._zero, self.graph("Shape", scales))


def _draw_body(weights: TurnedWeights, exact: bool, threads: int) -> Any:
    shape = weights.shape
    drawing = _Drawing(weights, exact, "vectors", "twice")
    draw = drawing.graph
    cosines, sines = map(draw.weight, weights.angles())
    blocks = draw.weight(np.array([0, shape.inner // weights.block, weights.block]))
    joined = draw.weight(np.array([0, shape.inner]))
    heads = draw.weight(np.array([-1, shape.heads * shape.head]))
    spread, last_row = draw.weight(hadamard(weights.block)), drawing.axis(-1)
    hidden, present = "vectors", []
    states = [draw("Gather", hidden, last_row, axis=0)]
    with ThreadPoolExecutor(threads) as pool:
        layers = list(pool.map(weights.layer, range(shape.layers)))
    for i, layer in enumerate(layers):
        inputs, scales = drawing.normed(hidden)
        packed = drawing.own(draw("Mul", drawing.multiplied(inputs, layer.packed), scales))
        if layer.bias is not None:
            packed = draw("Add", packed, draw.weight(layer.bias))
        attended, *kept = draw.several(
            3, "GroupQueryAttention", draw("Unsqueeze", packed, drawing.first_axis), "", "",
            f"past_{2 * i}", f"past_{2 * i + 1}", "last", "total", cosines, sines,
            num_heads=shape.heads, kv_num_heads=shape.groups, do_rotary=1,
            rotary_interleaved=int(NEIGHBOURS[shape.architecture]),
        )  # fmt: skip
        present += kept
        inputs, scales = drawing.rounded(draw("Reshape", attended, heads))
        added = draw("Mul", drawing.multiplied(inputs, layer.attended), scales)
        hidden = draw("Add", hidden, drawing.own(added))
        inputs, scales = drawing.normed(hidden)
        gate, up = (drawing.multiplied(inputs, m) for m in (layer.gate, layer.up))
        silu = draw("QuickGelu", draw("Mul", gate, scales), alpha=1.0)  # equals SiLU
        inner = draw("Reshape", drawing.own(draw("Mul", silu, up)), blocks)
        inner = draw("Reshape", draw("MatMul", inner, spread), joined)
        inputs, inner_scales = drawing.rounded(inner)
        # the scales missing in ``up`` are applied here, to fewer numbers
        scales = draw("Mul", scales, inner_scales)
        added = draw("Mul", drawing.multiplied(inputs, layer.down), scales)
        hidden = draw("Add", hidden, drawing.own(added))
        states.append(draw("Gather", hidden, last_row, axis=0))
    draw.output("after", hidden)
    draw.output("states", draw("Concat", *states, axis=0))
    for place, name in enumerate(present):
        draw.output(f"present_{place}", name)
    past = (np.float32, (1, shape.groups, "past", shape.head))
    inputs_of_graph = {
        "vectors": (np.float32, ("tokens", shape.width)),
        "twice": (np.int64, ("twice",)),
        "last": (np.int32, (1,)),
        "total": (np.int32, ()),
        **{f"past_{i}": past for i in range(2 * shape.layers)},
    }
    return draw.session(inputs_of_graph, threads)


def _draw_head(weights: TurnedWeights, exact: bool, threads: int, top: int) -> Any:
    drawing = _Drawing(weights, exact, "after")
    draw = drawing.graph
    inputs, scales = drawing.normed("after")
    logits = draw("Mul", drawing.multiplied(inputs, weights.output()), scales)
    logs = draw("LogSoftmax", logits, axis=-1)
    last_axis = drawing.axis(-1)
    chosen = draw("GatherElements", logs, "followed", axis=1)
    expected = draw("ReduceSum", draw("Mul", draw("Exp", logs), logs), last_axis, keepdims=1)
    lowest = draw("ReduceMin", logs, last_axis, keepdims=1)
    greatest, which = draw.several(2, "TopK", logs, drawing.axis(top), axis=-1)
    ids = draw("Cast", which, to=1)  # float32
    columns = (chosen, draw("Neg", expected), lowest, greatest, ids)
    draw.output("table", draw("Concat", *columns, axis=1))
    width = weights.shape.width
    return draw.session(
        {"after": (np.float32, ("tokens", width)), "followed": (np.int64, ("tokens", 1))}, threads
    )
