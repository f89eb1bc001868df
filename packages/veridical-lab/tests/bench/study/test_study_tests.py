"""The significance tests, against scipy, statsmodels, published and hand-worked examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from veridical_lab.bench.study.independent import independent
from veridical_lab.bench.study.normality import Outcome, normality
from veridical_lab.bench.study.related import nemenyi, paired, repeated

Floats = NDArray[np.float64]

# Demšar (2006, JMLR 7), table 6: ranks of four versions of C4.5 on 14 data sets.
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)


def skewed(rng: np.random.Generator, *shape: int) -> Floats:
    return rng.exponential(size=shape) ** 2


def test_normality_is_shapiro_then_dagostino() -> None:
    rng = np.random.default_rng(0)
    for n, test in ((40, stats.shapiro), (5000, stats.shapiro), (5001, stats.normaltest)):
        x = rng.normal(0.3, 0.2, n)
        assert normality(x) == pytest.approx(test(x).pvalue, rel=1e-6)
    assert normality(np.array([1.0, 2.0])) is None
    assert normality(np.full(9, 0.3)) is None


def test_paired_t_and_its_effect() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 30), rng.normal(0.5, 1, 30)
    found = paired(b - a)
    assert (found.test, found.effect, found.normal, found.n) == (
        "paired t",
        "Cohen's d_z",
        True,
        30,
    )
    wanted = stats.ttest_rel(b, a)
    assert found.statistic == pytest.approx(wanted.statistic)
    assert found.p == pytest.approx(wanted.pvalue)
    assert found.effect == "Cohen's d_z"
    assert found.effect_size == pytest.approx(wanted.statistic / math.sqrt(30))


def test_wilcoxon_and_its_effect() -> None:
    rng = np.random.default_rng(2)
    d = skewed(rng, 200) - 1
    found = paired(d)
    assert (found.test, found.normal) == ("Wilcoxon signed-rank", False)
    assert found.p == pytest.approx(stats.wilcoxon(d).pvalue)
    # By hand: the ranks of |d| without the zeros are 1 to 5, and that of -3 is 3.
    by_hand = paired(np.array([1.0, 2.0, -3.0, 4.0, 0.0, 0.0, 1e6]))
    assert not by_hand.normal
    assert by_hand.effect_size == pytest.approx((1 + 2 + 4 + 5 - 3) / 15)


def test_rounding_does_not_break_ties() -> None:
    # 0.3 - 0.1 is not 0.2 in floats, yet these differences tie, and so cancel.
    d = np.array([0.3 - 0.1, -0.2] * 8 + [0.1, 5.0, 9.0])
    found, whole = paired(d), paired(np.round(d * 10))
    assert not found.normal
    assert (found.statistic, found.p) == (whole.statistic, whole.p)
    assert found.effect_size == pytest.approx(whole.effect_size)


def test_repeated_anova_is_that_of_statsmodels() -> None:
    import pandas
    import statsmodels.stats.anova as anova

    rng = np.random.default_rng(3)
    n, k = 25, 4
    x = rng.normal(size=(n, 1)) + rng.normal([0, 0.2, 0.4, 0.8], 1, (n, k))
    found = repeated(x)
    assert found.test == "repeated-measures ANOVA"
    frame = pandas.DataFrame(
        {"block": np.repeat(np.arange(n), k), "level": np.tile(np.arange(k), n), "x": x.ravel()}
    )
    table = anova.AnovaRM(frame, "x", "block", ["level"]).fit().anova_table.iloc[0]
    f, p = table["F Value"], table["Pr > F"]
    assert found.statistic == pytest.approx(f)
    assert found.p == pytest.approx(p)
    # partial eta squared = F df / (F df + df of the error)
    assert found.effect_size == pytest.approx(f * 3 / (f * 3 + 72))
    assert found.posthoc_test == "paired t (Bonferroni)" and found.posthoc is not None
    for i, j in combinations(range(k), 2):
        wanted = min(1.0, 6 * stats.ttest_rel(x[:, i], x[:, j]).pvalue)
        assert found.posthoc[i][j] == found.posthoc[j][i] == pytest.approx(wanted)
    assert all(found.posthoc[i][i] is None for i in range(k))


def test_greenhouse_geisser_by_its_definition() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 3)) * [1, 1, 4]
    found = repeated(x)
    assert found.normal and found.note is not None
    # Epsilon from the eigenvalues of the covariance of orthonormal contrasts.
    contrasts = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    values = np.linalg.eigvalsh(contrasts @ np.cov(x.T) @ contrasts.T)
    epsilon = values.sum() ** 2 / (2 * (values**2).sum())
    p = stats.f.sf(found.statistic, 2 * epsilon, 2 * 59 * epsilon)
    assert found.note == f"Greenhouse-Geisser epsilon {epsilon:.3g}: p {p:.3g}"


def test_friedman_is_that_of_scipy_with_kendalls_w() -> None:
    rng = np.random.default_rng(5)
    x = np.round(skewed(rng, 80, 5) + np.array([0, 0, 0.2, 0.4, 0.6]), 1)  # with ties
    found = repeated(x)
    assert found.test == "Friedman"
    wanted = stats.friedmanchisquare(*x.T)
    assert found.statistic == pytest.approx(wanted.statistic)
    assert found.p == pytest.approx(wanted.pvalue)
    assert found.effect_size == pytest.approx(wanted.statistic / (80 * 4))


def test_friedman_on_demsars_example() -> None:
    found = repeated(DEMSAR**6)  # a power keeps the ranks, and is far from normal
    assert found.test == "Friedman"
    # The paper's 9.28 is without the correction for ties, 1 - sum(t^3 - t) / (n k (k^2 - 1)).
    ties = 1 - (3 * 6 + 60) / (14 * 4 * 15)
    assert found.statistic is not None
    assert found.statistic * ties == pytest.approx(9.28, abs=0.005)
    assert DEMSAR.mean(axis=0) == pytest.approx([3.143, 2.0, 2.893, 1.964], abs=5e-4)
    assert found.posthoc_test == "Nemenyi" and found.posthoc is not None
    # No difference at 0.05; at 0.10, C4.5 is worse than C4.5+m and C4.5+m+cf, and no more.
    below = {(i, j) for i, j in combinations(range(4), 2) if found.posthoc[i][j] < 0.10}
    assert below == {(0, 1), (0, 3)}
    assert min(found.posthoc[i][j] for i, j in combinations(range(4), 2)) > 0.05


@pytest.mark.parametrize(
    ("k", "q05", "q10"),
    [
        (2, 1.960, 1.645),
        (3, 2.343, 2.052),
        (4, 2.569, 2.291),
        (5, 2.728, 2.459),
        (10, 3.164, 2.920),
    ],
)
def test_nemenyi_at_demsars_critical_values(k: int, q05: float, q10: float) -> None:
    n = 30
    for q, alpha in ((q05, 0.05), (q10, 0.10)):
        apart = q * math.sqrt(k * (k + 1) / (6 * n))
        p = nemenyi(np.concatenate([[0.0], np.full(k - 1, apart)]), n)
        assert p[0][1] == pytest.approx(alpha, abs=1e-3)


def test_one_way_anova_and_tukey() -> None:
    import statsmodels.stats.multicomp as sm

    rng = np.random.default_rng(6)
    groups = [rng.normal(m, 1, n) for m, n in ((0, 12), (0.3, 20), (1.2, 15))]
    found = independent(groups)
    assert (found.test, found.posthoc_test) == ("one-way ANOVA", "Tukey HSD")
    f, p = stats.f_oneway(*groups)
    assert found.statistic == pytest.approx(f) and found.p == pytest.approx(p)
    assert found.effect_size == pytest.approx(f * 2 / (f * 2 + 44))
    assert found.posthoc is not None
    by_scipy = stats.tukey_hsd(*groups).pvalue
    names = np.repeat(["a", "b", "c"], [12, 20, 15])
    by_statsmodels = sm.pairwise_tukeyhsd(np.concatenate(groups), names).pvalues
    for (i, j), also in zip(combinations(range(3), 2), by_statsmodels, strict=True):
        assert found.posthoc[i][j] == pytest.approx(by_scipy[i, j], abs=1e-6)
        assert found.posthoc[i][j] == pytest.approx(also, abs=1e-3)


def test_kruskal_and_mann_whitney() -> None:
    import statsmodels.stats.multitest as multi

    rng = np.random.default_rng(7)
    groups = [skewed(rng, n) + m for m, n in ((0, 30), (0.2, 40), (0.5, 50))]
    found = independent(groups)
    assert (found.test, found.posthoc_test) == ("Kruskal-Wallis", "Mann-Whitney (Holm)")
    h, p = stats.kruskal(*groups)
    assert found.statistic == pytest.approx(h) and found.p == pytest.approx(p)
    assert found.effect_size == pytest.approx(h / 119)
    raw = [stats.mannwhitneyu(a, b).pvalue for a, b in combinations(groups, 2)]
    assert found.posthoc is not None
    flat = [found.posthoc[i][j] for i, j in combinations(range(3), 2)]
    assert flat == pytest.approx(multi.multipletests(raw, method="holm")[1].tolist())


def _paired(rng: np.random.Generator, normal: bool, shift: float) -> Outcome:
    d = rng.normal(size=40) if normal else rng.laplace(size=40) ** 3
    return paired(d + shift)


def _repeated(rng: np.random.Generator, normal: bool, shift: float) -> Outcome:
    noise = rng.normal(size=(40, 4)) if normal else skewed(rng, 40, 4)
    return repeated(rng.normal(size=(40, 1)) + noise + [0, 0, 0, shift])


def _independent(rng: np.random.Generator, normal: bool, shift: float) -> Outcome:
    noise = rng.normal(size=(3, 30)) if normal else skewed(rng, 3, 30)
    return independent(list(noise + np.array([[0.0], [0.0], [shift]])))


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("draw", [_paired, _repeated, _independent])
def test_the_null_is_rejected_at_alpha_and_an_effect_found(
    draw: Callable[[np.random.Generator, bool, float], Outcome], normal: bool
) -> None:
    rng = np.random.default_rng(8)
    null = [draw(rng, normal, 0.0) for _ in range(100)]
    # 5 of 100 expected; 1 to 13 has probability over 0.99
    assert 1 <= sum(o.p is not None and o.p < 0.05 for o in null) <= 13
    assert np.mean([o.normal == normal for o in null]) > 0.9  # the test that fits was chosen
    moved = [draw(rng, normal, 1.0) for _ in range(20)]
    assert np.mean([o.p is not None and o.p < 0.05 for o in moved]) > 0.8


NOT_DONE: list[tuple[Outcome, str]] = [
    (paired(np.array([])), "there are no pairs"),
    (paired(np.array([0.5])), "there is one pair only"),
    (paired(np.zeros(9)), "all differences are zero"),
    (repeated(np.ones((5, 1))), "there is one level only"),
    (repeated(np.ones((0, 3))), "no block has a value at every level"),
    (repeated(np.ones((1, 3))), "one block only has a value at every level"),
    (repeated(np.ones((6, 3))), "in every block, all levels have the same value"),
    (independent([]), "there are no values"),
    (independent([np.arange(3.0)]), "there is one level only"),
    (independent([np.ones(3), np.ones(4)]), "all values are the same"),
    (independent([np.ones(1), np.zeros(1)]), "every level has a single value"),
]


@pytest.mark.parametrize(("found", "why"), NOT_DONE, ids=[w for _, w in NOT_DONE])
def test_what_cannot_be_tested_says_why(found: Outcome, why: str) -> None:
    assert (found.test, found.p, found.note) == ("none", None, why)
    assert found.statistic is None and found.effect_size is None and found.posthoc is None


def test_differences_without_spread_are_not_normal() -> None:
    same = paired(np.full(12, 0.25))
    assert (same.test, same.effect_size) == ("Wilcoxon signed-rank", 1.0)
    assert same.p is not None and same.p < 0.01
    exact = repeated(np.arange(10.0)[:, None] + [0.0, 1.0, 2.0])
    assert (exact.test, exact.effect_size) == ("Friedman", pytest.approx(1.0))
    apart = independent([np.zeros(5), np.ones(5)])
    assert (apart.test, apart.effect_size) == ("Kruskal-Wallis", pytest.approx(1.0))
