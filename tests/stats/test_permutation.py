"""The permutation test: its metrics against scikit-learn and scipy, its p-values by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from veridical.stats import permutation as module
from veridical.stats.permutation import midranks, permutation


def trapezoid(truth: np.ndarray, score: np.ndarray) -> float:
    precision, recall, _ = metrics.precision_recall_curve(truth, score)
    return float(metrics.auc(recall, precision))


REFERENCE: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "average_precision": metrics.average_precision_score,
    "trapezoid_pr": trapezoid,
    "auroc": metrics.roc_auc_score,
    "pearson": lambda t, s: stats.pearsonr(t, s).statistic,
    "spearman": lambda t, s: stats.spearmanr(t, s).statistic,
}


def example(metric: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth and two scores with ties on quite different scales."""
    rng = np.random.default_rng(seed)
    if metric in ("pearson", "spearman"):
        truth = rng.integers(0, 4, n) / 3
    else:
        truth = rng.integers(0, 2, n).astype(float)
    truth[:2] = 0, 1
    a = (truth + rng.normal(size=n)).round(1)
    b = np.exp(truth / 2 + rng.normal(size=n)).round(1) * 100
    return truth, a, b


def mixed(truth: np.ndarray, a: np.ndarray, b: np.ndarray, metric: str) -> Callable[..., float]:
    """metric(a) - metric(b) after some targets' scores are swapped, by the reference."""
    scale = stats.zscore if metric == "pearson" else stats.rankdata
    x, y = scale(a), scale(b)

    def difference(swap: np.ndarray) -> float:
        of = REFERENCE[metric]
        return of(truth, np.where(swap, y, x)) - of(truth, np.where(swap, x, y))

    return difference


@pytest.mark.parametrize("metric", REFERENCE)
@pytest.mark.parametrize("n", [5, 60])
def test_row_metrics_are_the_references(metric: str, n: int) -> None:
    for seed in range(5):
        truth, a, b = example(metric, n, seed)
        swaps = np.random.default_rng(seed).random((20, n)) < 0.5
        reference = mixed(truth, a, b, metric)
        scale = stats.zscore if metric == "pearson" else stats.rankdata
        ours = module._statistic(metric, truth, scale(a), scale(b))(swaps)
        expected = [reference(s) for s in swaps]
        assert ours == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", REFERENCE)
def test_p_value_is_that_of_every_permutation(metric: str) -> None:
    """Seven groups have 128 swaps: with many random ones p nears the exact share."""
    truth, a, b = example(metric, 21, 4)
    groups = np.arange(21) % 7
    reference = mixed(truth, a, b, metric)
    observed = abs(reference(np.zeros(21, dtype=bool)))
    every = [
        abs(reference(np.array(s)[groups])) for s in itertools.product([False, True], repeat=7)
    ]
    exact = np.mean(np.array(every) >= observed - 1e-12)
    found = permutation(truth, a, b, groups, metric, 20000, 1)
    assert found == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 20000))
    # Swapping single targets would give another answer: the groups do matter.
    single = permutation(truth, a, b, np.arange(21), metric, 20000, 1)
    assert abs(single - exact) > 0.02


def test_counts_of_hits_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, a, b = example("auroc", 40, 0)
    groups = np.arange(40) // 2
    p = permutation(truth, a, b, groups, "auroc", 199, 5)
    assert p * 200 == pytest.approx(round(p * 200)) and p >= 1 / 200
    assert p == permutation(truth, a, b, groups, "auroc", 199, 5)
    assert p == permutation(truth, b, a, groups, "auroc", 199, 5)  # two-sided
    monkeypatch.setattr(module, "_BLOCK", 500)
    assert p == permutation(truth, a, b, groups, "auroc", 199, 5)


def test_only_order_matters_for_ranking_metrics() -> None:
    truth, a, b = example("auroc", 50, 1)
    for metric in ("average_precision", "auroc", "trapezoid_pr", "spearman", "kendall"):
        p = permutation(truth, a, b, np.arange(50), metric, 99, 0)
        assert p == permutation(truth, np.exp(a), b**3, np.arange(50), metric, 99, 0)
    p = permutation(truth, a, b, np.arange(50), "pearson", 99, 0)
    assert p == permutation(truth, 5 * a - 3, b / 7, np.arange(50), "pearson", 99, 0)


def test_kendall_is_tested_by_spearman() -> None:
    truth, a, b = example("spearman", 50, 1)
    arguments = (truth, a, b, np.arange(50))
    assert permutation(*arguments, "kendall", 99, 0) == permutation(*arguments, "spearman", 99, 0)


def test_equal_scorers_do_not_differ_and_opposite_ones_do() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200).astype(float)
    a = truth + rng.normal(size=200)
    for metric in [*REFERENCE, "kendall"]:
        assert permutation(truth, a, 2 * a + 1, np.arange(200), metric, 99, 0) == 1
        assert permutation(truth, a, -a, np.arange(200), metric, 99, 0) == 0.01


def test_undefined() -> None:
    truth, a, b = example("auroc", 30, 0)
    groups = np.arange(30)
    assert np.isnan(permutation(truth, a, b, groups, "macro_f1", 99, 0))
    assert np.isnan(permutation(truth, a, b, groups, "auroc", 0, 0))
    for metric in ("auroc", "average_precision", "spearman", "pearson"):
        assert np.isnan(permutation(np.zeros(30), a, b, groups, metric, 99, 0))
    for metric in ("spearman", "pearson"):
        assert np.isnan(permutation(truth, a, np.ones(30), groups, metric, 99, 0))
    assert np.isnan(permutation(truth[:0], a[:0], b[:0], groups[:0], "auroc", 99, 0))


@pytest.mark.parametrize("metric", ["average_precision", "spearman", "pearson"])
def test_null_p_values_are_uniform_for_clustered_data(metric: str) -> None:
    rng = np.random.default_rng(11)
    found = []
    for seed in range(150):
        groups = np.repeat(np.arange(40), rng.integers(1, 6, 40))
        n = len(groups)
        truth = (rng.normal(size=40)[groups] + 0.5 * rng.normal(size=n) > 0).astype(float)
        a, b = (truth + 1.5 * rng.normal(size=40)[groups] + rng.normal(size=n) for _ in "ab")
        found.append(permutation(truth, a, 3 * b + 2, groups, metric, 199, seed))
    assert stats.kstest(found, "uniform").pvalue > 0.001
    assert np.mean(np.array(found) < 0.05) < 0.11


def test_midranks() -> None:
    assert midranks(np.array([3.0, 1, 3, 2])).tolist() == [3.5, 1, 3.5, 2]
