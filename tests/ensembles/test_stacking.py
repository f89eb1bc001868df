"""Stacked models: fitted like scikit-learn's, kept as numbers, applied by numpy alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from veridical.ensembles import stacking
from veridical.ensembles.ensemble_file import Boosted, Logistic

Floats = NDArray[np.float64]


def problem(n: int = 400, k: int = 4, missing: float = 0.0, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.4).astype(np.float64)
    risks = expit(rng.normal(size=(n, k)) + np.linspace(0, 2, k) * (labels[:, None] - 0.5))
    risks[rng.random((n, k)) < missing] = np.nan
    return risks, labels


def test_logistic_is_that_of_scikit_learn() -> None:
    risks, labels = problem()
    made = stacking.fit_logistic(risks, labels)
    x = (risks - risks.mean(axis=0)) / risks.std(axis=0)
    reference = LogisticRegression(tol=1e-10, max_iter=10_000).fit(x, labels)
    np.testing.assert_allclose(made.coefficients, reference.coef_[0], atol=1e-5)
    np.testing.assert_allclose(
        stacking.predict(made, risks), reference.predict_proba(x)[:, 1], atol=1e-5
    )


def test_logistic_learns_a_share_as_so_much_of_either_answer() -> None:
    risks, labels = problem()
    shares = np.clip(labels * 0.6 + risks[:, -1] * 0.4, 0.0, 1.0)
    made = stacking.fit_logistic(risks, labels, shares)
    x = (risks - risks.mean(axis=0)) / risks.std(axis=0)
    twice = np.repeat([1, 0], len(x))
    reference = LogisticRegression(tol=1e-10, max_iter=10_000).fit(
        np.concatenate([x, x]), twice, sample_weight=np.concatenate([shares, 1 - shares])
    )
    np.testing.assert_allclose(made.coefficients, reference.coef_[0], atol=1e-5)


def test_logistic_gives_a_missing_risk_no_say() -> None:
    risks, labels = problem(missing=0.2)
    made = stacking.fit_logistic(risks, labels)
    row = np.array([[0.9, np.nan, 0.2, 0.4]])
    at_mean = row.copy()
    at_mean[0, 1] = np.nanmean(risks[:, 1])
    assert stacking.predict(made, row) == pytest.approx(stacking.predict(made, at_mean))


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("n", [60, 700])
def test_trees_give_what_scikit_learn_gives(n: int, missing: float) -> None:
    risks, labels = problem(n, missing=missing)
    made = stacking.fit_boosted(risks, labels, seed=3)
    reference = HistGradientBoostingClassifier(
        learning_rate=stacking.RATE,
        max_iter=stacking.ROUNDS,
        max_leaf_nodes=stacking.LEAVES,
        min_samples_leaf=min(20, n // 10),
        monotonic_cst=[1] * 4,
        early_stopping=False,
        random_state=3,
    )
    with threadpool_limits(1, user_api="openmp"):
        reference.fit(risks, labels)
    others, _ = problem(2000, missing=0.15, seed=9)  # missing ones too where none were fitted
    others = np.concatenate([others, risks, np.zeros((1, 4)), np.ones((1, 4))])
    np.testing.assert_allclose(
        stacking.log_odds(made, others), reference.decision_function(others), atol=1e-9
    )
    np.testing.assert_allclose(
        stacking.predict(made, others), reference.predict_proba(others)[:, 1], atol=1e-9
    )


def test_trees_do_not_fall_where_a_risk_rises() -> None:
    risks, labels = problem(500)
    labels = np.where(risks[:, 0] > 0.5, labels, 1 - labels)  # tempts to fall
    made = stacking.fit_boosted(risks, labels)
    base = np.random.default_rng(1).random((50, 4))
    for i in range(4):
        along = np.repeat(base, 21, axis=0)
        along[:, i] = np.tile(np.linspace(0, 1, 21), 50)
        grid = stacking.predict(made, along).reshape(50, 21)
        assert (np.diff(grid, axis=1) >= -1e-12).all()


@pytest.mark.parametrize("kind", ["logistic", "boosted"])
def test_what_is_kept_as_json_gives_the_same(kind: str) -> None:
    risks, labels = problem(300, missing=0.1)
    made: Logistic | Boosted
    if kind == "logistic":
        made = stacking.fit_logistic(risks, labels)
    else:
        made = stacking.fit_boosted(risks, labels)
    again = type(made).model_validate_json(made.model_dump_json())
    np.testing.assert_array_equal(stacking.predict(again, risks), stacking.predict(made, risks))


def test_a_leaf_of_the_root_alone() -> None:
    risks, labels = problem(30)
    risks[:] = 0.5  # nothing to split by
    made = stacking.fit_boosted(risks, labels)
    np.testing.assert_allclose(stacking.predict(made, risks), labels.mean(), atol=1e-9)


@pytest.mark.parametrize("fit", [stacking.fit_logistic, stacking.fit_boosted])
def test_what_cannot_be_learned_from(fit: object) -> None:
    assert callable(fit)
    risks, labels = problem(50)
    with pytest.raises(ValueError, match="both right and hallucinated"):
        fit(risks, np.ones(50))
    risks[:, 2] = np.nan
    with pytest.raises(ValueError, match="has no score"):
        fit(risks, labels)
