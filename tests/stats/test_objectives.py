"""Objectives against scikit-learn, thresholds against every threshold there is."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.errors import UsageError
from veridical.stats.objectives import OBJECTIVES, objective_named
from veridical.stats.thresholds import best_threshold

sklearn_metrics = pytest.importorskip("sklearn.metrics")

WITH_THRESHOLD = ("f1", "f_beta", "balanced_accuracy", "accuracy")


def graded(seed: int, n: int = 60, levels: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.4).astype(np.float64)
    risk = np.clip(0.3 * labels + 0.7 * rng.random(n), 0, 1)
    return labels, np.round(risk * levels) / levels


def reference(name: str, labels: np.ndarray, called: np.ndarray, beta: float) -> float:
    of_labels = {
        "f1": lambda: sklearn_metrics.f1_score(labels, called, zero_division=0),
        "f_beta": lambda: sklearn_metrics.fbeta_score(labels, called, beta=beta, zero_division=0),
        "balanced_accuracy": lambda: sklearn_metrics.balanced_accuracy_score(labels, called),
        "accuracy": lambda: sklearn_metrics.accuracy_score(labels, called),
    }
    return float(of_labels[name]())


def test_those_without_threshold_agree_with_scikit_learn() -> None:
    labels, risk = graded(0)
    references = {
        "auroc": sklearn_metrics.roc_auc_score,
        "average_precision": sklearn_metrics.average_precision_score,
        "brier": sklearn_metrics.brier_score_loss,
        "log_loss": sklearn_metrics.log_loss,
    }
    assert {name for name, o in OBJECTIVES.items() if not o.needs_threshold} == set(references)
    for name, of in references.items():
        assert OBJECTIVES[name].value(labels, risk) == pytest.approx(of(labels, risk), abs=1e-12)
        assert OBJECTIVES[name].larger_is_better == (name in ("auroc", "average_precision"))


@pytest.mark.parametrize("name", WITH_THRESHOLD)
@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.5, 0.51, 1.01])
def test_those_with_a_threshold_agree_with_scikit_learn(name: str, threshold: float) -> None:
    labels, risk = graded(1)
    expected = reference(name, labels, risk >= threshold, 2.0)
    assert OBJECTIVES[name].value(labels, risk, threshold, 2.0) == pytest.approx(expected)
    assert OBJECTIVES[name].larger_is_better


@pytest.mark.parametrize("name", WITH_THRESHOLD)
@pytest.mark.parametrize("seed", range(6))
def test_the_best_threshold_is_the_best_of_all(name: str, seed: int) -> None:
    labels, risk = graded(seed, n=25, levels=(5, 1000)[seed % 2])
    threshold = best_threshold(labels, risk, name, 0.5)
    value = OBJECTIVES[name].value(labels, risk, threshold, 0.5)
    assert value == pytest.approx(reference(name, labels, risk >= threshold, 0.5))
    tried = np.concatenate([np.unique(risk), [0.0, 1.1]])
    assert value == pytest.approx(
        max(reference(name, labels, risk >= t, 0.5) for t in tried), abs=1e-12
    )


def test_by_hand() -> None:
    labels = np.array([0.0, 0.0, 1.0, 0.0, 1.0])
    risk = np.array([0.1, 0.2, 0.3, 0.4, 0.8])
    # at 0.25: 2 found, 1 false: precision 2/3, recall 1; at 0.6: precision 1, recall 1/2
    assert best_threshold(labels, risk, "f1") == pytest.approx(0.25)
    assert best_threshold(labels, risk, "f_beta", 0.25) == pytest.approx(0.6)
    # at 0.25 and at 0.6 both are right 4 times of 5: the lower is taken
    assert best_threshold(labels, risk, "accuracy") == pytest.approx(0.25)


def test_what_is_all_called_or_not_at_all_has_a_threshold_at_the_edge() -> None:
    labels = np.array([1.0, 1.0, 1.0, 0.0])
    assert best_threshold(labels, np.array([0.2, 0.4, 0.6, 0.9]), "f1") == 0.0
    for top in (0.9, 1.0):
        risk = np.array([top, 0.4, 0.6, 0.2])
        assert best_threshold(1 - labels, risk, "accuracy") == np.nextafter(1.0, 2.0)


def test_one_class_is_called_as_it_is() -> None:
    risk = np.array([0.2, 0.7])
    for name in ("accuracy", "balanced_accuracy"):
        for label in (0.0, 1.0):
            labels = np.full(2, label)
            threshold = best_threshold(labels, risk, name)
            assert OBJECTIVES[name].value(labels, risk, threshold) == 1.0
            assert ((risk >= threshold) == (label == 1.0)).all()


def test_undefined_is_nan() -> None:
    nan = float("nan")
    assert np.isnan(OBJECTIVES["auroc"].value(np.ones(3), np.array([0.1, 0.2, 0.3])))
    for name, objective in OBJECTIVES.items():
        threshold = 0.5 if objective.needs_threshold else None
        assert np.isnan(objective.value(np.array([1.0, 0.0]), np.array([nan, 0.1]), threshold)), (
            name
        )
        assert np.isnan(objective.value(np.empty(0), np.empty(0), threshold)), name


def test_labels_from_half_on_are_hallucinated() -> None:
    risk = np.array([0.9, 0.8, 0.1])
    assert OBJECTIVES["auroc"].value(np.array([0.5, 0.7, 0.4]), risk) == 1.0
    assert OBJECTIVES["f1"].value(np.array([0.5, 0.7, 0.4]), risk, 0.5) == 1.0


def test_errors_say_what_is_wrong() -> None:
    labels, risk = graded(2)
    with pytest.raises(UsageError, match="unknown objective 'f2'"):
        objective_named("f2")
    with pytest.raises(UsageError, match="requires a threshold"):
        OBJECTIVES["f1"].value(labels, risk)
    with pytest.raises(UsageError, match="unknown objective 'auroc'"):
        best_threshold(labels, risk, "auroc")
    for beta in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="beta"):
            best_threshold(labels, risk, "f_beta", beta)
        with pytest.raises(UsageError, match="beta"):
            OBJECTIVES["f_beta"].value(labels, risk, 0.5, beta)
    with pytest.raises(ValueError, match="length"):
        OBJECTIVES["f1"].value(labels, risk[1:], 0.5)
