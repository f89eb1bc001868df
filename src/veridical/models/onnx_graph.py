"""Writer of ONNX graphs in the protocol buffer format (``onnx.proto``)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A graph's inputs: element type and shape; names in a shape are variable sizes.
Inputs = Mapping[str, tuple[type, Sequence[int | str]]]

#: Type numbers of weights.
TYPES: dict[type, int] = {
    np.float32: 1,
    np.uint8: 2,
    np.int8: 3,
    np.int32: 6,
    np.int64: 7,
    np.float16: 10,
    np.float64: 11,
}
#: Domain of ONNX Runtime's operators.
MICROSOFT = "com.microsoft"
#: Operators of ONNX Runtime that are not in ONNX.
_OWN = {"MatMulIntegerToFloat", "GroupQueryAttention", "QuickGelu"}
_IR, _OPSET = 9, 19
_MAX_INLINE_BYTES = 128  # operators need shapes and axes before the graph runs


class GraphWriter:
    """Draws a graph operator by operator::

    graph = GraphWriter()
    graph.output("y", graph("Relu", graph("MatMul", "x", graph.weight(w))))
    session = graph.session({"x": (np.float32, ("rows", 64))}, threads=2)
    """

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._outputs: list[str] = []
        self._weights: dict[str, NDArray[Any]] = {}

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add ``operator``; return the name of its first output. A missing input is ``""``."""
        return self.several(1, operator, *inputs, **attributes)[0]

    def several(self, outputs: int, operator: str, *inputs: str, **attributes: Any) -> list[str]:
        """Add an operator with several outputs; return their names."""
        names = [f"{operator}_{len(self._nodes)}_{i}" for i in range(outputs)]
        self._node(operator, inputs, names, attributes)
        return names

    def weight(self, values: NDArray[Any]) -> str:
        """Add a constant; return its name."""
        name = f"weight_{len(self._weights)}"
        self._weights[name] = np.ascontiguousarray(values)
        return name

    def output(self, name: str, value: str) -> None:
        """Name ``value`` as the graph's output ``name``."""
        self._node("Identity", [value], [name], {})
        self._outputs.append(name)

    def session(self, inputs: Inputs, threads: int) -> Any:
        """Open an ``onnxruntime.InferenceSession`` of the graph on the CPU."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        add_large(options, self._weights)
        return onnxruntime.InferenceSession(
            self._model(inputs), options, providers=["CPUExecutionProvider"]
        )

    def _node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: Mapping[str, Any],
    ) -> None:
        own = wire(7, MICROSOFT) if operator in _OWN else b""
        self._nodes.append(
            b"".join(wire(1, name) for name in inputs)
            + b"".join(wire(2, name) for name in outputs)
            + wire(4, operator)
            + b"".join(wire(5, wire_attribute(k, v)) for k, v in attributes.items())
            + own
        )

    def _model(self, inputs: Inputs) -> bytes:
        graph = (
            b"".join(wire(1, node) for node in self._nodes)
            + wire(2, "veridical")
            + b"".join(wire(5, weight_bytes(n, w)) for n, w in self._weights.items())
            + b"".join(wire(11, _value(n, kind, shape)) for n, (kind, shape) in inputs.items())
            + b"".join(wire(12, wire(1, name)) for name in self._outputs)
        )
        domains = (
            wire(8, wire(2, _OPSET)),
            wire(8, wire(1, MICROSOFT) + wire(2, 1)),
        )
        return wire(1, _IR) + wire(7, graph) + b"".join(domains)


def wire(number: int, value: int | str | bytes) -> bytes:
    """Encode a field of a message: an integer, a string, or a nested message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are encoded as their complement
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def wire_attribute(name: str, value: float | int | str) -> bytes:
    if isinstance(value, str):
        return wire(1, name) + wire(4, value) + wire(20, 3)
    if isinstance(value, float):
        number = varint(2 << 3 | 5) + struct.pack("<f", value)
        return wire(1, name) + number + wire(20, 1)
    return wire(1, name) + wire(3, value) + wire(20, 2)


def wire_integers(name: str, values: Sequence[int]) -> bytes:
    """Encode a list of integers as an attribute of a node."""
    listed = b"".join(wire(8, v) for v in values)
    return wire(5, wire(1, name) + listed + wire(20, 7))


def weight_bytes(name: str, values: NDArray[Any], *, whole: bool = False) -> bytes:
    """Encode a weight as a message.

    Large weights refer to the values of :func:`add_large`, unless ``whole``.
    """
    elsewhere = wire(13, wire(1, "location") + wire(2, name)) + wire(14, 1)
    return (
        b"".join(wire(1, n) for n in values.shape)
        + wire(2, TYPES[values.dtype.type])
        + wire(8, name)
        + (wire(9, values.tobytes()) if whole or values.nbytes <= _MAX_INLINE_BYTES else elsewhere)
    )


def add_large(options: Any, weights: Mapping[str, NDArray[Any]]) -> None:
    """Pass the large ``weights`` to a session separately from its graph.

    A protocol buffer message is limited to 2 GiB, and nothing is copied.
    """
    import onnxruntime

    large = {n: np.ascontiguousarray(w) for n, w in weights.items() if w.nbytes > _MAX_INLINE_BYTES}
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(w) for w in large.values()]
    options.add_external_initializers(list(large), values)


def _value(name: str, kind: type, shape: Sequence[int | str]) -> bytes:
    axes = b"".join(wire(1, wire(1 if isinstance(n, int) else 2, n)) for n in shape)
    return wire(1, name) + wire(2, wire(1, wire(1, TYPES[kind]) + wire(2, axes)))


@cache
def multiplies_exactly(threads: int = 1) -> bool:
    """Return True if this processor sums products of unsigned and signed bytes exactly.

    Processors without such instructions saturate sums of two products at 16 bits; products of
    unsigned bytes are not affected.
    """
    draw = GraphWriter()
    signed = draw.weight(np.full((64, 64), 127, np.int8))
    draw.output("sums", draw("MatMulInteger", "bytes", signed))
    session = draw.session({"bytes": (np.uint8, ("rows", 64))}, threads)
    (sums,) = session.run(None, {"bytes": np.full((16, 64), 255, np.uint8)})
    return bool((sums == 64 * 255 * 127).all())
