"""Figures of predicted labels against scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.metrics as skm
from hypothesis import given
from hypothesis import strategies as st

from veridical.stats.metrics import classification as ours

Pairs = list[tuple[int, int]]


def pairs(classes: int) -> st.SearchStrategy[Pairs]:
    label = st.integers(0, classes - 1)
    return st.lists(st.tuples(label, label), min_size=1, max_size=25)


def sides(items: Pairs) -> tuple[Any, Any]:
    truth, predicted = map(np.array, zip(*items, strict=True))
    return truth, predicted


def quiet(function: Any, *arguments: Any, **settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **settings)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize(
    ("name", "theirs", "settings"),
    [
        ("accuracy", skm.accuracy_score, {}),
        ("balanced_accuracy", skm.balanced_accuracy_score, {}),
        ("macro_f1", skm.f1_score, {"average": "macro", "zero_division": 0}),
        ("weighted_f1", skm.f1_score, {"average": "weighted", "zero_division": 0}),
        ("weighted_recall", skm.recall_score, {"average": "weighted", "zero_division": 0}),
        ("weighted_precision", skm.precision_score, {"average": "weighted", "zero_division": 0}),
    ],
)
@given(data=st.data())
def test_figures_are_those_of_scikit_learn(
    name: str, theirs: Any, settings: dict[str, Any], classes: int, data: st.DataObject
) -> None:
    truth, predicted = sides(data.draw(pairs(classes)))
    value = getattr(ours, name)(ours.counts(truth, predicted, classes))
    assert value == pytest.approx(quiet(theirs, truth, predicted, **settings), abs=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 5])
@given(data=st.data())
def test_mcc(classes: int, data: st.DataObject) -> None:
    truth, predicted = sides(data.draw(pairs(classes)))
    value = ours.mcc(ours.counts(truth, predicted, classes))
    if len(set(truth)) == 1:
        assert np.isnan(value)
    else:
        expected = quiet(skm.matthews_corrcoef, truth, predicted)
        assert value == pytest.approx(expected, abs=1e-12)


@given(pairs(2), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_positive_class(items: Pairs, beta: float) -> None:
    truth, predicted = sides(items)
    table = ours.counts(truth, predicted, 2)
    found = ours.precision(table), ours.recall(table), ours.f1(table), ours.f_beta(table, beta)
    if not truth.any() and not predicted.any():
        assert np.isnan(found).all()
        return
    expected = (
        skm.precision_score(truth, predicted, zero_division=0),
        skm.recall_score(truth, predicted, zero_division=0),
        skm.f1_score(truth, predicted, zero_division=0),
        skm.fbeta_score(truth, predicted, beta=beta, zero_division=0),
    )
    assert found == pytest.approx(expected, abs=1e-12)


@given(pairs(4))
def test_figures_by_class(items: Pairs) -> None:
    truth, predicted = sides(items)
    table = ours.counts(truth, predicted, 4)
    p, r, f, _ = skm.precision_recall_fscore_support(
        truth, predicted, labels=range(4), zero_division=0
    )
    absent = [c not in truth and c not in predicted for c in range(4)]
    for found, expected in (
        (ours.per_class_precision(table), p),
        (ours.per_class_recall(table), r),
        (ours.per_class_f1(table), f),
    ):
        np.testing.assert_allclose(found, np.where(absent, np.nan, expected), atol=1e-12)


def test_counts_are_a_confusion_matrix() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    expected = skm.confusion_matrix(truth, predicted)
    np.testing.assert_array_equal(ours.counts(truth.astype(float), predicted, 3), expected)
    weights = rng.random((5, 200))
    table = ours.counts(truth, predicted, 3, weights)
    assert table.shape == (5, 3, 3)
    for row in range(5):
        np.testing.assert_allclose(
            table[row], skm.confusion_matrix(truth, predicted, sample_weight=weights[row])
        )
    assert ours.per_class_f1(table).shape == (5, 3)


def test_by_hand() -> None:
    """Of 10 targets 4 are positive; 5 predicted so, 3 of them rightly."""
    table = np.array([[4.0, 2.0], [1.0, 3.0]])
    assert ours.accuracy(table) == pytest.approx(0.7)
    assert ours.precision(table) == pytest.approx(3 / 5)
    assert ours.recall(table) == pytest.approx(3 / 4)
    assert ours.f1(table) == pytest.approx(2 / 3)
    assert ours.balanced_accuracy(table) == pytest.approx((4 / 6 + 3 / 4) / 2)
    assert ours.mcc(table) == pytest.approx((4 * 3 - 2 * 1) / np.sqrt(5 * 4 * 6 * 5))


def test_labels_that_are_no_classes() -> None:
    with pytest.raises(ValueError, match=r"truth\[2\] = 0.5 is not a class index 0 .. 2"):
        ours.counts(np.array([0, 1, 0.5]), np.array([0, 1, 2]), 3)
    with pytest.raises(ValueError, match=r"predicted\[0\] = 3"):
        ours.counts(np.array([0]), np.array([3]), 3)
    with pytest.raises(ValueError, match=r"truth\[0\] = nan"):
        ours.counts(np.array([np.nan]), np.array([1]), 2)
    with pytest.raises(ValueError, match="1 true classes, but 2 predicted"):
        ours.counts(np.array([0]), np.array([1, 0]), 2)
