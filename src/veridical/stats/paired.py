"""Paired tests of a changed share or mean, and their detectable effects.

Differences are of pairs, second minus first. Pairs of one group (such as records of one prompt)
count as one observation.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints
from veridical.stats.proportions import Z, wilson
from veridical.stats.resampling import Resampler, interval

Alternative = Literal["two-sided", "greater"]

#: One-sided level of a test, and power of :func:`detectable_share`.
ALPHA, POWER = 0.05, 0.8
_Z_ALPHA, _Z_POWER = 1.6448536, 0.8416212
_ALL_SIGNS = 14  # maximum groups for which all sign combinations are tried
_MOST = 5_000  # maximum groups that are sampled; sums of more are treated as normal
_BLOCK = 1 << 20  # signs, or weights, drawn at once: 8 MB


class Flips(NamedTuple):
    """Paired binary outcomes: ``rises`` from no to yes, ``falls`` from yes to no, of ``n``."""

    rises: int
    falls: int
    n: int

    @classmethod
    def of(cls, differences: Floats) -> Flips:
        """Count flips in differences that are -1, 0 or 1."""
        rises, falls = int((differences > 0).sum()), int((differences < 0).sum())
        return cls(rises, falls, len(differences))


def mcnemar(flips: Flips, alternative: Alternative = "two-sided") -> float:
    """Return the exact p-value of McNemar's test (1947): given the number of flips, each is as
    likely to rise as to fall. It is 1 without flips."""
    from scipy.stats import binom

    total = flips.rises + flips.falls
    if not total:
        return 1.0
    if alternative == "greater":
        return float(binom.sf(flips.rises - 1, total, 0.5))
    return min(1.0, 2 * float(binom.sf(max(flips.rises, flips.falls) - 1, total, 0.5)))


def share_rises(flips: Flips, margin: float = 0.0) -> float:
    """Return the one-sided p-value that a share has risen by more than ``margin``.

    For margin 0 it is :func:`mcnemar`; otherwise the score test of Tango (1998, Statistics in
    Medicine 17, eq. 8), which is for many pairs.

    Args:
        margin: in [0, 1).
    """
    if not margin:
        return mcnemar(flips, "greater")
    b, c, n = flips
    if not n:
        return 1.0
    return _upper((b - c - n * margin) / math.sqrt(n * _variance(b / n, c / n, margin)))


def sign_flip(
    differences: Floats,
    groups: Ints,
    *,
    permutations: int,
    seed: int,
    alternative: Alternative = "two-sided",
    margin: float = 0.0,
) -> float:
    """Return the p-value of a permutation test of a mean difference, which swaps the two of a
    group.

    All combinations are tried if at most 14 groups differ. Otherwise ``permutations`` of them are
    drawn, and ``p = (1 + hits) / (1 + permutations)``; for more than 5 000 groups the sum is
    treated as normal.

    Args:
        differences: (n,), no NaN.
        groups: (n,) the group of each.
        margin: the mean is compared with this value rather than 0.
    """
    sums = _by_group(differences - margin, groups)
    sums = sums[np.abs(sums) > 1e-12]
    if not len(sums):
        return 1.0
    observed = float(sums.sum())
    if alternative == "two-sided":
        observed = abs(observed)
    if len(sums) > _MOST:
        tail = _upper(observed / math.sqrt(float(sums @ sums)))
        return min(1.0, 2 * tail) if alternative == "two-sided" else tail
    least = observed - 1e-9
    if len(sums) <= _ALL_SIGNS:
        bits = (np.arange(1 << len(sums))[:, None] >> np.arange(len(sums))) & 1
        return float(_reached((2.0 * bits - 1) @ sums, least, alternative).mean())
    rng = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(sums))
    hits = 0
    for start in range(0, permutations, rows):
        swapped = rng.random((min(rows, permutations - start), len(sums))) < 0.5
        total = sums.sum() - 2 * (swapped @ sums)
        hits += int(_reached(total, least, alternative).sum())
    return (1 + hits) / (1 + permutations)


def mean_interval(
    differences: Floats, groups: Ints, *, replicates: int, seed: int, share: bool = False
) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a mean difference, by a bootstrap over groups.

    For more than 5 000 groups it is the normal approximation. (None, None) for fewer than two
    groups.

    Args:
        share: True if the differences are of binary outcomes. Without any flip all resamples are
            equal, which is not certainty: the interval is then Wilson's (1927) for no flips.
    """
    groups = np.unique(groups, return_inverse=True)[1]
    count = int(groups.max(initial=-1)) + 1
    if count < 2:
        return None, None
    if share and not differences.any():
        high = wilson(0.0, count)[1]
        return -high, high
    if count > _MOST:
        mean, error = _mean_error(differences, groups)
        return mean - Z * error, mean + Z * error
    sums, sizes = np.bincount(groups, weights=differences), np.bincount(groups).astype(float)
    chunks = Resampler(np.arange(count), replicates, seed).chunks()
    means = [(w @ sums) / (w @ sizes) for w in chunks]
    return interval(np.concatenate([np.empty(0), *means]))


def detectable_share(flips: Flips, margin: float = 0.0) -> float | None:
    """Return the smallest rise of a share that this many pairs show in 8 of 10 cases.

    The test is one-sided at 5 %, with as many random flips as observed. None if no rise is
    detectable. It is exact for McNemar's test of at most 5 000 pairs, else the normal
    approximation.
    """
    n = flips.n
    if not n:
        return None
    idle = min(flips.rises, flips.falls) / n
    most = 1 - 2 * idle

    def shown(rise: float) -> bool:
        if margin or n > _MOST:
            return _normal_power(n, idle, rise, margin) >= POWER
        return _exact_power(n, idle, rise) >= POWER

    if most <= margin or not shown(most):
        return None
    low, high = margin, most
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


def detectable_mean(differences: Floats, groups: Ints, margin: float = 0.0) -> float | None:
    """Return the smallest rise of a mean that such differences show in 8 of 10 cases.

    The test is one-sided at 5 %. None for fewer than 5 groups, for which no swap is rare enough.
    """
    groups = np.unique(groups, return_inverse=True)[1]
    if int(groups.max(initial=-1)) < 4:
        return None
    return margin + (_Z_ALPHA + _Z_POWER) * _mean_error(differences, groups)[1]


def _mean_error(differences: Floats, groups: Ints) -> tuple[float, float]:
    """Return the mean and its standard error over groups."""
    mean = float(differences.mean())
    residuals = _by_group(differences - mean, groups)
    k = len(residuals)
    return mean, math.sqrt(float(residuals @ residuals) * k / max(1, k - 1)) / len(differences)


def _exact_power(n: int, idle: float, rise: float) -> float:
    """Return the power of McNemar's one-sided test for a rise, if a share ``idle`` of pairs rises
    at random and as many fall."""
    from scipy.stats import binom

    flipping = 2 * idle + rise
    mean, spread = n * flipping, math.sqrt(n * flipping * (1 - flipping))
    totals = np.arange(
        max(1, math.floor(mean - 9 * spread - 9)), min(n, math.ceil(mean + 9 * spread + 9)) + 1
    )
    fewest = binom.isf(ALPHA, totals, 0.5) + 1  # minimum number of rises that is significant
    power = binom.pmf(totals, n, flipping) * binom.sf(fewest - 1, totals, (idle + rise) / flipping)
    return float(power.sum())


def _normal_power(n: int, idle: float, rise: float, margin: float) -> float:
    at_margin = math.sqrt(_variance(idle + rise, idle, margin))
    spread = math.sqrt(max(1e-12, 2 * idle + rise - rise**2))
    return _upper((_Z_ALPHA * at_margin - (rise - margin) * math.sqrt(n)) / spread)


def _variance(rises: float, falls: float, margin: float) -> float:
    """Return the variance of one pair's difference, given the shares of pairs that rise and fall.

    It is computed under the likeliest shares whose difference is the margin (Tango 1998, eq. 7).
    """
    linear = -rises - falls + (2 - rises + falls) * margin
    root = math.sqrt(max(0.0, linear**2 + 8 * falls * margin * (1 - margin)))
    fall = (root - linear) / 4
    return max(1e-12, 2 * fall + margin * (1 - margin))


def _by_group(differences: Floats, groups: Ints) -> Floats:
    member = np.unique(groups, return_inverse=True)[1]
    return np.bincount(member, weights=differences).astype(np.float64, copy=False)


def _reached(totals: Floats, least: float, alternative: Alternative) -> NDArray[np.bool_]:
    return (np.abs(totals) if alternative == "two-sided" else totals) >= least


def _upper(z: float) -> float:
    """Return P(Z >= z) of a standard normal."""
    return math.erfc(z / math.sqrt(2)) / 2
