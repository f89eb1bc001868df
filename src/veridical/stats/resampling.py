"""Bootstrap over independent units: whole groups are drawn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats

_CHUNK = 1 << 20  # weights in one chunk: 8 MB, so that a metric's temporaries stay small too
_FEWEST = 20  # minimum defined replicates of an interval
_MOST_UNDEFINED = 0.05


class Resampler:
    """Cluster bootstrap: draws as many groups as there are, with replacement.

    An item's weight is the number of draws of its group (Davison and Hinkley 1997, section 3.8).

    Args:
        groups: (n,) the independent unit of each item; sizes may differ.
        replicates: number of resamples. There are no resamples of fewer than two groups: drawing
            the only unit again gives no information on chance.
        seed: equal seeds and groups give equal draws, so that scorers are paired.

    Attributes:
        replicates: total number of resamples of :meth:`chunks`.
    """

    def __init__(self, groups: NDArray[np.int64], replicates: int, seed: int) -> None:
        units, member = np.unique(np.asarray(groups), return_inverse=True)
        self._member = member
        self._units = len(units)
        self._seed = seed
        self.replicates = replicates if self._units > 1 else 0

    def chunks(self) -> Iterator[Floats]:
        """Yield (b, n) weights, whole numbers from 0, a few megabytes at a time; every call starts
        from the first resample."""
        rng = np.random.default_rng(self._seed)
        rows = max(1, _CHUNK // max(1, len(self._member)))
        for start in range(0, self.replicates, rows):
            b = min(rows, self.replicates - start)
            chosen = rng.integers(0, self._units, (b, self._units))
            chosen += np.arange(b)[:, None] * self._units
            counts = np.bincount(chosen.ravel(), minlength=b * self._units)
            yield counts.reshape(b, -1).astype(np.float64)[:, self._member]


def defined(values: Floats) -> Floats | None:
    """Return the replicates that are numbers; None if they are too few: fewer than 20, or over 5 %
    of all are NaN."""
    numbers = values[~np.isnan(values)]
    enough = len(numbers) >= _FEWEST and len(values) - len(numbers) <= _MOST_UNDEFINED * len(values)
    return numbers if enough else None


def interval(values: Floats, level: float = 0.95) -> tuple[float | None, float | None]:
    """Return the percentile interval of (B,) replicates; (None, None) if :func:`defined` finds too
    few."""
    numbers = defined(values)
    if numbers is None:
        return None, None
    low, high = np.quantile(numbers, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
