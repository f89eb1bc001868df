"""Ranking metrics: areas under curves, and the curves.

Truth is 0 or 1, a higher score is riskier. Targets with equal scores are never ordered: they count
together. All areas are computed from the cumulated weights of positives and negatives, from the
highest score down. With weights they are those of the repeated data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.stats.metrics.metric import as_rows, checked, groups, in_blocks, metric, usable

Point = tuple[float, float]
AREAS = ("average_precision", "trapezoid_pr", "auroc", "prr", "balanced_accuracy_best")

_POINTS = 200  # maximum points of a curve for plots
_BEND = 5e-4  # initial tolerance for thinning a curve


@dataclass(frozen=True)
class _Swept:
    """Weights at or above each distinct score, highest first: (b, g) each.

    The first column is 0: nothing is above an infinite threshold.
    """

    true: Floats
    false: Floats

    @property
    def positives(self) -> Floats:
        return self.true[:, -1]

    @property
    def negatives(self) -> Floats:
        return self.false[:, -1]


def _swept(truth: Floats, score: Floats, weights: Floats) -> _Swept:
    """Sort once and cumulate both sums. A truth between 0 and 1 is partly positive."""
    by_score = groups(score)
    order = by_score.order[::-1]
    ends = len(score) - 1 - by_score.starts[::-1]
    rows = weights[:, order]
    positive = rows * truth[order]

    def cumulated(values: Floats) -> Floats:
        swept = np.zeros((len(values), len(ends) + 1))
        swept[:, 1:] = np.cumsum(values, axis=1)[:, ends]
        return swept

    return _Swept(cumulated(positive), cumulated(rows - positive))


def _average_precision(at: _Swept) -> Floats:
    hits = np.diff(at.true, axis=1)
    precision = at.true[:, 1:] / (at.true[:, 1:] + at.false[:, 1:])
    # no weight yet: no positive found, so any precision will do, but not 0 x NaN
    area = np.sum(np.where(hits > 0, precision, 0.0) * hits, axis=1)
    return np.asarray(area / at.positives)


def _trapezoid_pr(at: _Swept) -> Floats:
    above = at.true + at.false
    precision = np.where(above > 0, at.true / above, 1.0)
    mean = (precision[:, 1:] + precision[:, :-1]) / 2
    area = np.sum(np.diff(at.true, axis=1) * mean, axis=1)
    return np.asarray(area / at.positives)


def _auroc(at: _Swept) -> Floats:
    mean = (at.true[:, 1:] + at.true[:, :-1]) / 2
    area = np.sum(np.diff(at.false, axis=1) * mean, axis=1)
    return np.asarray(area / (at.positives * at.negatives))


def _prr(at: _Swept) -> Floats:
    from scipy.special import digamma

    total = at.positives + at.negatives
    # from the least risky up: kept targets, and right ones among them, before each tie
    accepted = total[:, None] - (at.true + at.false)
    right = at.negatives[:, None] - at.false
    size = -np.diff(accepted, axis=1)
    before, right_before = accepted[:, 1:], right[:, 1:]
    share = np.where(size > 0, -np.diff(right, axis=1) / size, 0.0)
    # harmonic numbers up to a constant, which cancels in the difference
    harmonic = digamma(accepted + 1)
    gained = (right_before - share * before) * (harmonic[:, :-1] - harmonic[:, 1:])
    oracle = at.negatives * (digamma(total + 1) - digamma(at.negatives + 1))
    return np.asarray(np.sum(gained, axis=1) / np.where(oracle > 0, oracle, np.nan))


def _balanced_accuracy_best(at: _Swept) -> Floats:
    caught = at.true / at.positives[:, None]
    passed = 1 - at.false / at.negatives[:, None]
    return np.asarray(np.max(caught + passed, axis=1) / 2)


@metric
def average_precision(truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Compute the step-wise area under precision and recall: ``sum (R_i - R_(i-1)) P_i`` over
    distinct scores.

    In [0, 1]; prevalence for a constant score. NaN without positives.
    """
    return _average_precision(_swept(truth, score, weights))


@metric
def trapezoid_pr(truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Compute the area under straight lines between the points of precision and recall, from (0,
    1).

    This is the published method (SelfCheckGPT, Mirage). It rewards ties, since no threshold reaches
    the points between: a constant score obtains (prevalence + 1) / 2. In [0, 1]; NaN without
    positives.
    """
    return _trapezoid_pr(_swept(truth, score, weights))


@metric
def auroc(truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Compute the share of pairs of a positive and a negative in the right order, ties half.

    In [0, 1]; NaN unless both are present.
    """
    return _auroc(_swept(truth, score, weights))


@metric
def prr(truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Compute the prediction-rejection ratio, as in lm-polygraph (Fadeeva 2023; Malinin 2021).

    ``(A(score) - A(random)) / (A(oracle) - A(random))``, where ``A = 1/n sum_k q_k`` and ``q_k`` is
    the share of right targets (truth 0) among the k least risky, k = 1 .. n. Random is the mean
    over all orders, which is the share of right targets; the oracle keeps all of these first. Ties
    count as the mean over their orders. 1 for the oracle, 0 for a random or constant score, below 0
    for an inverted one; NaN unless both classes are present.
    """
    return _prr(_swept(truth, score, weights))


@metric
def balanced_accuracy_best(truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Compute the balanced accuracy at the threshold that is best on these targets.

    In [0.5, 1]: the maximum over all thresholds. NaN unless both classes are present.
    """
    return _balanced_accuracy_best(_swept(truth, score, weights))


def _areas(truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Return (b, 5) areas in the order of :data:`AREAS`."""
    at = _swept(truth, score, weights)
    kernels = (_average_precision, _trapezoid_pr, _auroc, _prr, _balanced_accuracy_best)
    return np.stack([f(at) for f in kernels], axis=1)


@overload
def areas(truth: Floats, score: Floats, weights: None = None) -> dict[str, float]: ...
@overload
def areas(truth: Floats, score: Floats, weights: Floats) -> dict[str, Floats]: ...
@overload
def areas(
    truth: Floats, score: Floats, weights: Floats | None = None
) -> dict[str, float] | dict[str, Floats]: ...
def areas(
    truth: Floats, score: Floats, weights: Floats | None = None
) -> dict[str, float] | dict[str, Floats]:
    """Compute all :data:`AREAS` by name, with one sort."""
    truth, score = checked(truth, score)
    rows = as_rows(truth, weights)
    if not usable(truth, score):
        by_name = {name: np.full(len(rows), np.nan) for name in AREAS}
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = in_blocks(_areas, truth, score, rows)
        by_name = dict(zip(AREAS, values.T, strict=True))
    if weights is None:
        return {name: float(values[0]) for name, values in by_name.items()}
    return by_name


def pr_curve(truth: Floats, score: Floats) -> list[Point]:
    """Return (recall, precision) from the highest score down, after the published end point (0, 1).

    Thinned for plots; empty without positives.
    """
    truth, score = checked(truth, score)
    if not usable(truth, score) or not truth.any():
        return []
    at = _swept(truth, score, as_rows(truth, None))
    recall = at.true[0] / at.positives
    precision = np.append(1.0, at.true[0, 1:] / (at.true + at.false)[0, 1:])
    return thinned(recall, precision)


def roc_curve(truth: Floats, score: Floats) -> list[Point]:
    """Return (false positive rate, true positive rate) from (0, 0) to (1, 1).

    Thinned for plots; empty unless both classes are present.
    """
    truth, score = checked(truth, score)
    if not usable(truth, score) or not 0 < truth.sum() < len(truth):
        return []
    at = _swept(truth, score, as_rows(truth, None))
    return thinned(at.false[0] / at.negatives, at.true[0] / at.positives)


def thinned(x: Floats, y: Floats, most: int = _POINTS) -> list[Point]:
    """Thin the curve through (m,) points to at most ``most`` points.

    The method is Douglas and Peucker's: a point is removed only if the line without it passes close
    by. The tolerance doubles until few enough are left. The first and the last point stay.
    """
    bend = _BEND
    keep = np.ones(len(x), dtype=np.bool_)
    while np.count_nonzero(keep) > most:
        keep = _bends(x, y, bend)
        bend *= 2
    return list(zip(x[keep].tolist(), y[keep].tolist(), strict=True))


def _bends(x: Floats, y: Floats, bend: float) -> NDArray[np.bool_]:
    """Return the points for which no other is farther than ``bend`` from the curve's lines."""
    keep = np.zeros(len(x), dtype=np.bool_)
    keep[[0, -1]] = True
    open_ = [(0, len(x) - 1)]
    while open_:
        low, high = open_.pop()
        if high - low < 2:
            continue
        dx, dy = x[high] - x[low], y[high] - y[low]
        px, py = x[low + 1 : high] - x[low], y[low + 1 : high] - y[low]
        length = float(np.hypot(dx, dy))
        off = np.abs(px * dy - py * dx) / length if length > 0 else np.hypot(px, py)
        farthest = int(np.argmax(off))
        if off[farthest] > bend:
            middle = low + 1 + farthest
            keep[middle] = True
            open_ += [(low, middle), (middle, high)]
    return keep
