"""Paired tests between scorers, corrected for multiplicity.

Every test compares two scorers on the same targets, and treats the targets of one group (a passage,
a prompt) as one observation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints
from veridical.stats.metrics import Targets, compute
from veridical.stats.metrics.metric import finite
from veridical.stats.permutation import midranks, permutation
from veridical.stats.resampling import Resampler, defined, interval
from veridical.stats.tables import Comparison, Rank

#: Metrics of a score alone (no labels), which can be recomputed on any subset of the targets.
RANKING = ("average_precision", "trapezoid_pr", "auroc", "prr", "spearman", "pearson", "kendall")

_RESOLVED = 10  # replicates beyond zero that a counted p-value requires
_ALPHA = 0.05


def delong(
    truth: Floats, a: Floats, b: Floats, groups: Ints | None = None
) -> tuple[float, float, float]:
    """Return the AUROC of two scorers and the two-sided p-value of their difference.

    The test is that of DeLong, DeLong and Clarke-Pearson (1988) with the variance of Obuchowski
    (1997, Biometrics 53). The structural components are summed within a cluster. If every
    cluster is a single target, it is DeLong's own.

    Args:
        truth: (n,) 1 positive, 0 negative.
        a, b: (n,) scores, higher for positives; no NaN.
        groups: (n,) the cluster of each target; None if all are independent.

    Returns:
        The areas and the p-value. It is NaN if the variance cannot be estimated. There are then
        fewer than two clusters with positives or with negatives, or the variance is zero although
        the areas differ.
    """
    positive = truth >= 0.5
    m, n = int(positive.sum()), int((~positive).sum())
    if not m or not n:
        return math.nan, math.nan, math.nan
    (of_positive_a, of_negative_a), (of_positive_b, of_negative_b) = (
        _components(positive, score) for score in (a, b)
    )
    auc_a, auc_b = float(of_positive_a.mean()), float(of_positive_b.mean())
    difference = auc_a - auc_b
    units = np.arange(len(truth)) if groups is None else groups
    distinct, member = np.unique(units, return_inverse=True)
    k = len(distinct)

    def by_cluster(components: Floats, where: NDArray[np.bool_]) -> tuple[Floats, int]:
        totals = np.bincount(member[where], weights=components - difference, minlength=k)
        return totals.astype(np.float64, copy=False), len(np.unique(member[where]))

    x, kx = by_cluster(of_positive_a - of_positive_b, positive)
    y, ky = by_cluster(of_negative_a - of_negative_b, ~positive)
    if min(kx, ky) < 2:
        return auc_a, auc_b, math.nan
    variance = (
        kx / (kx - 1) * (x @ x) / m**2
        + ky / (ky - 1) * (y @ y) / n**2
        + 2 * k / (k - 1) * (x @ y) / (m * n)
    )
    if abs(difference) < 1e-12:
        return auc_a, auc_b, 1.0
    if variance < 1e-18:
        return auc_a, auc_b, math.nan
    return auc_a, auc_b, math.erfc(abs(difference) / math.sqrt(2 * variance))


def bootstrap_p(differences: Floats, groups: int) -> float | None:
    """Return the two-sided p-value of a difference from its (B,) bootstrap replicates.

    It is ``2 min(share <= 0, share >= 0)``, at most 1: below 0.05 if the 95 % percentile interval
    excludes zero. B replicates cannot show a small p-value, but one that is corrected for many
    pairs must be small. If fewer than 10 replicates lie beyond zero, the tail is that of
    Student's t with ``groups - 1`` degrees of freedom, at most 20 / B. Its argument is mean /
    standard deviation of the replicates. Replicates that are equal but not zero give 1 / (B + 1).

    None if the interval is undefined too.
    """
    replicates = defined(differences)
    if replicates is None:
        return None
    n = len(replicates)
    beyond = min(int((replicates <= 0).sum()), int((replicates >= 0).sum()))
    if beyond >= _RESOLVED:
        return min(1.0, 2 * beyond / n)
    spread = float(replicates.std(ddof=1))
    if spread < 1e-15:
        return 1 / (n + 1)
    from scipy.special import stdtr

    tail = 2 * float(stdtr(max(1, groups - 1), -abs(float(replicates.mean())) / spread))
    return min(tail, 2 * _RESOLVED / n)


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for their number by the step-down method of Holm (1979).

    None and NaN are not tests: they stay None and are not counted.
    """
    tests = sorted((x, i) for i, x in enumerate(p) if x is not None and not math.isnan(x))
    adjusted: list[float | None] = [None] * len(p)
    highest = 0.0
    for done, (x, i) in enumerate(tests):
        highest = max(highest, min(1.0, (len(tests) - done) * x))
        adjusted[i] = highest
    return adjusted


def cliques(order: Sequence[str], p: Mapping[tuple[str, str], float | None]) -> list[list[str]]:
    """Return the bars of a critical-difference diagram (Demsar 2006).

    They are the longest runs of at least two scorers, neighbours in ``order``, of which no pair
    differs.

    Args:
        order: scorers by their mean rank.
        p: adjusted p-value of each pair, in either order; a pair differs below 0.05. A missing
            pair, or None, does not differ.
    """

    def differ(a: str, b: str) -> bool:
        adjusted = p.get((a, b), p.get((b, a)))
        return adjusted is not None and adjusted < _ALPHA

    runs: list[list[str]] = []
    reached = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not any(differ(s, order[end]) for s in order[start:end]):
            end += 1
        if end > reached and end - start > 1:
            runs.append(list(order[start:end]))
        reached = max(reached, end)
    return runs


def compare(
    truth: Floats,
    scores: Mapping[str, Floats],
    groups: Ints,
    metric: str,
    boot: Mapping[str, Floats],
    *,
    permutations: int,
    seed: int,
    values: Mapping[str, float] | None = None,
) -> tuple[list[Comparison], list[Rank], list[list[str]]]:
    """Compare every pair of scorers on one metric, and return their mean ranks and cliques.

    Holm's correction is over the bootstrap p-values of all pairs, the primary test. DeLong's
    p-value (of the AUROC, whatever the metric) is given for binary truths, the permutation's for
    pairs with the best scorer. A pair with different scored targets is compared on the common ones,
    and resampled there. For metrics of labels rather than scores, each keeps the figures on its own
    targets.

    Args:
        truth: (n,) of the targets; NaN is left out.
        scores: (n,) for each scorer, higher for higher truth; NaN if not scored.
        groups: (n,) the independent unit of each target.
        metric: a metric that is better when higher.
        boot: (B,) replicates of the metric for each scorer, over the same resamples.
        values: the metric of each scorer, if known; else computed, or the mean of its replicates
            for a metric of labels.

    Returns:
        Comparisons of all pairs. Ranks (1 is best), best first, by replicate or, without any, by
        value. The :func:`cliques`, empty if nothing was tested. A scorer without a value has
        neither rank nor clique. All are empty for fewer than two scorers.
    """
    names = list(scores)
    if len(names) < 2:
        return [], [], []
    scored = {s: ~(np.isnan(truth) | np.isnan(scores[s])) for s in names}
    figure = {
        s: values[s] if values is not None else _value(metric, truth, scores[s], scored[s], boot[s])
        for s in names
    }
    ranks = _ranks(figure, boot)
    best = ranks[0].scorer if ranks else None
    observed = truth[~np.isnan(truth)]
    binary = bool(np.isin(observed, (0, 1)).all())
    cache: dict[tuple[str, bytes], tuple[float, Floats]] = {}
    comparisons = []
    for a, b in combinations(names, 2):
        joint = scored[a] & scored[b]
        if metric in RANKING and (scored[a] != scored[b]).any():
            (value_a, boot_a), (value_b, boot_b) = (
                _anew(cache, metric, truth, s, scores[s], groups, joint, len(boot[s]), seed)
                for s in (a, b)
            )
        else:
            value_a, boot_a, value_b, boot_b = figure[a], boot[a], figure[b], boot[b]
        t, x, y, units = truth[joint], scores[a][joint], scores[b][joint], groups[joint]
        low, high = interval(boot_a - boot_b)
        comparisons.append(
            Comparison(
                a=a,
                b=b,
                metric=metric,
                difference=finite(value_a - value_b),
                ci_low=low,
                ci_high=high,
                p_bootstrap=bootstrap_p(boot_a - boot_b, len(np.unique(units))),
                p_permutation=finite(permutation(t, x, y, units, metric, permutations, seed))
                if best in (a, b)
                else None,
                p_delong=finite(delong(t, x, y, units)[2]) if binary else None,
            )
        )
    adjusted = holm([c.p_bootstrap for c in comparisons])
    comparisons = [
        c.model_copy(update={"p_holm": p}) for c, p in zip(comparisons, adjusted, strict=True)
    ]
    tested = any(p is not None for p in adjusted)
    by_pair = {(c.a, c.b): c.p_holm for c in comparisons}
    return comparisons, ranks, cliques([r.scorer for r in ranks], by_pair) if tested else []


def _value(
    metric: str, truth: Floats, score: Floats, where: NDArray[np.bool_], boot: Floats
) -> float:
    if metric in RANKING:
        return float(compute([metric], Targets(truth[where], score[where]))[metric])
    replicates = defined(boot)
    return math.nan if replicates is None else float(replicates.mean())


def _anew(
    cache: dict[tuple[str, bytes], tuple[float, Floats]],
    metric: str,
    truth: Floats,
    name: str,
    score: Floats,
    groups: Ints,
    joint: NDArray[np.bool_],
    replicates: int,
    seed: int,
) -> tuple[float, Floats]:
    """Return the metric and its replicates over the ``joint`` targets of a pair."""
    key = name, np.packbits(joint).tobytes()
    if key not in cache:
        targets = Targets(truth[joint], score[joint])
        chunks = Resampler(groups[joint], replicates, seed).chunks()
        boot = [np.asarray(compute([metric], targets, w)[metric]) for w in chunks]
        value = float(compute([metric], targets)[metric])
        cache[key] = value, np.concatenate([np.empty(0), *boot])
    return cache[key]


def _ranks(values: Mapping[str, float], boot: Mapping[str, Floats]) -> list[Rank]:
    """Return mean ranks over the replicates in which any scorer has a value.

    A scorer without a value is last.
    """
    from scipy.stats import rankdata

    names = [s for s, value in values.items() if not math.isnan(value)]
    if not names:
        return []
    table = np.stack([boot[s] for s in names])
    table = table[:, ~np.isnan(table).all(axis=0)]
    if not table.shape[1]:
        table = np.array([[values[s]] for s in names])
    worst_first = np.where(np.isnan(table), -np.inf, table)
    mean = rankdata(-worst_first, axis=0).mean(axis=1)
    ranks = [
        Rank(scorer=s, rank=float(r), value=values[s]) for s, r in zip(names, mean, strict=True)
    ]
    return sorted(ranks, key=lambda r: (r.rank, -r.value))


def _components(positive: NDArray[np.bool_], score: Floats) -> tuple[Floats, Floats]:
    """Return DeLong's structural components.

    They are the share of negatives below each positive (a tie counts half), and the share of
    positives above each negative.
    """
    above, below = score[positive], score[~positive]
    ranks = midranks(score)
    beaten = ranks[positive] - midranks(above)
    lost = len(above) - (ranks[~positive] - midranks(below))
    return beaten / len(below), lost / len(above)
