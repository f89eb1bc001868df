"""Thresholds that cut risks into labels, with unbiased fitting.

The comparison is ``risk >= cut``. A cut is midway between two neighbouring risks, so that no label
depends on the last digit of a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints
from veridical.errors import unknown_name
from veridical.stats.folds import grouped_folds
from veridical.stats.objectives import (
    OF_COUNTS,
    OfCounts,
    Positive,
    check_beta,
    of_class,
    ratio,
)

_CUTS = 1000  # maximum candidate cut points of a task with ordered classes
_COARSE = 200  # maximum candidates of a threshold that is refitted on every resample


def best_threshold(
    truth: Floats,
    risk: Floats,
    objective: str = "weighted_f1",
    beta: float = 1.0,
    positive: Positive = "hallucinated",
    min_precision: float | None = None,
) -> float:
    """Return the threshold with the highest ``objective``; 1 is predicted if ``risk >= threshold``.

    Every split of the distinct risks is tried, in O(n log n); of equally good thresholds the lowest
    is taken. It is finite: at most 0 if predicting 1 for all is best, just above 1 (or the highest
    risk) if predicting 0 is. A truth of one class gets the threshold that predicts this class for
    all; without any data it is 0.5.

    Args:
        truth: (n,) 0 or 1; NaN is left out.
        risk: (n,) finite; NaN is left out.
        objective: weighted_f1, macro_f1, f1, f_beta, balanced_accuracy, accuracy or mcc.
        beta: parameter of ``f_beta``.
        positive: the positive class of ``f1`` and ``f_beta``: 1 is ``hallucinated``, 0
            ``correct``.
        min_precision: use the threshold of the highest recall of ``positive`` whose precision is
            at least this, instead of an objective. If no threshold has it, use the one at which
            nothing is predicted ``positive``.

    Raises:
        UsageError: there is no such objective, or beta is not a positive number.
    """
    figure = of_class(_figure(objective), positive)
    check_beta(beta)
    labelled = ~(np.isnan(truth) | np.isnan(risk))
    wrong = truth[labelled] >= 0.5
    values, at = np.unique(risk[labelled], return_inverse=True)
    if not len(values):
        return 0.5
    cuts = _cuts(values)
    if min_precision is None and (wrong.all() or not wrong.any()):
        return float(cuts[0] if wrong[0] else cuts[-1])
    # targets below each cut are predicted 0
    fn = _below(at[wrong], len(values))
    tn = _below(at[~wrong], len(values))
    if min_precision is not None:
        return float(cuts[_precise(fn, tn, positive, min_precision)])
    scores = figure(fn[-1] - fn, tn[-1] - tn, fn, tn, beta)
    return float(cuts[np.argmax(scores)])


def _precise(fn: Floats, tn: Floats, positive: Positive, least: float) -> int:
    """Return the position of the cut of the highest recall at a precision of at least ``least``.

    Args:
        fn, tn: (m + 1,) hallucinated and right targets below each cut.
    """
    if positive == "hallucinated":
        found, alarms = fn[-1] - fn, tn[-1] - tn
    else:
        found, alarms = tn, fn
    reached = (found > 0) & (found >= least * (found + alarms))
    if not reached.any():
        return len(fn) - 1 if positive == "hallucinated" else 0
    return int(np.argmax(np.where(reached, found, -1.0)))


def best_cuts(truth: Floats, risk: Floats, classes: int) -> Floats:
    """Return (classes - 1,) ascending cut points with the highest macro-F1.

    A risk's class is the number of cuts that it reaches. A class's F1 depends only on the beginning
    and end of its stretch of the sorted risks. Dynamic programming over the cut points therefore
    finds the best: exactly for at most 1000 distinct risks, else among 1000 evenly spaced ones. A
    truth of one class gives no information on cuts: the unit interval is then cut evenly.

    Args:
        truth: (n,) class indices 0 .. classes - 1, ordered from low to high risk; NaN is left out.
        risk: (n,) finite; NaN is left out.
    """
    labelled = ~(np.isnan(truth) | np.isnan(risk))
    label = truth[labelled].astype(np.int64)
    if len(np.unique(label)) < 2:
        return np.arange(1, classes) / classes
    values, at = np.unique(risk[labelled], return_inverse=True)
    m = len(values)
    candidates = np.unique(np.linspace(0, m, min(m, _CUTS) + 1).round().astype(np.int64))
    below = np.stack([_below(at[label == c], m)[candidates] for c in range(classes)])
    total = below.sum(axis=0)

    def f1(c: int) -> Floats:
        """Return the F1 of class c given the stretch from cut i (row) to cut j (column)."""
        right = below[c][None, :] - below[c][:, None]
        size = total[None, :] - total[:, None]
        return np.where(size >= 0, ratio(2 * right, size + below[c][-1]), -np.inf)

    best = f1(0)[0]
    came: list[NDArray[np.intp]] = []
    for c in range(1, classes):
        reached = best[:, None] + f1(c)
        came.append(reached.argmax(axis=0))
        best = reached.max(axis=0)
    path = [len(candidates) - 1]  # the last class ends with the last risk
    for step in reversed(came):
        path.append(int(step[path[-1]]))
    chosen: Floats = _cuts(values)[candidates[path[:0:-1]]]
    return chosen


def cross_fitted(
    truth: Floats,
    risk: Floats,
    groups: Ints,
    *,
    objective: str = "balanced_accuracy",
    folds: int = 5,
    seed: int = 0,
) -> Ints:
    """Return (n,) labels 0 or 1, each by a threshold fitted on the other folds; -1 if risk is NaN.

    Folds take whole groups at random, so an item's label depends neither on its own truth nor on
    that of its group. If the other folds have one class only (or nothing), the threshold is 0.5.

    Raises:
        UsageError: there is no such objective.
    """

    def fit(truth: Floats, risk: Floats) -> Floats:
        one_class = len(np.unique(truth)) < 2
        return np.array([0.5 if one_class else best_threshold(truth, risk, objective)])

    _figure(objective)
    return _cross_fit(truth, risk, groups, fit, folds, seed)


def refitted(
    truth: Floats,
    risk: Floats,
    groups: Ints,
    weights: Floats,
    *,
    objective: str = "balanced_accuracy",
    folds: int = 5,
    seed: int = 0,
) -> Floats:
    """Return (b, 2, 2) counts [true, predicted] of :func:`cross_fitted` labels, with the thresholds
    of the same folds refitted on each of b resamples.

    A threshold is as random as the sample to which it is applied. If the labels were held fixed, 95
    % intervals of the accuracy would cover it 60 to 80 times of 100. Thresholds are searched among
    at most 200 cuts of the distinct risks. They lie midway between the risks that a resample's
    other folds leave out. If those have one class only, everything is given that class.

    Args:
        truth, risk: (n,), no NaN.
        weights: (b, n), the number of occurrences of each target in each resample.

    Raises:
        UsageError: there is no such objective.
    """
    figure = _figure(objective)
    fold = grouped_folds(groups, folds, seed)
    values, at = np.unique(risk, return_inverse=True)
    m = min(len(values), _COARSE)
    candidates = np.linspace(0, len(values), m + 1).round().astype(np.int64)
    step = np.searchsorted(candidates, at, side="right") - 1
    shape = (int(fold.max(initial=0)) + 1, 2, m)
    cell = np.ravel_multi_index((fold, (truth >= 0.5).astype(np.int64), step), shape)
    order = np.argsort(cell, kind="stable")
    cells, starts = np.unique(cell[order], return_index=True)
    table = np.zeros((len(weights), math.prod(shape)))
    table[:, cells] = np.add.reduceat(weights[:, order], starts, axis=1)
    below = np.zeros((len(weights), *shape[:2], m + 1))  # weight below each cut
    np.cumsum(table.reshape(-1, *shape), axis=-1, out=below[..., 1:])
    other = below.sum(axis=1, keepdims=True) - below
    tn, fn = other[:, :, 0], other[:, :, 1]
    cut = figure(fn[..., -1:] - fn, tn[..., -1:] - tn, fn, tn, 1.0).argmax(axis=-1)
    # cuts up to the next drawn risk are equivalent for the fit: take the middle one
    seen = tn + fn
    same = seen == np.take_along_axis(seen, cut[..., None], axis=-1)
    cut += (same & (np.arange(m + 1) > cut[..., None])).sum(axis=-1) // 2
    negative = np.take_along_axis(below, cut[:, :, None, None], axis=-1)[..., 0].sum(axis=1)
    return np.stack([negative, below[..., -1].sum(axis=1) - negative], axis=-1)


def cross_fitted_classes(
    truth: Floats, risk: Floats, groups: Ints, classes: int, *, folds: int = 5, seed: int = 0
) -> Ints:
    """Return (n,) class indices, each by the :func:`best_cuts` of the other folds; -1 if risk is
    NaN.

    Args:
        truth: (n,) class indices 0 .. classes - 1, ordered from low to high risk.
    """
    return _cross_fit(truth, risk, groups, lambda t, r: best_cuts(t, r, classes), folds, seed)


def _cross_fit(
    truth: Floats,
    risk: Floats,
    groups: Ints,
    fit: Callable[[Floats, Floats], Floats],
    folds: int,
    seed: int,
) -> Ints:
    fold = grouped_folds(groups, folds, seed)
    labelled = ~(np.isnan(truth) | np.isnan(risk))
    labels = np.full(len(risk), -1, dtype=np.int64)
    for f in np.unique(fold):
        other = labelled & (fold != f)
        here = (fold == f) & ~np.isnan(risk)
        labels[here] = np.searchsorted(fit(truth[other], risk[other]), risk[here], side="right")
    return labels


def _figure(objective: str) -> OfCounts:
    if objective not in OF_COUNTS:
        raise unknown_name("objective", objective, OF_COUNTS)
    return OF_COUNTS[objective]


def _cuts(values: Floats) -> Floats:
    """Return (m + 1,) cuts that separate m ascending distinct values: i values lie below cut i."""
    low, high = values[:-1], values[1:]
    middle = low / 2 + high / 2
    # neighbouring floats have no middle, and their rounded one would belong to the wrong side
    inner = np.where((middle > low) & (middle < high), middle, high)
    above = np.nextafter(max(1.0, values[-1]), np.inf)
    return np.concatenate([[min(0.0, values[0])], inner, [above]])


def _below(at: NDArray[np.intp], m: int) -> Floats:
    """Return (m + 1,) the number of positions ``at`` below each cut."""
    counts = np.bincount(at, minlength=m)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.float64)
