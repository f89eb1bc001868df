"""ONNX graphs without an operator of ONNX Runtime that is slower than what it stands for.

``SkipLayerNormalization`` adds and normalises at once, and on a processor takes four times as long
as a sum and a ``LayerNormalization``: a tenth of a small encoder's time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from veridical.models.onnx_graph import field, varint

_OPERATOR = b"SkipLayerNormalization"
_MOST = 256 << 20  # bytes: larger files are read by ONNX Runtime itself
_DOMAIN = b"com.microsoft"
#: Numbers of fields, by onnx.proto.
_GRAPH, _NODE = 7, 1
_INPUT, _OUTPUT, _TYPE, _ATTRIBUTE, _SPACE = 1, 2, 4, 5, 7


class _Field(NamedTuple):
    """Where a field of a message begins, where its content does, and where it ends."""

    number: int
    start: int
    content: int
    end: int


def quicker(path: Path) -> bytes | None:
    """The model in the file ``path`` with each ``SkipLayerNormalization`` as the two operators that
    it stands for; None where it has none, is larger than 256 MiB or cannot be read so.

    Sums are the same; what is normalised differs by rounding.
    """
    try:
        if path.stat().st_size > _MOST:
            return None
        # Mapped and sliced by views: nothing is copied but into what is returned.
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as model:
            if model.find(_OPERATOR) < 0:
                return None
            with memoryview(model) as view:
                return b"".join(_model(view))
    except (OSError, ValueError, IndexError, BufferError):
        return None


def _model(model: memoryview) -> Iterator[bytes | memoryview]:
    """The fields of a model, its graph rewritten."""
    for f in _fields(model, 0, len(model)):
        if f.number == _GRAPH:
            graph = list(_rewritten(model, f))
            yield varint(_GRAPH << 3 | 2) + varint(sum(map(len, graph)))
            yield from graph
        else:
            yield model[f.start : f.end]


def _rewritten(model: memoryview, graph: _Field) -> Iterator[bytes | memoryview]:
    """The fields of a graph, with others in place of such a node's."""
    copied = graph.content
    for f in _fields(model, graph.content, graph.end):
        if f.number == _NODE and (instead := _apart(model, f)):
            yield model[copied : f.start]
            yield instead
            copied = f.end
    yield model[copied : graph.end]


def _apart(model: memoryview, node: _Field) -> bytes | None:
    """The fields of the two nodes for ``node``; None for a node that is another operator, or whose
    mean or deviation is asked for."""
    parts: dict[int, list[bytes]] = defaultdict(list)
    for f in _fields(model, node.content, node.end):
        parts[f.number].append(bytes(model[f.content : f.end]))
    inputs, outputs = parts[_INPUT], parts[_OUTPUT]
    if (parts[_TYPE], parts[_SPACE]) != ([_OPERATOR], [_DOMAIN]) or any(outputs[1:3]):
        return None
    total = (*outputs[3:4], b"")[0] or outputs[0] + b"_sum"
    addends = [*inputs[:2], *filter(None, inputs[4:5])]
    # ``Sum`` and not ``Add``: ONNX Runtime would make one operator of that again.
    added = _node(b"Sum", addends, total)
    normalised = _node(b"LayerNormalization", [total, *filter(None, inputs[2:4])], outputs[0])
    epsilon = b"".join(field(_ATTRIBUTE, a) for a in parts[_ATTRIBUTE])
    return field(_NODE, added) + field(_NODE, normalised + epsilon)


def _node(operator: bytes, inputs: list[bytes], output: bytes) -> bytes:
    given = b"".join(field(_INPUT, name) for name in inputs)
    return given + field(_OUTPUT, output) + field(_TYPE, operator)


def _fields(data: memoryview, at: int, end: int) -> Iterator[_Field]:
    """The fields of the message in ``data[at:end]``.

    Raises:
        ValueError, IndexError: it is none.
    """
    while at < end:
        start = at
        key, at = _read(data, at)
        match key & 7:
            case 0:
                stop = _read(data, at)[1]
            case 1:
                stop = at + 8
            case 2:
                size, at = _read(data, at)
                stop = at + size
            case 5:
                stop = at + 4
            case _:
                raise ValueError("no field of protocol buffers")
        if stop > end:
            raise ValueError("a field ends after its message")
        yield _Field(key >> 3, start, at, stop)
        at = stop


def _read(data: memoryview, at: int) -> tuple[int, int]:
    """A number of variable length at ``at``, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
