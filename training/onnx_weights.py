"""Small ONNX models from torch networks: fused layers and int8 weights.

Every weight matrix is stored as int8 with one float32 scale per column and GROUP rows (per row for
embedding tables). Only weights are rounded: activations stay float32, so a result never depends
on its batch. The matrices are expanded by plain Cast, Mul and Reshape nodes, which ONNX Runtime
folds into float32 constants when the model is loaded. The same source and library versions give
the same bytes.

Needs: torch, onnx, onnxruntime.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_model

#: Candidate scales, relative to the largest weight of a channel. A little clipping costs less than
#: the coarser grid that an outlier would force on the rest.
RATIOS = np.linspace(0.7, 1.0, 61, dtype=np.float32)
#: Rows of a matrix (inputs of a layer) that share a column's scale. For the sentence encoder one
#: scale for the whole column gives a mean cosine of 0.9995, this 0.9998 for 3 % more bytes.
GROUP = 64
MIN_ELEMENTS = 10_000  # smaller tensors (biases, norms) stay float32


def sha256(path: Path) -> str:
    """Hexadecimal digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checksums(folder: Path, names: Sequence[str]) -> str:
    """Write ``SHA256SUMS`` over the files ``names`` of ``folder``; its text."""
    sums = "".join(f"{sha256(folder / name)}  {name}\n" for name in names)
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return sums


def write_tokenizer(source: Path, output: Path) -> None:
    """Write the tokenizer of the folder ``source`` without a baked-in cut or padding."""
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["truncation"] = tokenizer["padding"] = None
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (output / "tokenizer.json").write_text(text, encoding="utf-8")


def fused_graph(
    module: torch.nn.Module,
    inputs: Sequence[str],
    outputs: Sequence[str],
    dynamic: dict[str, dict[int, str]],
    *,
    layers: int,
    heads: int,
    hidden: int,
) -> onnx.ModelProto:
    """Export the float32 graph of a BERT, with fused attention, layer norm and GELU.

    Args:
        module: its forward takes (batch, sequence) int64 tensors in the order of ``inputs`` and
            returns a tensor for each of ``outputs``.
        dynamic: by input and output name, the axes whose size is left open.
        layers, heads, hidden: of the BERT; every layer's attention must get fused.
    """
    ids = torch.ones(2, 8, dtype=torch.long)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "raw.onnx"
        torch.onnx.export(
            module.eval(),
            (ids, *(torch.ones_like(ids) for _ in inputs[1:])),
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=dynamic,
            opset_version=17,
            dynamo=False,
        )
        options = FusionOptions("bert")
        options.enable_embed_layer_norm = False  # would demand float32 embedding tables
        fused = optimize_model(
            str(path),
            model_type="bert",
            num_heads=heads,
            hidden_size=hidden,
            optimization_options=options,
            opt_level=0,
        )
        fused.save_model_to_file(str(path))  # also prunes, sorts and declares the fused operators
        exported = onnx.load(path)
    if fused.get_fused_operator_statistics()["Attention"] != layers:
        raise SystemExit("attention was not fused: the exporter's graph has changed")
    return exported


def quantise(
    weights: np.ndarray, axis: int, chance: np.random.Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Choose int8 values and float32 scales along ``axis``, of least squared error over RATIOS.

    With ``chance`` values are then rounded up as often as they are above (stochastic rounding).
    Weights that were int8 before further training need it. Rounding to the nearest would remove all
    steps of that training that are small compared with the grid's.
    """
    peak = np.abs(weights).max(axis=axis, keepdims=True)
    peak[peak == 0] = 1
    best_error = np.full(peak.shape, np.inf, dtype=np.float32)
    best_scale = peak / 127
    for ratio in RATIOS:
        scale = peak * ratio / 127
        rounded = np.clip(np.round(weights / scale), -127, 127) * scale
        error = ((rounded - weights) ** 2).sum(axis=axis, keepdims=True)
        better = error < best_error
        best_error = np.where(better, error, best_error)
        best_scale = np.where(better, scale, best_scale)
    exact = weights / best_scale
    if chance is None:
        rounded = np.round(exact)
    else:
        rounded = np.floor(exact + chance.random(exact.shape, dtype=np.float32))
    values = np.clip(rounded, -127, 127).astype(np.int8)
    return values, best_scale.astype(np.float32)


def compress(
    model: onnx.ModelProto,
    group: int = GROUP,
    half: bool = False,
    chance: np.random.Generator | None = None,
) -> None:
    """Replace the weight matrices of ``model`` by int8 ones and the nodes that expand them.

    Args:
        group: the most rows of a matrix that share a column's scale.
        half: keep the matrices' scales in float16, which costs them 0.05 % at most.
        chance: of :func:`quantise`, for the matrices; the table of words is not trained.
    """
    graph = model.graph
    gathered = {n.input[0]: n for n in graph.node if n.op_type == "Gather"}
    expand: list[onnx.NodeProto] = []
    for tensor in list(graph.initializer):
        name = tensor.name
        weights = numpy_helper.to_array(tensor)
        if weights.dtype != np.float32 or weights.size < MIN_ELEMENTS or weights.ndim != 2:
            continue
        graph.initializer.remove(tensor)
        rows = name in gathered
        sharing = math.gcd(group, len(weights))  # a cut model's matrices have any number of rows
        grouped = weights if rows else weights.reshape(-1, sharing, weights.shape[1])
        values, scale = quantise(grouped, axis=1, chance=None if rows else chance)
        graph.initializer.append(numpy_helper.from_array(values, f"{name}_int8"))
        if half and not rows:
            scale = scale.astype(np.float16)
        graph.initializer.append(numpy_helper.from_array(scale, f"{name}_scale"))
        if not rows:
            shape = np.array(weights.shape, dtype=np.int64)
            graph.initializer.append(numpy_helper.from_array(shape, f"{name}_shape"))
            scales = f"{name}_scale"
            if half:
                scales = f"{name}_scales"
                stored = [f"{name}_scale"]
                expand += [helper.make_node("Cast", stored, [scales], to=TensorProto.FLOAT)]
            expand += [
                helper.make_node("Cast", [f"{name}_int8"], [f"{name}_cast"], to=TensorProto.FLOAT),
                helper.make_node("Mul", [f"{name}_cast", scales], [f"{name}_groups"]),
                helper.make_node("Reshape", [f"{name}_groups", f"{name}_shape"], [name]),
            ]
            continue
        # An embedding table stays int8 in memory: only the rows looked up are expanded.
        node = gathered[name]
        ids, out = node.input[1], node.output[0]
        at = list(graph.node).index(node)
        graph.node.remove(node)
        lookup = [
            helper.make_node("Gather", [f"{name}_int8", ids], [f"{out}_int8"]),
            helper.make_node("Gather", [f"{name}_scale", ids], [f"{out}_scale"]),
            helper.make_node("Cast", [f"{out}_int8"], [f"{out}_cast"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{out}_cast", f"{out}_scale"], [out]),
        ]
        for offset, new in enumerate(lookup):
            graph.node.insert(at + offset, new)
    for offset, new in enumerate(expand):
        graph.node.insert(offset, new)
    finish(model)


def finish(model: onnx.ModelProto) -> None:
    """Strip what differs from one making to the next, and check the graph."""
    del model.metadata_props[:]
    model.producer_name, model.producer_version, model.doc_string = "veridical", "", ""
    for node in model.graph.node:
        node.doc_string = ""
    onnx.checker.check_model(model)
