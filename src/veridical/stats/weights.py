"""Weights of an ensemble on the simplex: how they combine risks, and the search for the best.

A coordinate search: one weight after another moves to the best of some places, the others keeping
their proportions, in ever smaller steps. It climbs from equal weights, from the best component
alone and from the best of random draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veridical.arrays import Bools, Floats
from veridical.errors import UsageError
from veridical.stats.metrics.calibration import EPSILON
from veridical.stats.objectives import Objective, Positive, objective_named
from veridical.stats.thresholds import best_threshold

#: Decimals of a combined risk: what differs by less is tied.
DECIMALS = 12
_UNDECIDED = 0.5  # risk, while searching, of a row that weights leave without a scored component
_DRAWS = 50  # at random, of which the best are climbed from
_CLIMBED = 2  # of them
_PLACES = 21  # tried for one weight
_WIDTHS = (1.0, 0.2, 0.04, 0.008)  # how far to either side they reach
_SWEEPS = 10  # of all weights at one width, at most
_GAIN = 1e-12


@dataclass(frozen=True, eq=False)
class SearchedWeights:
    """The result of :func:`search`.

    Attributes:
        weights: (k,) each in [0, 1], of sum 1.
        threshold: called hallucinated is ``risk >= threshold``; as
            :func:`~veridical.stats.thresholds.best_threshold` says.
        value: the objective in its natural sign, on the rows searched.
    """

    weights: Floats
    threshold: float | None
    value: float


def combine(risks: Floats, weights: Floats) -> Floats:
    """Weighted mean of the scored components, the weights renormalised in every row.

    Rounded to 12 decimals, so that what is equal but for the order of a sum stays tied.

    Args:
        risks: (n, k) in [0, 1]; NaN = not scored.
        weights: (k,) from 0; only their ratios count.

    Returns:
        (n,) in [0, 1]; NaN where no component of a weight above 0 is scored.

    Raises:
        ValueError: shapes differ, or a weight is below 0 or no finite number.
    """
    risks, weights = np.asarray(risks, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if risks.ndim != 2 or weights.shape != risks.shape[1:]:
        raise ValueError(f"risks {risks.shape} do not go with weights {weights.shape}")
    if not bool(np.all(np.isfinite(weights) & (weights >= 0))):
        raise ValueError("a weight is below 0 or no finite number")
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
    """The weights, and the threshold, at which an objective is best, as far as is found.

    Without a threshold of its own an objective is tuned for by weights (eq. 20-21 of "Black-Box
    Hallucination Detection: A Tunable Ensemble Approach"); the threshold, which does not change
    its value, is then the best for F-beta (eq. 22). With one, the weights are those of the best
    AUROC and the threshold follows (eq. 20, then 22); ``joint`` seeks both at once (eq. 23).

    Where equally good weights are met, a component is dropped, else the middle one is taken.
    Rows without any score are left out. One that a choice of weights leaves without a score counts
    as 0.5 there, so that a component cannot win by being silent.

    Args:
        risks: (n, k) in [0, 1]; NaN = not scored.
        labels: (n,) 1 = hallucinated; 0.5 and more counts as 1.
        objective: a name of :data:`~veridical.stats.objectives.OBJECTIVES`.
        joint: weights and threshold at once; only for objectives with a threshold.
        beta: of ``f_beta``, and of the threshold of objectives without one.
        positive: the class whose precision and recall are meant; risks and threshold stay what
            they are.
        seed: of random starts; equal seeds give equal results.
        start: (k,) weights to climb from, instead of from several: for data that differ little
            from some whose weights are known, such as a resample of them.

    Raises:
        UsageError: the objective is unknown or has no threshold to tune jointly; beta is no
            positive number; risks are not in [0, 1]; the scored rows are all of one label.
        ValueError: shapes differ.
    """
    chosen = objective_named(objective)
    if joint and not chosen.needs_threshold:
        raise UsageError(f"joint tuning is for objectives with a threshold, not {objective!r}")
    risks, wrong = _checked(risks, labels)
    truth = wrong.astype(np.float64)
    # to find the right ones is the same task by what the risks leave to 1
    found, sought = (risks, wrong) if positive == "hallucinated" else (1 - risks, ~wrong)
    tuned_for = objective_named("auroc") if chosen.needs_threshold and not joint else chosen
    weights = np.ones(1)
    if risks.shape[1] > 1:
        landscape = _Landscape(found, sought, tuned_for, beta)
        rng = np.random.default_rng(seed)
        starts = landscape.starts(rng) if start is None else [start / start.sum()]
        weights, value = max((landscape.climb(w) for w in starts), key=lambda reached: reached[1])
        # without the components that the others do as well without, lightest first
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
    """The rows with a score, and whether each is positive."""
    risks, labels = np.asarray(risks, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if risks.ndim != 2 or labels.shape != risks.shape[:1] or not risks.shape[1]:
        raise ValueError(f"risks {risks.shape} do not go with labels {labels.shape}")
    if np.isnan(labels).any():
        raise UsageError("a label is no number")
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
            f"tuning needs hallucinated and right answers: of {len(positive)} scored ones "
            f"{count} are hallucinated"
        )
    return risks[scored], positive


class _Landscape:
    """An objective as a function of weights alone, a threshold being the best for them; losses
    are negative, so that the highest is the best."""

    def __init__(self, risks: Floats, positive: Bools, objective: Objective, beta: float) -> None:
        scored = ~np.isnan(risks)
        self._scored = scored.T.astype(np.float64)
        self._filled = np.where(scored, risks, 0.0).T
        self._positive, self._objective, self._beta = positive, objective, beta
        self._components = risks.shape[1]

    def values(self, weights: Floats) -> Floats:
        """(m,) of (m, k) weights."""
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
        """(m,) figures that only depend on the order of (m, n) risks."""
        order = np.argsort(-risk, axis=1)
        ordered = np.take_along_axis(risk, order, axis=1)
        # how many are called at each row from the top, and how many of them rightly; among tied
        # rows only the last is a place to cut, and the others count what is above them
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
        """Weights to climb from."""
        k = self._components
        alone, random_weights = np.eye(k), rng.dirichlet(np.ones(k), _DRAWS)
        best = np.argsort(-self.values(random_weights), kind="stable")[:_CLIMBED]
        return [np.full(k, 1 / k), alone[np.argmax(self.values(alone))], *random_weights[best]]

    def climb(self, weights: Floats) -> tuple[Floats, float]:
        """Weights that moving any one does not better, and the value there."""
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
        """The best weights, and their value, with weight ``i`` within ``width`` of what it is."""
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
