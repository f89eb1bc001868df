"""Graphs written here, run by ONNX Runtime and read by the ``onnx`` package where it is."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.models.onnx_graph import GraphWriter


def test_a_graph_computes_what_was_drawn() -> None:
    rng = np.random.default_rng(0)
    large, small = rng.standard_normal((64, 32)).astype(np.float32), np.float32([0.5])
    draw = GraphWriter()
    product = draw("MatMul", "x", draw.weight(large))
    gelu = draw("QuickGelu", draw("Mul", product, draw.weight(small)), alpha=2.0)
    greatest, places = draw.several(2, "TopK", gelu, draw.weight(np.array([3])), axis=-1)
    draw.output("greatest", greatest)
    draw.output("places", places)
    session = draw.session({"x": (np.float32, ("rows", 64))}, threads=1)
    assert [o.name for o in session.get_outputs()] == ["greatest", "places"]
    for rows in (0, 1, 5):
        x = rng.standard_normal((rows, 64)).astype(np.float32)
        y = x @ large * 0.5
        y = y / (1 + np.exp(-2.0 * y))
        found, at = session.run(None, {"x": x})
        np.testing.assert_allclose(found, -np.sort(-y, axis=1)[:, :3], atol=1e-5)
        np.testing.assert_allclose(np.take_along_axis(y, at, axis=1), found, atol=1e-5)


def test_all_kinds_of_attributes_and_inputs() -> None:
    draw = GraphWriter()
    places = draw.weight(np.array([[0], [2]]))
    added = draw("ScatterND", "x", places, "more", reduction="add")
    draw.output("y", draw("Cast", draw("Clip", added, "", "most"), to=6))
    inputs = {"x": (np.float32, (3, 2)), "more": (np.float32, ("n", 2)), "most": (np.float32, ())}
    session = draw.session(inputs, threads=1)
    feeds = {"x": np.ones((3, 2)), "more": np.array([[1, -9], [5, 6]]), "most": np.array(4)}
    (y,) = session.run(None, {k: v.astype(np.float32) for k, v in feeds.items()})
    assert y.dtype == np.int32 and y.tolist() == [[2, -8], [1, 1], [4, 4]]


@pytest.mark.torch  # with that extra CI installs onnx
def test_onnx_itself_reads_it() -> None:
    onnx = pytest.importorskip("onnx")
    draw = GraphWriter()
    draw.output("y", draw("Concat", "x", draw.weight(np.zeros((2, 3), np.int64)), axis=-1))
    model = onnx.load_from_string(draw._model({"x": (np.int64, (2, "n"))}))
    concat, named = model.graph.node
    assert list(concat.input) == ["x", model.graph.initializer[0].name]
    assert list(named.output) == ["y"] == [o.name for o in model.graph.output]
    (attribute,) = concat.attribute
    assert attribute.i == -1 and model.graph.input[0].type.tensor_type.shape.dim[1].dim_param == "n"
