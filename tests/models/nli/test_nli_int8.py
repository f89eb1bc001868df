"""The 8-bit graph: operators taken apart before it, and what is left in float32 in it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.core.protocols import Pair
from veridical.models import load_nli
from veridical.models.nli.int8 import _taken_apart, int8_graph, range_pairs
from veridical.models.nli.packaged import MINI, need
from veridical.models.onnx import find_graph

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.torch  # with the extra come the tests that need the package onnx

WIDTH, HEADS, EACH = 12, 3, 4
RANDOM = np.random.default_rng(0)


def weights(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype(np.float32)


def run(model: Any, feeds: dict[str, Any]) -> list[Any]:
    import onnxruntime

    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found: list[Any] = session.run(None, feeds)
    return found


def model_of(
    nodes: list[Any], tensors: dict[str, Any], inputs: list[Any], outputs: list[str]
) -> Any:
    from onnx import helper, numpy_helper

    graph = helper.make_graph(
        nodes,
        "g",
        inputs,
        [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(value, name) for name, value in tensors.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def real(name: str, *shape: Any, kind: int = 1) -> Any:
    return onnx.helper.make_tensor_value_info(name, kind, shape)


@pytest.mark.parametrize("heads", [HEADS, HEADS - 1], ids=["all heads", "fewer heads"])
def test_attention_with_a_bias_is_the_same_taken_apart(heads: int) -> None:
    inner = heads * EACH
    node = onnx.helper.make_node(
        "Attention",
        ["x", "w", "b", "mask", "", "scores"],
        ["y"],
        domain="com.microsoft",
        num_heads=heads,
        qkv_hidden_sizes=[inner] * 3,
    )
    model = model_of(
        [node],
        {"w": weights(WIDTH, 3 * inner), "b": weights(3 * inner)},
        [real("x", 2, 5, WIDTH), real("mask", 2, 5, kind=6), real("scores", 1, heads, 5, 5)],
        ["y"],
    )
    feeds = {
        "x": weights(2, 5, WIDTH),
        "mask": np.array([[1] * 5, [1, 1, 1, 0, 0]], np.int32),
        "scores": weights(1, heads, 5, 5),
    }
    (before,) = run(model, feeds)
    apart = _taken_apart(model)
    assert [n.op_type for n in apart.graph.node] == ["MatMul", "Split", "MultiHeadAttention"]
    np.testing.assert_allclose(run(apart, feeds)[0], before, atol=1e-5)


def test_attention_without_a_bias_has_an_8_bit_form_and_stays() -> None:
    node = onnx.helper.make_node(
        "Attention", ["x", "w", "b"], ["y"], domain="com.microsoft", num_heads=HEADS
    )
    model = model_of(
        [node],
        {"w": weights(WIDTH, 3 * WIDTH), "b": weights(3 * WIDTH)},
        [real("x", 1, 5, WIDTH)],
        ["y"],
    )
    assert [n.op_type for n in _taken_apart(model).graph.node] == ["Attention"]


@pytest.mark.parametrize("sum_too", [False, True])
@pytest.mark.parametrize("given", [["g"], ["g", "beta"], ["g", "beta", "bias"], ["g", "", "bias"]])
def test_a_normalised_sum_is_the_same_taken_apart(given: list[str], sum_too: bool) -> None:
    outputs = ["y", "", "", "total"] if sum_too else ["y"]
    node = onnx.helper.make_node(
        "SkipLayerNormalization",
        ["x", "skip", *given],
        outputs,
        domain="com.microsoft",
        epsilon=1e-3,
    )
    named = [name for name in outputs if name]
    tensors = {name: weights(WIDTH) for name in given if name}
    model = model_of([node], tensors, [real("x", 2, 5, WIDTH), real("skip", 2, 5, WIDTH)], named)
    feeds = {"x": weights(2, 5, WIDTH), "skip": weights(2, 5, WIDTH)}
    before = run(model, feeds)
    apart = _taken_apart(model)
    assert [n.op_type for n in apart.graph.node] == ["Sum", "LayerNormalization"]
    for now, then in zip(run(apart, feeds), before, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-5)


def test_nothing_large_of_the_embedded_model_is_left_in_float32(tmp_path: Path) -> None:
    nli: Any = load_nli("mini")
    path = find_graph(need(MINI).folder)
    assert path is not None
    pairs = [Pair(p.premise, p.hypothesis) for p in range_pairs()[:8]]
    feeds = [nli._logits.feeds(windows) for windows in nli.windows(pairs)]
    with int8_graph(path, tmp_path / "none.onnx", feeds) as quantised:
        graph = onnx.load(quantised).graph
    counts = Counter(node.op_type for node in graph.node)
    assert not counts["Attention"] and not counts["SkipLayerNormalization"]
    assert counts["MultiHeadAttention"] == 9 and counts["MatMulInteger"] >= 4 * 9
    floats = {w.name for w in graph.initializer if w.data_type == 1 and np.prod(w.dims) > 10_000}
    products = [n for n in graph.node if n.op_type in ("MatMul", "Gemm")]
    assert not [n.name for n in products if floats & set(n.input)]
