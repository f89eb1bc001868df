"""Rates with intervals: against formulas by hand, and by drawing from populations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from veridical.review.estimate import (
    LEAST,
    estimate,
    forecast,
    intervals,
    next_strata,
    next_stratum,
    strata_of,
)
from veridical.stats.proportions import wilson


def test_strata_are_parts_of_equal_size_by_rank_and_those_without_a_risk_are_one() -> None:
    risks = np.array([0.9, 0.1, np.nan, 0.5, 0.3, 0.7, 0.2, 0.4, 0.6, 0.8, 0.0])
    strata = strata_of(risks, 2)
    assert strata.tolist() == [1, 0, 2, 1, 0, 1, 0, 0, 1, 1, 0]
    assert strata_of(np.full(3, np.nan)).tolist() == [0, 0, 0]
    assert set(strata_of(np.linspace(0, 1, 7))) == {0}  # too few for two of LEAST each
    assert len(strata_of(np.zeros(0))) == 0


def test_the_rate_is_the_weighted_mean_of_the_strata() -> None:
    found = estimate(np.array([100, 300]), np.array([10, 10]), np.array([8, 1]))
    assert found.rate == pytest.approx(0.25 * 0.8 + 0.75 * 0.1)
    assert found.low < found.rate < found.high
    assert (found.n, found.wrong, found.total) == (20, 9, 400)


@pytest.mark.parametrize("wrong", [0, 1, 120, 400])
def test_one_stratum_is_near_to_clopper_and_pearsons_interval(wrong: int) -> None:
    found = estimate(np.array([10**7]), np.array([400]), np.array([wrong]))
    exact = binomtest(wrong, 400).proportion_ci()
    # a share at the edge counts as one label from it, which widens the interval a little
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=0.009)
    if wrong == 120:
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=0.001)
        assert found.effective == pytest.approx(400, rel=0.02)


def test_nothing_labelled_is_nothing_known_and_everything_labelled_is_known() -> None:
    sizes = np.array([20, 20])
    nothing = estimate(sizes, np.array([0, 0]), np.array([0, 0]))
    assert (nothing.rate, nothing.low, nothing.high) == (None, 0.0, 1.0)
    everything = estimate(sizes, sizes, np.array([20, 5]))
    assert (everything.low, everything.rate, everything.high) == pytest.approx((0.625,) * 3)


def test_a_stratum_without_a_label_widens_the_interval() -> None:
    seen = estimate(np.array([50, 50]), np.array([20, 20]), np.array([2, 2]))
    unseen = estimate(np.array([50, 50]), np.array([40, 0]), np.array([4, 0]))
    assert unseen.width > 2 * seen.width


def test_draws_go_where_they_tell_most() -> None:
    sizes = np.array([1000, 1000])
    assert next_stratum(sizes, np.array([LEAST, LEAST - 1]), np.array([0, 0])) == 1  # the least
    assert next_stratum(sizes, np.array([20, 20]), np.array([0, 10])) == 1  # the wider spread
    assert next_stratum(np.array([9000, 100]), np.array([20, 20]), np.array([5, 10])) == 0  # larger
    assert (
        next_stratum(np.array([20, 1000]), np.array([20, 20]), np.array([10, 0])) == 1
    )  # all drawn
    assert next_stratum(np.array([3, 3]), np.array([3, 3]), np.array([1, 1])) is None


def test_more_labels_buy_a_narrower_interval() -> None:
    sizes, drawn, wrong = np.array([2000, 2000]), np.array([30, 30]), np.array([5, 15])
    widths = [
        estimate(sizes, drawn, wrong).width,
        *(f.width for f in forecast(sizes, drawn, wrong)),
    ]
    assert widths == sorted(widths, reverse=True) and widths[-1] < 0.5 * widths[0]
    few = forecast(np.array([40]), np.array([30]), np.array([5]))
    assert few == []  # 25 more than there are


@pytest.mark.parametrize(
    "base,pull", [(0.5, 0.0), (0.1, 2.0), (0.3, 1.5), (0.01, 1.0), (0.1, 0.0), (0.9, 1.0)]
)
def test_the_interval_holds_the_truth_in_95_of_100_draws(base: float, pull: float) -> None:
    """Populations whose risk tells nothing, and much, of the truth; adaptive draws of 100, and such
    as end once the interval is narrow (benchmarks/rate.py has public data)."""
    draw = np.random.default_rng(7)
    wrong = draw.random(1500) < base
    risks = 1 / (1 + np.exp(-(pull * wrong + draw.normal(size=1500))))
    strata = strata_of(risks)
    sizes, of = np.bincount(strata), np.bincount(strata, weights=wrong)
    runs = 3000
    drawn, found = np.zeros((runs, len(sizes))), np.zeros((runs, len(sizes)))
    each = np.arange(runs)
    truth = wrong.mean()
    ended = np.full(runs, np.nan)
    for _ in range(100):
        h = next_strata(sizes, drawn, found)
        share = (of[h] - found[each, h]) / (sizes[h] - drawn[each, h])
        found[each, h] += draw.random(runs) < share
        drawn[each, h] += 1
        rate, low, high, _ = intervals(sizes, drawn, found)
        held = (low <= truth) & (truth <= high)
        ended = np.where(np.isnan(ended) & (high - low <= 0.25), held, ended)
    chance = 2 * np.sqrt(0.05 * 0.95 / runs)
    assert held.mean() >= 0.945 - chance and np.nanmean(ended) >= 0.945 - chance
    assert abs(rate.mean() - truth) < 0.008  # draws that go by labels lean a little to the edge
    if pull > 1:
        plain = wilson(truth, 100 / (1 - 100 / 1500))
        assert np.mean(high - low) < plain[1] - plain[0]


def test_the_interval_holds_where_answers_share_a_question() -> None:
    """A rate is of the answers of this run, drawn one by one: thirty questions of fifty answers
    each, all right or all wrong, need no wider interval than 1 500 questions."""
    draw = np.random.default_rng(11)
    wrong = np.repeat(draw.random(30) < 0.3, 50)
    runs = np.stack([wrong[draw.permutation(1500)[:100]] for _ in range(2000)])
    found = [estimate(np.array([1500]), np.array([100]), np.array([k])) for k in runs.sum(axis=1)]
    held = np.mean([e.low <= wrong.mean() <= e.high for e in found])
    assert held >= 0.945 - 2 * np.sqrt(0.05 * 0.95 / len(runs))
