"""Combining and searching weights, against exact fractions, dense samples and known optima.

The search tries places, so a constructed optimum is met to a tolerance.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from veridical.errors import UsageError
from veridical.stats.objectives import OBJECTIVES
from veridical.stats.thresholds import best_threshold
from veridical.stats.weights import SearchedWeights, combine, search

NAN = float("nan")
RANKED = ("auroc", "average_precision", "f1", "balanced_accuracy", "accuracy")


def problem(
    seed: int, n: int, k: int, *, levels: int | None = None, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Risks of k components, each a little right, and labels of both classes."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.4).astype(np.float64)
    labels[:2] = 0.0, 1.0
    shift = rng.uniform(0.0, 0.2, k)
    risks = np.clip(0.5 + 0.15 * rng.normal(size=(n, k)) + shift * (2 * labels[:, None] - 1), 0, 1)
    if levels:
        risks = np.round(risks * levels) / levels
    risks[rng.random((n, k)) < missing] = NAN
    return risks, labels


def figure(name: str, risks: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """The objective at weights, with its best threshold; 0.5 where these leave nothing scored."""
    risk = np.nan_to_num(combine(risks, weights), nan=0.5)
    return OBJECTIVES[name].value(
        labels,
        risk,
        best_threshold(labels, risk, name if OBJECTIVES[name].needs_threshold else "f1"),
    )


def tuned(name: str, risks: np.ndarray, labels: np.ndarray, **options: int) -> SearchedWeights:
    return search(risks, labels, name, joint=OBJECTIVES[name].needs_threshold, **options)


# combine


def test_a_weighted_mean_of_what_is_scored() -> None:
    risks = np.array([[0.2, 0.8, 0.5], [0.2, NAN, 0.5], [NAN, NAN, 0.4], [NAN, NAN, NAN]])
    found = combine(risks, np.array([0.5, 0.3, 0.2]))
    np.testing.assert_allclose(found[:3], [0.44, 0.2 / 0.7, 0.4], atol=1e-12)
    assert np.isnan(found[3])


def test_without_a_scored_component_of_weight_there_is_no_risk() -> None:
    found = combine(np.array([[NAN, 0.9], [0.1, 0.9]]), np.array([1.0, 0.0]))
    assert np.isnan(found[0])
    assert found[1] == 0.1
    assert np.isnan(combine(np.array([[0.3, 0.4]]), np.zeros(2))).all()


def test_only_the_ratios_of_weights_count() -> None:
    risks, _ = problem(0, 50, 4, missing=0.3)
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    for factor in (1e-300, 3.0, 1e300):
        np.testing.assert_array_equal(combine(risks, weights * factor), combine(risks, weights))


def test_equal_means_are_tied_whatever_the_order_of_the_sum() -> None:
    rng = np.random.default_rng(0)
    row = rng.random(9)
    rows = np.array([rng.permutation(row) for _ in range(50)])
    assert len(np.unique(combine(rows, np.full(9, 1 / 9)))) == 1
    constant = combine(np.full((3, 7), 1.0), rng.random(7))
    assert (constant == 1.0).all()


def test_combine_refuses_what_is_no_weight() -> None:
    risks = np.full((2, 2), 0.5)
    for bad in ([-0.1, 1.1], [NAN, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="weight"):
            combine(risks, np.array(bad))
    with pytest.raises(ValueError, match="do not match"):
        combine(risks, np.ones(3))


# search, figures of an order


def two_component_optimum(name: str, risks: np.ndarray, labels: np.ndarray) -> float:
    """The best over the middles of all stretches, the ends and the crossings themselves, these in
    exact fractions."""
    rows = [[Fraction(float(v)) for v in row] for row in risks]
    crossings = {Fraction(0), Fraction(1)}
    for (a, b), (c, d) in combinations(rows, 2):
        slope = (a - b) - (c - d)
        if slope and 0 <= (t := (d - b) / slope) <= 1:
            crossings.add(t)
    places = sorted(crossings)
    places += [(low + high) / 2 for low, high in pairwise(places)]
    values = []
    for t in places:
        exact = [t * a + (1 - t) * b for a, b in rows]
        levels = sorted(set(exact))
        # only the order counts: the level's number stands for the risk
        order = np.array([levels.index(v) for v in exact]) / max(1, len(levels) - 1)
        values.append(figure(name, order[:, None], labels, np.ones(1)))
    return max(values)


@pytest.mark.parametrize("name", RANKED)
@pytest.mark.parametrize(("seed", "levels"), [(0, None), (1, None), (2, 4), (3, 5)])
def test_two_components_are_exact(name: str, seed: int, levels: int | None) -> None:
    risks, labels = problem(seed, 14, 2, levels=levels)
    found = tuned(name, risks, labels)
    assert found.value == pytest.approx(two_component_optimum(name, risks, labels), abs=1e-12)
    assert found.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", RANKED)
@pytest.mark.parametrize(
    ("k", "levels", "missing"), [(3, None, 0.0), (3, 4, 0.0), (4, None, 0.3), (3, 4, 0.3)]
)
def test_no_weights_of_many_are_better(
    name: str, k: int, levels: int | None, missing: float
) -> None:
    risks, labels = problem(5, 30, k, levels=levels, missing=missing)
    risks, labels = risks[~np.isnan(risks).all(axis=1)], labels[~np.isnan(risks).all(axis=1)]
    found = tuned(name, risks, labels)
    sample = np.random.default_rng(0).dirichlet(np.ones(k), 600)
    best = max(figure(name, risks, labels, w) for w in [*sample, *np.eye(k)])
    assert found.value >= best - 1e-12
    assert found.value == figure(name, risks, labels, found.weights)


@pytest.mark.parametrize("name", ["auroc", "average_precision", "f1", "balanced_accuracy"])
def test_twelve_components_with_a_known_optimum(name: str) -> None:
    rng = np.random.default_rng(3)
    risks = rng.random((150, 12))
    true = combine(risks, rng.dirichlet(np.ones(12)))
    labels = (true >= np.quantile(true, 0.7)).astype(np.float64)
    assert tuned(name, risks, labels).value == 1.0


def test_a_known_optimum_among_ties() -> None:
    # From half on the first component, both hallucinated rows on top are above the third row; from
    # two thirds on the fourth is above the first of them. Below are two rows that are always tied.
    risks = np.array([[0.5, 0.5], [0.6, 0.4], [0.2, 0.8], [0.7, 0.1], [0.1, 0.1], [0.1, 0.1]])
    labels = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    found = search(risks, labels, "auroc")
    assert found.weights[0] == pytest.approx((1 / 2 + 2 / 3) / 2, abs=0.005)
    assert found.value == pytest.approx((3 + 3 + 0.5) / 9)


def test_nothing_better_lies_between_any_two_components() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    risks, labels = problem(7, 120, 5)
    found = search(risks, labels, "auroc")
    assert found.value == pytest.approx(
        metrics.roc_auc_score(labels, risks @ found.weights), abs=1e-12
    )
    for i, j in combinations(range(5), 2):
        both = found.weights[i] + found.weights[j]
        for t in np.linspace(0, 1, 41):
            moved = found.weights.copy()
            moved[i], moved[j] = t * both, (1 - t) * both
            assert metrics.roc_auc_score(labels, risks @ moved) <= found.value + 1e-12


def test_many_rows() -> None:
    risks, labels = problem(8, 1500, 4)
    found = search(risks, labels, "auroc")
    sample = [*np.eye(4), *np.random.default_rng(0).dirichlet(np.ones(4), 300)]
    assert found.value >= max(figure("auroc", risks, labels, w) for w in sample)


def test_a_component_that_says_nothing_gets_no_weight() -> None:
    risks, labels = problem(10, 80, 3)
    risks[:, 1] = 0.5
    found = search(risks, labels, "auroc")
    assert found.weights[1] == 0.0
    assert found.value == pytest.approx(search(risks[:, [0, 2]], labels, "auroc").value)


def test_a_component_does_not_win_by_silence() -> None:
    risks, labels = problem(11, 200, 1)
    seldom = np.where(np.arange(200) < 20, labels, NAN)
    found = search(np.column_stack([risks[:, 0], seldom]), labels, "auroc")
    alone = figure("auroc", risks, labels, np.ones(1))
    assert found.weights[0] > 0
    assert found.value > alone


# search, losses


@pytest.mark.parametrize("name", ["brier", "log_loss"])
def test_losses_are_least(name: str) -> None:
    risks, labels = problem(12, 150, 3)
    found = search(risks, labels, name)
    ticks = [(i / 60, j / 60) for i in range(61) for j in range(61 - i)]
    least = min(
        figure(name, risks, labels, np.array([a, b, max(0.0, 1 - a - b)])) for a, b in ticks
    )
    assert least - 2e-4 < found.value <= least + 1e-12


def test_brier_of_twelve_components_meets_the_conditions_of_an_optimum() -> None:
    rng = np.random.default_rng(13)
    risks = rng.random((400, 12))
    labels = (rng.random(400) < risks @ rng.dirichlet(np.ones(12))).astype(np.float64)
    weights = search(risks, labels, "brier").weights
    # Karush-Kuhn-Tucker: one slope where there is weight, none lower where there is not
    slope = 2 * risks.T @ (risks @ weights - labels) / 400
    used = weights > 0
    assert np.ptp(slope[used]) < 2e-4
    assert slope[~used].min(initial=np.inf) > slope[used].max() - 2e-4


@pytest.mark.parametrize("name", ["brier", "log_loss"])
def test_losses_with_missing_scores(name: str) -> None:
    risks, labels = problem(14, 80, 3, missing=0.3)
    risks, labels = risks[~np.isnan(risks).all(axis=1)], labels[~np.isnan(risks).all(axis=1)]
    found = search(risks, labels, name)
    sample = [*np.eye(3), *np.random.default_rng(0).dirichlet(np.ones(3), 500)]
    assert found.value <= min(figure(name, risks, labels, w) for w in sample) + 1e-9


# search, what it returns and refuses


@pytest.mark.parametrize("name", ["f1", "f_beta", "balanced_accuracy", "accuracy"])
def test_jointly_is_at_least_as_good_as_weights_first(name: str) -> None:
    risks, labels = problem(15, 60, 3)
    first = search(risks, labels, name, beta=2.0)
    both = search(risks, labels, name, joint=True, beta=2.0)
    assert both.value >= first.value
    for found in (first, both):
        risk = combine(risks, found.weights)
        assert OBJECTIVES[name].value(labels, risk, found.threshold, 2.0) == found.value
    assert np.array_equal(first.weights, search(risks, labels, "auroc").weights)


def test_weights_that_need_no_threshold_get_that_of_f_beta() -> None:
    risks, labels = problem(16, 60, 3)
    found = search(risks, labels, "auroc", beta=0.5)
    risk = combine(risks, found.weights)
    assert found.threshold == best_threshold(labels, risk, "f_beta", 0.5)


def test_a_seed_settles_the_result() -> None:
    risks, labels = problem(17, 450, 4)
    one, same = search(risks, labels, "auroc", seed=5), search(risks, labels, "auroc", seed=5)
    assert np.array_equal(one.weights, same.weights)
    assert (one.value, one.threshold) == (same.value, same.threshold)


def test_one_component_and_rows_without_a_score() -> None:
    risks = np.array([[0.1], [NAN], [0.8], [0.3]])
    found = search(risks, np.array([0.0, 1.0, 1.0, 0.0]), "auroc")
    assert found.weights.tolist() == [1.0]
    assert found.value == 1.0
    assert found.threshold == pytest.approx(0.55)


def test_refusals() -> None:
    risks, labels = problem(18, 20, 2)
    with pytest.raises(UsageError, match="unknown objective"):
        search(risks, labels, "auc")
    with pytest.raises(UsageError, match="joint"):
        search(risks, labels, "auroc", joint=True)
    with pytest.raises(UsageError, match="20 scored ones 20 are hallucinated"):
        search(risks, np.ones(20), "auroc")
    with pytest.raises(UsageError, match="of 0 scored ones"):
        search(np.full((20, 2), NAN), labels, "auroc")
    with pytest.raises(UsageError, match="beta"):
        search(risks, labels, "auroc", beta=0.0)
    with pytest.raises(UsageError, match="label"):
        search(risks, np.where(labels > 0, NAN, 0.0), "auroc")
    risks[3, 1] = 1.5
    with pytest.raises(UsageError, match=r"row 3: risk 1\.5 of component 1"):
        search(risks, labels, "auroc")
    with pytest.raises(ValueError, match="do not match"):
        search(risks, labels[1:], "auroc")
