"""8-bit NLI graphs: conversion, agreement with float32, and storage."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Pair
from veridical.errors import ModelError
from veridical.files.atomic import PRIVATE_FOLDER, write_atomic
from veridical.models.onnx import session_of
from veridical.models.onnx_file import OnnxFile, OnnxNode, node
from veridical.models.onnx_graph import MICROSOFT, multiplies_exactly, wire_integers
from veridical.weights import cache_folder

#: Change it with the conversion and with the agreement test.
_MADE_BY = 3
#: Maximum absolute value of each channel of tensors, by their names.
Ranges = dict[str, NDArray[np.float32]]
_DAMAGED = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
#: File in a model folder: maximum absolute value of each channel before each product.
RANGES = "ranges.npz"
#: Minimum share of the agreement pairs with the same most probable class.
SAME_CLASS = 0.95
#: Attributes shared by the two attention operators.
_OF_ATTENTION = ("num_heads", "mask_filter_value", "scale", "unidirectional")
#: Share of the outliers' range moved to the weights (the paper's alpha).
_SMOOTHED = 0.5
_LEAST = 1e-5
_STEPS, _ZERO = 127, 128  # steps of a byte on each side of its zero point
_DISTANCES = 2  # axis of a relative position bias (1, heads, distances)
_NORMALISES = 17  # first ONNX version with a normalisation operator
#: Maximum mean difference of a probability, over pairs and classes.
DIFFERENCE = 0.03


def shipped_ranges(folder: Path) -> Ranges | None:
    """Read the ranges (see :func:`ranges_of`) in a model folder, or return None.

    The 8-bit form made with them has been tested to agree with float32.

    Raises:
        ModelError: the file is damaged.
    """
    path = folder / RANGES
    try:
        return _read(path) if path.is_file() else None
    except _DAMAGED as e:
        raise ModelError(f"{path} is damaged: {e}") from e


def kept_ranges(revision: str) -> Ranges | None:
    """Read the ranges stored by an earlier start for the model with this ``revision``.

    Returns None if they are missing or damaged.
    """
    try:
        return _read(_kept(revision))
    except _DAMAGED:
        return None


def _read(path: Path) -> Ranges:
    with zipfile.ZipFile(path) as archive:
        return {n.removesuffix(".npy"): _array(archive.read(n)) for n in archive.namelist()}


def _array(stored: bytes) -> NDArray[np.float32]:
    # NumPy would parse the head as Python, and so disturb a parse in another thread (python_syntax)
    start = 10 + int.from_bytes(stored[8:10], "little")
    if stored[:8] != b"\x93NUMPY\x01\x00" or b"'descr': '<f4'" not in stored[10:start]:
        raise ValueError("not an array of float32")
    return np.frombuffer(stored, np.dtype("<f4"), offset=start).astype(np.float32)


def keep_ranges(revision: str, ranges: Mapping[str, NDArray[np.float32]]) -> None:
    """Store ranges that led to agreement for later starts.

    If the cache cannot be written they are measured each time.
    """
    path = _kept(revision)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        write_atomic(path, content_of(ranges), private=True)
    except OSError:
        return


def content_of(ranges: Mapping[str, NDArray[np.float32]]) -> bytes:
    """Return the content of the file that :func:`shipped_ranges` reads."""
    content = io.BytesIO()
    arrays: dict[str, Any] = {name: ranges[name] for name in sorted(ranges)}
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def _kept(revision: str) -> Path:
    """Return the file for data that depend on the model, this package and the runtime."""
    import onnxruntime

    key = json.dumps([_MADE_BY, revision, onnxruntime.__version__])
    return cache_folder() / "int8" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"


def ranges_of(graph: Path, feeds: Sequence[Mapping[str, NDArray[Any]]]) -> Ranges:
    """Measure the maximum absolute value per channel of the inputs of products.

    The products are those that :func:`int8_graph` converts, over forwards of ``feeds``.

    Raises:
        ModelError: the file cannot be read or run.
    """
    file = _prepared(graph)
    producers = file.producers()
    names = sorted({n.inputs[0] for n in file.nodes if _matrix(n, file, producers) is not None})
    ranges: Ranges = {}
    session = session_of(file, str(graph), names)
    for feed in feeds:
        for name, value in zip(names, session.run(names, dict(feed)), strict=True):
            widest = np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            ranges[name] = np.maximum(ranges.get(name, widest), widest)
    return ranges


def int8_graph(graph: Path, ranges: Mapping[str, NDArray[np.float32]]) -> OnnxFile:
    """Convert an ONNX file to 8 bits: products of weights become products of bytes.

    Weights get one scale per column and are rounded once. Each row of activations (a token) is
    rounded by its own maximum, so no result depends on the rest of a batch. Before that, outliers
    of channels are moved to the weights (SmoothQuant, Xiao et al. 2023, eq. 3 and 4), by their
    ``ranges``. Other packed weights in the file stay packed.

    Raises:
        ModelError: the file cannot be read, or has no product of weights.
    """
    file = _prepared(graph)
    producers = file.producers()
    nodes: list[OnnxNode] = []
    for one in file.nodes:
        matrix = _matrix(one, file, producers)
        if matrix is None:
            nodes.append(one)
        else:
            nodes += _rounded(one, matrix, ranges.get(one.inputs[0]), file)
    if len(nodes) == len(file.nodes):
        raise ModelError(f"{graph} has no product of weights, so it has no int8 form")
    file.nodes = nodes
    file.prune()
    return file


def _prepared(graph: Path) -> OnnxFile:
    """Read the file and split its fused operators."""
    file = OnnxFile.read(graph)
    producers = file.producers()
    file.nodes = [n for one in file.nodes for n in _apart(one, file, producers)]
    file.prune()  # drop the transposed tables
    return file


def _matrix(
    one: OnnxNode, file: OnnxFile, producers: Mapping[str, OnnxNode]
) -> NDArray[np.float32] | None:
    """Return the weights of a product of activations by a matrix of several columns, or None."""
    if one.operator != "MatMul" or file.constant(one.inputs[0], producers) is not None:
        return None
    matrix = file.constant(one.inputs[1], producers)
    if matrix is None or matrix.ndim != 2 or matrix.shape[1] < 2:
        return None
    return matrix.astype(np.float32, copy=False)


def _rounded(
    product: OnnxNode,
    matrix: NDArray[np.float32],
    widest: NDArray[np.float32] | None,
    file: OnnxFile,
) -> list[OnnxNode]:
    """Build a product of rounded rows and a rounded matrix.

    The scales of rows are omitted from the sums and multiplied at the end.
    """
    source, (name,) = product.inputs[0], product.outputs
    nodes = []
    if widest is not None:
        highest = np.maximum(_greatest(matrix, 1), _LEAST)
        factors = np.maximum(widest, _LEAST) ** _SMOOTHED / highest ** (1 - _SMOOTHED)
        matrix = np.multiply(matrix, factors[:, None], dtype=np.float32)
        file.weights[f"{name}_factors"] = (1 / factors).astype(np.float32)
        nodes.append(node("Mul", [source, f"{name}_factors"], [f"{name}_smooth"]))
        source = f"{name}_smooth"
    scales = np.maximum(_greatest(matrix, 0), _LEAST) / _STEPS
    # in place, as fresh memory takes longer than the arithmetic
    shares = np.divide(matrix, scales, out=None if widest is None else matrix)
    steps = np.rint(shares, out=shares).astype(np.int8)
    signed = multiplies_exactly()  # unsigned bytes have the same sums on all processors
    file.weights[f"{name}_bytes"] = steps if signed else steps.view(np.uint8) ^ _ZERO
    file.weights[f"{name}_scales"] = (scales / _STEPS).astype(np.float32)
    file.weights.update(
        int8_zero=np.array(_ZERO, np.uint8),
        int8_step=np.array(1 / _STEPS, np.float32),
        int8_one=np.array(1, np.float32),
        int8_least=np.array(_LEAST, np.float32),
        int8_last=np.array([-1], np.int64),
    )
    if file.opset < 18:  # axes are an attribute before version 18
        greatest = node("ReduceMax", [f"{name}_absolute"], [f"{name}_greatest"], keepdims=1)
        greatest = greatest._replace(rest=greatest.rest + wire_integers("axes", [-1]))
    else:
        inputs = [f"{name}_absolute", "int8_last"]
        greatest = node("ReduceMax", inputs, [f"{name}_greatest"], keepdims=1)
    operands = [f"{name}_rounded", f"{name}_bytes", "int8_one", f"{name}_scales", "int8_zero"]
    return [
        *nodes,
        node("Abs", [source], [f"{name}_absolute"]),
        greatest,
        node("Max", [f"{name}_greatest", "int8_least"], [f"{name}_rows"]),
        node("Div", [source, f"{name}_rows"], [f"{name}_shares"]),
        node("QuantizeLinear", [f"{name}_shares", "int8_step", "int8_zero"], [f"{name}_rounded"]),
        node(
            "MatMulIntegerToFloat",
            operands if signed else [*operands, "int8_zero"],
            [f"{name}_sums"],
            MICROSOFT,
        ),
        node("Mul", [f"{name}_sums", f"{name}_rows"], [name]),
    ]


def _greatest(matrix: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Return the maximum absolute value along an axis."""
    found: NDArray[np.float32] = np.maximum(matrix.max(axis=axis), -matrix.min(axis=axis))
    return found


def _apart(one: OnnxNode, file: OnnxFile, producers: Mapping[str, OnnxNode]) -> list[OnnxNode]:
    """Replace slow operators by equivalent nodes.

    These are attention with projections in float32, the fused sum and normalisation, and gathers of
    single numbers from a table of distances.
    """
    if one.operator == "Attention":
        matrix = file.constant(one.inputs[1], producers)
        past = any(one.inputs[4:5]) or any(one.outputs[1:])
        if matrix is not None and not past:
            return _projected(one, matrix.shape[-1], file)
    if one.operator == "SkipLayerNormalization" and not any(one.outputs[1:3]):
        return _summed(one) if file.opset >= _NORMALISES else [one]
    if one.operator == "Gather" and one.attributes().get("axis") == _DISTANCES:
        table = file.constant(one.inputs[0], producers)
        if table is not None and table.ndim == _DISTANCES + 1:
            return _by_rows(one, table, file)
    return [one]


def _projected(attention: OnnxNode, width: int, file: OnnxFile) -> list[OnnxNode]:
    """Split an attention node into a product by its weights, of ``width`` columns, and
    attention.
    """
    made = attention.outputs[0]
    attributes = attention.attributes()
    sizes = attributes.pop("qkv_hidden_sizes", None) or [width // 3] * 3
    file.weights[f"{made}_sizes"] = np.array(sizes, np.int64)
    parts = [f"{made}_{part}" for part in ("query", "key", "value")]
    biases, mask = (*attention.inputs[2:4], "", "")[:2]
    scores = (*attention.inputs[5:6], "")[0]
    taken = {k: v for k, v in attributes.items() if k in _OF_ATTENTION}
    return [
        node("MatMul", attention.inputs[:2], [f"{made}_all"]),
        node("Split", [f"{made}_all", f"{made}_sizes"], parts, axis=-1),
        node("MultiHeadAttention", [*parts, biases, mask, scores], [made], MICROSOFT, **taken),
    ]


def _by_rows(gather: OnnxNode, table: NDArray[Any], file: OnnxFile) -> list[OnnxNode]:
    """Replace a gather along the last axis of (1, heads, distances) by one of whole rows.

    The result is transposed back. Gathering single numbers is slow.
    """
    (name,) = gather.outputs
    file.weights[f"{name}_rows"] = np.ascontiguousarray(np.moveaxis(table, _DISTANCES, 0))
    turned = node("Transpose", [f"{name}_gathered"], [name])
    return [
        node("Gather", [f"{name}_rows", gather.inputs[1]], [f"{name}_gathered"], axis=0),
        turned._replace(rest=turned.rest + wire_integers("perm", [2, 3, 0, 1])),
    ]


def _summed(one: OnnxNode) -> list[OnnxNode]:
    """Split a normalised sum into a sum, which may be an output too, and its normalisation.

    It uses ``Sum`` instead of ``Add``, as ONNX Runtime would fuse the latter again.
    """
    added = [one.inputs[0], one.inputs[1], *filter(None, one.inputs[4:5])]
    total = (*one.outputs[3:4], "")[0] or f"{one.outputs[0]}_sum"
    epsilon = one.attributes().get("epsilon", 1e-12)
    given = [total, *filter(None, one.inputs[2:4])]
    return [
        node("Sum", added, [total]),
        node("LayerNormalization", given, one.outputs[:1], axis=-1, epsilon=epsilon),
    ]


def require_agreement(
    name: str, exact: NDArray[np.float32], quantised: NDArray[np.float32]
) -> None:
    """Compare (pairs, 3) probabilities of a model in two precisions.

    Raises:
        ModelError: fewer than 95 % of the pairs keep their most probable class, or probabilities
            differ by more than 0.03 on average.
    """
    same = float((exact.argmax(axis=1) == quantised.argmax(axis=1)).mean())
    difference = float(np.abs(exact - quantised).mean())
    if not (same >= SAME_CLASS and difference <= DIFFERENCE):
        raise ModelError(
            f"{name}: int8 has the class of float32 for {same:.1%} of {len(exact)} pairs and "
            f"probabilities that differ by {difference:.3f} on average; at least {SAME_CLASS:.0%} "
            f"and at most {DIFFERENCE} are required; use float32"
        )


@cache
def agreement_pairs() -> list[Pair]:
    """Return short and long pairs on many subjects, in both orders, for comparing precisions."""
    pairs = _written_pairs()
    return [*pairs, *(Pair(p.hypothesis, p.premise) for p in pairs)]


def range_pairs() -> list[Pair]:
    """Return other pairs of the same texts, for measuring the ranges of activations."""
    pairs = _written_pairs()
    return [
        Pair(p.premise, q.hypothesis) for p, q in zip(pairs, pairs[1:] + pairs[:1], strict=True)
    ]


def _written_pairs() -> list[Pair]:
    text = Path(__file__).with_name("agreement.json").read_text("utf-8")
    return [Pair(**entry) for entry in json.loads(text)]
