"""Test outcomes, and the normality check that selects the test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from veridical.arrays import Floats
from veridical.stats.metrics.metric import finite

Matrix = list[list[float | None]]

#: Values are taken as normal unless the test rejects it at this level.
ALPHA = 0.05
#: Maximum number of values for Shapiro and Wilk's p-value; above, the test is D'Agostino and
#: Pearson's.
SHAPIRO_LARGEST = 5000
NORMALITY = (
    f"a test's assumption is checked by Shapiro-Wilk (up to {SHAPIRO_LARGEST} values, "
    f"D'Agostino-Pearson above) at {ALPHA:g}, on the paired differences (tuning) or on the "
    "residuals (decoding, size)"
)


@dataclass(frozen=True)
class Outcome:
    """A test as it was done, or why it was not (``note``, and ``p`` None).

    Attributes:
        n: pairs, complete blocks or values.
        posthoc: p-values between the levels, None on the diagonal.
    """

    test: str
    normal: bool
    normality_p: float | None
    statistic: float | None
    p: float | None
    effect: str
    effect_size: float | None
    n: int
    note: str | None = None
    posthoc_test: str = ""
    posthoc: Matrix | None = None


def not_done(why: str, n: int) -> Outcome:
    """Return an outcome without a test, because the data do not allow one."""
    return Outcome("none", False, None, None, None, "none", None, n, why)


def normality(values: Floats) -> float | None:
    """Return the p-value of the hypothesis that ``values`` (n,) are normal, or None.

    ``values`` have a magnitude of about 1 (:func:`tidy`). None for fewer than three values, or if
    all are the same.
    """
    from scipy import stats

    if len(values) < 3 or np.ptp(values) <= 1e-11:
        return None
    standard = (values - values.mean()) / values.std()
    test = stats.shapiro if len(values) <= SHAPIRO_LARGEST else stats.normaltest
    return finite(test(standard).pvalue)


def is_normal(p: float | None) -> bool:
    """Return True if a p-value of :func:`normality` permits the parametric test."""
    return p is not None and p > ALPHA


def tidy(values: Floats) -> Floats:
    """Divide ``values`` by the largest and round to 12 digits, so that 0.3 - 0.1 ties with 0.2.

    No test or effect size here depends on the scale.
    """
    scale = float(np.abs(values).max(initial=0.0))
    return np.round(values / scale, 12) if scale else values


def square(k: int, values: Iterable[float | None]) -> Matrix:
    """Build a symmetric matrix (k, k) from the values of the pairs i < j.

    In the order of :func:`itertools.combinations`; None on the diagonal.
    """
    matrix: Matrix = [[None] * k for _ in range(k)]
    for (i, j), value in zip(combinations(range(k), 2), values, strict=True):
        matrix[i][j] = matrix[j][i] = value
    return matrix
