"""Rate of hallucinated answers from a stratified sample, with an interval.

Strata are quantiles of the run's own risk. Within a stratum, answers are drawn at random. The next
label goes where it reduces the variance most (Neyman 1934, one label at a time). The spread of each
stratum is shrunk towards that of one half. A few equal labels at the start then do not end its
draws.

The interval is Korn and Graubard's (1998): Clopper and Pearson's at the effective sample size. That
is the size of a simple random sample with the same variance, times a squared ratio. The ratio is
that of the normal quantile to Student's at Satterthwaite's (1946) degrees of freedom. The interval
is conservative. Choosing
strata by labels, and stopping as soon as the interval is narrow, use up that margin:
``benchmarks/rate.py`` measures its coverage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints

#: Strata of the risk, and minimum labels of each before spreads count.
STRATA, LEAST = 5, 5
#: Prior right and wrong labels of each stratum, for the next draw, and for the width of the
#: interval.
_PRIOR_OF_DRAWS, _PRIOR_OF_WIDTH = 3.0, 1.0
_LEAST_FREEDOM = 2.0
#: Normal quantile of 95 %, and an empty array of labels.
_NORMAL, _NONE = 1.959963984540054, 1e-9


@dataclass(frozen=True)
class Estimate:
    """Share with its 95 % interval.

    Attributes:
        rate: None without a label.
        n: labels, of which ``wrong`` are hallucinated.
        total: answers in the population.
        effective: size of a simple random sample of the same precision.
    """

    rate: float | None
    low: float
    high: float
    n: int
    wrong: int
    total: int
    effective: float

    @property
    def width(self) -> float:
        return self.high - self.low

    def as_dict(self) -> dict[str, float | int | None]:
        return {
            "rate": self.rate if self.rate is None else round(self.rate, 6),
            "ci_low": round(self.low, 6),
            "ci_high": round(self.high, 6),
            "n": self.n,
            "n_hallucinated": self.wrong,
            "n_total": self.total,
            "effective": round(self.effective, 2),
        }


def strata_of(risks: Floats, count: int = STRATA) -> Ints:
    """Return the stratum of each answer, (n,); 0 has the lowest risks.

    Strata are parts of equal size by rank. Answers without a risk (NaN) form the last stratum. The
    number is reduced if strata would have fewer than :data:`LEAST` answers.
    """
    out = np.zeros(len(risks), dtype=np.int64)
    known = np.flatnonzero(~np.isnan(risks))
    count = max(1, min(count, len(known) // LEAST))
    order = known[np.argsort(risks[known], kind="stable")]
    out[order] = np.arange(len(order)) * count // max(len(order), 1)
    out[np.isnan(risks)] = count if len(known) else 0
    return out


def next_stratum(sizes: Ints, drawn: Ints, wrong: Ints) -> int | None:
    """Return the stratum of the next answer; None if all are drawn."""
    chosen = next_strata(sizes, drawn[None, :], wrong[None, :])[0]
    return int(chosen) if drawn[chosen] < sizes[chosen] else None


def next_strata(sizes: Ints, drawn: NDArray[np.generic], wrong: NDArray[np.generic]) -> Ints:
    """Return the strata of the next answers in ``d`` independent samples, (d,).

    Args:
        sizes: (h,) answers of each stratum.
        drawn, wrong: (d, h) labelled answers, and hallucinated ones, in each sample.
    """
    n, k = np.asarray(drawn, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    share = (k + _PRIOR_OF_DRAWS) / (n + 2 * _PRIOR_OF_DRAWS)
    gain = sizes**2 * share * (1 - share) / np.maximum(n * (n + 1), 0.5)
    # strata below the minimum come first, the emptiest of them before the others
    gain = np.where(n < np.minimum(LEAST, sizes), 1e18 / (1 + n), gain)
    chosen: Ints = np.argmax(np.where(n < sizes, gain, -1.0), axis=1).astype(np.int64)
    return chosen


def estimate(sizes: Ints, drawn: Ints, wrong: Ints) -> Estimate:
    """Estimate the share of hallucinated answers over all strata.

    Args:
        sizes, drawn, wrong: (h,) answers, labelled ones, and hallucinated ones of each stratum. A
            stratum without labels counts as unknown.
    """
    n, total = int(drawn.sum()), int(sizes.sum())
    if n == 0 or total == 0:
        return Estimate(None, 0.0, 1.0, 0, 0, total, 0.0)
    rate, low, high, effective = intervals(sizes, drawn[None, :], wrong[None, :])
    return Estimate(
        float(rate[0]),
        float(low[0]),
        float(high[0]),
        n,
        int(wrong.sum()),
        total,
        float(effective[0]),
    )


def intervals(
    sizes: Ints, drawn: NDArray[np.generic], wrong: NDArray[np.generic]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute rates, interval ends and effective sample sizes, (d,) each, from (d, h) counts."""
    from scipy.special import betaincinv, stdtrit

    n, k = np.asarray(drawn, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    weight = sizes / sizes.sum()
    pooled = k.sum(axis=1) / n.sum(axis=1)
    rate = np.where(n > 0, k / np.maximum(n, 1), pooled[:, None]) @ weight
    share = (k + _PRIOR_OF_WIDTH) / (n + 2 * _PRIOR_OF_WIDTH)
    left = 1 - n / np.maximum(sizes, 1)
    parts = weight**2 * left * share * (1 - share) / np.maximum(n - 1, 0.5)
    variance = parts.sum(axis=1)
    middle = share @ weight
    known = variance <= 0  # every answer is labelled
    safe = np.where(known, 1.0, variance)
    effective = middle * (1 - middle) / safe
    freedom = safe**2 / np.maximum((parts**2 / np.maximum(n - 1, 1)).sum(axis=1), 1e-300)
    student = stdtrit(np.maximum(freedom, _LEAST_FREEDOM), 0.975)
    labels = effective * (_NORMAL / student) ** 2
    right, hits = (1 - rate) * labels, rate * labels
    low = np.where(hits > _NONE, betaincinv(np.maximum(hits, _NONE), right + 1, 0.025), 0.0)
    high = np.where(right > _NONE, betaincinv(hits + 1, np.maximum(right, _NONE), 0.975), 1.0)
    low, high = np.where(known, rate, low), np.where(known, rate, high)
    effective = np.where(known, sizes.sum(), effective)
    return rate, np.clip(low, 0, rate), np.clip(high, rate, 1), effective


@dataclass(frozen=True)
class Forecast:
    """Expected width of the interval with a number of further labels."""

    more: int
    width: float


def forecast(
    sizes: Ints, drawn: Ints, wrong: Ints, more: tuple[int, ...] = (25, 50, 100, 200, 400)
) -> list[Forecast]:
    """Forecast the effect of more labels, assuming that they resemble the present ones."""
    if drawn.sum() == 0:
        return []
    n, k = drawn.astype(np.float64), wrong.astype(np.float64)
    share = (k + _PRIOR_OF_WIDTH) / (n + 2 * _PRIOR_OF_WIDTH)
    out, steps = [], 0
    for goal in more:
        while steps < goal and n.sum() < sizes.sum():
            chosen = int(next_strata(sizes, n[None, :], k[None, :])[0])
            n[chosen] += 1
            k[chosen] += share[chosen]
            steps += 1
        if steps < goal:
            break
        _, low, high, _ = intervals(sizes, n[None, :], k[None, :])
        out.append(Forecast(goal, float(high[0] - low[0])))
    return out
