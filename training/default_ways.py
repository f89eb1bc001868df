"""Ways to combine sentences' risks into one risk per answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import numpy as np
from default_data import Labelled

from veridical.stats.logistic import sigmoid
from veridical.stats.metrics.ranking import auroc

#: Shares of the log of the number of sentences that are tried.
OF_MANY = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Shares whose mean AUROC differs by at most this order alike.
ALIKE = 0.0005

Way = Callable[[np.ndarray], float]


def worst_of_many(share: float) -> Way:
    """Return a way: the largest log-odds less a ``share`` of the log of the number of sentences."""
    return lambda odds: float(odds.max() - share * np.log(len(odds)))


#: From the log-odds of an answer's sentences to a value that orders answers.
WAYS: Mapping[str, Way] = {
    "mean": lambda odds: float(odds.mean()),
    "count": lambda odds: float(np.asarray(sigmoid(odds)).sum()),  # of wrong ones, expected
    "any": lambda odds: float(np.log1p(np.exp(odds)).sum()),  # -log P(none is wrong)
    **{f"worst, {share} of many": worst_of_many(share) for share in OF_MANY},
}


def ordered(values: np.ndarray, labels: np.ndarray) -> float:
    """AUROC of the answers that have a value."""
    scored = ~np.isnan(values)
    return float(auroc(labels[scored], values[scored]))


def pairs_ordered(
    values: np.ndarray, labels: np.ndarray, groups: Sequence[str]
) -> tuple[float, int]:
    """Compare right and wrong answers in pairs within groups.

    Returns the share of pairs in which the wrong one has the larger value (ties count half), and
    the number of pairs.
    """
    found: list[float] = []
    order = sorted(range(len(groups)), key=lambda i: groups[i])
    for _, places in groupby(order, key=lambda i: groups[i]):
        own = [i for i in places if not np.isnan(values[i])]
        right = np.array([values[i] for i in own if labels[i] == 0])
        wrong = np.array([values[i] for i in own if labels[i] == 1])
        gaps = (wrong[:, None] - right[None, :]).ravel()
        found += [float((g > 0) + (g == 0) / 2) for g in gaps]
    return (float(np.mean(found)) if found else float("nan")), len(found)


def best_of_many(
    sets: Sequence[Labelled], each: Sequence[Sequence[np.ndarray]], weights: Sequence[float]
) -> float:
    """Return the share of the log of the number of sentences that orders best.

    Of shares that order alike it is the smallest, as one wrong sentence among many counts most by
    it. Prints the order by each of :data:`WAYS`.

    Args:
        each: of every set, for each answer the log-odds of its sentences.
        weights: what each set counts in the mean.
    """
    means = {}
    for name, way in WAYS.items():
        values = [np.array([way(o) if len(o) else np.nan for o in odds]) for odds in each]
        labels = [np.array(one.labels) for one in sets]
        found = [ordered(v, known) for v, known in zip(values, labels, strict=True)]
        means[name] = float(np.average(found, weights=weights))
        pairs = [
            (one.name, *pairs_ordered(v, known, one.groups))
            for one, v, known in zip(sets, values, labels, strict=True)
        ]
        shown = ", ".join(f"{of} {share:.3f} of {n}" for of, share, n in pairs if n)
        print(f"{name}: mean AUROC {means[name]:.4f}; pairs: {shown}")
    orders = {share: means[f"worst, {share} of many"] for share in OF_MANY}
    return min(share for share, mean in orders.items() if mean >= max(orders.values()) - ALIKE)
