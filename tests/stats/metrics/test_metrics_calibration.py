"""Calibration against scikit-learn and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics as skm
from sklearn.calibration import calibration_curve

from veridical.arrays import Floats
from veridical.stats.metrics.calibration import (
    EPSILON,
    accuracy_at,
    brier,
    ece,
    histogram,
    log_loss,
    mce,
    reliability,
    risk_coverage,
)


@pytest.fixture
def sample() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    risk = rng.beta(0.7, 1.5, 900)
    return (rng.random(900) < np.sqrt(risk)).astype(np.float64), risk


def test_scores_are_those_of_scikit_learn(sample: tuple[Floats, Floats]) -> None:
    truth, risk = sample
    assert brier(truth, risk) == pytest.approx(skm.brier_score_loss(truth, risk))
    assert log_loss(truth, risk) == pytest.approx(skm.log_loss(truth, risk))
    sure = np.round(risk)
    assert log_loss(truth, sure) == pytest.approx(skm.log_loss(truth, sure))
    assert log_loss(np.array([1.0]), np.array([0.0])) == pytest.approx(-np.log(EPSILON))
    assert log_loss(np.array([0.0]), np.array([1.0])) == pytest.approx(-np.log(EPSILON))
    assert log_loss(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == pytest.approx(0, abs=1e-15)


def test_errors_are_those_of_the_bins_of_scikit_learn(sample: tuple[Floats, Floats]) -> None:
    truth, risk = sample
    rate, mean = calibration_curve(truth, risk, n_bins=10, strategy="uniform")
    n, _ = np.histogram(risk, bins=10, range=(0, 1))
    assert (n > 0).all()
    assert ece(truth, risk) == pytest.approx(np.sum(n * np.abs(rate - mean)) / 900)
    assert mce(truth, risk) == pytest.approx(np.abs(rate - mean).max())
    found = reliability(truth, risk)
    assert [b.n for b in found] == n.tolist()
    assert [b.mean for b in found] == pytest.approx(mean)
    assert [b.rate for b in found] == pytest.approx(rate)


def test_bins_by_hand() -> None:
    """0.3 opens its bin although 0.1 * 3 is above it; 1 is in the last; others are empty."""
    risk = np.array([0.0, 0.05, 0.3, 0.7, 0.95, 1.0])
    truth = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    found = reliability(truth, risk)
    assert [b.n for b in found] == [2, 0, 0, 1, 0, 0, 0, 1, 0, 2]
    assert (found[3].low, found[3].high) == (0.3, 0.4)
    assert found[1].mean is None and found[1].rate is None
    gaps = [2 * (0.5 - 0.025), 0.3, 0.3, 2 * (0.975 - 0.5)]
    assert ece(truth, risk) == pytest.approx(sum(gaps) / 6)
    assert mce(truth, risk) == pytest.approx(0.475)
    assert ece(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0


def test_risk_coverage_by_hand() -> None:
    truth = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    score = np.array([0.9, 0.1, 0.2, 0.2, 0.5])
    points = risk_coverage(truth, score)
    expected = [(0.2, 0.0), (0.6, 1 / 3), (0.8, 2 / 4), (1.0, 3 / 5)]
    np.testing.assert_allclose(points, expected)
    assert risk_coverage(truth, np.zeros(5)) == [(1.0, 0.6)]
    assert risk_coverage(np.empty(0), np.empty(0)) == []


def test_long_risk_coverage_curves_are_thinned(sample: tuple[Floats, Floats]) -> None:
    truth, risk = sample
    order = np.argsort(risk)
    shares = np.cumsum(truth[order]) / np.arange(1, 901)
    points = np.array(risk_coverage(truth, risk))
    assert len(points) <= 200
    drawn = np.interp(np.arange(1, 901) / 900, points[:, 0], points[:, 1])
    assert np.abs(drawn - shares)[10:].max() < 0.02


def test_a_confidence_at_the_threshold_passes() -> None:
    risk = np.array([1 - k / 10 for k in range(11)])  # one of them is 0.30000000000000004
    shares = {round(tau, 2): share for tau, _, share in accuracy_at(np.zeros(11), risk)}
    for k in range(11):
        assert shares[round(1 - k / 10, 2)] == pytest.approx((11 - k) / 11)


def test_accuracy_at_each_threshold(sample: tuple[Floats, Floats]) -> None:
    truth, risk = sample
    risk = np.round(risk, 2) / 2 + 0.25  # many on the thresholds, none below 0.25
    points = accuracy_at(truth, risk)
    assert points[0][0] == 0.26 and points[-1] == (1.0, pytest.approx(1 - truth.mean()), 1.0)
    for tau, accuracy, share in points:
        kept = np.rint(1000 * risk) <= round(1000 * tau)  # thousandths, free of rounding
        assert share == pytest.approx(kept.mean())
        assert accuracy == pytest.approx((truth[kept] == 0).mean())
    assert accuracy_at(np.empty(0), np.empty(0)) == []


def test_histogram_counts_both_kinds(sample: tuple[Floats, Floats]) -> None:
    truth, risk = sample
    found = histogram(truth, risk)
    assert len(found.edges) == 21 and found.edges[0] == 0 and found.edges[-1] == 1
    for counts, own in ((found.positive, truth == 1), (found.negative, truth == 0)):
        assert counts == np.histogram(risk[own], bins=20, range=(0, 1))[0].tolist()
    edge = histogram(np.array([1.0, 0.0]), np.array([1.0, 0.15]))
    assert edge.positive[19] == 1 and edge.negative[3] == 1
    assert sum(histogram(np.empty(0), np.empty(0)).positive) == 0


@pytest.mark.filterwarnings("error")
def test_plots_of_broken_risks() -> None:
    truth, broken, high = np.array([0.0, 1.0]), np.array([0.5, np.nan]), np.array([0.5, 1.01])
    assert reliability(truth, broken) == risk_coverage(truth, broken) == []
    assert accuracy_at(truth, broken) == []
    assert sum(histogram(truth, broken).negative) == 0
    for plot in (reliability, histogram):
        with pytest.raises(ValueError, match=r"risk\[1\] = 1.01"):
            plot(truth, high)
