"""ONNX files read and written node by node, against the package ``onnx``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veridical.errors import ModelError
from veridical.models.nli.packaged import MINI, need
from veridical.models.onnx_file import OnnxFile, OnnxNode, node


@pytest.mark.torch  # with the extra come the tests that need the package onnx
def test_an_embedded_model_comes_out_as_it_went_in() -> None:
    onnx = pytest.importorskip("onnx")
    path = need(MINI).folder / "model.onnx"
    file = OnnxFile.read(path)
    before, after = onnx.load(path), onnx.load_from_string(file.content())
    assert list(after.graph.node) == list(before.graph.node)
    assert list(after.graph.input) == list(before.graph.input)
    assert list(after.graph.output) == list(before.graph.output)
    assert [i.name for i in after.graph.initializer] == [i.name for i in before.graph.initializer]
    for now, then in zip(after.graph.initializer, before.graph.initializer, strict=True):
        np.testing.assert_array_equal(
            onnx.numpy_helper.to_array(now), onnx.numpy_helper.to_array(then)
        )
    assert file.opset == next(o.version for o in before.opset_import if not o.domain)
    (packed,) = [i for i in file.weights if i == "weights_0_int8"]
    made = file.constant(packed.removesuffix("_int8"), file.producers())
    assert made is not None and made.shape == (768, 1920) and made.dtype == np.float32
    groups = file.weights[packed].astype(np.float32) * file.weights["weights_0_scale"]
    np.testing.assert_array_equal(made, groups.reshape(768, 1920))


@pytest.mark.torch  # with the extra come the tests that need the package onnx
def test_every_way_to_write_weights_and_attributes(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    tensors = [
        helper.make_tensor("floats", TensorProto.FLOAT, [2, 2], [1.5, -2, 3, 4]),
        helper.make_tensor("whole", TensorProto.INT64, [2], [-7, 1 << 40]),
        helper.make_tensor("small", TensorProto.INT8, [2], [-7, 100]),
        helper.make_tensor("raw", TensorProto.FLOAT, [1], np.float32([9]).tobytes(), raw=True),
        helper.make_tensor("scalar", TensorProto.FLOAT, [], [2.5]),
    ]
    made = helper.make_node("Foo", ["floats"], ["y"], one=-3, two=0.5, three="text", four=[1, -2])
    graph = helper.make_graph([made], "g", [], [helper.make_empty_tensor_value_info("y")], tensors)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph), path)
    file = OnnxFile.read(path)
    found = {name: value.tolist() for name, value in file.weights.items()}
    assert found == {
        "floats": [[1.5, -2], [3, 4]],
        "whole": [-7, 1 << 40],
        "small": [-7, 100],
        "raw": [9],
        "scalar": 2.5,
    }
    assert file.nodes[0].attributes() == {"one": -3, "two": 0.5, "three": "text", "four": [1, -2]}


def test_what_nothing_takes_is_left_out() -> None:
    file = OnnxFile(
        [node("A", ["x"], ["a"]), node("B", ["w"], ["b"]), node("C", ["a", "v"], ["y"])],
        {"w": np.zeros(1, np.float32), "v": np.ones(1, np.float32)},
        ["y"],
        17,
        [],
        [],
    )
    file.prune()
    assert [n.operator for n in file.nodes] == ["A", "C"] and list(file.weights) == ["v"]
    assert file.constant("y", file.producers()) is None


@pytest.mark.parametrize(
    "content",
    [
        b"not a model",
        b"\x3a\xff\xff\xff\xff\x0f",  # a graph longer than the file
        b"\x3a\x02\x0a",
        b"\xff" * 12,
        b"\x3a\x06\x2a\x04\x10\x63\x42\x00",  # weights of an unknown type
        b"\x3a\x07\x2a\x05\x10\x01\x42\x00\x68\x00"[:9] + b"\x68",
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"m\.onnx: cannot be converted as an ONNX file"):
        OnnxFile.read(path)


def test_a_file_cut_anywhere_is_named(tmp_path: Path) -> None:
    whole = OnnxFile(
        [node("Relu", ["x"], ["y"], alpha=1.5)], {"w": np.ones(3, np.float32)}, ["y"], 17, [], []
    ).content()
    path = tmp_path / "m.onnx"
    for end in range(1, len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(ModelError):
            OnnxFile.read(path)
    path.write_bytes(whole)
    assert OnnxFile.read(path).nodes == [
        OnnxNode("Relu", ["x"], ["y"], "", node("Relu", [], [], alpha=1.5).rest)
    ]
