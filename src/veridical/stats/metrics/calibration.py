"""Calibration metrics of risks, and selective accuracy.

Truth is 0 or 1 (Brier and log loss accept values between), risk is in [0, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.stats.metrics.metric import Kernel, Metric, checked, groups, metric, usable
from veridical.stats.metrics.ranking import Point, thinned
from veridical.stats.tables import Bin, Histogram

BINS = 10
#: Log loss clips risks to [EPSILON, 1 - EPSILON]: the spacing of floats at 1, as in scikit-learn.
EPSILON = float(np.finfo(np.float64).eps)

_TAUS = np.arange(51) / 50
_HISTOGRAM_BINS = 20


def _check_risk(risk: Floats) -> None:
    bad = np.flatnonzero((risk < 0) | (risk > 1))
    if len(bad):
        raise ValueError(f"risk[{bad[0]}] = {risk[bad[0]]} is not in [0, 1]")


def _of_risk(kernel: Kernel) -> Metric:
    """Make a metric whose score must be a risk: ValueError names the first that is not."""

    def call(truth: Floats, risk: Floats, weights: Floats) -> Floats:
        _check_risk(risk)
        return kernel(truth, risk, weights)

    call.__name__, call.__doc__ = kernel.__name__, kernel.__doc__
    return metric(call)


def _weighted_mean(values: Floats, weights: Floats) -> Floats:
    return np.asarray((weights @ values) / weights.sum(axis=1))


@_of_risk
def brier(truth: Floats, risk: Floats, weights: Floats) -> Floats:
    """Compute the mean squared difference of risk and truth: in [0, 1], lower is better (Brier
    1950)."""
    return _weighted_mean((risk - truth) ** 2, weights)


@_of_risk
def log_loss(truth: Floats, risk: Floats, weights: Floats) -> Floats:
    """Compute the mean negative log likelihood in nats, lower is better; a certain error costs -log
    EPSILON."""
    p = np.clip(risk, EPSILON, 1 - EPSILON)
    return _weighted_mean(-(truth * np.log(p) + (1 - truth) * np.log1p(-p)), weights)


@_of_risk
def ece(truth: Floats, risk: Floats, weights: Floats) -> Floats:
    """Compute the expected calibration error: ``sum_b n_b / n |rate_b - mean_b|`` (Naeini 2015).

    It is over BINS bins of equal width, [0, 0.1) .. [0.9, 1], with the rate of positives and mean
    risk of each. In [0, 1], lower is better.
    """
    gap, _ = _gaps(truth, risk, weights)
    return np.asarray(gap.sum(axis=1) / weights.sum(axis=1))


@_of_risk
def mce(truth: Floats, risk: Floats, weights: Floats) -> Floats:
    """Compute the maximum calibration error: the largest ``|rate_b - mean_b|`` of the bins of
    :func:`ece`."""
    gap, size = _gaps(truth, risk, weights)
    largest = np.max(np.where(size > 0, gap / size, -1.0), axis=1)
    return np.where(largest < 0, np.nan, largest)


def _gaps(truth: Floats, risk: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the gaps |sum of truth - risk| and weights by bin: (b, BINS) each."""
    member = np.eye(BINS)[_bin_of(risk, BINS)]
    return np.abs(weights @ (member * (truth - risk)[:, None])), weights @ member


def _edges(bins: int) -> Floats:
    return np.arange(bins + 1) / bins


def _bin_of(risk: Floats, bins: int) -> NDArray[np.intp]:
    """Return the bin of equal width, 0 .. bins - 1, of each risk; the last one includes 1."""
    return np.searchsorted(_edges(bins)[1:-1], risk, side="right")


def reliability(truth: Floats, risk: Floats) -> list[Bin]:
    """Return the bins of :func:`ece`, including empty ones: mean risk and rate of positives of
    each.

    Raises:
        ValueError: a risk is not in [0, 1].
    """
    truth, risk = checked(truth, risk)
    if not usable(truth, risk):
        return []
    _check_risk(risk)
    number = _bin_of(risk, BINS)
    edges = _edges(BINS)
    bins = []
    for b in range(BINS):
        here = number == b
        n = int(np.count_nonzero(here))
        mean, rate = (float(risk[here].mean()), float(truth[here].mean())) if n else (None, None)
        bins.append(Bin(low=float(edges[b]), high=float(edges[b + 1]), n=n, mean=mean, rate=rate))
    return bins


def risk_coverage(truth: Floats, score: Floats) -> list[Point]:
    """Return (share answered, share wrong among them), from the least risky; thinned for plots.

    Targets with equal scores are answered together: a point is at the end of each tie, the last at
    (1, prevalence). Only the order of the scores counts.
    """
    truth, score = checked(truth, score)
    if not usable(truth, score):
        return []
    by_score = groups(score)
    answered = np.append(by_score.starts[1:], len(score))
    wrong = np.cumsum(truth[by_score.order])[answered - 1]
    return thinned(answered / len(score), wrong / answered)


def accuracy_at(truth: Floats, risk: Floats) -> list[tuple[float, float, float]]:
    """Return (tau, share right among risk <= tau, their share of all) for tau = 0, 0.02 .. 1.

    Thresholds below the lowest risk answer nothing and are left out.
    """
    truth, risk = checked(truth, risk)
    if not usable(truth, risk):
        return []
    order = np.argsort(risk, kind="stable")
    right = np.concatenate(([0.0], np.cumsum(1 - truth[order])))
    # 1 - 0.7 is slightly above 0.3: a confidence of 7 in 10 must pass at 0.7
    answered = np.searchsorted(risk[order], _TAUS + 1e-9, side="right")
    return [
        (float(tau), float(right[n] / n), float(n / len(risk)))
        for tau, n in zip(_TAUS, answered, strict=True)
        if n
    ]


def histogram(truth: Floats, risk: Floats) -> Histogram:
    """Return counts in 20 bins of equal width, the last closed; truth >= 0.5 is positive.

    All are 0 if there is a NaN.

    Raises:
        ValueError: a risk is not in [0, 1].
    """
    truth, risk = checked(truth, risk)
    if not usable(truth, risk):
        truth = risk = np.empty(0)
    _check_risk(risk)
    number = _bin_of(risk, _HISTOGRAM_BINS)

    def count(members: NDArray[np.bool_]) -> list[int]:
        return [int(n) for n in np.bincount(number[members], minlength=_HISTOGRAM_BINS)]

    return Histogram(
        edges=_edges(_HISTOGRAM_BINS).tolist(),
        positive=count(truth >= 0.5),
        negative=count(truth < 0.5),
    )
