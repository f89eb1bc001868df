"""What weights and thresholds are tuned for: the figures S and B of the tunable ensemble.

A label is 1 where the answer is hallucinated, a risk is in [0, 1] with 1 the worst, and an answer
is called hallucinated where ``risk >= threshold``. S needs no threshold (eq. 20 of "Black-Box
Hallucination Detection: A Tunable Ensemble Approach"), B does (eq. 22 and 23). The figures are
those of ``veridical bench``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from veridical.errors import UsageError, unknown_name
from veridical.evaluate.metrics import calibration, ranking
from veridical.evaluate.metrics.metric import Metric

Floats = NDArray[np.float64]
#: (hallucinated called so, right called so, how many are hallucinated, how many right, beta) ->
#: figure. Grows with the first, falls with the second.
OfCounts = Callable[[Floats, Floats, float, float, float], Floats]


@dataclass(frozen=True)
class Objective:
    """A figure to tune for.

    Attributes:
        name: as in ``--objective``.
        larger_is_better: False for losses.
        metric: of objectives without a threshold, else None.
        of_counts: of objectives with one, else None.
    """

    name: str
    larger_is_better: bool
    metric: Metric | None = None
    of_counts: OfCounts | None = None

    @property
    def needs_threshold(self) -> bool:
        return self.of_counts is not None

    def value(
        self, labels: Floats, risk: Floats, threshold: float | None = None, beta: float = 1.0
    ) -> float:
        """The figure in its natural sign; NaN where undefined or where a risk is NaN.

        Args:
            labels: (n,) 1 = hallucinated; 0.5 and more counts as 1.
            risk: (n,) in [0, 1].
            threshold: called hallucinated is ``risk >= threshold``; only where
                :attr:`needs_threshold`.
            beta: of ``f_beta``: recall counts ``beta`` times as much as precision.

        Raises:
            UsageError: a threshold is missing, or beta is not a positive number.
            ValueError: lengths differ; for ``brier`` and ``log_loss``, a risk is not in [0, 1].
        """
        truth = (np.asarray(labels, dtype=np.float64) >= 0.5).astype(np.float64)
        risk = np.asarray(risk, dtype=np.float64)
        if self.of_counts is None:
            assert self.metric is not None
            return self.metric(truth, risk)
        if threshold is None:
            raise UsageError(f"objective {self.name!r} needs a threshold")
        check_beta(beta)
        if truth.shape != risk.shape or risk.ndim != 1:
            raise ValueError(f"labels {truth.shape} and risk {risk.shape} must be of one length")
        if not len(risk) or np.isnan(risk).any():
            return float("nan")
        called = risk >= threshold
        positives = float(truth.sum())
        found = float(truth[called].sum())
        false = float(np.count_nonzero(called)) - found
        counts = np.array([found]), np.array([false])
        return float(self.of_counts(*counts, positives, len(truth) - positives, beta)[0])


def check_beta(beta: float) -> None:
    """UsageError unless 0 < beta < infinity."""
    if not 0 < beta < np.inf:
        raise UsageError(f"beta must be a positive number, not {beta}")


def named(name: str) -> Objective:
    """The objective of this name.

    Raises:
        UsageError: there is none.
    """
    if name not in OBJECTIVES:
        raise unknown_name("objective", name, OBJECTIVES)
    return OBJECTIVES[name]


def best_threshold(
    labels: Floats, risk: Floats, objective: str, beta: float = 1.0
) -> tuple[float, float]:
    """Equation 22: the threshold at which the objective is highest, and its value there.

    Every way to part the distinct risks is tried. The threshold lies midway between two
    neighbouring risks, of equally good ones where the gap is widest, then at the lower. It is in
    (0, 1), but for 0 where all is called hallucinated though a risk is 0, and just above 1 where
    none is though a risk is 1.

    Args:
        labels: (n,) 1 = hallucinated.
        risk: (n,) in [0, 1], no NaN, n >= 1.

    Raises:
        UsageError: the objective is unknown or has no threshold; beta is no positive number; there
            is no risk, or one is not in [0, 1].
    """
    of_counts = named(objective).of_counts
    if of_counts is None:
        raise UsageError(f"objective {objective!r} has no threshold")
    check_beta(beta)
    if not len(risk) or not bool(np.all((risk >= 0) & (risk <= 1))):
        raise UsageError("a threshold can only be fitted to risks in [0, 1], one or more")
    positive = np.asarray(labels) >= 0.5
    values, at = np.unique(risk, return_inverse=True)
    m = len(values)
    # cut c calls everything from values[c] up hallucinated
    found = _from(at[positive], m)
    false = _from(at[~positive], m)
    shown = of_counts(found, false, found[0], false[0], beta)
    best = np.flatnonzero(shown >= shown.max() - 1e-12)
    edges = np.concatenate([[0.0], values, [1.0]])
    cut = int(best[np.argmax(np.round(np.diff(edges)[best], 12))])
    low, high = float(edges[cut]), float(edges[cut + 1])
    middle = low / 2 + high / 2
    if cut == m and low == 1.0:
        middle = float(np.nextafter(1.0, 2.0))
    elif not low < middle:
        middle = high
    return middle, float(shown[cut])


def _from(at: NDArray[np.intp], m: int) -> Floats:
    """(m + 1,) how many of the positions ``at`` are c or more, for c = 0 .. m."""
    counts = np.bincount(at, minlength=m)
    return np.append(np.cumsum(counts[::-1])[::-1], 0).astype(np.float64)


def _share(part: Floats | float, whole: Floats | float) -> Floats:
    """part / whole; 0 where the whole is 0."""
    shape = np.broadcast(part, whole).shape
    return np.divide(part, whole, out=np.zeros(shape), where=np.asarray(whole) > 0)


def _f_beta(found: Floats, false: Floats, positives: float, _: float, beta: float) -> Floats:
    b2 = beta * beta
    return _share((1 + b2) * found, b2 * positives + found + false)


def _f1(found: Floats, false: Floats, positives: float, negatives: float, _: float) -> Floats:
    return _f_beta(found, false, positives, negatives, 1.0)


def _balanced_accuracy(
    found: Floats, false: Floats, positives: float, negatives: float, _: float
) -> Floats:
    if positives == 0 or negatives == 0:  # the mean over the classes that are there
        return _share(found, positives) if positives else 1 - _share(false, negatives)
    return (found / positives + 1 - false / negatives) / 2


def _accuracy(found: Floats, false: Floats, positives: float, negatives: float, _: float) -> Floats:
    return (found + negatives - false) / (positives + negatives)


#: By the name of ``--objective``.
OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {
        o.name: o
        for o in (
            Objective("auroc", True, metric=ranking.auroc),
            Objective("average_precision", True, metric=ranking.average_precision),
            Objective("brier", False, metric=calibration.brier),
            Objective("log_loss", False, metric=calibration.log_loss),
            Objective("f1", True, of_counts=_f1),
            Objective("f_beta", True, of_counts=_f_beta),
            Objective("balanced_accuracy", True, of_counts=_balanced_accuracy),
            Objective("accuracy", True, of_counts=_accuracy),
        )
    }
)
