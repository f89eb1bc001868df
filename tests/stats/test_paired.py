"""Paired tests against independent references: statsmodels, scipy, brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, permutation_test

from veridical.stats.paired import (
    Flips,
    detectable_mean,
    detectable_share,
    mcnemar,
    mean_interval,
    share_rises,
    sign_flip,
)


def differences(rises: int, falls: int, n: int) -> np.ndarray:
    return np.array([1.0] * rises + [-1.0] * falls + [0.0] * (n - rises - falls))


@pytest.mark.parametrize(("rises", "falls"), [(5, 0), (0, 5), (12, 4), (3, 3), (1, 0), (40, 22)])
def test_mcnemar_is_that_of_statsmodels(rises: int, falls: int) -> None:
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    known = contingency.mcnemar([[50, rises], [falls, 7]], exact=True).pvalue
    assert mcnemar(Flips(rises, falls, 100)) == pytest.approx(known)


def test_five_flips_one_way_are_the_fewest_that_show_a_rise() -> None:
    assert mcnemar(Flips(4, 0, 30), "greater") == 1 / 16
    assert mcnemar(Flips(5, 0, 30), "greater") == 1 / 32
    assert mcnemar(Flips(0, 0, 30)) == 1.0
    assert mcnemar(Flips(3, 9, 30), "greater") == pytest.approx(
        binomtest(3, 12, alternative="greater").pvalue
    )


@pytest.mark.parametrize(
    ("rises", "falls", "n", "margin"),
    [(20, 5, 100, 0.05), (9, 2, 60, 0.1), (30, 0, 200, 0.02), (4, 4, 50, 0.01)],
)
def test_the_score_test_of_a_margin_is_the_one_of_the_likeliest_shares(
    rises: int, falls: int, n: int, margin: float
) -> None:
    """Tango's statistic with the restricted estimate found by a search, not by the formula."""

    def unlikely(fall: float) -> float:
        rise, same = fall + margin, 1 - 2 * fall - margin
        parts = ((rises, rise), (falls, fall), (n - rises - falls, same))
        return -sum(count * math.log(max(share, 1e-300)) for count, share in parts)

    fall = minimize_scalar(
        unlikely, bounds=(0, (1 - margin) / 2), method="bounded", options={"xatol": 1e-12}
    ).x
    z = (rises - falls - n * margin) / math.sqrt(n * (2 * fall + margin - margin**2))
    assert share_rises(Flips(rises, falls, n), margin) == pytest.approx(
        math.erfc(z / math.sqrt(2)) / 2, abs=1e-6
    )


def test_no_margin_is_mcnemar() -> None:
    assert share_rises(Flips(9, 2, 40)) == mcnemar(Flips(9, 2, 40), "greater")
    assert share_rises(Flips(0, 0, 0), 0.1) == 1.0


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_few_pairs_are_permuted_in_every_way(alternative: str) -> None:
    d = np.array([0.3, -0.1, 0.22, 0.4, 0.05, -0.02, 0.11, 0.0])
    known = permutation_test(
        (d, np.zeros(len(d))),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples",
        alternative=alternative,
        n_resamples=np.inf,
        vectorized=True,
    ).pvalue
    made = sign_flip(d, np.arange(len(d)), permutations=10, seed=0, alternative=alternative)  # type: ignore[arg-type]
    assert made == pytest.approx(known)


def test_drawn_permutations_come_near_the_exact_test() -> None:
    flips = Flips(20, 9, 60)
    d = differences(*flips)
    made = sign_flip(d, np.arange(60), permutations=20_000, seed=1)
    assert made == pytest.approx(mcnemar(flips), abs=0.01)


def test_many_pairs_take_the_normal_limit() -> None:
    rng = np.random.default_rng(0)
    d = rng.normal(0.01, 1, 30_000)
    z = d.sum() / math.sqrt(d @ d)
    made = sign_flip(d, np.arange(len(d)), permutations=10, seed=0, alternative="greater")
    assert made == pytest.approx(math.erfc(z / math.sqrt(2)) / 2)
    low, high = mean_interval(d, np.arange(len(d)), replicates=10, seed=0)
    assert low is not None and high is not None
    assert high - low == pytest.approx(2 * 1.96 / math.sqrt(30_000), rel=0.05)


def test_pairs_of_a_group_are_swapped_together() -> None:
    d = np.array([1.0, 1, 1, 1, 1, 1])
    groups = np.array([0, 0, 1, 1, 2, 2])
    made = sign_flip(d, groups, permutations=10, seed=0, alternative="greater")
    assert made == 1 / 8  # of three groups, not 1 / 64 of six pairs


def test_a_margin_is_taken_off() -> None:
    d = np.full(12, 0.1) + np.linspace(-0.02, 0.02, 12)
    over = sign_flip(d, np.arange(12), permutations=1, seed=0, alternative="greater", margin=0.05)
    at = sign_flip(d, np.arange(12), permutations=1, seed=0, alternative="greater", margin=0.1)
    assert over == 1 / 4096 and at == pytest.approx(0.5, abs=0.05)


def test_intervals_hold_the_difference_in_19_of_20_cases() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for seed in range(200):
        d = rng.choice([-1.0, 0.0, 1.0], 80, p=[0.1, 0.7, 0.2])
        low, high = mean_interval(d, np.arange(80), replicates=400, seed=seed, share=True)
        assert low is not None and high is not None
        held += low <= 0.1 <= high
    assert 180 <= held <= 198


def test_no_flips_are_no_certainty() -> None:
    low, high = mean_interval(np.zeros(50), np.arange(50), replicates=100, seed=0, share=True)
    assert high == pytest.approx(0.0713, abs=1e-3) and low == -high
    assert mean_interval(np.zeros(1), np.arange(1), replicates=100, seed=0) == (None, None)


@pytest.mark.parametrize(("n", "idle"), [(30, 0.0), (100, 0.05), (400, 0.02)])
def test_a_detectable_share_is_shown_in_eight_of_ten_simulations(n: int, idle: float) -> None:
    flips = Flips(round(n * idle), round(n * idle), n)
    rise = detectable_share(flips)
    assert rise is not None
    rng = np.random.default_rng(0)
    shown = 0
    for _ in range(2_000):
        up, down, _ = rng.multinomial(n, [idle + rise, idle, 1 - 2 * idle - rise])
        shown += mcnemar(Flips(int(up), int(down), n), "greater") < 0.05
    assert shown / 2_000 == pytest.approx(0.8, abs=0.03)


def test_a_detectable_share_with_a_margin_is_over_it() -> None:
    plain, over = detectable_share(Flips(5, 5, 300)), detectable_share(Flips(5, 5, 300), 0.05)
    assert plain is not None and over is not None and over > 0.05 + plain / 2
    rng = np.random.default_rng(0)
    idle = 5 / 300
    shown = 0
    for _ in range(2_000):
        up, down, _ = rng.multinomial(300, [idle + over, idle, 1 - 2 * idle - over])
        shown += share_rises(Flips(int(up), int(down), 300), 0.05) < 0.05
    assert shown / 2_000 == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_very_few_pairs_show_nothing(n: int) -> None:
    assert detectable_share(Flips(0, 0, n)) is None
    assert detectable_mean(np.linspace(0, 1, n), np.arange(n)) is None


def test_a_detectable_mean_is_shown_in_eight_of_ten_simulations() -> None:
    rng = np.random.default_rng(0)
    shown = 0
    groups = np.arange(60)
    for seed in range(300):
        d = rng.normal(0, 0.2, 60)
        rise = detectable_mean(d, groups)
        assert rise is not None
        made = sign_flip(d + rise, groups, permutations=400, seed=seed, alternative="greater")
        shown += made < 0.05
    assert 0.7 <= shown / 300 <= 0.9


def test_every_group_of_flips_has_a_p_value_between_0_and_1() -> None:
    for rises, falls in itertools.product(range(6), repeat=2):
        for margin in (0.0, 0.01, 0.3):
            assert 0 <= share_rises(Flips(rises, falls, 12), margin) <= 1
