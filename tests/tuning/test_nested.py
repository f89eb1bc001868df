"""Honest figures: what was not fitted to, beside each component, paired."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import percentileofscore
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from veridical.ensembles.fitting import Recipe, fit, folds
from veridical.ensembles.graded import Graded
from veridical.errors import UsageError
from veridical.tuning.held_out import _quantiles, out_of_fold
from veridical.tuning.nested import nested

Floats = NDArray[np.float64]


def data(n: int = 160, strength: tuple[float, ...] = (1.5, 1.5), seed: int = 0) -> Graded:
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.4).astype(np.float64)
    risks = expit(rng.normal(size=(n, len(strength))) + np.outer(labels - 0.5, strength))
    return Graded.of({f"s{i}": risks[:, i] for i in range(len(strength))}, labels)


def test_out_of_fold_is_cross_validation() -> None:
    graded = data()
    fold = folds(graded, 5, 0)
    judged, _ = out_of_fold(graded, Recipe(method="logistic"), fold)
    for f in range(5):
        x = graded.risks
        mean, scale = x[fold != f].mean(axis=0), x[fold != f].std(axis=0)
        model = LogisticRegression(tol=1e-10).fit(
            (x[fold != f] - mean) / scale, graded.labels[fold != f]
        )
        own = fold == f
        expected = model.predict_proba((x[own] - mean) / scale)[:, 1]
        np.testing.assert_allclose(judged.order[own], expected, atol=1e-5)


def test_noise_is_worth_nothing_however_well_it_is_fitted() -> None:
    values, fitted = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        labels = np.tile([0.0, 1.0], 40)
        graded = Graded.of({f"s{i}": rng.random(80) for i in range(4)}, labels)
        found = nested(graded, Recipe(seed=seed), bootstrap=0)
        assert found.ensemble.value is not None
        values.append(found.ensemble.value)
        fitted.append(roc_auc_score(labels, fit(graded, Recipe()).order(graded)))
    assert np.mean(fitted) > 0.56
    assert np.mean(values) < 0.55


def test_figures_of_components_are_those_of_scikit_learn() -> None:
    graded = data(strength=(1.5, 1.0, 0.0))
    graded.risks[:20, 1] = np.nan
    found = nested(graded, Recipe(), bootstrap=60)
    rows = {r.name: r for r in found.rows}
    assert rows["s0"].alone.value == pytest.approx(roc_auc_score(graded.labels, graded.risks[:, 0]))
    scored = slice(20, None)
    assert rows["s1"].n == 140
    alone = roc_auc_score(graded.labels[scored], graded.risks[scored, 1])
    assert rows["s1"].alone.value == pytest.approx(alone)
    joint = roc_auc_score(graded.labels[scored], found.judged.rank[scored])
    assert rows["s1"].gain.value == pytest.approx(joint - alone)  # on what both scored
    assert found.ensemble.value == pytest.approx(roc_auc_score(graded.labels, found.judged.rank))
    assert found.best is not None and found.best.name == "s0"


def test_components_that_do_not_help_are_named() -> None:
    graded = data(200, (2.0, 2.0, 0.0), seed=3)
    fits = fit(graded, Recipe())
    found = nested(graded, Recipe(), bootstrap=100, final=fits)
    assert "s0" not in found.not_helping and "s1" not in found.not_helping
    rows = {r.name: r for r in found.rows}
    for name in ("s0", "s1"):
        weight, needed = rows[name].weight, rows[name].needed
        assert weight is not None and weight.low is not None and weight.high is not None
        assert weight.low <= weight.value <= weight.high  # type: ignore[operator]
        assert needed is not None and needed.low is not None and needed.low > 0
        assert rows[name].p_holm is not None and rows[name].p_holm < 0.05
    useless = rows["s2"].weight
    assert useless is not None and useless.value is not None and useless.value < 0.1


def test_losses_are_better_when_lower() -> None:
    graded = data(200, (2.0, 0.5))
    found = nested(graded, Recipe(method="logistic", objective="brier"), bootstrap=50)
    assert found.best is not None and found.best.name == "s0"
    for row in found.rows:
        assert row.alone.value is not None and found.ensemble.value is not None
        assert row.gain.value == pytest.approx(row.alone.value - found.ensemble.value)


def test_labels_of_a_component_are_cut_on_the_other_folds() -> None:
    graded = data(200, (2.0,))
    found = nested(graded, Recipe(objective="f1"), bootstrap=0)
    (row,) = found.rows
    fold = folds(graded, 5, 0)
    called = np.zeros(200)
    for f in range(5):
        own, other = fold == f, fold != f
        cuts = np.unique(graded.risks[other, 0])
        scores = [f1_score(graded.labels[other], graded.risks[other, 0] >= c) for c in cuts]
        called[own] = graded.risks[own, 0] >= cuts[int(np.argmax(scores))]
    assert row.alone.value == pytest.approx(f1_score(graded.labels, called), abs=0.02)
    assert row.alone.value == found.ensemble.value  # one component is the ensemble
    assert row.gain.value == 0.0


def test_calibration_is_assessed_out_of_fold() -> None:
    graded = data(300, (2.0, 2.0))
    found = nested(graded, Recipe(calibrate="platt"), bootstrap=0)
    assert found.before is not None and found.after is not None
    assert found.after["brier"] < found.before["brier"]  # type: ignore[operator]
    mean = float(np.mean((found.judged.risk - graded.labels) ** 2))
    assert found.after["brier"] == pytest.approx(mean)


def test_units_are_resampled_whole() -> None:
    graded = data(80, (1.5, 1.5))
    repeated = graded.take(np.repeat(np.arange(80), 4))  # each unit four times over
    one = nested(graded, Recipe(method="logistic"), bootstrap=300).ensemble
    four = nested(repeated, Recipe(method="logistic"), bootstrap=300).ensemble
    assert one.low is not None and four.low is not None
    assert one.high is not None and four.high is not None
    assert four.high - four.low > 0.75 * (one.high - one.low)


def test_too_few_are_refused() -> None:
    graded = data(160)
    few = graded.take(np.flatnonzero(graded.labels == 0)[:50])
    with pytest.raises(UsageError, match=r"0 hallucinated and 50 right answers are too few"):
        nested(few, Recipe())
    one = Graded(**{**graded.__dict__, "groups": np.zeros(160, dtype=np.int64)})
    with pytest.raises(UsageError, match="1 independent units"):
        nested(one, Recipe())


def test_folds_of_another_scale_are_compared_by_quantiles() -> None:
    whole = np.append(np.random.default_rng(1).random(200), np.nan)
    held_out = np.append(whole[[3, 7, 3]], np.nan)
    found = _quantiles(held_out, whole)
    assert found == pytest.approx(_quantiles(held_out / 8, whole / 8), nan_ok=True)
    expected = [percentileofscore(whole[:200], x, "mean") / 100 for x in held_out[:3]]
    assert found[:3] == pytest.approx(expected)
    assert found[0] == found[2] and np.isnan(found[3])


def test_fits_that_order_alike_keep_ties_of_different_folds() -> None:
    """Every fold's logistic model of one component orders as the component does."""
    rng = np.random.default_rng(4)
    labels = np.tile([0.0, 1.0], 60)
    levels = np.clip(np.round(rng.normal(1.5 * labels, 1.0)), 0, 3) / 3
    graded = Graded.of({"a": levels}, labels)
    judged, _ = out_of_fold(graded, Recipe(method="logistic"), folds(graded, 5, 0))
    assert roc_auc_score(labels, judged.rank) == pytest.approx(roc_auc_score(labels, levels))


@pytest.mark.parametrize("objective", ["auroc", "average_precision"])
def test_an_ensemble_that_is_its_component_has_its_figure(objective: str) -> None:
    """Tied risks, as of few samples: the folds' scales must not part what is tied."""
    rng = np.random.default_rng(3)
    labels = np.tile([0.0, 1.0], 60)
    levels = np.clip(np.round(rng.normal(1.5 * labels, 1.0)), 0, 3) / 3
    found = nested(Graded.of({"a": levels}, labels), Recipe(objective=objective), bootstrap=50)
    score = {"auroc": roc_auc_score, "average_precision": average_precision_score}[objective]
    assert found.ensemble.value == pytest.approx(score(labels, levels))
    assert found.rows[0].gain.value == pytest.approx(0.0)
    assert found.rows[0].p == 1.0


def two_scales(n: int = 400) -> tuple[Graded, np.ndarray]:
    """One component, as good in both strata; in one its risks are low and in the other high, and
    as many are hallucinated in both."""
    rng = np.random.default_rng(0)
    labels = (rng.random(n) < 0.4).astype(float)
    high = np.arange(n) % 2
    risk = 0.45 / (1 + np.exp(-1.5 * (labels - 0.5) - rng.normal(0, 1, n))) + 0.5 * high
    other = rng.random(n)
    strata = ["high" if h else "low" for h in high]
    return Graded.of({"a": risk, "noise": other}, labels, strata=strata), high


def test_each_stratum_has_its_own_figure_and_calibration_makes_them_comparable() -> None:
    data, high = two_scales()
    plain = nested(data.select(["a"]), Recipe(), bootstrap=0)
    calibrated = nested(data.select(["a"]), Recipe(calibrate="platt"), bootstrap=0)
    for found in (plain, calibrated):
        assert list(found.of_strata) == ["high", "low"]
        for name, own in (("high", high == 1), ("low", high == 0)):
            alone = roc_auc_score(data.labels[own], data.risks[own, 0])
            assert found.of_strata[name].own_fit.value == pytest.approx(alone, abs=0.01)
            assert found.of_strata[name].one_fit.value == pytest.approx(alone, abs=0.01)
            assert found.of_strata[name].n == 200
    mixed = roc_auc_score(data.labels, data.risks[:, 0])
    assert plain.ensemble.value == pytest.approx(mixed, abs=0.01)
    assert calibrated.ensemble.value == pytest.approx(alone, abs=0.04) and alone > mixed + 0.1
    assert calibrated.without_strata is not None
    assert calibrated.without_strata.value == pytest.approx(mixed, abs=0.01)


def test_strata_with_too_few_of_a_kind_have_no_figure() -> None:
    data, _ = two_scales()
    strata = [s if i < 380 else "rare" for i, s in enumerate(data.strata or ())]
    found = nested(replace(data, strata=tuple(strata)), Recipe(), bootstrap=0)
    assert list(found.of_strata) == ["high", "low"]
    assert not nested(replace(data, strata=None), Recipe(), bootstrap=0).of_strata
