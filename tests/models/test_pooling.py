"""Pooling and joining against values worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.core.protocols import Window
from veridical.models.pooling import Dense, Ids, Output, join, join_vectors, l2, pool

#: One row of three tokens and one padding token that must never count.
HIDDEN = np.array([[[1, 0], [2, 4], [6, 2], [99, -99]]], dtype=np.float32)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("cls", [1, 0]),
        ("max", [6, 4]),
        ("mean", [3, 2]),
        ("mean_sqrt_len_tokens", [9 / 3**0.5, 6 / 3**0.5]),
        ("weightedmean", [(1 + 4 + 18) / 6, (8 + 6) / 6]),
        ("lasttoken", [6, 2]),
    ],
)
def test_each_mode_by_hand(mode: str, expected: list[float]) -> None:
    np.testing.assert_allclose(pool(HIDDEN, [mode], [3], [0]), [expected], rtol=1e-6)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("mean", [4, 3]), ("max", [6, 4]), ("weightedmean", [(4 + 18) / 5, (8 + 6) / 5])],
)
def test_an_excluded_prefix_takes_no_part(mode: str, expected: list[float]) -> None:
    np.testing.assert_allclose(pool(HIDDEN, [mode], [3], [1]), [expected], rtol=1e-6)


def test_several_modes_are_concatenated_in_order() -> None:
    assert pool(HIDDEN, ["lasttoken", "max"], [3], [0]).tolist() == [[6, 2, 6, 4]]


def test_dense_heads() -> None:
    weight = np.array([[1, 0], [0, 2], [1, 1]], dtype=np.float32)
    bias = np.array([0, -5, 0], dtype=np.float32)
    x = np.array([[3, 2]], dtype=np.float32)
    assert Dense(weight, None, "Identity")(x).tolist() == [[3, 4, 5]]
    assert Dense(weight, bias, "ReLU")(x).tolist() == [[3, 0, 5]]
    np.testing.assert_allclose(Dense(weight, bias, "Tanh")(x), np.tanh([[3, -1, 5]]), rtol=1e-6)
    expected = 1 / (1 + np.exp([[-3.0, 1.0, -5.0]]))
    np.testing.assert_allclose(Dense(weight, bias, "Sigmoid")(x), expected, rtol=1e-6)


def test_l2_leaves_zero_alone() -> None:
    found = l2(np.array([[3, 4], [0, 0]], dtype=np.float32))
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]], rtol=1e-6)


def window(ids: list[int], overlap: int = 0) -> Window:
    return Window(len(ids), Ids(np.array(ids), 1, 1), overlap)


def test_windows_weigh_by_the_tokens_they_add() -> None:
    windows = [window([0, 5, 6, 1]), window([0, 6, 7, 1], overlap=1)]
    vectors = [np.array([1, 0], np.float32), np.array([0, 1], np.float32)]
    np.testing.assert_allclose(join_vectors(windows, vectors), [0.8, 0.6], rtol=1e-6)


def test_overlaps_are_split_between_their_windows() -> None:
    """Tokens 10..17 in windows 10-14 and 12-17: of 12, 13, 14 the first comes from the second."""
    windows = [window([0, 10, 11, 12, 13, 14, 1]), window([0, 12, 13, 14, 15, 16, 17, 1], 3)]
    outputs = []
    for k, w in enumerate(windows):
        rows = np.stack([np.eye(40)[i] * 3 + np.eye(40)[30 + k] * 4 for i in w.content.ids])
        outputs.append(Output(np.ones(2, np.float32), rows.astype(np.float32)))
    found = join(windows, outputs, tokens=True)
    assert found.token_ids is not None and found.content is not None and found.tokens is not None
    assert found.token_ids.tolist() == [0, 10, 11, 12, 13, 14, 15, 16, 17, 1]
    assert found.content.tolist() == [False] + [True] * 8 + [False]
    came_from = found.tokens[:, 30:32].argmax(axis=1).tolist()
    assert came_from == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    np.testing.assert_allclose(found.tokens.max(axis=1), 0.8, rtol=1e-6)


def test_tokens_must_have_been_asked_for() -> None:
    with pytest.raises(ValueError, match="run without tokens"):
        join([window([0, 1])], [Output(np.ones(2, np.float32))], tokens=True)
