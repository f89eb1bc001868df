"""Correlations of scores with graded labels: Pearson, Spearman, Kendall.

All are symmetric, in [-1, 1], and NaN if either side is constant. With weights they are those of
the repeated data, ranks included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.stats.metrics.metric import Groups, groups, metric

_CANCELLED = 1e-6  # a variance this small relative to its terms has lost digits
_BLOCK = 1 << 18  # maximum entries of a block of weights


@metric
def pearson(truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Compute Pearson's correlation. NaN with infinite scores too."""
    if not (np.isfinite(truth).all() and np.isfinite(score).all()):
        return np.full(len(weights), np.nan)
    x, y = _standard(truth), _standard(score)
    columns = np.stack([x, y, x * x, y * y, x * y], axis=1)
    moments = (weights @ columns) / weights.sum(axis=1, keepdims=True)
    mx, my, xx, yy, xy = moments.T
    vx, vy = xx - mx * mx, yy - my * my
    values = (xy - mx * my) / np.sqrt(vx * vy)
    for row in np.flatnonzero(~((vx > _CANCELLED * xx) & (vy > _CANCELLED * yy))):
        values[row] = _two_pass(x, y, weights[row])
    return np.asarray(np.clip(values, -1.0, 1.0))


def _standard(values: Floats) -> Floats:
    """Shift and scale values to within [-1, 1] about the mean, which changes no correlation."""
    scale = np.abs(values).max()
    scaled = values / scale if scale > 0 else values
    centred = scaled - scaled.mean()
    spread = np.abs(centred).max()
    return np.asarray(centred / spread if spread > 0 else centred)


def _two_pass(x: Floats, y: Floats, weights: Floats) -> float:
    """Compute Pearson's correlation by the weighted means, for a sample with hardly any
    variance."""
    counted = weights > 0
    x, y, weights = x[counted], y[counted], weights[counted]
    if len(x) == 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    return float(weights @ (x * y) / np.sqrt((weights @ (x * x)) * (weights @ (y * y))))


@metric
def spearman(truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Compute Spearman's correlation: Pearson's of the ranks, with ties sharing their mean rank."""
    sides = []
    for by_value in (groups(truth), groups(score)):
        total = by_value.total(weights)
        below = np.cumsum(total, axis=1)
        # ranks about their mean (N + 1) / 2: exactly 0 if all weight is on one value
        rank = below - total / 2 - below[:, -1:] / 2
        variance = np.einsum("bg,bg,bg->b", total, rank, rank)
        sides.append((rank[:, by_value.of], variance))
    (x, vx), (y, vy) = sides
    values = np.einsum("bn,bn,bn->b", weights, x, y) / np.sqrt(vx * vy)
    return np.asarray(np.clip(values, -1.0, 1.0))


@metric
def kendall(truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Compute Kendall's tau-b: pairs in the same order minus pairs in opposite order, over the
    geometric mean of the untied pairs in each.

    It is exact with weights at any n: O(b n log k) for k distinct values on the side with fewer.
    """
    x, y = groups(truth), groups(score)
    if len(x.starts) > len(y.starts):
        x, y = y, x
    step = max(1, _BLOCK // len(truth))
    signed = np.concatenate(
        [
            _signed_pairs(x, y, weights[at : at + step])
            for at in range(0, max(1, len(weights)), step)
        ]
    )
    untied = np.ones(len(weights))
    for side in (x, y):
        total = side.total(weights)
        pairs = (total.sum(axis=1) ** 2 - np.einsum("bg,bg->b", total, total)) / 2
        untied *= np.sqrt(pairs)
    return np.asarray(np.clip(signed / untied, -1.0, 1.0))


def _signed_pairs(x: Groups, y: Groups, weights: Floats) -> Floats:
    """Return pairs in the same order minus pairs in opposite order: (b,).

    Two different values of x, numbered from 0, share their high bits down to the bit where they
    differ. Each pair is therefore visited once, at that bit. In a block with equal higher bits, one
    value is then in the left half (bit 0) and one in the right half. Sorted by (block, y), one
    cumulated sum over the left halves yields the weight below and above each target of the right
    ones.
    """
    columns = np.ascontiguousarray(weights.T)
    signed = np.zeros(len(weights))
    for bit in range((len(x.starts) - 1).bit_length()):
        block = (x.of >> (bit + 1))[y.order]
        order = y.order[np.argsort(block, kind="stable")]
        block, value = x.of[order] >> (bit + 1), y.of[order]
        left = (x.of[order] >> bit & 1) == 0
        seen = np.zeros((np.count_nonzero(left) + 1, len(weights)))
        np.cumsum(columns[order[left]], axis=0, out=seen[1:])
        number = np.concatenate(([0], np.cumsum(left)))  # left ones before each position
        block_low, block_high = _edges(block[1:] != block[:-1], number)
        tie_low, tie_high = _edges((block[1:] != block[:-1]) | (value[1:] != value[:-1]), number)
        right = ~left
        below_less_above = seen[tie_low[right]] + seen[tie_high[right]]
        below_less_above -= seen[block_low[right]]
        below_less_above -= seen[block_high[right]]
        signed += np.einsum("nb,nb->b", columns[order[right]], below_less_above)
    return signed


def _edges(
    changes: NDArray[np.bool_], number: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return ``number`` (n + 1,) at the start and at the end of each position's run: (n,) each.

    ``changes`` (n - 1,) is True where a new run begins.
    """
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
    ends = np.append(starts[1:], len(changes) + 1)
    run = np.concatenate(([0], np.cumsum(changes)))
    return number[starts][run], number[ends][run]
