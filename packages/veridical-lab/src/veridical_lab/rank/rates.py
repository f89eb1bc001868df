"""Rates of models over resampled prompts. M models, K prompts, B resamples.

Hu et al. 2024 (RefChecker), section 4.3 and appendix A.4. A model's rate of a class is the mean
share of claims of that class over its responses with claims. Its abstain rate is the share of
responses without claims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints
from veridical.stats.comparisons import bootstrap_p, cliques, holm
from veridical.stats.metrics.metric import finite
from veridical.stats.proportions import wilson
from veridical.stats.resampling import Resampler, interval
from veridical.stats.tables import Comparison
from veridical_lab.rank.result import RankAgreement

#: Rates that models are ranked by, the lower the better.
RANKED = ("hallucination", "contradiction", "abstain")
RATES = (*RANKED, "neutral", "entailment")
_FEWEST = 3  # models that a rank correlation needs


@dataclass(frozen=True)
class Sums:
    """Sums over a model's responses to a prompt, (M, K) each.

    ``shares`` of each class, responses with claims (``claiming``), and all (``judged``).
    """

    shares: Mapping[str, Floats]
    claiming: Floats
    judged: Floats

    @classmethod
    def of(
        cls,
        model: Ints,
        prompt: Ints,
        shares: Mapping[str, Floats],
        abstained: NDArray[np.bool_],
        size: tuple[int, int],
    ) -> Sums:
        """Add up (n,) responses; ``shares`` of abstaining ones do not count."""

        def total(x: Floats) -> Floats:
            table = np.zeros(size)
            np.add.at(table, (model, prompt), x)
            return table

        claiming = (~abstained).astype(np.float64)
        return cls(
            {name: total(x * claiming) for name, x in shares.items()},
            total(claiming),
            total(np.ones(len(model))),
        )

    def rates(self, weights: Floats) -> dict[str, Floats]:
        """Compute each rate, (B, M), with prompt weights (B, K); NaN without responses."""
        claiming, judged = weights @ self.claiming.T, weights @ self.judged.T
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = {name: (weights @ x.T) / claiming for name, x in self.shares.items()}
            if "neutral" in rates:
                rates["hallucination"] = rates["neutral"] + rates["contradiction"]
            rates["abstain"] = 1 - claiming / judged
        return rates


@dataclass(frozen=True)
class Resampled:
    """Rates of the data, (M,) each, and of resamples of prompts, (B, M) each."""

    values: dict[str, Floats]
    boot: dict[str, Floats]

    @classmethod
    def of(cls, sums: Sums, replicates: int, seed: int) -> Resampled:
        prompts = sums.judged.shape[1]
        values = {name: x[0] for name, x in sums.rates(np.ones((1, prompts))).items()}
        parts: dict[str, list[Floats]] = {n: [np.empty((0, len(x)))] for n, x in values.items()}
        for weights in Resampler(np.arange(prompts), replicates, seed).chunks():
            for name, x in sums.rates(weights).items():
                parts[name].append(x)
        return cls(values, {name: np.concatenate(p) for name, p in parts.items()})


def spread(
    resampled: Resampled, rate: str, model: int, prompts: int
) -> tuple[float | None, float | None]:
    """Compute the 95 % interval of a model's rate.

    A rate of 0 or 1 is the same in all resamples, which does not mean certainty. Its interval is
    Wilson's (1927) for the number of prompts.
    """
    low, high = interval(resampled.boot[rate][:, model])
    value = resampled.values[rate][model]
    if low is None or low != high or value not in (0, 1):
        return low, high
    return wilson(float(value), prompts)


def ranks(rates: Floats) -> Floats:
    """Rank models by increasing rate, (B, M), ties sharing their mean; NaN stays NaN."""
    from scipy.stats import rankdata

    ranked: Floats = rankdata(rates, axis=1, nan_policy="omit")
    return ranked


def compare(
    names: Sequence[str], rate: str, resampled: Resampled, prompts: int
) -> tuple[list[Comparison], list[list[str]]]:
    """Compare every pair of models on one rate, with Holm's correction.

    The same prompts are drawn for both. Also returns the groups of models that do not differ (see
    :func:`veridical.stats.comparisons.cliques`).
    """
    values, boot = resampled.values[rate], resampled.boot[rate]
    comparisons = []
    for a, b in combinations(range(len(names)), 2):
        difference = boot[:, a] - boot[:, b]
        low, high = interval(difference)
        comparisons.append(
            Comparison(
                a=names[a],
                b=names[b],
                metric=rate,
                difference=finite(float(values[a] - values[b])),
                ci_low=low,
                ci_high=high,
                p_bootstrap=bootstrap_p(difference, prompts),
            )
        )
    adjusted = holm([c.p_bootstrap for c in comparisons])
    comparisons = [
        c.model_copy(update={"p_holm": p}) for c, p in zip(comparisons, adjusted, strict=True)
    ]
    if all(p is None for p in adjusted):
        return comparisons, []
    order = [names[i] for i in np.argsort(values, kind="stable") if not np.isnan(values[i])]
    return comparisons, cliques(order, {(c.a, c.b): c.p_holm for c in comparisons})


def spearman(x: Floats, y: Floats) -> Floats:
    """Compute Spearman's correlation (B,) of the rows of two (B, M) tables.

    NaN if either row is constant or has a NaN.
    """
    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return _over((a * b).sum(axis=1), np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1)))


def kendall(x: Floats, y: Floats) -> Floats:
    """Compute Kendall's tau-b (B,) of the rows of two (B, M) tables; NaN as in :func:`spearman`."""
    first, second = np.triu_indices(x.shape[1], 1)
    a, b = (np.sign(t[:, first] - t[:, second]) for t in (x, y))
    return _over((a * b).sum(axis=1), np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1)))


CORRELATIONS = {"spearman": spearman, "kendall": kendall}


def agreement(ours: Resampled, people: Resampled, rate: str) -> list[RankAgreement]:
    """Correlate a rate with the human one over the models that have both.

    Both must be resampled by the same seed over the same prompts. Empty for fewer than three
    models.
    """
    x, y = ours.values[rate], people.values[rate]
    both = ~(np.isnan(x) | np.isnan(y))
    tables = [np.round(t[..., both], 9) for t in (x, y, ours.boot[rate], people.boot[rate])]
    n = int(both.sum())
    agreements = []
    for name, correlation in CORRELATIONS.items():
        value: float | None = None
        ends: tuple[float | None, float | None] = (None, None)
        if n >= _FEWEST:
            value = finite(float(correlation(tables[0][None], tables[1][None])[0]))
        if value is not None:
            ends = interval(correlation(tables[2], tables[3]))
        agreements.append(
            RankAgreement(
                rate=rate, metric=name, value=value, low=ends[0], high=ends[1], n_models=n
            )
        )
    return agreements


def _over(a: Floats, b: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.where(b > 1e-12, np.clip(a / b, -1.0, 1.0), np.nan)
    return ratio
