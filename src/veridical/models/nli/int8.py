"""An 8-bit graph of a float32 one, the agreement that lets it be used, and where it is kept."""

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

#: Changes with what is done to make a graph, and with what it must agree with.
_MADE_BY = 3
#: The greatest absolute value of each channel of tensors, by their names.
Ranges = dict[str, NDArray[np.float32]]
_DAMAGED = (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error)
#: Of a model folder: the greatest absolute value of each channel before each product.
RANGES = "ranges.npz"
#: Share of the agreement pairs that must keep their most probable class.
SAME_CLASS = 0.95
#: What the two operators of attention have in common.
_OF_ATTENTION = ("num_heads", "mask_filter_value", "scale", "unidirectional")
#: Share of the outliers' spread that goes to the weights (the paper's alpha).
_SMOOTHED = 0.5
_LEAST = 1e-5
_STEPS, _ZERO = 127, 128  # of a byte on either side of what stands for 0
_DISTANCES = 2  # axis of a bias (1, heads, distances) that depends on how far tokens are apart
_NORMALISES = 17  # version of ONNX from which normalisation is an operator
#: Greatest mean difference of a probability, over pairs and classes.
DIFFERENCE = 0.03


def need_exact_products(name: str) -> None:
    """
    Raises:
        ModelError: this processor does not sum products of 8-bit numbers exactly.
    """
    if not multiplies_exactly():
        raise ModelError(
            f"{name}: this processor cuts sums of products of 8-bit numbers (it has "
            "no instructions for them, such as AVX512-VNNI), so int8 would give other numbers "
            "here than elsewhere. Use float32"
        )


def shipped_ranges(folder: Path) -> Ranges | None:
    """The ranges (see :func:`ranges_of`) that a model folder brings, by which its 8-bit form was
    found to agree with float32; None where it brings none.

    Raises:
        ModelError: the file is damaged.
    """
    path = folder / RANGES
    try:
        return _read(path) if path.is_file() else None
    except _DAMAGED as e:
        raise ModelError(f"{path} is damaged: {e}") from e


def kept_ranges(revision: str) -> Ranges | None:
    """The ranges that an earlier start has kept of the model with this ``revision``; None where
    there are none, or they are damaged."""
    try:
        return _read(_kept(revision))
    except _DAMAGED:
        return None


def _read(path: Path) -> Ranges:
    with np.load(path) as arrays:
        return {name: arrays[name].astype(np.float32) for name in arrays.files}


def keep_ranges(revision: str, ranges: Mapping[str, NDArray[np.float32]]) -> None:
    """Keep ranges that led to agreement for later starts. Where nothing can be written they are
    measured anew each time."""
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
    """The file for what depends on the model, on this package and on what runs the graph."""
    import onnxruntime

    key = json.dumps([_MADE_BY, revision, onnxruntime.__version__])
    return cache_folder() / "int8" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"


def ranges_of(graph: Path, feeds: Sequence[Mapping[str, NDArray[Any]]]) -> Ranges:
    """Return the greatest absolute value in each channel of the inputs of the products that
    :func:`int8_graph` makes, over forwards of ``feeds``.

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
    """Return the 8-bit form of an ONNX file: products of weights become products of bytes.

    Weights get one scale a column and are rounded once. Each row of activations (a token) is
    rounded by its own greatest value, so that no result depends on what else is in a batch.
    Before that, channels with outliers hand them over to the weights (SmoothQuant, Xiao et al.
    2023, eq. 3 and 4), by their ``ranges``. Weights that stay packed in the file stay so.

    Raises:
        ModelError: the file cannot be read, or holds no product of weights.
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
        raise ModelError(f"{graph} holds no product of weights: it has no int8 form")
    file.nodes = nodes
    file.prune()
    return file


def _prepared(graph: Path) -> OnnxFile:
    """The file with its operators taken apart."""
    file = OnnxFile.read(graph)
    producers = file.producers()
    file.nodes = [n for one in file.nodes for n in _apart(one, file, producers)]
    file.prune()  # of the tables that were turned
    return file


def _matrix(
    one: OnnxNode, file: OnnxFile, producers: Mapping[str, OnnxNode]
) -> NDArray[np.float32] | None:
    """The weights of a product of activations by a matrix with several columns; None of others."""
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
    """A product by rounded rows and a rounded matrix. The scales of rows are left out of the sums
    and multiplied at the end."""
    source, (name,) = product.inputs[0], product.outputs
    nodes = []
    if widest is not None:
        highest = np.maximum(np.abs(matrix).max(axis=1), _LEAST)
        factors = np.maximum(widest, _LEAST) ** _SMOOTHED / highest ** (1 - _SMOOTHED)
        matrix = matrix * factors[:, None]
        file.weights[f"{name}_factors"] = (1 / factors).astype(np.float32)
        nodes.append(node("Mul", [source, f"{name}_factors"], [f"{name}_smooth"]))
        source = f"{name}_smooth"
    scales = np.maximum(np.abs(matrix).max(axis=0), _LEAST) / _STEPS
    file.weights[f"{name}_bytes"] = np.rint(matrix / scales).astype(np.int8)
    file.weights[f"{name}_scales"] = (scales / _STEPS).astype(np.float32)
    file.weights.update(
        int8_zero=np.array(_ZERO, np.uint8),
        int8_step=np.array(1 / _STEPS, np.float32),
        int8_one=np.array(1, np.float32),
        int8_least=np.array(_LEAST, np.float32),
        int8_last=np.array([-1], np.int64),
    )
    if file.opset < 18:  # the axes were an attribute
        greatest = node("ReduceMax", [f"{name}_absolute"], [f"{name}_greatest"], keepdims=1)
        greatest = greatest._replace(rest=greatest.rest + wire_integers("axes", [-1]))
    else:
        inputs = [f"{name}_absolute", "int8_last"]
        greatest = node("ReduceMax", inputs, [f"{name}_greatest"], keepdims=1)
    return [
        *nodes,
        node("Abs", [source], [f"{name}_absolute"]),
        greatest,
        node("Max", [f"{name}_greatest", "int8_least"], [f"{name}_rows"]),
        node("Div", [source, f"{name}_rows"], [f"{name}_shares"]),
        node("QuantizeLinear", [f"{name}_shares", "int8_step", "int8_zero"], [f"{name}_rounded"]),
        node(
            "MatMulIntegerToFloat",
            [f"{name}_rounded", f"{name}_bytes", "int8_one", f"{name}_scales", "int8_zero"],
            [f"{name}_sums"],
            MICROSOFT,
        ),
        node("Mul", [f"{name}_sums", f"{name}_rows"], [name]),
    ]


def _apart(one: OnnxNode, file: OnnxFile, producers: Mapping[str, OnnxNode]) -> list[OnnxNode]:
    """The same function without what is slow: attention that holds its projections in float32;
    the sum that is normalised at once, which takes four times as long as the two by themselves;
    single numbers gathered from a table of distances."""
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
    """An attention node as a product by its weights, of ``width`` columns, and the attention of
    what comes out."""
    made = attention.outputs[0]
    told = attention.attributes()
    sizes = told.pop("qkv_hidden_sizes", None) or [width // 3] * 3
    file.weights[f"{made}_sizes"] = np.array(sizes, np.int64)
    parts = [f"{made}_{part}" for part in ("query", "key", "value")]
    biases, mask = (*attention.inputs[2:4], "", "")[:2]
    scores = (*attention.inputs[5:6], "")[0]
    taken = {k: v for k, v in told.items() if k in _OF_ATTENTION}
    return [
        node("MatMul", attention.inputs[:2], [f"{made}_all"]),
        node("Split", [f"{made}_all", f"{made}_sizes"], parts, axis=-1),
        node("MultiHeadAttention", [*parts, biases, mask, scores], [made], MICROSOFT, **taken),
    ]


def _by_rows(gather: OnnxNode, table: NDArray[Any], file: OnnxFile) -> list[OnnxNode]:
    """A gather along the last axis of (1, heads, distances) weights as one of whole rows, turned
    back: single numbers are gathered eight times as slowly."""
    (name,) = gather.outputs
    file.weights[f"{name}_rows"] = np.ascontiguousarray(np.moveaxis(table, _DISTANCES, 0))
    turned = node("Transpose", [f"{name}_gathered"], [name])
    return [
        node("Gather", [f"{name}_rows", gather.inputs[1]], [f"{name}_gathered"], axis=0),
        turned._replace(rest=turned.rest + wire_integers("perm", [2, 3, 0, 1])),
    ]


def _summed(one: OnnxNode) -> list[OnnxNode]:
    """A normalised sum as the sum, which may be asked for too, and its normalisation. ``Sum`` and
    not ``Add``: ONNX Runtime would make one operator of that again."""
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
            f"{name}: int8 gives the class of float32 for {same:.1%} of {len(exact)} pairs and "
            f"probabilities that differ by {difference:.3f} on average; at least {SAME_CLASS:.0%} "
            f"and at most {DIFFERENCE} are needed. Use float32"
        )


@cache
def agreement_pairs() -> list[Pair]:
    """Short and long pairs of many subjects, both ways round, on which precisions are compared."""
    pairs = _written_pairs()
    return [*pairs, *(Pair(p.hypothesis, p.premise) for p in pairs)]


def range_pairs() -> list[Pair]:
    """Other pairs of the same texts, over which the ranges of activations are taken."""
    pairs = _written_pairs()
    return [
        Pair(p.premise, q.hypothesis) for p, q in zip(pairs, pairs[1:] + pairs[:1], strict=True)
    ]


def _written_pairs() -> list[Pair]:
    text = Path(__file__).with_name("agreement.json").read_text("utf-8")
    return [Pair(**entry) for entry in json.loads(text)]
