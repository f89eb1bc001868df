"""Weights turned and rounded: against what they were before, in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf_files
import numpy as np
import pytest
from gguf_files import F32, GROUPS, HEAD, INNER, WIDTH

from veridical.models.causal.int8_weights import Matrix, TurnedWeights, hadamard, turned
from veridical.models.gguf import Gguf

VOCABULARY = len(gguf_files.metadata("llama")["tokenizer.ggml.tokens"])


def weights(path: Path, kind: str = "llama", **changes: Any) -> TurnedWeights:
    return TurnedWeights(Gguf(gguf_files.save(path, kind, packing=F32, **changes)))


@pytest.mark.parametrize("length", [1, 2, 7, 64, 96, 128, 160, 576, 896])
def test_turning_keeps_lengths_and_is_its_own_inverse(length: int) -> None:
    vectors = np.random.default_rng(0).standard_normal((3, length)).astype(np.float32)
    there = turned(vectors)
    np.testing.assert_allclose(turned(there), vectors, atol=1e-5)
    sizes = np.linalg.norm(there, axis=1)
    np.testing.assert_allclose(sizes, np.linalg.norm(vectors, axis=1), rtol=1e-5)
    np.testing.assert_allclose(turned(vectors.T, axis=0), there.T, atol=1e-6)


def test_what_is_large_is_spread() -> None:
    spike = np.zeros((1, 896), np.float32)
    spike[0, 5] = 1000
    assert np.abs(turned(spike)).max() < 1000 * 2 / np.sqrt(896)
    signs = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]
    np.testing.assert_allclose(hadamard(4) * 2, signs)


def whole(matrix: Matrix) -> Any:
    """(outputs, inputs) numbers."""
    assert matrix.integers.dtype == np.int8 and np.abs(matrix.integers.astype(int)).max() == 127
    return (matrix.integers * matrix.scales).T.astype(np.float64)


def near(found: Any, expected: Any) -> None:
    """Within half a step of a row's own 127."""
    steps = np.abs(found).max(axis=1, keepdims=True) / 127
    assert (np.abs(found - expected) <= 0.51 * steps).all()


def test_a_layer_is_what_it_was(tmp_path: Path) -> None:
    made = gguf_files.weights("qwen2", VOCABULARY)
    layer = weights(tmp_path / "m.gguf", "qwen2").layer(1)
    w = {k.removeprefix("blk.1.").removesuffix(".weight"): v for k, v in made.items()}
    normed = w["attn_norm"]
    packed = whole(layer.packed)
    queries = len(w["attn_q"])
    near(packed[:queries], turned(w["attn_q"] * normed))
    near(packed[queries : queries + GROUPS * HEAD], turned(w["attn_k"] * normed))
    values = turned(w["attn_v"] * normed).reshape(GROUPS, HEAD, WIDTH)
    near(packed[-GROUPS * HEAD :], turned(values, axis=1).reshape(-1, WIDTH))
    bias = w["attn_v.bias"].reshape(GROUPS, HEAD)
    np.testing.assert_allclose(layer.bias[-GROUPS * HEAD :], turned(bias).ravel(), atol=1e-5)
    np.testing.assert_allclose(layer.bias[:queries], w["attn_q.bias"], atol=1e-6)
    near(whole(layer.gate), turned(w["ffn_gate"] * w["ffn_norm"]))
    near(whole(layer.up), turned(w["ffn_up"] * w["ffn_norm"]))
    heads = turned(w["attn_output"].reshape(WIDTH, -1, HEAD)).reshape(WIDTH, -1)
    near(whole(layer.attended), turned(heads, axis=0))
    blocks = turned(w["ffn_down"].reshape(WIDTH, -1, 32)).reshape(WIDTH, INNER)  # 32 divides 160
    near(whole(layer.down), turned(blocks, axis=0))


def test_ends(tmp_path: Path) -> None:
    made = gguf_files.weights("llama", VOCABULARY)
    ours = weights(tmp_path / "m.gguf")
    ids = np.array([3, 1, 3])
    np.testing.assert_allclose(turned(ours.vectors(ids)), made["token_embd.weight"][ids], atol=1e-4)
    near(whole(ours.output()), turned(made["output.weight"] * made["output_norm.weight"]))
    tied = weights(tmp_path / "tied.gguf", without=("output.weight",))
    near(whole(tied.output()), turned(made["token_embd.weight"] * made["output_norm.weight"]))
    matrices = sum(v.size for k, v in made.items() if k != "token_embd.weight")
    assert ours.size == matrices == tied.size
    states = np.random.default_rng(0).standard_normal((3, WIDTH)).astype(np.float32)
    back = ours.turned_back(turned(states))
    np.testing.assert_allclose(back[:2], states[:2], atol=1e-5)
    size = np.sqrt((states[2] ** 2).mean() + 1e-5)
    np.testing.assert_allclose(back[2], states[2] / size * made["output_norm.weight"], atol=1e-4)
    nothing = {"output.weight": np.zeros((VOCABULARY, WIDTH))}
    zeros = weights(tmp_path / "zeros.gguf", extra=nothing)
    assert not zeros.output().integers.any() and np.isfinite(zeros.output().scales).all()


def test_angles(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    cosines, sines = weights(path).angles()
    speed = 1000.0 ** (-2 * 3 / HEAD)
    assert cosines.shape == (gguf_files.CONTEXT, HEAD // 2)
    assert cosines[7, 3] == pytest.approx(np.cos(7 * speed), abs=1e-6)
    assert sines[7, 3] == pytest.approx(np.sin(7 * speed), abs=1e-6)
    linear = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
    assert weights(path, **linear).angles()[0][7, 3] == pytest.approx(np.cos(7 * speed / 4))
    slower = {"rope_freqs.weight": np.arange(1, HEAD // 2 + 1)}
    assert weights(path, extra=slower).angles()[0][7, 3] == pytest.approx(np.cos(7 * speed / 4))
    near_only = weights(tmp_path / "near.gguf", **{"llama.attention.sliding_window": 50})
    assert near_only.shape.context == 50
