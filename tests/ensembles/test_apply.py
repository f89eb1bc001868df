"""An ensemble applied to risks, by hand-worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ensemble_files import CALLS, weighted

from veridical.ensembles.apply import risk_of, risks_of
from veridical.ensembles.ensemble_file import Fit, Logistic, Strata

NAN = math.nan


def test_weights_are_renormalised_over_the_scored() -> None:
    rows = np.array([[1.0, 0.5, 0.0], [1.0, NAN, 0.0], [NAN, NAN, 0.3], [NAN, NAN, NAN]])
    assert risks_of(weighted(), rows).tolist() == pytest.approx(
        [0.65, 0.5 / 0.7, 0.3, NAN], nan_ok=True
    )


def test_one_record_says_what_was_used() -> None:
    made = risk_of(weighted(), {"ngram(n=2)": 1.0, "exact_match": 0.0, "support": None})
    assert made.risk == pytest.approx(0.5 / 0.7)
    assert made.missing == ("support",)
    assert made.weights == {"ngram(n=2)": pytest.approx(5 / 7), "exact_match": pytest.approx(2 / 7)}
    nothing = risk_of(weighted(), {})
    assert nothing == (None, CALLS, {})


def test_a_component_without_weight_cannot_carry_a_record() -> None:
    fit = Fit(weights=dict(zip(CALLS, (1.0, 0.0, 0.0), strict=True)), n=1, positive=1)
    made = risk_of(weighted(fit=fit), {"support": 0.7})
    assert made.risk is None and made.weights == {}


def test_risks_are_taken_as_tuning_saw_them() -> None:
    """To six decimals: a step at 0.182434 must not part what was tied there."""
    steps = {"method": "isotonic", "risks": [0.182434, 0.182435], "values": [0.1, 0.9]}
    weights = dict(zip(CALLS, (1.0, 0.0, 0.0), strict=True))
    fit = Fit(weights=weights, calibration=steps, n=1, positive=1)
    assert risk_of(weighted(fit=fit), {CALLS[0]: 0.1824344747}).risk == pytest.approx(0.1)


def test_each_stratum_has_its_own_fit_and_others_the_overall_one() -> None:
    own = Fit(weights=dict(zip(CALLS, (0.0, 1.0, 0.0), strict=True)), n=5, positive=2)
    ensemble = weighted(strata=Strata(by="task", of={"qa": own}))
    rows = np.array([[1.0, 0.5, 0.0]] * 4)
    found = risks_of(ensemble, rows, ["qa", "other", None, "qa"])
    assert found.tolist() == pytest.approx([0.5, 0.65, 0.65, 0.5])
    assert risks_of(ensemble, rows).tolist() == pytest.approx([0.65] * 4)


def test_a_logistic_fit_gives_the_sigmoid_and_missing_ones_their_mean() -> None:
    parameters = Logistic(
        intercept=-1.0, coefficients=(2.0, 0.0, 1.0), mean=(0.5, 0.5, 0.2), scale=(0.5, 1.0, 0.1)
    )
    ensemble = weighted(method="logistic", fit=Fit(parameters=parameters, n=9, positive=3))
    rows = np.array([[1.0, 0.0, 0.3], [NAN, 0.0, 0.3], [NAN, NAN, NAN]])
    expected = [1 / (1 + math.exp(-2)), 0.5, NAN]  # -1 + 2 + 1; -1 + 0 + 1
    assert risks_of(ensemble, rows).tolist() == pytest.approx(expected, nan_ok=True)
    assert risk_of(ensemble, {CALLS[2]: 0.3}).weights is None


def test_calibration_comes_last_and_leaves_the_unscored_alone() -> None:
    from veridical.stats.calibration import fit as fit_calibration

    rng = np.random.default_rng(0)
    risk = rng.random(400)
    labels = (rng.random(400) < risk**2).astype(float)
    calibration = fit_calibration("isotonic", risk, labels)
    plain = weighted()
    fit = plain.fit.model_copy(update={"calibration": calibration.as_dict()})
    ensemble = weighted(fit=fit)
    rows = np.vstack([rng.random((20, 3)), [NAN] * 3])
    before = risks_of(plain, rows)
    after = risks_of(ensemble, rows)
    assert np.allclose(after[:-1], calibration.apply(before[:-1]))
    assert np.isnan(after[-1]) and np.nanmin(after) >= 0 and np.nanmax(after) <= 1


def test_another_shape_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\(n, 3\)"):
        risks_of(weighted(), np.zeros((4, 2)))
