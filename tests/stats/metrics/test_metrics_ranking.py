"""Areas and curves against scikit-learn, the definition spelt out, and figures by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sklearn.metrics as skm
from hypothesis import given
from hypothesis import strategies as st

from veridical.arrays import Floats
from veridical.stats.metrics.ranking import (
    auroc,
    average_precision,
    pr_curve,
    prr,
    roc_curve,
    thinned,
    trapezoid_pr,
)


def published_area(truth: Floats, score: Floats) -> float:
    precision, recall, _ = skm.precision_recall_curve(truth, score)
    return float(skm.auc(recall, precision))


BINARY_CASE = st.integers(1, 20).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0.0, 1.0]), min_size=n + 2, max_size=n + 2).filter(
            lambda y: 0 < sum(y) < len(y)
        ),
        st.lists(st.sampled_from([-1.5, 0.0, 0.1, 0.3, 2.0]), min_size=n + 2, max_size=n + 2),
    )
)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (average_precision, skm.average_precision_score),
        (trapezoid_pr, published_area),
        (auroc, skm.roc_auc_score),
    ],
)
@given(case=BINARY_CASE)
def test_areas_are_those_of_scikit_learn(ours, theirs, case) -> None:  # type: ignore[no-untyped-def]
    truth, score = map(np.array, case)
    assert ours(truth, score) == pytest.approx(theirs(truth, score), abs=1e-12)


@pytest.mark.parametrize("levels", [1, 2, 10, 10**9])
@pytest.mark.parametrize("prevalence", [0.02, 0.5, 0.9])
def test_areas_on_larger_samples(levels: int, prevalence: float) -> None:
    rng = np.random.default_rng(levels)
    truth = (rng.random(2000) < prevalence).astype(np.float64)
    score = np.floor((truth / 4 + rng.random(2000)) * levels)
    assert average_precision(truth, score) == pytest.approx(
        skm.average_precision_score(truth, score), abs=1e-12
    )
    assert trapezoid_pr(truth, score) == pytest.approx(published_area(truth, score), abs=1e-12)
    assert auroc(truth, score) == pytest.approx(skm.roc_auc_score(truth, score), abs=1e-12)


def test_fractional_weights_are_sample_weights() -> None:
    rng = np.random.default_rng(7)
    truth = (rng.random(300) < 0.4).astype(np.float64)
    score = np.round(truth / 3 + rng.random(300), 1)
    weights = rng.random((3, 300))
    for row in range(3):
        w = weights[row]
        assert average_precision(truth, score, weights)[row] == pytest.approx(
            skm.average_precision_score(truth, score, sample_weight=w)
        )
        assert auroc(truth, score, weights)[row] == pytest.approx(
            skm.roc_auc_score(truth, score, sample_weight=w)
        )


def test_a_constant_score_is_rewarded_by_the_trapezoid_only() -> None:
    """WikiBio's sentences: 1 392 of 1 908 are not factual; 86.48 for a constant (published way)."""
    truth = np.repeat([1.0, 0.0], [1392, 516])
    constant = np.full(1908, 0.3)
    assert trapezoid_pr(truth, constant) == pytest.approx((1392 / 1908 + 1) / 2)
    assert trapezoid_pr(truth, constant) == pytest.approx(0.8648, abs=5e-5)
    assert average_precision(truth, constant) == pytest.approx(1392 / 1908)
    assert auroc(truth, constant) == 0.5
    assert prr(truth, constant) == pytest.approx(0.0, abs=1e-12)


def test_ratio_by_hand() -> None:
    """Least risky first the truth is 0 1 0 1, so 1, 1/2, 2/3, 1/2 of those kept are right.

    Mean 2/3, random 1/2, oracle (1 + 1 + 2/3 + 1/2) / 4 = 19/24: (1/6) / (7/24) = 4/7.
    """
    truth = np.array([1.0, 0.0, 1.0, 0.0])
    assert prr(truth, np.array([0.9, 0.5, 0.2, 0.1])) == pytest.approx(4 / 7)
    assert prr(truth, truth) == pytest.approx(1.0)
    # upside down: (0 + 0 + 1/3 + 1/2) / 4 = 5/24
    assert prr(truth, -truth) == pytest.approx((5 / 24 - 12 / 24) / (7 / 24))


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.1, 0.5, 0.9])),
        min_size=2,
        max_size=6,
    ).filter(lambda items: 0 < sum(y for y, _ in items) < len(items))
)
def test_ratio_is_the_mean_over_the_orders_of_ties(items: list[tuple[float, float]]) -> None:
    def area(order: tuple[tuple[float, float], ...]) -> float:
        right = np.array([1 - y for y, _ in order])
        return float(np.mean(np.cumsum(right) / np.arange(1, len(right) + 1)))

    truth, score = map(np.array, zip(*items, strict=True))
    orders = list(itertools.permutations(items))
    random = np.mean([area(o) for o in orders])
    oracle = max(area(o) for o in orders)
    own = np.mean([area(o) for o in orders if all(a[1] <= b[1] for a, b in itertools.pairwise(o))])
    assert prr(truth, score) == pytest.approx((own - random) / (oracle - random), abs=1e-9)


def test_curves_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(8)
    truth = (rng.random(40) < 0.5).astype(np.float64)
    score = rng.integers(0, 12, 40) / 12
    precision, recall, _ = skm.precision_recall_curve(truth, score)
    np.testing.assert_allclose(pr_curve(truth, score), np.stack([recall, precision], 1)[::-1])
    fpr, tpr, _ = skm.roc_curve(truth, score, drop_intermediate=False)
    np.testing.assert_allclose(roc_curve(truth, score), np.stack([fpr, tpr], 1))


def test_thinned_curves_keep_their_area() -> None:
    rng = np.random.default_rng(9)
    truth = (rng.random(20_000) < 0.3).astype(np.float64)
    score = truth + rng.normal(size=20_000)
    for points, area in (
        (pr_curve(truth, score), trapezoid_pr(truth, score)),
        (roc_curve(truth, score), auroc(truth, score)),
    ):
        assert 20 < len(points) <= 200
        x, y = np.array(points).T
        assert (np.diff(x) >= 0).all() and x[0] == 0 and x[-1] == 1
        assert skm.auc(x, y) == pytest.approx(area, abs=1e-3)


def test_thinning_leaves_no_point_far_from_the_line() -> None:
    x = np.linspace(0, 1, 5000)
    y = np.sin(6 * x)
    points = np.array(thinned(x, y))
    assert len(points) <= 200
    assert np.abs(np.interp(x, points[:, 0], points[:, 1]) - y).max() < 0.01
    corner = np.concatenate([np.zeros(500), np.linspace(0, 1, 500)])
    up = np.concatenate([np.linspace(0, 1, 500), np.ones(500)])
    assert thinned(corner, up) == [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
    assert len(thinned(x, np.arange(5000) % 2 * 1.0)) <= 200  # however jagged
    assert thinned(x[:3], y[:3]) == list(zip(x[:3], y[:3], strict=True))


@pytest.mark.filterwarnings("error")
def test_curves_of_nothing() -> None:
    empty, ones, zeros = np.empty(0), np.ones(3), np.zeros(3)
    score, broken = np.array([0.1, 0.2, 0.3]), np.array([0.1, np.nan, 0.3])
    for curve in (pr_curve, roc_curve):
        assert curve(empty, empty) == curve(zeros, score) == curve(np.eye(3)[0], broken) == []
    assert roc_curve(ones, score) == []
    assert pr_curve(ones, score)[-1] == (1.0, 1.0)
    assert roc_curve(np.eye(3)[0], zeros) == [(0.0, 0.0), (1.0, 1.0)]
