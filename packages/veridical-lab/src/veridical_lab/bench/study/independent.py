"""Tests of independent groups of values (bins of model size)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from veridical.arrays import Floats
from veridical.stats.comparisons import holm
from veridical.stats.metrics.metric import finite
from veridical_lab.bench.study.normality import (
    Matrix,
    Outcome,
    is_normal,
    normality,
    not_done,
    square,
    tidy,
)


def independent(groups: Sequence[Floats]) -> Outcome:
    """Do groups differ? Each group is an array (n_g,) with one value or more.

    Normal residuals (value less the mean of its group): one-way ANOVA with eta squared, and
    Tukey's test (Kramer's for unequal sizes) between the groups. Others: Kruskal and Wallis's
    test with epsilon squared, H / (n - 1), and Mann and Whitney's with Holm's correction.
    """
    sizes = [len(g) for g in groups]
    n = sum(sizes)
    if len(groups) < 2:
        return not_done("there is one level only" if groups else "there are no values", n)
    values = tidy(np.concatenate(groups))
    if not np.ptp(values):
        return not_done("all values are the same", n)
    if n <= len(groups):
        return not_done("every level has a single value", n)
    groups = np.split(values, np.cumsum(sizes)[:-1])
    residuals = np.concatenate([g - g.mean() for g in groups])
    residuals[np.abs(residuals) < 1e-12] = 0.0
    normal_p = normality(residuals)
    if is_normal(normal_p):
        return _anova(groups, values, residuals, normal_p)
    return _kruskal(groups, n, normal_p)


def _anova(
    groups: Sequence[Floats], values: Floats, residuals: Floats, normal_p: float | None
) -> Outcome:
    from scipy import stats

    n, k = len(values), len(groups)
    within = float((residuals**2).sum())
    total = float(((values - values.mean()) ** 2).sum())
    f = ((total - within) / (k - 1)) / (within / (n - k))
    return Outcome(
        "one-way ANOVA",
        True,
        normal_p,
        finite(f),
        finite(stats.f.sf(f, k - 1, n - k)),
        "eta squared",
        (total - within) / total,
        n,
        None,
        "Tukey HSD",
        _tukey(groups, within / (n - k), n - k),
    )


def _tukey(groups: Sequence[Floats], error: float, free: int) -> Matrix:
    from scipy import stats

    q = [
        abs(a.mean() - b.mean()) / np.sqrt(error / 2 * (1 / len(a) + 1 / len(b)))
        for a, b in combinations(groups, 2)
    ]
    p = stats.studentized_range.sf(np.array(q), len(groups), free)
    return square(len(groups), map(finite, p))


def _kruskal(groups: Sequence[Floats], n: int, normal_p: float | None) -> Outcome:
    from scipy import stats

    h, p = stats.kruskal(*groups)
    adjusted = holm([_mann_whitney(a, b) for a, b in combinations(groups, 2)])
    return Outcome(
        "Kruskal-Wallis",
        False,
        normal_p,
        finite(h),
        finite(p),
        "epsilon squared",
        float(h / (n - 1)),
        n,
        None,
        "Mann-Whitney (Holm)",
        square(len(groups), adjusted),
    )


def _mann_whitney(a: Floats, b: Floats) -> float | None:
    from scipy import stats

    if a.min() == a.max() == b.min() == b.max():
        return None
    return finite(stats.mannwhitneyu(a, b).pvalue)
