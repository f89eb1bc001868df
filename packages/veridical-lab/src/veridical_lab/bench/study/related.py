"""Tests of related values: pairs (tuning) and complete blocks (decoding)."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from veridical.arrays import Floats
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


def paired(differences: Floats) -> Outcome:
    """Test if paired values differ; ``differences`` (n,) are those of the pairs.

    Normal differences: the paired t test, with Cohen's d_z (mean over standard deviation). Others:
    Wilcoxon's signed-rank test (zeros dropped; exact for small n without ties, as scipy chooses).
    Its effect is the matched-pairs rank-biserial correlation (Kerby 2014): the rank sum of positive
    differences minus that of negative ones, over their total. Both effects are positive if the
    differences are.
    """
    from scipy import stats

    d = tidy(differences)
    n = len(d)
    if n < 2:
        return not_done("there is one pair only" if n else "there are no pairs", n)
    if not d.any():
        return not_done("all differences are zero", n)
    normal_p = normality(d)
    if is_normal(normal_p):
        t, p = _paired_t(d)
        effect = float(d.mean() / d.std(ddof=1))
        return Outcome("paired t", True, normal_p, t, p, "Cohen's d_z", effect, n)
    test = stats.wilcoxon(d)
    ranks = stats.rankdata(np.abs(d[d != 0]))
    effect = float((ranks * np.sign(d[d != 0])).sum() / ranks.sum())
    return Outcome(
        "Wilcoxon signed-rank",
        False,
        normal_p,
        finite(test.statistic),
        finite(test.pvalue),
        "matched-pairs rank-biserial",
        effect,
        n,
    )


def repeated(values: Floats) -> Outcome:
    """Test if levels differ within blocks; ``values`` (n, k): a row per block, a column per level.

    Normal residuals (value minus the means of its block and level): repeated-measures ANOVA with
    partial eta squared. Levels are compared by paired t tests with Bonferroni's correction. The
    note gives the p-value with Greenhouse and Geisser's (1959) correction for unequal variances of
    the differences. Others: Friedman's test with Kendall's W, and Nemenyi's test.
    """
    x = tidy(values)
    n, k = x.shape
    if k < 2:
        return not_done("there is one level only", n)
    if n < 2:
        why = "one block only has" if n else "no block has"
        return not_done(f"{why} a value at every level", n)
    if not np.ptp(x, axis=1).any():
        return not_done("in every block, all levels have the same value", n)
    residuals = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + x.mean()
    residuals[np.abs(residuals) < 1e-12] = 0.0
    normal_p = normality(residuals.ravel())
    if is_normal(normal_p):
        return _repeated_anova(x, residuals, normal_p)
    return _friedman(x, normal_p)


def _repeated_anova(x: Floats, residuals: Floats, normal_p: float | None) -> Outcome:
    from scipy import stats

    n, k = x.shape
    between = float(n * ((x.mean(axis=0) - x.mean()) ** 2).sum())
    error = float((residuals**2).sum())
    free = k - 1, (k - 1) * (n - 1)
    f = (between / free[0]) / (error / free[1])
    raw = [_paired_t(a - b)[1] for a, b in combinations(x.T, 2)]
    note = None
    if k > 2:
        epsilon = _sphericity(x)
        corrected = stats.f.sf(f, epsilon * free[0], epsilon * free[1])
        note = f"Greenhouse-Geisser epsilon {epsilon:.3g}: p {corrected:.3g}"
    return Outcome(
        "repeated-measures ANOVA",
        True,
        normal_p,
        finite(f),
        finite(stats.f.sf(f, *free)),
        "partial eta squared",
        between / (between + error),
        n,
        note,
        "paired t (Bonferroni)",
        square(k, [None if p is None else min(1.0, p * len(raw)) for p in raw]),
    )


def _paired_t(d: Floats) -> tuple[float | None, float | None]:
    """t and its two-sided p-value; None where the differences (n,) are all the same."""
    from scipy import stats

    spread = d.std(ddof=1)
    if spread < 1e-12:
        return None, None
    t = float(d.mean() / (spread / math.sqrt(len(d))))
    return t, float(2 * stats.t.sf(abs(t), len(d) - 1))


def _sphericity(x: Floats) -> float:
    """Greenhouse and Geisser's epsilon of ``x`` (n, k), from 1 / (k - 1) to 1."""
    k = x.shape[1]
    s = np.cov(x, rowvar=False)
    centred = s - s.mean(axis=0) - s.mean(axis=1, keepdims=True) + s.mean()
    return min(1.0, float(np.trace(centred) ** 2 / ((k - 1) * (centred**2).sum())))


def _friedman(x: Floats, normal_p: float | None) -> Outcome:
    """Compute Friedman's chi-square with the correction for ties (Conover 1999, section 5.8)."""
    from scipy import stats

    n, k = x.shape
    ranks = stats.rankdata(x, axis=1)
    spread = float((ranks**2).sum() - n * k * (k + 1) ** 2 / 4)
    chi2 = float((k - 1) * ((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum() / spread)
    return Outcome(
        "Friedman",
        False,
        normal_p,
        chi2,
        float(stats.chi2.sf(chi2, k - 1)),
        "Kendall's W",
        chi2 / (n * (k - 1)),
        n,
        None,
        "Nemenyi",
        nemenyi(ranks.mean(axis=0), n),
    )


def nemenyi(mean_ranks: Floats, n: int) -> Matrix:
    """Compute p-values between levels of mean ranks (k,) over ``n`` blocks.

    Demšar (2006), section 3.2.2. The difference of mean ranks over sqrt(k (k + 1) / 6n) follows the
    studentized range over sqrt 2, with infinite degrees of freedom.
    """
    from scipy import stats

    k = len(mean_ranks)
    apart = np.array([abs(a - b) for a, b in combinations(mean_ranks, 2)])
    q = apart / math.sqrt(k * (k + 1) / (6 * n)) * math.sqrt(2)
    p = stats.studentized_range.sf(q, k, np.inf)
    return square(k, map(finite, p))
