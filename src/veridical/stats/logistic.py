"""Logistic regression by Newton's method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veridical.arrays import Floats


class LogisticFit(NamedTuple):
    """``log_odds = intercept + x @ coefficients``, and the mean loss reached, in nats."""

    coefficients: Floats
    intercept: float
    loss: float


def sigmoid(x: Floats) -> Floats:
    """Return ``1 / (1 + exp(-x))``, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(np.asarray(x) / 2)))


def fit_logistic(
    x: Floats, targets: Floats, *, ridge: float = 0.0, intercept: bool = True
) -> LogisticFit:
    """Fit the logistic regression with the least ``sum of cross-entropies + ridge |w|^2 / 2``.

    The intercept is not penalised. With ``ridge`` 1 it equals scikit-learn's defaults. Newton's
    steps are halved if they overshoot, and have the least norm if the features are redundant.

    Args:
        x: (n, d), preferably of similar scale.
        targets: (n,) from 0 to 1; a fraction counts partly as either class.
    """
    n, d = x.shape
    design = np.column_stack([x, np.ones((n, int(intercept)))])
    penalty = np.full(design.shape[1], ridge / n)
    penalty[d:] = 0.0

    def loss(weights: Floats) -> float:
        z = design @ weights
        mean = np.mean(np.logaddexp(0, z) - targets * z)
        return float(mean + penalty @ weights**2 / 2)

    weights = np.zeros(design.shape[1])
    value = loss(weights)
    for _ in range(100):
        p = sigmoid(design @ weights)
        gradient = design.T @ (p - targets) / n + penalty * weights
        curvature = (design * (p * (1 - p))[:, None]).T @ design / n + np.diag(penalty)
        step = np.linalg.lstsq(curvature, gradient, rcond=1e-12)[0]
        size = 1.0
        while size > 1e-6 and loss(weights - size * step) > value:
            size /= 2
        weights = weights - size * step
        before, value = value, loss(weights)
        if gradient @ step < 1e-16 or before - value <= 0:
            break
    return LogisticFit(weights[:d], float(weights[d]) if intercept else 0.0, value)
