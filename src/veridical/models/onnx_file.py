"""ONNX files read, changed and written without the package ``onnx``.

Only nodes and weights of the wire format (``onnx.proto``) are parsed; everything else is copied
unchanged.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models.onnx_graph import (
    MICROSOFT,
    TYPES,
    varint,
    weight_bytes,
    wire,
    wire_attribute,
)

# Field numbers of a model, a graph, a node, a weight and an attribute.
_GRAPH, _OPSETS = 7, 8
_NODE, _WEIGHT, _OUTPUT = 1, 5, 12
_KINDS = {number: kind for kind, number in TYPES.items()}


class OnnxNode(NamedTuple):
    """An operator of a graph.

    Attributes:
        rest: the node's other fields as bytes of the file: attributes and name.
    """

    operator: str
    inputs: list[str]
    outputs: list[str]
    domain: str = ""
    rest: bytes = b""

    def attributes(self) -> dict[str, Any]:
        """Return integers, numbers, texts and lists of integers by name; skip others."""
        return dict(
            found
            for number, value in _fields(self.rest)
            if number == 5 and (found := _attribute(value)) is not None
        )


def node(
    operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **given: Any
) -> OnnxNode:
    """Create a node with attributes that are integers, numbers or texts."""
    rest = b"".join(wire(5, wire_attribute(k, v)) for k, v in given.items())
    return OnnxNode(operator, list(inputs), list(outputs), domain, rest)


@dataclass
class OnnxFile:
    """The content of an ONNX file.

    Attributes:
        nodes: in an order in which they can run.
        weights: weights of the graph, by name.
        outputs: names of its outputs.
        opset: version of ONNX's operators.
    """

    nodes: list[OnnxNode]
    weights: dict[str, NDArray[Any]]
    outputs: list[str]
    opset: int
    _model: list[tuple[int, Any]] = field(repr=False)
    _graph: list[tuple[int, Any]] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> OnnxFile:
        """Parse an ONNX file.

        Raises:
            ModelError: the file is not in this format, has external weights, or has weights of an
                unsupported type.
        """
        try:
            with path.open("rb") as file:
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return cls._parse(memoryview(content))
        except (IndexError, KeyError, ValueError, UnicodeDecodeError) as e:
            raise ModelError(f"{path}: cannot be converted as an ONNX file: {e}") from e

    @classmethod
    def _parse(cls, content: memoryview) -> OnnxFile:
        model = list(_fields(content))
        graph = [f for number, value in model if number == _GRAPH for f in _fields(value)]
        opsets = [_opset(value) for number, value in model if number == _OPSETS]
        return cls(
            [_node(value) for number, value in graph if number == _NODE],
            dict(_weight(value) for number, value in graph if number == _WEIGHT),
            [_name(value) for number, value in graph if number == _OUTPUT],
            max((version for domain, version in opsets if domain in ("", "ai.onnx")), default=1),
            [f for f in model if f[0] != _GRAPH]
            + [
                (_OPSETS, wire(1, MICROSOFT) + wire(2, 1))
                for _ in range(all(domain != MICROSOFT for domain, _ in opsets))
            ],
            [f for f in graph if f[0] not in (_NODE, _WEIGHT)],
        )

    def producers(self) -> dict[str, OnnxNode]:
        """Return the node that produces each value, by the value's name."""
        return {name: n for n in self.nodes for name in n.outputs if name}

    def constant(self, name: str, producers: Mapping[str, OnnxNode]) -> NDArray[Any] | None:
        """Return the value called ``name`` if it is constant, else None.

        Constants are weights, and values computed from weights by conversions, products and
        reshaping, as packed weights are.
        """
        if name in self.weights:
            return self.weights[name]
        made = producers.get(name)
        compute = None if made is None else _CONSTANT.get(made.operator)
        if made is None or compute is None:
            return None
        given = [self.constant(n, producers) for n in made.inputs]
        known = [value for value in given if value is not None]
        return compute(made, known) if len(known) == len(given) else None

    def prune(self) -> None:
        """Remove unused nodes and weights."""
        wanted = set(self.outputs)
        kept = []
        for one in reversed(self.nodes):
            if wanted.intersection(one.outputs):
                kept.append(one)
                wanted.update(one.inputs)
        self.nodes = kept[::-1]
        self.weights = {name: value for name, value in self.weights.items() if name in wanted}

    def content(self, also: Iterable[str] = (), *, whole: bool = True) -> bytes:
        """Return the file's bytes, with ``also`` as further outputs.

        Without ``whole`` large weights are omitted (see :func:`.onnx_graph.add_large`).
        """
        graph = [(_NODE, _node_bytes(n)) for n in self.nodes]
        graph += [(_WEIGHT, weight_bytes(k, v, whole=whole)) for k, v in self.weights.items()]
        graph += self._graph
        graph += [(_OUTPUT, wire(1, name)) for name in also]
        model = [*self._model, (_GRAPH, _joined(graph))]
        return _joined(model)


def _fields(content: memoryview | bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message: number, and an integer or the bytes."""
    content = memoryview(content)
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(content, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _varint(content, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"field of kind {kind}")
        if at + length > len(content):
            raise ValueError("it is truncated")
        taken = content[at : at + length]
        yield key >> 3, taken if kind == 2 else _Fixed(taken)
        at += length


class _Fixed(bytes):
    """A number of four or eight bytes."""


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def _joined(fields: Iterable[tuple[int, Any]]) -> bytes:
    return b"".join(_field_bytes(number, value) for number, value in fields)


def _field_bytes(number: int, value: Any) -> bytes:
    if isinstance(value, _Fixed):
        return varint(number << 3 | (1 if len(value) == 8 else 5)) + value
    return wire(number, value if isinstance(value, int) else bytes(value))


def _text(value: memoryview) -> str:
    return bytes(value).decode()


def _name(value: memoryview) -> str:
    return next(_text(v) for number, v in _fields(value) if number == 1)


def _opset(value: memoryview) -> tuple[str, int]:
    known = dict(_fields(value))
    return _text(known.get(1, memoryview(b""))), int(known.get(2, 1))


def _node(value: memoryview) -> OnnxNode:
    inputs, outputs, operator, domain, rest = [], [], "", "", []
    for number, v in _fields(value):
        if number == 1:
            inputs.append(_text(v))
        elif number == 2:
            outputs.append(_text(v))
        elif number == 4:
            operator = _text(v)
        elif number == 7:
            domain = _text(v)
        else:
            rest.append((number, v))
    return OnnxNode(operator, inputs, outputs, domain, _joined(rest))


def _node_bytes(one: OnnxNode) -> bytes:
    return (
        b"".join(wire(1, name) for name in one.inputs)
        + b"".join(wire(2, name) for name in one.outputs)
        + wire(4, one.operator)
        + (wire(7, one.domain) if one.domain else b"")
        + one.rest
    )


def _weight(value: memoryview) -> tuple[str, NDArray[Any]]:
    shape: list[int] = []
    kind, name, raw = 0, "", None
    listed: list[NDArray[Any]] = []
    for number, v in _fields(value):
        if number == 1:
            shape += _integers(v)
        elif number == 2:
            kind = v
        elif number == 8:
            name = _text(v)
        elif number == 9:
            raw = v
        elif number == 4:
            listed.append(np.frombuffer(v, np.float32))
        elif number == 7 or number == 5:
            listed.append(np.array(_integers(v), np.int64))
        elif number in (13, 14):
            raise ValueError(f"the weights {name} are in another file")
    if kind not in _KINDS:
        raise ValueError(f"weights of type {kind}")
    of = np.dtype(_KINDS[kind])
    flat = np.frombuffer(raw, of) if raw is not None else np.concatenate([*listed, np.empty(0)])
    return name, flat.astype(of, copy=False).reshape(shape)


def _integers(value: int | memoryview) -> list[int]:
    """Parse the signed integers of a field, single or packed."""
    listed, at = [value] if isinstance(value, int) else [], 0
    while not isinstance(value, int) and at < len(value):
        number, at = _varint(value, at)
        listed.append(number)
    return [number - (1 << 64) if number >> 63 else number for number in listed]


def _attribute(value: memoryview) -> tuple[str, Any] | None:
    name = ""
    found: Any = None
    integers: list[int] = []
    for number, v in _fields(value):
        if number == 1:
            name = _text(v)
        elif number == 2:
            found = float(np.frombuffer(v, np.float32)[0])
        elif number == 3:
            (found,) = _integers(v)
        elif number == 4:
            found = _text(v)
        elif number == 8:
            integers += _integers(v)
    return (name, integers or found) if integers or found is not None else None


def _cast(one: OnnxNode, given: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return given[0].astype(_KINDS[one.attributes()["to"]])


_CONSTANT: Mapping[str, Callable[[OnnxNode, Sequence[NDArray[Any]]], NDArray[Any]]] = {
    "Cast": _cast,
    "Mul": lambda _, given: given[0] * given[1],
    "Reshape": lambda _, given: given[0].reshape(given[1]),
}
