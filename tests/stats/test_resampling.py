"""The cluster bootstrap, against the analytic error of a mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.arrays import Floats
from veridical.stats.resampling import Resampler, interval


def weights(groups: list[int] | np.ndarray, replicates: int, seed: int = 0) -> Floats:
    return np.concatenate(list(Resampler(np.asarray(groups), replicates, seed).chunks()))


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=40).filter(lambda g: len(set(g)) > 1))
def test_whole_groups_are_drawn_as_many_as_there_are(groups: list[int]) -> None:
    w = weights(groups, 30)
    assert w.shape == (30, len(groups))
    firsts = [groups.index(g) for g in set(groups)]
    assert (w[:, firsts].sum(axis=1) == len(firsts)).all()
    for i, g in enumerate(groups):
        assert (w[:, i] == w[:, groups.index(g)]).all()


def test_each_group_is_drawn_once_on_average_and_like_a_binomial() -> None:
    w = weights(np.arange(10), 20000)
    assert w.mean(axis=0) == pytest.approx(np.ones(10), abs=0.04)
    # Count of one of 10 units among 10 draws: variance 10 * 0.1 * 0.9.
    assert w.var(axis=0) == pytest.approx(np.full(10, 0.9), rel=0.06)
    assert np.corrcoef(w[:, 0], w[:, 1])[0, 1] == pytest.approx(-1 / 9, abs=0.03)


def test_same_seed_same_draws_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = np.arange(200) // 3
    resampler = Resampler(groups, 50, 7)
    first = np.concatenate(list(resampler.chunks()))
    assert (first == np.concatenate(list(resampler.chunks()))).all()
    assert (first == weights(groups, 50, 7)).all()
    assert not (first == weights(groups, 50, 8)).all()
    monkeypatch.setattr("veridical.stats.resampling._CHUNK", 1000)
    assert [len(c) for c in Resampler(groups, 12, 7).chunks()] == [5, 5, 2]
    assert (first == weights(groups, 50, 7)).all()


def test_chunks_are_bounded_in_memory() -> None:
    chunks = Resampler(np.arange(200_000), 12, 0).chunks()
    assert max(c.nbytes for c in chunks) <= 32e6
    (row,) = Resampler(np.arange(3_000_000), 1, 0).chunks()
    assert row.shape == (1, 3_000_000)


@pytest.mark.parametrize(("groups", "replicates"), [([0, 1, 2], 0), ([4, 4, 4], 100), ([], 100)])
def test_nothing_to_draw(groups: list[int], replicates: int) -> None:
    resampler = Resampler(np.array(groups, dtype=np.int64), replicates, 0)
    assert resampler.replicates == 0
    assert list(resampler.chunks()) == []
    assert interval(np.empty(0)) == (None, None)


def test_error_of_a_clustered_mean_is_the_analytic_one() -> None:
    """sqrt(G / (G - 1) sum_g (sum_{i in g} (y_i - mean))^2) / n, the cluster-robust error."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(300), rng.integers(1, 16, 300))
    y = rng.normal(size=300)[groups] + rng.normal(size=len(groups))
    totals = np.bincount(groups, weights=y - y.mean())
    clustered = np.sqrt(300 / 299 * (totals**2).sum()) / len(y)
    naive = y.std(ddof=1) / np.sqrt(len(y))

    def error(units: np.ndarray) -> float:
        w = weights(units, 4000)
        return float((w @ y / w.sum(axis=1)).std())

    assert error(groups) == pytest.approx(clustered, rel=0.05)
    assert error(np.arange(len(y))) == pytest.approx(naive, rel=0.05)
    assert clustered > 2 * naive  # resampling single items would have been far too narrow


def test_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for seed in range(300):
        y = rng.normal(size=80)
        w = weights(np.arange(80), 400, seed)
        low, high = interval(w @ y / 80, 0.9)
        assert low is not None and high is not None
        hits += low <= 0 <= high
    assert 0.84 <= hits / 300 <= 0.95


def test_interval_is_of_percentiles() -> None:
    values = np.arange(101.0)
    np.random.default_rng(0).shuffle(values)
    assert interval(values) == pytest.approx((2.5, 97.5))
    assert interval(values, 0.5) == pytest.approx((25, 75))


def test_interval_needs_defined_replicates() -> None:
    values = np.linspace(0, 1, 100)
    values[:5] = np.nan
    assert interval(values)[0] == pytest.approx(np.quantile(values[5:], 0.025))
    values[5] = np.nan
    assert interval(values) == (None, None)
    assert interval(np.zeros(19)) == (None, None)
    assert interval(np.zeros(20)) == (0, 0)
