"""Calibration, against scikit-learn, scipy's optimiser and examples worked by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from veridical.errors import UsageError
from veridical.stats.calibration import EDGE, METHODS, Calibration, assess, fit


def graded(n: int, seed: int, decimals: int = 9) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.35).astype(float)
    labels[:2] = 0, 1
    risk = np.clip(0.4 + 0.15 * labels + 0.2 * rng.normal(size=n), 0, 1).round(decimals)
    return risk, labels


def platt_targets(labels: np.ndarray) -> np.ndarray:
    positives = labels.sum()
    negatives = len(labels) - positives
    return np.where(labels > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))


def log_odds(p: np.ndarray) -> np.ndarray:
    return np.log(p) - np.log1p(-p)


@pytest.mark.parametrize(("n", "decimals"), [(12, 9), (60, 1), (400, 9)])
def test_platt_is_a_logistic_regression_without_penalty(n: int, decimals: int) -> None:
    risk, labels = graded(n, 1, decimals)
    targets = platt_targets(labels)
    # A target between 0 and 1 is an answer of each kind, weighted.
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(
        np.tile(risk, 2)[:, None],
        np.repeat([1, 0], n),
        sample_weight=np.concatenate([targets, 1 - targets]),
    )
    expected = model.predict_proba(risk[:, None])[:, 1]
    assert fit("platt", risk, labels).apply(risk) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("n", "decimals"), [(5, 9), (60, 1), (400, 9)])
def test_isotonic_is_that_of_scikit_learn(n: int, decimals: int) -> None:
    risk, labels = graded(n, 2, decimals)
    model = IsotonicRegression(out_of_bounds="clip").fit(risk, platt_targets(labels))
    at = np.concatenate([risk, np.linspace(0, 1, 101)])
    assert fit("isotonic", risk, labels).apply(at) == pytest.approx(model.predict(at), abs=1e-12)


def test_isotonic_worked_by_hand() -> None:
    # 0, 1, 0, 1 pools its middle; of 2 and 2, targets are 3/4 and 1/4, and so the pool is 1/2.
    made = fit("isotonic", np.array([0.1, 0.2, 0.4, 0.8]), np.array([0.0, 1, 0, 1]))
    assert made.as_dict() == {
        "method": "isotonic",
        "risks": [0.1, 0.2, 0.4, 0.8],
        "values": [0.25, 0.5, 0.5, 0.75],
    }
    found = made.apply(np.array([0.0, 0.15, 0.3, 0.6, 1.0]))
    assert found == pytest.approx([0.25, 0.375, 0.5, 0.625, 0.75])


@pytest.mark.parametrize("method", ["platt", "beta", "temperature"])
@pytest.mark.parametrize("case", ["usual", "ends", "parted", "falling"])
def test_no_bounded_map_is_likelier(method: str, case: str) -> None:
    risk, labels = graded(150, 3)
    if case == "ends":  # exact 0 and 1, as a verdict gives them
        risk = np.where(risk < 0.4, 0.0, np.where(risk > 0.7, 1.0, risk))
    if case == "parted":
        risk = 0.2 + 0.5 * labels + 0.1 * risk
    if case == "falling":
        risk = 1 - risk
    p = np.clip(risk, EDGE, 1 - EDGE)
    features = {
        "platt": np.stack([risk, np.ones(150)], axis=1),
        "beta": np.stack([np.log(p), -np.log(1 - p), np.ones(150)], axis=1),
        "temperature": log_odds(p)[:, None],
    }[method]
    targets = platt_targets(labels)

    def loss(z: np.ndarray) -> float:
        return float(np.mean(np.logaddexp(0, z) - targets * z))

    bounds = [(0, None)] * features.shape[1]
    if method != "temperature":
        bounds[-1] = (None, None)
    best = minimize(
        lambda w: loss(features @ w),
        np.zeros(len(bounds)),
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000},
    )
    assert loss(log_odds(fit(method, risk, labels).apply(risk))) <= best.fun + 1e-9


def test_temperature_and_beta_find_how_the_labels_were_made() -> None:
    rng = np.random.default_rng(4)
    risk = rng.uniform(0.01, 0.99, 60_000)
    cooled = 1 / (1 + np.exp(-0.4 * log_odds(risk)))
    made = fit("temperature", risk, (rng.random(60_000) < cooled).astype(float)).as_dict()
    assert made["inverse"] == pytest.approx(0.4, abs=0.02)
    bent = 1 / (1 + np.exp(-(1.5 * np.log(risk) - 0.5 * np.log(1 - risk) + 0.3)))
    made = fit("beta", risk, (rng.random(60_000) < bent).astype(float)).as_dict()
    assert [made["a"], made["b"], made["c"]] == pytest.approx([1.5, 0.5, 0.3], abs=0.08)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25, deadline=None)
@given(
    risk=arrays(np.float64, 30, elements=st.floats(0, 1)),
    positive=st.lists(st.booleans(), min_size=30, max_size=30),
)
def test_every_map_rises_within_the_unit_interval(
    method: str, risk: np.ndarray, positive: list[bool]
) -> None:
    labels = np.array(positive, dtype=float)
    labels[:2] = 0, 1
    made = fit(method, risk, labels)
    at = np.unique(np.concatenate([risk, np.linspace(0, 1, 200)]))
    found = made.apply(at)
    assert (np.diff(found) >= -1e-15).all()
    assert found.min() >= 0 and found.max() <= 1
    stored = Calibration.from_dict(json.loads(json.dumps(made.as_dict())))
    assert stored == made


@pytest.mark.parametrize("method", METHODS)
def test_a_risk_that_falls_as_answers_get_worse_becomes_one_number(method: str) -> None:
    labels = np.array([1.0, 1, 1, 0, 0, 0, 0, 0])
    risk = np.linspace(0.1, 1, 8)
    expected = 0.5 if method == "temperature" else platt_targets(labels).mean()
    assert fit(method, risk, labels).apply(risk) == pytest.approx(np.full(8, expected))


@pytest.mark.parametrize("method", ["platt", "isotonic", "beta"])
def test_a_risk_that_says_nothing_becomes_the_rate(method: str) -> None:
    labels = np.array([1.0, 1, 0, 0, 0, 0, 0])
    found = fit(method, np.full(7, 0.3), labels).apply(np.full(7, 0.3))
    assert found == pytest.approx(np.full(7, platt_targets(labels).mean()))


@pytest.mark.parametrize("method", ["platt", "isotonic", "beta"])
def test_held_out_calibration_improves(method: str) -> None:
    rng = np.random.default_rng(5)
    risk = rng.beta(2, 2, 4000)
    labels = (rng.random(4000) < risk**3).astype(float)  # much overstated
    before = assess(risk[2000:], labels[2000:])
    after = assess(fit(method, risk[:2000], labels[:2000]).apply(risk[2000:]), labels[2000:])
    assert after["ece"] < 0.04 < 0.2 < before["ece"]
    assert after["brier"] < 0.95 * before["brier"]
    assert after["log_loss"] < 0.95 * before["log_loss"]


def test_assess_worked_by_hand() -> None:
    found = assess(np.array([0.05, 0.15, 0.15, 0.95, math.nan]), np.array([0.0, 1, 0, 0.7, 1]))
    assert (found["n"], found["positive"]) == (4, 2)
    # Bins [0, .1): gap .05; [.1, .2): .35 of two; [.9, 1]: .05.
    assert found["ece"] == pytest.approx((0.05 + 2 * 0.35 + 0.05) / 4)
    assert found["mce"] == pytest.approx(0.35)
    assert found["brier"] == pytest.approx((0.05**2 + 0.85**2 + 0.15**2 + 0.05**2) / 4)
    assert found["log_loss"] == pytest.approx(
        -(math.log(0.95) + math.log(0.15) + math.log(0.85) + math.log(0.95)) / 4
    )
    assert [b["n"] for b in found["bins"]] == [1, 2, 0, 0, 0, 0, 0, 0, 0, 1]
    assert json.loads(json.dumps(found)) == found
    assert assess(np.array([math.nan]), np.array([1.0]))["ece"] is None


def test_answers_without_a_score_are_left_out_and_stay_so() -> None:
    risk, labels = graded(50, 6)
    gaps = np.concatenate([risk, [math.nan, math.nan]])
    made = fit("platt", gaps, np.concatenate([labels, [1, 0]]))
    assert made == fit("platt", risk, labels)
    assert np.isnan(made.apply(gaps)).tolist() == [False] * 50 + [True] * 2


def test_what_cannot_be_fitted_is_said() -> None:
    risk, labels = np.array([0.1, 0.9, 0.5]), np.array([0.0, 1, 0])
    with pytest.raises(UsageError, match="did you mean 'platt'"):
        fit("plat", risk, labels)
    with pytest.raises(UsageError, match="not 0 and 3"):
        fit("beta", risk, np.zeros(3))
    with pytest.raises(UsageError, match=r"risk\[1\] = 1.5 is not in"):
        fit("platt", np.array([0.1, 1.5, 0]), labels)
    with pytest.raises(UsageError, match=r"labels\[2\] = nan"):
        fit("platt", risk, np.array([0, 1, math.nan]))
    with pytest.raises(UsageError, match="equal length"):
        fit("platt", risk, labels[:2])
    with pytest.raises(UsageError, match=r"risk\[0\] = -0.1"):
        fit("platt", risk, labels).apply(np.array([-0.1]))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({}, "method"),
        ({"method": "magic"}, "magic"),
        ({"method": "platt", "slope": 1.0}, "intercept"),
        ({"method": "platt", "slope": -1.0, "intercept": 0.0}, "slope"),
        ({"method": "platt", "slope": math.inf, "intercept": 0.0}, "slope"),
        ({"method": "platt", "slope": "1", "intercept": 0.0}, "slope"),
        ({"method": "platt", "slope": True, "intercept": 0.0}, "slope"),
        ({"method": "platt", "slope": 1.0, "intercept": math.nan}, "intercept"),
        ({"method": "platt", "slope": 1.0, "intercept": 0.0, "run": "x"}, "run"),
        ({"method": "isotonic", "risks": [], "values": []}, "risks"),
        ({"method": "isotonic", "risks": [0.1, 0.2], "values": [0.5]}, "2 risks, but 1 values"),
        ({"method": "isotonic", "risks": [0.2, 0.1], "values": [0.1, 0.5]}, "risks must rise"),
        ({"method": "isotonic", "risks": [0.1, 0.2], "values": [0.5, 0.1]}, "must not fall"),
        ({"method": "isotonic", "risks": [0.1, "0.2"], "values": [0.1, 0.5]}, "risks"),
        ({"method": "isotonic", "risks": [0.1, 2], "values": [0.1, 0.5]}, "risks"),
        ({"method": "temperature", "inverse": None}, "inverse"),
    ],
)
def test_a_stored_map_is_not_trusted(data: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=r"^calibration.*" + told):
        Calibration.from_dict(data)
