"""Confidence intervals of shares."""

from __future__ import annotations

import math

#: Standard deviations from the mean to either end of a 95 % interval.
Z = 1.959964


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share of ``n`` independent trials (Wilson 1927). It contains
    the share and stays within [0, 1]."""
    middle, scale = share + Z**2 / (2 * n), 1 + Z**2 / n
    half = Z * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    low, high = (middle - half) / scale, (middle + half) / scale
    return max(0.0, min(share, low)), min(1.0, max(share, high))
