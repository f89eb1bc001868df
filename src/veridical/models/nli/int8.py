"""An 8-bit graph of a float32 one, the agreement that lets it be used, and where it is kept."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Pair
from veridical.errors import ModelError
from veridical.files.atomic import PRIVATE_FOLDER, write_atomic
from veridical.files.temporary import temporary_folder
from veridical.models.onnx_graph import multiplies_exactly
from veridical.weights.download import cache_folder

#: Changes with what is done to make a graph, and with what it must agree with.
_MADE_BY = 2
#: Share of the agreement pairs that must keep their most probable class.
SAME_CLASS = 0.95
_FLOAT = 1  # onnx.TensorProto.FLOAT
#: What the two operators of attention have in common.
_OF_ATTENTION = ("num_heads", "mask_filter_value", "scale", "unidirectional")
#: Share of the outliers' spread that goes to the weights (the paper's alpha).
_SMOOTHED = 0.75
_LEAST = 1e-5
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


def kept_graph(revision: str) -> Path | None:
    """The 8-bit graph that an earlier start made of the model with this ``revision``, by the same
    versions of what makes and runs it, and found to agree; None where there is none, or it is not
    as it was written."""
    for path in sorted(_kept_in().glob(f"{_key(revision)}-*.onnx")):
        try:
            content = path.read_bytes()
        except OSError:
            continue
        if path.stem.rpartition("-")[2] == _digest(content):
            return path
    return None


def keep_graph(revision: str, graph: Path) -> None:
    """Keep an 8-bit graph that agrees for later starts. Where nothing can be written it is made
    anew each time."""
    content = graph.read_bytes()
    folder = _kept_in()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        path = folder / f"{_key(revision)}-{_digest(content)}.onnx"
        write_atomic(path, content, private=True)
    except OSError:
        return


def _kept_in() -> Path:
    return cache_folder() / "int8"


def _key(revision: str) -> str:
    """What the bytes of a graph depend on."""
    packages = ("onnx", "onnxruntime")
    installed = {d.metadata["Name"]: d.version for d in map(_distribution, packages) if d}
    return _digest(json.dumps([_MADE_BY, revision, installed], sort_keys=True).encode())


def _distribution(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


@contextmanager
def int8_graph(
    graph: Path, shipped: Path, feeds: Sequence[Mapping[str, NDArray[Any]]]
) -> Iterator[Path]:
    """The file of the 8-bit graph: ``shipped`` if it exists, else made of ``graph``.

    Weights get one scale a column and are quantised once; activations are quantised as they
    come, by the range of the batch (ONNX Runtime's dynamic quantisation). Before that, channels
    with outliers hand them over to the weights (SmoothQuant, Xiao et al. 2023, eq. 3 and 4), by
    their ranges over forwards of ``feeds``: inputs of the graph, by name.

    Raises:
        ModelError: the package ``onnx`` is missing, or the graph cannot be quantised.
    """
    if shipped.is_file():
        yield shipped
        return
    try:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as e:
        raise ModelError(f"precision=int8 needs the package onnx: pip install onnx ({e})") from e
    with temporary_folder("int8") as folder:
        quantised = folder / "model.int8.onnx"
        try:
            with _quiet():
                plain = _expanded(graph, folder)
                onnx.save(_taken_apart(onnx.load(plain)), plain)
                onnx.save(_smoothed(plain, feeds), plain)
                quantize_dynamic(
                    *(plain, quantised),
                    per_channel=True,
                    weight_type=QuantType.QInt8,
                    extra_options={"DefaultTensorType": _FLOAT},  # of what fused operators give
                )
        except Exception as e:  # whatever the graph holds that cannot be quantised
            raise ModelError(f"{graph} cannot be quantised to int8: {e}") from e
        yield quantised


def _expanded(graph: Path, folder: Path) -> Path:
    """``graph`` with what is constant computed: weights that are stored packed, as in the embedded
    model, become plain matrices."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folder / "expanded.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    return folder / "expanded.onnx"


def _smoothed(path: Path, feeds: Sequence[Mapping[str, NDArray[Any]]]) -> Any:
    """The graph of ``path`` with the inputs of its matrix products divided by a scale a channel,
    and the rows of their weights multiplied by it: the same function, easier to quantise."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(path)
    nodes = model.graph.node
    weights = {i.name: i for i in model.graph.initializer}
    products = [n for n in nodes if n.op_type in ("MatMul", "Attention") and n.input[1] in weights]
    widest = _ranges(path, sorted({n.input[0] for n in products}), feeds)
    for product in products:
        source, name = product.input[0], f"{product.output[0]}_smooth"
        matrix = numpy_helper.to_array(weights[product.input[1]])
        scale = (
            np.maximum(widest[source], _LEAST) ** _SMOOTHED
            / np.maximum(np.abs(matrix).max(axis=1), _LEAST) ** (1 - _SMOOTHED)
        ).astype(np.float32)
        scaled = numpy_helper.from_array(matrix * scale[:, None], f"{name}_weights")
        factors = numpy_helper.from_array(1 / scale, f"{name}_factors")
        model.graph.initializer.extend([scaled, factors])
        division = helper.make_node("Mul", [source, factors.name], [name], name=name)
        nodes.insert(list(nodes).index(product), division)
        product.input[0], product.input[1] = name, scaled.name
    return model


def _taken_apart(model: Any) -> Any:
    """The same function without two operators of ONNX Runtime: attention whose scores have a bias,
    as MPNet's have, of which there is no 8-bit form, so that its projections would stay in float32;
    and the sum that is normalised at once, which takes four times as long as the two by
    themselves."""
    nodes = model.graph.node
    widths = {i.name: i.dims[-1] for i in model.graph.initializer if i.dims}
    for at, node in reversed(list(enumerate(nodes))):
        instead: list[Any] = []
        biased = node.op_type == "Attention" and len(node.input) > 5 and not node.input[4]
        if biased and node.input[1] in widths:
            instead = _projected(node, widths[node.input[1]], model.graph)
        elif node.op_type == "SkipLayerNormalization" and not any(node.output[1:3]):
            instead = _summed(node)
        if instead:
            del nodes[at]
            for one in reversed(instead):
                nodes.insert(at, one)
    return model


def _projected(node: Any, width: int, graph: Any) -> list[Any]:
    """An attention node as a product by its weights, of ``width`` columns, and the attention of
    what comes out."""
    from onnx import helper, numpy_helper

    made = node.output[0]
    told = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    sizes = told.pop("qkv_hidden_sizes", None) or [width // 3] * 3
    graph.initializer.append(numpy_helper.from_array(np.array(sizes, np.int64), f"{made}_sizes"))
    parts = [f"{made}_{part}" for part in ("query", "key", "value")]
    biases, mask, scores = node.input[2], node.input[3], node.input[5]
    taken = {k: v for k, v in told.items() if k in _OF_ATTENTION}
    return [
        helper.make_node("MatMul", node.input[:2], [f"{made}_all"], name=f"{made}_all"),
        helper.make_node("Split", [f"{made}_all", f"{made}_sizes"], parts, axis=-1),
        helper.make_node(
            "MultiHeadAttention",
            [*parts, biases, mask, scores],
            [made],
            domain="com.microsoft",
            **taken,
        ),
    ]


def _summed(node: Any) -> list[Any]:
    """A normalised sum as the sum, which may be asked for too, and its normalisation. ``Sum`` and
    not ``Add``: ONNX Runtime would make one operator of that again."""
    from onnx import helper

    added = [node.input[0], node.input[1], *filter(None, node.input[4:5])]
    total = (*node.output[3:4], "")[0] or f"{node.output[0]}_sum"
    (epsilon,) = [a.f for a in node.attribute if a.name == "epsilon"] or [1e-12]
    given = [total, *filter(None, node.input[2:4])]
    return [
        helper.make_node("Sum", added, [total]),
        helper.make_node("LayerNormalization", given, [node.output[0]], axis=-1, epsilon=epsilon),
    ]


def _ranges(
    path: Path, names: Sequence[str], feeds: Sequence[Mapping[str, NDArray[Any]]]
) -> dict[str, NDArray[np.float32]]:
    """The greatest absolute value in each channel of the tensors ``names`` over ``feeds``."""
    import onnx
    import onnxruntime

    model = onnx.load(path)
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(n) for n in names)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    ranges: dict[str, NDArray[np.float32]] = {}
    for feed in feeds:
        for name, value in zip(names, session.run(list(names), dict(feed)), strict=True):
            widest = np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            ranges[name] = np.maximum(ranges.get(name, widest), widest)
    return ranges


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


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the quantiser's advice on how graphs might be prepared, which it logs as warnings."""
    root = logging.getLogger()
    root.addFilter(_nothing)
    try:
        yield
    finally:
        root.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False
