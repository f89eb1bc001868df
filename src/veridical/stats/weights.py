"""Ensemble weights on the simplex: combination of risks, and search.

The search is by coordinate, in ever smaller steps. One weight after another moves to the best of
some candidates, while the others keep their proportions. It climbs from equal weights, from the
best component alone and from the best random draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veridical.arrays import Bools, Floats
from veridical.errors import UsageError
from veridical.stats.metrics.calibration import EPSILON
from veridical.stats.objectives import Objective, Positive, objective_named
from veridical.stats.thresholds import best_threshold

#: Decimals of a combined risk; smaller differences are ties.
DECIMALS = 12
_UNDECIDED = 0.5  # risk during the search of a row whose weighted components are not scored
_DRAWS = 50  # random draws, of which the best are starting points
_CLIMBED = 2  # number of these starting points
_PLACES = 21  # candidates for one weight
_WIDTHS = (1.0, 0.2, 0.04, 0.008)  # their distances to either side
_SWEEPS = 10  # maximum sweeps over all weights at one width
_GAIN = 1e-12


@dataclass(frozen=True, eq=False)
class SearchedWeights:
    """Result of :func:`search`.

    Attributes:
        weights: (k,) each in [0, 1], with sum 1.
        threshold: answers with ``risk >= threshold`` are classified as hallucinated; see
            :func:`~veridical.stats.thresholds.best_threshold`.
        value: the objective in its natural sign, on the searched rows.
    """

    weights: Floats
    threshold: float | None
    value: float


def combine(risks: Floats, weights: Floats) -> Floats:
    """Return the weighted mean of the scored components, with weights renormalised in every row.

    It is rounded to 12 decimals, so that values that differ only in the order of a sum stay tied.

    Args:
        risks: (n, k) in [0, 1]; NaN = not scored.
        weights: (k,) from 0; only their ratios count.

    Returns:
        (n,) in [0, 1]; NaN if no component with a weight above 0 is scored.

    Raises:
        ValueError: shapes differ, or a weight is below 0 or not a finite number.
    """
    risks, weights = np.asarray(risks, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if risks.ndim != 2 or weights.shape != risks.shape[1:]:
        raise ValueError(f"risks {risks.shape} do not match weights {weights.shape}")
    if not bool(np.all(np.isfinite(weights) & (weights >= 0))):
        raise ValueError("a weight is below 0 or not a finite number")
    used = np.flatnonzero(weights > 0)
    if not len(used):
        return np.full(len(risks), np.nan)
    share = weights[used] / weights.max()
    columns = risks[:, used]
    scored = ~np.isnan(columns)
    if scored.all():
        mean = columns @ share / share.sum()
    else:
        scale = scored @ share
        mean = np.full(len(risks), np.nan)
        np.divide(np.where(scored, columns, 0.0) @ share, scale, out=mean, where=scale > 0)
    return np.asarray(np.round(mean, DECIMALS))


def search(
    risks: Floats,
    labels: Floats,
    objective: str,
    *,
    joint: bool = False,
    beta: float = 1.0,
    positive: Positive = "hallucinated",
    seed: int = 0,
    start: Floats | None = None,
) -> SearchedWeights:
    """Search the weights, and the threshold, with the best objective.

    An objective without a threshold is tuned by weights (eq. 20-21 of "Black-Box Hallucination
    Detection: A Tunable Ensemble Approach"); the threshold, which does not change its value, is
    then the best for F-beta (eq. 22). For one with a threshold, the weights are those of the best
    AUROC and the threshold follows (eq. 20, then 22). ``joint`` searches both together (eq. 23).

    Of equally good weights, those with fewer components are preferred, then the middle ones. Rows
    without any score are left out. A row whose weighted components are not scored counts as 0.5, so
    that a component cannot gain by missing scores.

    Args:
        risks: (n, k) in [0, 1]; NaN = not scored.
        labels: (n,) 1 = hallucinated; a value of at least 0.5 counts as 1.
        objective: a name of :data:`~veridical.stats.objectives.OBJECTIVES`.
        joint: search weights and threshold together; only for objectives with a threshold.
        beta: parameter of ``f_beta``, and of the threshold of objectives without one.
        positive: the positive class of precision and recall; risks and threshold are not
            inverted.
        seed: seed of random starts; equal seeds give equal results.
        start: (k,) the only starting point: for data that differ little from data with known
            weights, such as a resample.

    Raises:
        UsageError: the objective is unknown or has no threshold to tune jointly. Or beta is not a
            positive number, risks are not in [0, 1], or all scored rows have the same label.
        ValueError: shapes differ.
    """
    chosen = objective_named(objective)
    if joint and not chosen.needs_threshold:
        raise UsageError(f"joint tuning requires an objective with a threshold, not {objective!r}")
    risks, wrong = _checked(risks, labels)
    truth = wrong.astype(np.float64)
    # finding the right answers is the same task with inverted risks
    found, sought = (risks, wrong) if positive == "hallucinated" else (1 - risks, ~wrong)
    tuned_for = objective_named("auroc") if chosen.needs_threshold and not joint else chosen
    weights = np.ones(1)
    if risks.shape[1] > 1:
        landscape = _Landscape(found, sought, tuned_for, beta)
        rng = np.random.default_rng(seed)
        starts = landscape.starts(rng) if start is None else [start / start.sum()]
        weights, value = max((landscape.climb(w) for w in starts), key=lambda reached: reached[1])
        # drop components without which the others are as good, lightest first
        for i in np.argsort(weights, kind="stable") if start is None else ():
            used = np.flatnonzero((weights > 0) & (np.arange(len(weights)) != i))
            if weights[i] > 0 and len(used):
                part = _Landscape(found[:, used], sought, tuned_for, beta)
                others, reached = part.climb(weights[used] / weights[used].sum())
                if reached >= value - _GAIN:
                    weights, value = np.zeros(len(weights)), reached
                    weights[used] = others
    risk = np.nan_to_num(combine(risks, weights), nan=_UNDECIDED)
    cut_by = objective if chosen.needs_threshold else "f_beta"
    threshold = best_threshold(truth, risk, cut_by, beta, positive)
    return SearchedWeights(weights, threshold, chosen.value(truth, risk, threshold, beta, positive))


def _checked(risks: Floats, labels: Floats) -> tuple[Floats, Bools]:
    """Return the rows with a score, and True for positive ones."""
    risks, labels = np.asarray(risks, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if risks.ndim != 2 or labels.shape != risks.shape[:1] or not risks.shape[1]:
        raise ValueError(f"risks {risks.shape} do not match labels {labels.shape}")
    if np.isnan(labels).any():
        raise UsageError("a label is not a number")
    bad = np.argwhere((risks < 0) | (risks > 1))
    if len(bad):
        row, column = bad[0]
        raise UsageError(
            f"row {row}: risk {risks[row, column]} of component {column} is not in [0, 1]"
        )
    scored = ~np.isnan(risks).all(axis=1)
    positive = labels[scored] >= 0.5
    count = int(np.count_nonzero(positive))
    if count in (0, len(positive)):
        raise UsageError(
            f"tuning requires hallucinated and right answers, but of {len(positive)} scored ones "
            f"{count} are hallucinated"
        )
    return risks[scored], positive


class _Landscape:
    """An objective as a function of weights alone, with the best threshold for them.

    Losses are negative, so that the highest value is the best.
    """

    def __init__(self, risks: Floats, positive: Bools, objective: Objective, beta: float) -> None:
        scored = ~np.isnan(risks)
        self._scored = scored.T.astype(np.float64)
        self._filled = np.where(scored, risks, 0.0).T
        self._positive, self._objective, self._beta = positive, objective, beta
        self._components = risks.shape[1]

    def values(self, weights: Floats) -> Floats:
        """Return (m,) values of (m, k) weights."""
        scale = weights @ self._scored
        risk = np.full(scale.shape, _UNDECIDED)
        np.divide(weights @ self._filled, scale, out=risk, where=scale > 0)
        risk = np.asarray(np.round(risk, DECIMALS), dtype=np.float64)
        if self._objective.name == "brier":
            return np.asarray(-np.mean((risk - self._positive) ** 2, axis=1))
        if self._objective.name == "log_loss":
            of_truth = np.where(self._positive, risk, 1 - risk)
            return np.asarray(np.mean(np.log(np.clip(of_truth, EPSILON, 1 - EPSILON)), axis=1))
        return self._of_order(risk)

    def _of_order(self, risk: Floats) -> Floats:
        """Return (m,) figures that depend only on the order of (m, n) risks."""
        order = np.argsort(-risk, axis=1)
        ordered = np.take_along_axis(risk, order, axis=1)
        # Number of positive predictions from the top at each row, and of correct ones. Among tied
        # rows only the last is a possible cut, and the others count the rows above them.
        cut = np.ones(risk.shape, dtype=np.bool_)
        cut[:, :-1] = ordered[:, 1:] < ordered[:, :-1]
        number = np.arange(1, risk.shape[1] + 1, dtype=np.float64)
        rows = number * cut, np.cumsum(self._positive[order], axis=1) * cut
        called, true = (
            np.maximum.accumulate(np.pad(of_row, ((0, 0), (1, 0))), axis=1).astype(np.float64)
            for of_row in rows
        )
        false = called - true
        positives, negatives = true[0, -1], false[0, -1]
        if self._objective.of_counts is not None:
            wrong, right = positives - true, negatives - false
            by_cut = self._objective.of_counts(true, false, wrong, right, self._beta)
            return np.asarray(by_cut.max(axis=1))
        if self._objective.name == "auroc":
            pairs = np.diff(false, axis=1) * (true[:, 1:] + true[:, :-1]) / 2
            return np.asarray(pairs.sum(axis=1) / (positives * negatives))
        precision = true[:, 1:] / np.maximum(called[:, 1:], 1)
        return np.asarray(np.sum(np.diff(true, axis=1) * precision, axis=1) / positives)

    def starts(self, rng: np.random.Generator) -> list[Floats]:
        """Return starting weights of the search."""
        k = self._components
        alone, random_weights = np.eye(k), rng.dirichlet(np.ones(k), _DRAWS)
        best = np.argsort(-self.values(random_weights), kind="stable")[:_CLIMBED]
        return [np.full(k, 1 / k), alone[np.argmax(self.values(alone))], *random_weights[best]]

    def climb(self, weights: Floats) -> tuple[Floats, float]:
        """Return weights that no single change improves, and their value."""
        value = float(self.values(weights[None])[0])
        for width in _WIDTHS if self._components > 1 else ():
            for _ in range(_SWEEPS):
                before = value
                for i in range(self._components):
                    weights, value = self._moved(weights, i, width, value)
                if value <= before + _GAIN:
                    break
        return weights, value

    def _moved(self, weights: Floats, i: int, width: float, value: float) -> tuple[Floats, float]:
        """Return the best weights, and their value, with weight ``i`` within ``width`` of its
        current value."""
        others = np.where(np.arange(len(weights)) == i, 0.0, weights)
        if others.sum() <= 0:
            others = np.where(np.arange(len(weights)) == i, 0.0, 1.0)
        low, high = max(0.0, weights[i] - width), min(1.0, weights[i] + width)
        places = np.concatenate([[0.0], np.linspace(low, high, _PLACES)])
        points = np.outer(1 - places, others / others.sum())
        points[:, i] = places
        values = self.values(points)
        best = np.flatnonzero(values >= values.max() - _GAIN)
        if values[best[0]] < value:
            return weights, value
        at = best[0] if best[0] == 0 else best[len(best) // 2]
        return points[at], float(values[at])
