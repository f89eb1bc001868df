"""Correlations against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from veridical.stats.metrics.correlation import kendall, pearson, spearman

METRICS = [
    (pearson, scipy.stats.pearsonr),
    (spearman, scipy.stats.spearmanr),
    (kendall, scipy.stats.kendalltau),
]
PAIRS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])),
    min_size=2,
    max_size=40,
).filter(lambda items: all(len(set(side)) > 1 for side in zip(*items, strict=True)))


@pytest.mark.parametrize(("ours", "theirs"), METRICS)
@given(items=PAIRS)
def test_correlations_are_those_of_scipy(ours, theirs, items) -> None:  # type: ignore[no-untyped-def]
    x, y = map(np.array, zip(*items, strict=True))
    assert ours(x, y) == pytest.approx(theirs(x, y).statistic, abs=1e-9)
    assert ours(y, x) == pytest.approx(ours(x, y), abs=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), METRICS)
@pytest.mark.parametrize("levels", [2, 5, 64, 65, 10**6])
def test_weights_are_repetitions_at_any_number_of_levels(ours, theirs, levels) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(levels)
    x = rng.integers(0, levels, 700).astype(np.float64)
    y = x + rng.normal(size=700) * levels / 2
    weights = rng.multinomial(700, np.full(700, 1 / 700), size=3).astype(np.float64)
    for row, value in enumerate(ours(x, y, weights)):
        times = weights[row].astype(int)
        expected = theirs(np.repeat(x, times), np.repeat(y, times)).statistic
        assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("ours", "theirs"), METRICS)
def test_a_large_sample(ours, theirs) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(11)
    x = rng.normal(size=30_000)
    y = x + rng.normal(size=30_000)
    assert ours(x, y) == pytest.approx(theirs(x, y).statistic, abs=1e-10)


def test_fractional_weights_of_tau() -> None:
    """The definition over all pairs, spelt out."""
    rng = np.random.default_rng(12)
    x, y, w = rng.integers(0, 5, 30), rng.integers(0, 5, 30), rng.random(30)
    sx, sy = np.sign(np.subtract.outer(x, x)), np.sign(np.subtract.outer(y, y))
    pairs = np.outer(w, w)
    expected = (pairs * sx * sy).sum() / np.sqrt((pairs * sx**2).sum() * (pairs * sy**2).sum())
    found = kendall(x.astype(float), y.astype(float), w[None])
    assert found[0] == pytest.approx(expected, abs=1e-12)


def test_pearson_keeps_its_digits() -> None:
    """Far from zero, on any scale, and in a resample of nearly equal values."""
    rng = np.random.default_rng(13)
    x = rng.normal(size=500)
    y = x + rng.normal(size=500)
    expected = scipy.stats.pearsonr(x, y).statistic
    assert pearson(1e6 + x, y * 1e-200) == pytest.approx(expected, abs=1e-8)
    assert pearson(x * 1e300, -y) == pytest.approx(-expected, abs=1e-12)
    close = np.append(1 + 1e-6 * x, 1e3)
    weights = np.append(np.ones(500), 0.0)[None]
    assert pearson(close, np.append(y, 0.0), weights)[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.filterwarnings("error")
def test_infinite_scores_have_ranks_but_no_moments() -> None:
    truth, score = np.array([0.0, 0.5, 1.0, 0.7]), np.array([-np.inf, 0.0, np.inf, np.inf])
    assert np.isnan(pearson(truth, score))
    finite = np.array([-1.0, 0.0, 1.0, 1.0])
    assert spearman(truth, score) == pytest.approx(scipy.stats.spearmanr(truth, finite).statistic)
    assert kendall(truth, score) == pytest.approx(scipy.stats.kendalltau(truth, finite).statistic)
