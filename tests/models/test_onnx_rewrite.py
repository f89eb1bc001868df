"""The rewritten graph is read by the package onnx and run beside the one it was made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical.models
from veridical.models.onnx import open_session
from veridical.models.onnx_rewrite import quicker

NAME = b"SkipLayerNormalization"
EMBEDDED = Path(veridical.models.__file__).parent / "data"
WIDTH = 8


def plain(model: bytes | str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "veridical-nli-mini"])
def test_embedded_models_say_the_same_without_it(name: str) -> None:
    path = EMBEDDED / name / "model.onnx"
    made = quicker(path)
    assert NAME in path.read_bytes() and made is not None and NAME not in made
    session, file = open_session(path), plain(str(path))
    kinds = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
    ids = np.random.default_rng(0).integers(5, 2000, (3, 40))
    mask = np.arange(40) < np.array([[40], [17], [30]])
    feeds = {
        i.name: (ids if i.name == "input_ids" else mask if "mask" in i.name else ids * 0).astype(
            kinds[i.type]
        )
        for i in file.get_inputs()
    }
    ours, theirs = session.run(None, feeds), file.run(None, feeds)
    for one, other in zip(ours, theirs, strict=True):
        assert np.abs(one - other).max() < 1e-4  # of numbers up to 10


def drawn(path: Path, outputs: list[str], given: list[str]) -> Path:
    from onnx import TensorProto, helper, numpy_helper, save

    draw = np.random.default_rng(1)
    weights = {n: draw.normal(size=WIDTH).astype(np.float32) for n in ("gamma", "beta", "bias")}
    node = helper.make_node(
        "SkipLayerNormalization",
        ["x", "skip", *given],
        outputs,
        domain="com.microsoft",
        epsilon=0.5,
    )
    shape = ["batch", "sequence", WIDTH]
    graph = helper.make_graph(
        [node, helper.make_node("Relu", [outputs[0]], ["y"])],
        "small",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("x", "skip")],
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", "sequence", "last"])
            for n in ("y", *filter(None, outputs[1:]))
        ],
        [numpy_helper.from_array(w, n) for n, w in weights.items() if n in given],
    )
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    save(helper.make_model(graph, opset_imports=domains, ir_version=9), path)
    return path


@pytest.mark.torch  # and onnx
@pytest.mark.parametrize(
    "given", [["gamma"], ["gamma", "beta"], ["gamma", "beta", "bias"], ["gamma", "", "bias"]]
)
@pytest.mark.parametrize("outputs", [["h"], ["h", "", "", "total"]])
def test_the_sum_the_bias_and_the_epsilon_are_kept(
    outputs: list[str], given: list[str], tmp_path: Path
) -> None:
    onnx = pytest.importorskip("onnx")
    path = drawn(tmp_path / "m.onnx", outputs, given)
    made = quicker(path)
    assert made is not None
    model = onnx.load_from_string(made)
    onnx.checker.check_model(model)
    assert [n.op_type for n in model.graph.node] == ["Sum", "LayerNormalization", "Relu"]
    draw = np.random.default_rng(2)
    feeds = {n: draw.normal(size=(2, 3, WIDTH)).astype(np.float32) for n in ("x", "skip")}
    ours, theirs = plain(made).run(None, feeds), plain(str(path)).run(None, feeds)
    for one, other in zip(ours, theirs, strict=True):
        assert np.abs(one - other).max() < 1e-5


@pytest.mark.torch
@pytest.mark.parametrize("outputs", [["h", "mean"], ["h", "", "deviation"]])
def test_a_node_whose_mean_or_deviation_is_named_stays(outputs: list[str], tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    path = drawn(tmp_path / "m.onnx", outputs, ["gamma", "beta"])
    made = quicker(path)
    assert made is not None
    assert onnx.load_from_string(made) == onnx.load(path)


def test_what_cannot_be_read_so_is_left_to_onnx_runtime(tmp_path: Path) -> None:
    whole = (EMBEDDED / "all-MiniLM-L6-v2" / "model.onnx").read_bytes()
    assert quicker(EMBEDDED / "efficientnet-lite0" / "model.onnx") is None
    assert quicker(tmp_path / "none.onnx") is None
    at = whole.index(NAME)
    for number, broken in enumerate(
        [b"", NAME, whole[: at + 40], b"\xff" * 40 + NAME, whole[: at + 3] + whole[at + 4 :]]
    ):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(broken)
        assert quicker(path) is None
