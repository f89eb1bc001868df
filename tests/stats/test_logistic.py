"""Logistic regression against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from veridical.stats.logistic import fit_logistic


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    z = 1.5 * x[:, 0] - x[:, 2] + 0.3
    return x, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_logistic_regression_is_scikit_learns(seed: int) -> None:
    x, truth = data(seed=seed)
    reference = LogisticRegression(tol=1e-10, max_iter=1000).fit(x, truth)
    fitted = fit_logistic(x, truth, ridge=1.0)
    assert fitted.coefficients == pytest.approx(reference.coef_[0], abs=1e-5)
    assert fitted.intercept == pytest.approx(reference.intercept_[0], abs=1e-5)


def test_logistic_regression_of_separable_data_is_finite() -> None:
    x = np.zeros((40, 4))
    x[:, 0] = np.linspace(-1, 1, 40)
    fitted = fit_logistic(x, (x[:, 0] > 0).astype(float), ridge=1.0)
    assert np.isfinite(fitted.coefficients).all()
    assert fitted.coefficients[0] > 1
    assert abs(fitted.intercept) < 1e-6
