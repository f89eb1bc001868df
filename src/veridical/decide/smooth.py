"""Weights on the simplex for losses that are smooth in them: Brier, log loss, a logistic model."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from veridical.evaluate.metrics.calibration import EPSILON

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_LEAST = 1e-9  # a smaller weight is none
_PENALTY = 1e-3  # of the logistic model, a row


class _Loss:
    """Brier or log loss of the weighted mean of risks (n, k), NaN = not scored, and its gradient.

    A row that the weights leave without a score has risk 0.5.
    """

    def __init__(self, risks: Floats, truth: Floats, name: str) -> None:
        scored = ~np.isnan(risks)
        self._scored = scored.astype(np.float64)
        self._filled = np.where(scored, risks, 0.0)
        self._truth, self._name = truth, name

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        scale = self._scored @ weights
        there = scale > 0
        risk = np.full(len(scale), 0.5)
        np.divide(self._filled @ weights, scale, out=risk, where=there)
        truth = self._truth
        if self._name == "brier":
            losses, slope = (risk - truth) ** 2, 2 * (risk - truth)
        else:
            p = np.clip(risk, EPSILON, 1 - EPSILON)
            losses = -np.where(truth > 0, np.log(p), np.log1p(-p))
            slope = (p - truth) / (p * (1 - p))
        by_weight = np.divide(slope, scale, out=np.zeros(len(scale)), where=there)
        gradient = self._filled.T @ by_weight - self._scored.T @ (by_weight * risk)
        return float(losses.mean()), gradient / len(truth)


def minimise(risks: Floats, truth: Floats, name: str) -> Floats:
    """(k,) weights of the least Brier or log loss: the least of all where every risk is scored,
    since both losses are convex in the weights then; else the least found from several starts.

    Args:
        risks: (n, k) in [0, 1]; NaN = not scored.
        truth: (n,) 0 or 1.
        name: brier or log_loss.
    """
    from scipy.optimize import minimize

    loss = _Loss(risks, truth, name)
    k = risks.shape[1]
    equal = np.full(k, 1 / k)
    starts = [equal]
    if np.isnan(risks).any():
        starts += list(0.9 * np.eye(k) + 0.1 * equal)
    found = list(np.eye(k))
    for start in starts:
        answer = minimize(
            loss,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * k,
            constraints={
                "type": "eq",
                "fun": lambda w: w.sum() - 1,
                "jac": lambda w: np.ones(len(w)),
            },
            options={"ftol": 1e-14, "maxiter": 500},
        )
        found.append(_settled(loss, _cleaned(np.asarray(answer.x, dtype=np.float64))))
    return min(found, key=lambda w: round(loss(w)[0], 14))


def _cleaned(weights: Floats) -> Floats:
    weights = np.where(weights > _LEAST, weights, 0.0)
    return np.asarray(weights / weights.sum())


def _settled(loss: _Loss, weights: Floats) -> Floats:
    """Weights that no exchange between two components betters by more than 1e-12."""
    from scipy.optimize import minimize_scalar

    value = loss(weights)[0]
    pairs = list(combinations(range(len(weights)), 2))
    still = at = 0
    while still < len(pairs):
        i, j = pairs[at]
        at = (at + 1) % len(pairs)
        still += 1
        gradient = loss(weights)[1]
        if _flat(gradient[i] - gradient[j], weights[i], weights[j]):
            continue
        found = minimize_scalar(
            partial(_exchanged_loss, loss, weights, i, j),
            bounds=(0.0, 1.0),
            method="bounded",
            options={"xatol": 1e-10},
        )
        for t in (float(found.x), 0.0, 1.0):
            there = _exchanged(weights, i, j, t)
            better = loss(there)[0]
            if better < value - 1e-12:
                weights, value, still = there, better, 0
    return weights


def _exchanged(weights: Floats, i: int, j: int, t: float) -> Floats:
    """Of the weight of two components, a share t to i and the rest to j."""
    there: Floats = weights.copy()
    both = weights[i] + weights[j]
    there[i], there[j] = t * both, (1 - t) * both
    return there


def _exchanged_loss(loss: _Loss, weights: Floats, i: int, j: int, t: float) -> float:
    return loss(_exchanged(weights, i, j, t))[0]


def _flat(slope: float, up: float, down: float) -> bool:
    """Whether weight neither gains by moving from ``up`` nor by moving to it."""
    return (slope >= -1e-9 or down <= 0) and (slope <= 1e-9 or up <= 0)


def logistic(risks: Floats, positive: Bools) -> Floats:
    """(k,) weights in proportion to the coefficients, from 0, of a logistic model of the labels.

    What is not scored is taken to be the component's mean. Equal weights where all are 0.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    scored = ~np.isnan(risks)
    counts = np.maximum(scored.sum(axis=0), 1)
    means = np.where(scored, risks, 0.0).sum(axis=0) / counts
    columns = np.column_stack([np.where(scored, risks, means) - means, np.ones(len(risks))])
    sign = np.where(positive, 1.0, -1.0)
    n, k = risks.shape

    def loss(b: Floats) -> tuple[float, Floats]:
        margin = sign * (columns @ b)
        slope = -sign * expit(-margin)
        value = np.logaddexp(0.0, -margin).mean() + _PENALTY / n * float(b[:-1] @ b[:-1])
        gradient = columns.T @ slope / n
        gradient[:-1] += 2 * _PENALTY / n * b[:-1]
        return float(value), gradient

    bounds = [(0.0, None)] * k + [(None, None)]
    answer = minimize(loss, np.zeros(k + 1), jac=True, method="L-BFGS-B", bounds=bounds)
    found = np.asarray(answer.x[:k], dtype=np.float64)
    return np.full(k, 1 / k) if found.sum() <= 0 else np.asarray(found / found.sum())
