"""What the graphs of a model compute, by processors of either kind."""

from __future__ import annotations

from pathlib import Path

import gguf_files
import numpy as np
import pytest

from veridical.models.causal import int8
from veridical.models.causal.int8 import Int8Model
from veridical.models.causal.int8_weights import TurnedWeights
from veridical.models.gguf import Gguf
from veridical.models.onnx_graph import multiplies_exactly

IDS = np.random.default_rng(1).integers(4, 300, 60)


def test_it_is_found_out_whether_products_are_exact() -> None:
    assert isinstance(multiplies_exactly(), bool)


@pytest.mark.parametrize("exact", [True, False])
def test_both_ways_of_multiplying_are_the_same(
    exact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if exact and not multiplies_exactly():
        pytest.skip("this processor cuts sums of products")
    weights = TurnedWeights(Gguf(gguf_files.save(tmp_path / "m.gguf")))
    tables = []
    for way in (exact, False):
        monkeypatch.setattr(int8, "multiplies_exactly", lambda _, way=way: way)
        model = Int8Model(weights, 1, 20)
        after, _, _ = model.read(weights.vectors(IDS), model.nothing)
        tables.append(model.measured(after[:-1], IDS[1:]))
    np.testing.assert_allclose(*tables, atol=1e-5)


def test_rounding_twice_is_finer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = TurnedWeights(Gguf(gguf_files.save(tmp_path / "m.gguf", packing=gguf_files.F32)))
    logs, _ = gguf_files.reference("llama", IDS.tolist(), packing=gguf_files.F32)
    expected = logs[np.arange(len(IDS) - 1), IDS[1:]]
    found = {}
    for first in (0, 16, len(IDS)):
        monkeypatch.setattr(int8, "_TOKENS_ROUNDED_TWICE", first)
        model = Int8Model(weights, 1, 20)
        after, _, _ = model.read(weights.vectors(IDS), model.nothing)
        found[first] = model.measured(after[:-1], IDS[1:])[:, 0]
    np.testing.assert_allclose(found[16][:15], found[len(IDS)][:15], atol=1e-5)
    assert (np.abs(found[16] - found[0])[1:] > 1e-4).any()
    # what is left is the rounding of the weights
    once, twice = (np.abs(found[n] - expected).mean() for n in (0, len(IDS)))
    assert twice < 0.9 * once


def test_most_alternatives_are_the_vocabulary(tmp_path: Path) -> None:
    weights = TurnedWeights(Gguf(gguf_files.save(tmp_path / "m.gguf")))
    model = Int8Model(weights, 1, 1 << 20)
    assert model.top == weights.shape.vocabulary
    after, states, present = model.read(weights.vectors(IDS[:5]), model.nothing)
    table = model.measured(after, IDS[1:6])
    top, ids = np.split(table[:, 3:], 2, axis=1)
    np.testing.assert_allclose(np.exp(top).sum(axis=1), 1, atol=1e-4)
    np.testing.assert_array_equal(np.sort(ids, axis=1), [np.arange(model.top)] * 5)
    assert (table[:, 2] == top[:, -1]).all() and states.shape == weights_states(weights)
    assert present[0].shape == (1, gguf_files.GROUPS, 5, gguf_files.HEAD)
    assert model.measured(after[:0], IDS[:0]).shape == (0, 3 + 2 * model.top)


def weights_states(weights: TurnedWeights) -> tuple[int, int]:
    return weights.shape.layers + 1, weights.shape.width
