"""The 8-bit graph: what is rounded, by what, and what is left in float32 in it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.errors import ModelError
from veridical.models.nli import int8
from veridical.models.nli.int8 import (
    RANGES,
    _prepared,
    content_of,
    int8_graph,
    keep_ranges,
    kept_ranges,
    ranges_of,
    shipped_ranges,
)
from veridical.models.nli.packaged import MINI, need
from veridical.models.onnx import session_of
from veridical.models.onnx_file import OnnxFile
from veridical.models.onnx_graph import multiplies_exactly

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.torch  # with the extra come the tests that need the package onnx

WIDTH, HEADS, EACH = 12, 3, 4
RANDOM = np.random.default_rng(0)


@pytest.fixture(params=["signed", "unsigned"])
def _kinds_of_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights as on processors that sum products of signed bytes exactly, and as on others."""
    signed = request.param == "signed"
    if signed and not multiplies_exactly():
        pytest.skip("this processor saturates sums of products of signed bytes")
    monkeypatch.setattr(int8, "multiplies_exactly", lambda: signed)


both_kinds_of_bytes = pytest.mark.usefixtures("_kinds_of_bytes")


def weights(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype(np.float32)


def written(
    path: Path,
    nodes: list[Any],
    tensors: dict[str, Any],
    inputs: list[Any],
    outputs: list[str],
    opset: int = 17,
) -> Path:
    """A file of this graph, as the package ``onnx`` writes it."""
    from onnx import helper, numpy_helper

    graph = helper.make_graph(
        nodes,
        "g",
        inputs,
        [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(value, name) for name, value in tensors.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def real(name: str, *shape: Any, kind: int = 1) -> Any:
    return onnx.helper.make_tensor_value_info(name, kind, shape)


def run(graph: OnnxFile | str, feeds: dict[str, Any]) -> list[Any]:
    found: list[Any] = session_of(graph, "test").run(None, feeds)
    return found


def operators(file: OnnxFile) -> list[str]:
    return [n.op_type for n in onnx.load_from_string(file.content()).graph.node]


@both_kinds_of_bytes
@pytest.mark.parametrize("opset", [13, 17, 18])
def test_a_product_is_that_of_rounded_rows_and_columns(tmp_path: Path, opset: int) -> None:
    matrix, x = weights(WIDTH, 5), weights(3, WIDTH) * np.float32([[1], [100], [1e-6]])
    x[0, 3] = 40  # an outlier
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    path = written(
        tmp_path / "m.onnx", [node], {"w": matrix}, [real("x", "n", WIDTH)], ["y"], opset
    )
    columns = np.abs(matrix).max(axis=0) / 127
    rows = np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-5)
    bytes_of = np.clip(np.rint(x / rows * 127), -128, 127)
    expected = bytes_of @ np.rint(matrix / columns) * columns / 127 * rows
    found = run(int8_graph(path, {}), {"x": x})[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)
    for i in range(3):  # a row is rounded by itself
        np.testing.assert_array_equal(
            run(int8_graph(path, {}), {"x": x[i : i + 1]})[0][0], found[i]
        )


def test_outliers_go_to_the_weights(tmp_path: Path) -> None:
    matrix, x = weights(WIDTH, 5), weights(40, WIDTH)
    x[:, 3] *= 200
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    path = written(tmp_path / "m.onnx", [node], {"w": matrix}, [real("x", "n", WIDTH)], ["y"])
    ranges = ranges_of(path, [{"x": x[:20]}, {"x": x[20:]}])
    np.testing.assert_array_equal(ranges["x"], np.abs(x).max(axis=0))
    apart = [
        np.abs(run(int8_graph(path, by), {"x": x})[0] - x @ matrix)[:, :].mean()
        for by in ({}, ranges)
    ]
    assert apart[1] < apart[0] / 2


@both_kinds_of_bytes
@pytest.mark.parametrize("heads", [HEADS, HEADS - 1], ids=["all heads", "fewer heads"])
@pytest.mark.parametrize("biased", [True, False])
def test_attention_is_the_same_but_for_its_rounded_projections(
    tmp_path: Path, heads: int, biased: bool
) -> None:
    inner = heads * EACH
    node = onnx.helper.make_node(
        "Attention",
        ["x", "w", "b", "mask", *(["", "scores"] if biased else [])],
        ["y"],
        domain="com.microsoft",
        num_heads=heads,
        qkv_hidden_sizes=[inner] * 3,
    )
    inputs = [real("x", 2, 5, WIDTH), real("mask", 2, 5, kind=6)]
    feeds = {"x": weights(2, 5, WIDTH), "mask": np.array([[1] * 5, [1, 1, 1, 0, 0]], np.int32)}
    if biased:
        inputs.append(real("scores", 1, heads, 5, 5))
        feeds["scores"] = weights(1, heads, 5, 5)
    tensors = {"w": weights(WIDTH, 3 * inner), "b": weights(3 * inner)}
    path = written(tmp_path / "m.onnx", [node], tensors, inputs, ["y"])
    (before,), content = run(str(path), feeds), int8_graph(path, {})
    counts = Counter(operators(content))
    assert counts["MatMulIntegerToFloat"] == counts["MultiHeadAttention"] == counts["Split"] == 1
    assert not counts["Attention"]
    np.testing.assert_allclose(run(_prepared(path), feeds)[0], before, atol=1e-5)
    assert 0 < np.abs(run(content, feeds)[0] - before).mean() < 0.05


def test_a_bias_of_distances_is_gathered_by_rows(tmp_path: Path) -> None:
    gather = onnx.helper.make_node("Gather", ["bias", "places"], ["y"], axis=2)
    inputs = [real("places", 4, 4, kind=7)]
    tensors = {"bias": weights(1, HEADS, 9)}
    path = written(tmp_path / "m.onnx", [gather], tensors, inputs, ["y"])
    feeds = {"places": np.arange(4)[None, :] - np.arange(4)[:, None] + 4}
    prepared = _prepared(path)
    assert operators(prepared) == ["Gather", "Transpose"]
    assert "bias" not in prepared.weights
    (found,) = run(prepared, feeds)
    np.testing.assert_array_equal(found, tensors["bias"][:, :, feeds["places"]])


@pytest.mark.parametrize("sum_too", [False, True])
@pytest.mark.parametrize("given", [["g"], ["g", "beta"], ["g", "beta", "bias"], ["g", "", "bias"]])
def test_a_normalised_sum_is_the_same_taken_apart(
    tmp_path: Path, given: list[str], sum_too: bool
) -> None:
    nodes = [
        onnx.helper.make_node(
            "SkipLayerNormalization",
            ["x", "skip", *given],
            ["y", "", "", "total"] if sum_too else ["y"],
            domain="com.microsoft",
            epsilon=1e-3,
        ),
        onnx.helper.make_node("MatMul", ["z", "w"], ["product"]),
    ]
    named = ["y", "total", "product"] if sum_too else ["y", "product"]
    tensors = {name: weights(WIDTH) for name in given if name} | {"w": weights(2, 3)}
    inputs = [real("x", 2, 5, WIDTH), real("skip", 2, 5, WIDTH), real("z", 1, 2)]
    path = written(tmp_path / "m.onnx", nodes, tensors, inputs, named)
    feeds = {"x": weights(2, 5, WIDTH), "skip": weights(2, 5, WIDTH), "z": weights(1, 2)}
    content = int8_graph(path, {})
    assert operators(content)[:2] == ["Sum", "LayerNormalization"]
    before = run(str(path), feeds)[:-1]
    for now, then in zip(run(content, feeds)[:-1], before, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-5)


def test_a_file_without_products_of_weights(tmp_path: Path) -> None:
    node = onnx.helper.make_node("MatMul", ["x", "z"], ["y"])
    inputs = [real("x", 2, 3), real("z", 3, 2)]
    path = written(tmp_path / "m.onnx", [node], {}, inputs, ["y"])
    with pytest.raises(ModelError, match="has no product of weights, so it has no int8 form"):
        int8_graph(path, {})


def test_nothing_large_of_the_embedded_model_is_left_in_float32() -> None:
    folder = need(MINI).folder
    ranges = shipped_ranges(folder)
    assert ranges is not None
    content = int8_graph(folder / "model.onnx", ranges).content()
    assert len(content) < 52e6  # its words' vectors stay packed
    graph = onnx.load_from_string(content).graph
    counts = Counter(node.op_type for node in graph.node)
    assert not counts["Attention"] and not counts["SkipLayerNormalization"]
    assert counts["MultiHeadAttention"] == 9 and counts["MatMulIntegerToFloat"] == 4 * 9
    floats = {w.name for w in graph.initializer if w.data_type == 1 and np.prod(w.dims) > 10_000}
    products = [n for n in graph.node if n.op_type in ("MatMul", "Gemm")]
    assert not [n.name for n in products if floats & set(n.input)]


def test_ranges_are_kept_and_damaged_ones_measured_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))
    ranges = {"b": weights(4), "a": weights(3)}
    assert kept_ranges("one") is shipped_ranges(tmp_path) is None
    keep_ranges("one", ranges)
    found = kept_ranges("one")
    assert found is not None and {n: v.tolist() for n, v in found.items()} == {
        n: v.tolist() for n, v in ranges.items()
    }
    assert kept_ranges("another") is None
    (kept,) = (tmp_path / "cache" / "int8").iterdir()
    for damaged in (kept.read_bytes()[:-20], b"", b"not an archive"):
        kept.write_bytes(damaged)
        assert kept_ranges("one") is None
    doubles: dict[str, Any] = {"a": np.ones(3)}
    for damaged in (content_of(ranges)[:40], content_of(doubles)):
        (tmp_path / RANGES).write_bytes(damaged)
        with pytest.raises(ModelError, match=r"ranges\.npz is damaged"):
            shipped_ranges(tmp_path)
