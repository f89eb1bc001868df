"""Thresholds, against brute force with scikit-learn; and that nothing leaks into them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from veridical.errors import UsageError
from veridical.stats.metrics import classification
from veridical.stats.resampling import Resampler, interval
from veridical.stats.thresholds import (
    best_cuts,
    best_threshold,
    cross_fitted,
    cross_fitted_classes,
    refitted,
)

BY_SKLEARN: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "weighted_f1": lambda t, p: metrics.f1_score(t, p, average="weighted", zero_division=0),
    "macro_f1": lambda t, p: metrics.f1_score(
        t, p, average="macro", labels=[0, 1], zero_division=0
    ),
    "f1": lambda t, p: metrics.f1_score(t, p, zero_division=0),
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "accuracy": metrics.accuracy_score,
    "mcc": metrics.matthews_corrcoef,
}


def noisy(n: int, seed: int, decimals: int = 9) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.35).astype(float)
    risk = np.clip(0.4 + 0.2 * truth + 0.2 * rng.normal(size=n), 0, 1).round(decimals)
    return truth, risk


@pytest.mark.parametrize("objective", BY_SKLEARN)
@pytest.mark.parametrize(("n", "decimals"), [(4, 9), (25, 1), (40, 9), (60, 2)])
def test_no_threshold_is_better(objective: str, n: int, decimals: int) -> None:
    for seed in range(4):
        truth, risk = noisy(n, seed, decimals)
        truth[:2] = 0, 1
        found = best_threshold(truth, risk, objective)
        every = [-1.0, *np.unique(risk).tolist(), 2.0]
        best = max(BY_SKLEARN[objective](truth, risk >= t) for t in every)
        assert BY_SKLEARN[objective](truth, risk >= found) == pytest.approx(best, abs=1e-12)
        assert not np.isin(found, risk[risk > 0])  # it hangs on no single value


def test_threshold_is_the_midpoint() -> None:
    truth = np.array([0.0, 0, 1, 1])
    for objective in BY_SKLEARN:
        found = best_threshold(truth, np.array([0.1, 0.2, 0.6, 0.9]), objective)
        assert found == pytest.approx(0.4)


def test_neighbouring_floats_are_parted() -> None:
    low = 0.3
    for _ in range(4):  # the middle is rounded down for some, up for others
        high = float(np.nextafter(low, 1))
        found = best_threshold(np.array([0.0, 1.0]), np.array([low, high]), "accuracy")
        assert low < found <= high
        low = high


@pytest.mark.parametrize("objective", BY_SKLEARN)
def test_degenerate_truths(objective: str) -> None:
    risk = np.array([0.0, 0.5, 1.0])
    everything = best_threshold(np.ones(3), risk, objective)
    nothing = best_threshold(np.zeros(3), risk, objective)
    assert (risk >= everything).all() and math.isfinite(everything)
    assert not (risk >= nothing).any() and math.isfinite(nothing)
    assert best_threshold(np.empty(0), np.empty(0), objective) == 0.5
    assert best_threshold(np.array([1.0, np.nan]), np.array([np.nan, 0.2]), objective) == 0.5


def test_one_risk_for_all_takes_the_larger_class() -> None:
    risk = np.full(5, 0.7)
    assert best_threshold(np.array([1.0, 1, 1, 0, 0]), risk, "accuracy") <= 0.7
    assert best_threshold(np.array([1.0, 1, 0, 0, 0]), risk, "accuracy") > 0.7


def test_missing_risks_and_truths_do_not_count() -> None:
    truth = np.array([0.0, 0, 1, 1, 1, np.nan])
    risk = np.array([0.1, 0.2, 0.6, 0.9, np.nan, 0.3])
    assert best_threshold(truth, risk, "mcc") == best_threshold(truth[:4], risk[:4], "mcc")


def test_unknown_objective() -> None:
    truth, risk = noisy(10, 0)
    with pytest.raises(UsageError, match="did you mean 'accuracy'"):
        best_threshold(truth, risk, "acuracy")
    with pytest.raises(UsageError, match="unknown objective 'auroc'"):
        cross_fitted(truth, risk, np.arange(10), objective="auroc")


def test_scores_outside_the_unit_interval() -> None:
    truth, risk = noisy(200, 1)
    wide = 50 * risk - 20
    for objective in BY_SKLEARN:
        ours = risk >= best_threshold(truth, risk, objective)
        assert (ours == (wide >= best_threshold(truth, wide, objective))).all()


# Cross-fitting


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_own_truth_never_matters(data: st.DataObject) -> None:
    """Flip the truth of one item, and of its whole group: the labels there stay."""
    n = data.draw(st.integers(1, 25))
    risks = data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    truth = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), dtype=float)
    groups = np.array(data.draw(st.lists(st.integers(0, 7), min_size=n, max_size=n)))
    risk = np.array(risks) / 8
    i = data.draw(st.integers(0, n - 1))
    for changed in (np.arange(n) == i, groups == groups[i]):
        flipped = np.where(changed, 1 - truth, truth)
        for objective in ("balanced_accuracy", "f1"):
            before = cross_fitted(truth, risk, groups, objective=objective, folds=3)
            after = cross_fitted(flipped, risk, groups, objective=objective, folds=3)
            assert (before[changed] == after[changed]).all()
        other = np.where(changed, (truth + 2) % 3, truth)
        before = cross_fitted_classes(truth, risk, groups, 3, folds=3)
        after = cross_fitted_classes(other, risk, groups, 3, folds=3)
        assert (before[changed] == after[changed]).all()


def test_folds_take_whole_groups() -> None:
    """Items of equal risk in one group are labelled alike, though thresholds differ by fold."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 12, 120)
    truth = rng.integers(0, 2, 120).astype(float)
    risk = rng.integers(0, 6, 120) / 5
    labels = cross_fitted(truth, risk, groups, folds=12, seed=4)
    seen: dict[tuple[int, float], int] = {}
    for g, r, label in zip(groups.tolist(), risk.tolist(), labels.tolist(), strict=True):
        assert seen.setdefault((g, r), label) == label
    # With as many folds as groups, each group is labelled by all the others.
    for g in range(12):
        rest = groups != g
        cut = best_threshold(truth[rest], risk[rest], "balanced_accuracy")
        assert (labels[~rest] == (risk[~rest] >= cut)).all()
    by_fold = {(r, seen[g, r]) for g, r in seen}
    assert len(by_fold) > 6  # some risk is labelled either way, so the thresholds do differ


def test_a_group_memorised_is_no_help() -> None:
    """Risks that only identify their group: in-sample is perfect, cross-fitted is not."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 200).astype(float)
    risk = rng.random(200)
    labels = cross_fitted(truth, risk, np.arange(200), objective="accuracy")
    fitted = (risk >= best_threshold(truth, risk, "accuracy")) == truth
    assert (labels == truth).mean() < fitted.mean()


def test_cross_fitted_is_near_the_best_on_large_data() -> None:
    truth, risk = noisy(4000, 5)
    labels = cross_fitted(truth, risk, np.arange(4000))
    best = risk >= best_threshold(truth, risk, "balanced_accuracy")
    of = metrics.balanced_accuracy_score
    assert of(truth, best) - 0.02 < of(truth, labels) <= of(truth, best)


def test_seed_decides_the_folds() -> None:
    truth, risk = noisy(60, 2)
    runs = [cross_fitted(truth, risk, np.arange(60), seed=s) for s in (0, 0, 1, 2, 3)]
    assert (runs[0] == runs[1]).all()
    assert any((runs[0] != other).any() for other in runs[2:])


def test_missing_risk_is_minus_one() -> None:
    truth, risk = noisy(50, 3)
    risk[::7] = np.nan
    for labels in (
        cross_fitted(truth, risk, np.arange(50)),
        cross_fitted_classes(truth, risk, np.arange(50), 3),
    ):
        assert labels.dtype == np.int64
        assert ((labels == -1) == np.isnan(risk)).all()


@pytest.mark.parametrize("groups", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_one_class_to_fit_on_falls_back(groups: list[int]) -> None:
    risk = np.array([0.1, 0.45, 0.5, 0.8])
    unit = np.array(groups)
    for truth in (np.zeros(4), np.ones(4)):
        assert cross_fitted(truth, risk, unit).tolist() == [0, 0, 1, 1]
        assert cross_fitted_classes(truth, risk, unit, 3).tolist() == [0, 1, 1, 2]
    unscored = np.array([0.0, 0, 0, 0, 1]), np.array([*risk, np.nan])  # the other class has no risk
    assert cross_fitted(*unscored, np.arange(5)).tolist() == [0, 0, 1, 1, -1]
    assert cross_fitted(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)).tolist() == []


# Ordered classes


def macro(truth: np.ndarray, predicted: np.ndarray, classes: int) -> float:
    return float(
        metrics.f1_score(truth, predicted, average="macro", labels=range(classes), zero_division=0)
    )


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_no_cuts_are_better(classes: int) -> None:
    rng = np.random.default_rng(classes)
    for _ in range(3 if classes > 3 else 6):
        truth = rng.integers(0, classes, 30).astype(float)
        risk = np.clip(truth / classes + 0.3 * rng.normal(size=30), 0, 1).round(1)
        cuts = best_cuts(truth, risk, classes)
        assert cuts.shape == (classes - 1,) and (np.diff(cuts) >= 0).all()
        ours = macro(truth, np.searchsorted(cuts, risk, side="right"), classes)
        every = [-1.0, *np.unique(risk).tolist(), 2.0]
        best = max(
            macro(truth, np.searchsorted(np.array(c), risk, side="right"), classes)
            for c in itertools.combinations_with_replacement(every, classes - 1)
        )
        assert ours == pytest.approx(best, abs=1e-12)


def test_a_class_that_cannot_be_found_gets_no_stretch_of_its_own() -> None:
    """Low and high risks overlap and the rare middle class is anywhere: cuts stay in order."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = rng.choice([0.0, 1.0, 2.0], 40, p=[0.48, 0.04, 0.48])
        risk = rng.random(40).round(1)
        cuts = best_cuts(truth, risk, 3)
        assert (np.diff(cuts) >= 0).all()
        ours = macro(truth, np.searchsorted(cuts, risk, side="right"), 3)
        best = max(
            macro(truth, np.searchsorted(np.array(c), risk, side="right"), 3)
            for c in itertools.combinations_with_replacement([*np.unique(risk), 2.0], 2)
        )
        assert ours == pytest.approx(best, abs=1e-12)


def test_cuts_of_parted_classes_are_midpoints() -> None:
    truth = np.array([0.0, 0, 1, 1, 2])
    cuts = best_cuts(truth, np.array([0.1, 0.2, 0.4, 0.5, 0.9]), 3)
    assert cuts == pytest.approx([0.3, 0.7])


def test_many_distinct_risks_lose_little_to_the_coarser_cuts() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 20000).astype(float)
    risk = 1 / (1 + np.exp(-truth - rng.normal(size=20000)))
    exact = risk >= best_threshold(truth, risk, "macro_f1")
    coarse = np.searchsorted(best_cuts(truth, risk, 2), risk, side="right")
    assert macro(truth, coarse, 2) > macro(truth, exact, 2) - 0.001


def test_three_classes_cross_fitted() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, 900).astype(float)
    risk = np.clip(truth / 3 + 1 / 6 + 0.08 * rng.normal(size=900), 0, 1)
    labels = cross_fitted_classes(truth, risk, np.arange(900) // 3, 3)
    assert set(labels.tolist()) == {0, 1, 2}
    # The ideal cuts, 1/3 and 2/3, lie 1/6 from the class centres.
    ideal = np.digitize(risk, [1 / 3, 2 / 3])
    assert macro(truth, labels, 3) == pytest.approx(macro(truth, ideal, 3), abs=0.01)


def _counted(truth: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return metrics.confusion_matrix(truth, labels, labels=[0, 1]).astype(float)


@pytest.mark.parametrize("objective", ["balanced_accuracy", "weighted_f1", "mcc"])
@pytest.mark.parametrize("groups_of", [1, 3])
def test_refitted_counts_are_those_of_the_repeated_data(objective: str, groups_of: int) -> None:
    rng = np.random.default_rng(1)
    truth, risk = noisy(120, 5, decimals=1)
    groups = np.arange(120) // groups_of
    weights = rng.integers(1, 4, (4, 120 // groups_of))[:, groups].astype(float)
    found = refitted(truth, risk, groups, weights, objective=objective, seed=2)
    for own, table in zip(weights.astype(int), found, strict=True):
        t, r, g = (np.repeat(x, own) for x in (truth, risk, groups))
        labels = cross_fitted(t, r, g, objective=objective, seed=2)
        assert table == pytest.approx(_counted(t, labels))


def test_coarser_cuts_make_no_bias() -> None:
    """The refitted figure of the sample itself is that of its labels, give or take a few."""
    differences = []
    for seed in range(30):
        truth, risk = noisy(600, seed)
        groups = np.arange(600)
        (table,) = refitted(truth, risk, groups, np.ones((1, 600)), seed=seed)
        labels = cross_fitted(truth, risk, groups, seed=seed)
        differences.append(
            [float(f(t)) for t in (table, _counted(truth, labels))
             for f in (classification.accuracy, classification.macro_f1)]
        )  # fmt: skip
    accuracy, macro_f1, accuracy_0, macro_f1_0 = np.array(differences).T
    for anew, kept in ((accuracy, accuracy_0), (macro_f1, macro_f1_0)):
        assert np.abs(anew - kept).max() < 0.03
        assert abs(float((anew - kept).mean())) < 0.003


def test_intervals_of_decisions_allow_for_the_threshold() -> None:
    """95 % intervals of accuracy: too narrow by far while the labels are held fixed."""
    rng = np.random.default_rng(3)
    values, fixed, fitted = [], [], []
    for i in range(120):
        truth = (rng.random(300) < 0.3).astype(float)
        risk = 0.9 * truth + rng.normal(size=300)
        groups = np.arange(300)
        labels = cross_fitted(truth, risk, groups, seed=i)
        values.append(float((labels == truth).mean()))
        (weights,) = Resampler(groups, 200, i).chunks()
        kept = classification.counts(truth, labels, 2, weights)
        anew = refitted(truth, risk, groups, weights, seed=i)
        fixed.append(interval(classification.accuracy(kept)))
        fitted.append(interval(classification.accuracy(anew)))
    centre = float(np.mean(values))

    def cover(found: list) -> float:  # type: ignore[type-arg]
        return float(np.mean([low <= centre <= high for low, high in found]))

    assert cover(fixed) < 0.85
    assert cover(fitted) >= 0.93


def test_refitted_on_hard_samples() -> None:
    risk = np.linspace(0, 1, 6)
    weights = np.array([[1.0, 0, 2, 0, 3, 0], [0.0, 0, 0, 0, 0, 6]])
    for truth in (np.zeros(6), np.ones(6), np.array([0.0, 1, 0, 1, 0, 1])):
        table = refitted(truth, risk, np.arange(6), weights)
        assert table.sum(axis=(1, 2)) == pytest.approx([6, 6])
        positives = weights @ truth
        assert table[:, 1].sum(axis=1) == pytest.approx(positives)
    with pytest.raises(UsageError, match="objective"):
        refitted(truth, risk, np.arange(6), weights, objective="luck")
