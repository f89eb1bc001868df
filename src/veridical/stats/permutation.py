"""Permutation test of two scorers, by swapping their scores.

The metrics here take many rows of scores against one truth. Mixed rows of ranks have few distinct
values, so nothing is sorted: targets are counted by value, from the highest down.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints

_BLOCK = 1 << 18  # entries per block of permutations: 2 MB an array


def permutation(
    truth: Floats,
    a: Floats,
    b: Floats,
    groups: Ints,
    metric: str,
    permutations: int,
    seed: int,
) -> float:
    """Return the two-sided p-value of metric(a) - metric(b), by swapping scorers in whole groups.

    To be exchangeable, the two must share a scale. Both are converted to mid-ranks over the targets
    (for pearson, which ranks would change, to standard scores). ``p = (1 + hits) / (1 +
    permutations)``, where hits are permutations with a difference at least as large.

    Args:
        truth: (n,); binary for average_precision, trapezoid_pr and auroc, any for the others.
        a, b: (n,) scores; no NaN.
        groups: (n,) targets of one group are swapped together.
        metric: average_precision, trapezoid_pr, auroc, pearson or spearman; kendall is tested by
            spearman, which orders the same evidence at a fraction of the cost.

    Returns:
        NaN for another metric, for an undefined one, or if ``permutations`` is 0.
    """
    if metric not in _STATISTICS or permutations < 1 or len(truth) < 2:
        return math.nan
    if metric == "pearson":
        a, b = _standard(a), _standard(b)
    else:
        a, b = midranks(a), midranks(b)
    statistic = _statistic(metric, truth, a, b)
    (observed,) = statistic(np.zeros((1, len(truth)), dtype=np.bool_))
    if np.isnan(observed):
        return math.nan
    units, member = np.unique(groups, return_inverse=True)
    rng = np.random.default_rng(seed)
    rows = max(1, _BLOCK // (2 * len(truth)))
    hits = 0
    for start in range(0, permutations, rows):
        count = min(rows, permutations - start)
        swaps = (rng.random((count, len(units))) < 0.5)[:, member]
        # The tolerance counts equal differences that were summed in another order; an undefined
        # difference is not evidence of rarity.
        hits += int((~(np.abs(statistic(swaps)) < abs(observed) - 1e-12)).sum())
    return (1 + hits) / (1 + permutations)


def midranks(x: Floats) -> Floats:
    """Return ranks from 1, with ties sharing their mean."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(x)
    return ranks


def _standard(x: Floats) -> Floats:
    centred = x - x.mean()
    spread = centred.std()
    return centred / spread if spread > 1e-12 * np.abs(x).max(initial=0.0) else np.zeros_like(x)


def _statistic(
    metric: str, truth: Floats, a: Floats, b: Floats
) -> Callable[[NDArray[np.bool_]], Floats]:
    """Return the function of (r, n) swaps that yields the (r,) differences metric(a) -
    metric(b)."""
    row_metric = _STATISTICS[metric]
    first: NDArray[Any]
    second: NDArray[Any]
    if metric == "pearson":
        weight = _standard(truth)
        first, second, width = a, b, 0
    else:
        weight = _standard(midranks(truth)) if row_metric is _spearman else truth
        values, at = np.unique(np.concatenate([a, b]), return_inverse=True)
        width = len(values)
        first, second = np.split(width - 1 - at, 2)

    def difference(swaps: NDArray[np.bool_]) -> Floats:
        one = row_metric(np.where(swaps, second, first), weight, width)
        other = row_metric(np.where(swaps, first, second), weight, width)
        return one - other

    return difference


def _counts(rows: Ints, weight: Floats, width: int) -> tuple[Floats, Floats]:
    """Return the number of targets with each value, and their summed weight, (r, width) each, from
    (r, n) value indices below ``width``."""
    r = len(rows)
    flat = (rows + np.arange(r)[:, None] * width).ravel()
    count = np.bincount(flat, minlength=r * width).reshape(r, width).astype(np.float64)
    total = np.bincount(flat, weights=np.tile(weight, r), minlength=r * width)
    return count, total.reshape(r, width).astype(np.float64, copy=False)


def _average_precision(rows: Ints, truth: Floats, width: int) -> Floats:
    count, positive = _counts(rows, truth, width)
    hits, seen = positive.cumsum(axis=1), count.cumsum(axis=1)
    return _over((positive * hits / np.maximum(seen, 1)).sum(axis=1), truth.sum())


def _trapezoid_pr(rows: Ints, truth: Floats, width: int) -> Floats:
    count, positive = _counts(rows, truth, width)
    seen = count.cumsum(axis=1)
    precision = np.where(seen > 0, positive.cumsum(axis=1) / np.maximum(seen, 1), 1)
    before = np.concatenate([np.ones((len(rows), 1)), precision[:, :-1]], axis=1)
    return _over((positive * (precision + before) / 2).sum(axis=1), truth.sum())


def _auroc(rows: Ints, truth: Floats, width: int) -> Floats:
    count, positive = _counts(rows, truth, width)
    above = positive.cumsum(axis=1) - positive / 2
    pairs = truth.sum() * (len(truth) - truth.sum())
    return _over(((count - positive) * above).sum(axis=1), pairs)


def _spearman(rows: Ints, weight: Floats, width: int) -> Floats:
    """Compute spearman; ``weight`` has the standard scores of the truth's mid-ranks."""
    count, total = _counts(rows, weight, width)
    n = len(weight)
    rank = (n + count) / 2 - count.cumsum(axis=1)  # mid-ranks minus their mean, highest first
    spread = np.sqrt((count * rank * rank).sum(axis=1) * (weight @ weight))
    return _over((total * rank).sum(axis=1), spread)


def _pearson(rows: Floats, weight: Floats, width: int) -> Floats:
    """Compute pearson; ``weight`` has the standard scores of the truth, and the rows a score's
    values."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("ij,ij->i", centred, centred) * (weight @ weight))
    return _over(centred @ weight, spread)


def _over(a: Floats, b: Floats | float) -> Floats:
    """Divide ``a`` by ``b``; NaN where b is 0."""
    b = np.broadcast_to(b, a.shape)
    ratio: Floats = np.divide(a, b, out=np.full(a.shape, np.nan), where=b > 1e-12)
    return ratio


_STATISTICS: dict[str, Callable[..., Floats]] = {
    "average_precision": _average_precision,
    "trapezoid_pr": _trapezoid_pr,
    "auroc": _auroc,
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _spearman,
}
