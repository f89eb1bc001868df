"""One fit: folds, thresholds, calibration, strata, and which components are looked at."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from veridical.ensembles import fitting
from veridical.ensembles.fitting import Recipe, fit, fit_one, folds
from veridical.ensembles.graded import Graded
from veridical.errors import UsageError
from veridical.stats.thresholds import best_threshold

Floats = NDArray[np.float64]


def graded(n: int = 120, k: int = 2, seed: int = 0, each: int = 1) -> Graded:
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.4).astype(np.float64)
    risks = expit(rng.normal(size=(n, k)) + np.linspace(1, 2, k) * (labels[:, None] - 0.5))
    names = {f"s{i}": risks[:, i] for i in range(k)}
    return Graded.of(names, labels, groups=np.arange(n) // each)


def test_folds_part_no_unit_and_share_the_hallucinated() -> None:
    data = graded(300, each=3)
    fold = folds(data, 5, 0)
    for unit in np.unique(data.groups):
        assert len(set(fold[data.groups == unit])) == 1
    assert set(np.bincount(fold)) == {60}
    shares = [data.labels[fold == f].mean() for f in range(5)]
    assert max(shares) - min(shares) < 0.06
    assert (folds(data, 5, 1) != fold).any()
    np.testing.assert_array_equal(folds(data, 5, 0), fold)


def test_threshold_of_weights_is_the_best_on_the_data() -> None:
    data = graded()
    made = fit_one(data, Recipe(objective="balanced_accuracy"))
    risk = made.order(data.risks)
    assert made.threshold == best_threshold(data.labels, risk, "balanced_accuracy")


@pytest.mark.parametrize("calibrate", ["platt", "isotonic", "beta"])
def test_a_joint_threshold_parts_the_same_answers_after_calibration(calibrate: str) -> None:
    data = graded(200)
    plain = fit_one(data, Recipe(objective="f1", joint=True))
    made = fit_one(data, Recipe(objective="f1", joint=True, calibrate=calibrate))
    assert plain.threshold is not None and made.threshold is not None
    before = plain.order(data.risks) >= plain.threshold
    after = made.calibrated(made.order(data.risks)) >= made.threshold
    changed = int((before != after).sum())
    assert changed == 0 if calibrate != "isotonic" else changed <= 3  # steps may tie answers


def test_stacked_models_are_cut_and_calibrated_out_of_fold() -> None:
    rng = np.random.default_rng(0)
    labels = np.tile([0.0, 1.0], 60)
    noise = Graded.of({f"s{i}": rng.random(120) for i in range(8)}, labels)
    made = fit_one(noise, Recipe(method="boosted", calibrate="platt"))
    seen = made.order(noise.risks)
    assert np.corrcoef(seen, labels)[0, 1] > 0.4  # fits what it has seen
    probabilities = made.calibrated(seen)
    assert probabilities.std() < 0.15  # but is not believed


def test_strata_have_a_fit_of_their_own_where_they_have_enough() -> None:
    data = graded(200)
    strata = tuple(["qa"] * 150 + ["other"] * 30 + [""] * 20)
    fits = fit(Graded(**{**data.__dict__, "strata": strata}), Recipe())
    assert set(fits.of) == {"qa"}
    own = fit_one(data.take(np.arange(150)), Recipe())
    assert own.weights is not None and fits.of["qa"].weights is not None
    np.testing.assert_array_equal(fits.of["qa"].weights, own.weights)
    mixed = Graded(**{**data.__dict__, "strata": strata})
    risk = fits.risk(mixed)
    np.testing.assert_array_equal(risk[:150], own.order(data.risks[:150]))
    np.testing.assert_array_equal(risk[150:], fits.overall.order(data.risks[150:]))


def test_of_many_components_the_best_without_copies_are_searched() -> None:
    data = graded(300, k=14, seed=2)
    copies = np.column_stack([data.risks, np.sqrt(data.risks[:, 13]), data.risks[:, 12] ** 2])
    chosen = fitting.promising(copies, data.labels)
    assert len(chosen) == fitting.MOST
    assert len({13, 14} & set(chosen.tolist())) == 1
    assert len({12, 15} & set(chosen.tolist())) == 1
    assert 0 not in chosen  # among the weakest
    few = data.risks[:, :3].copy()
    few[:, 1] = np.nan
    assert fitting.promising(few, data.labels).tolist() == [0, 2]


@pytest.mark.parametrize("method", ["weighted", "logistic", "boosted"])
def test_a_component_scored_nowhere_has_no_say(method: str) -> None:
    data = graded(100, k=3)
    data.risks[:, 1] = np.nan
    made = fit_one(data, Recipe(method=method))  # type: ignore[arg-type]
    there = data.risks.copy()
    there[:, 1] = 0.9
    np.testing.assert_allclose(made.order(there), made.order(data.risks), atol=1e-12)
    nothing = np.full((1, 3), np.nan)
    assert np.isnan(made.order(nothing)).all()


@pytest.mark.parametrize(
    ("recipe", "why"),
    [
        (Recipe(objective="auc"), "unknown objective"),
        (Recipe(method="linear"), "unknown method"),  # type: ignore[arg-type]
        (Recipe(calibrate="plat"), "did you mean 'platt'"),
        (Recipe(joint=True), "joint requires an objective with a threshold"),
        (Recipe(objective="f1", joint=True, method="logistic"), "joint tunes weights"),
        (Recipe(beta=2.0), "beta goes with"),
        (Recipe(objective="f_beta", beta=-1.0), "beta must be a positive number"),
    ],
)
def test_what_does_not_go_together(recipe: Recipe, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        recipe.check()
