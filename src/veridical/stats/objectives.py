"""Objectives of weights and thresholds: S and B of the tunable ensemble.

A label is 1 for a hallucinated answer. A risk is in [0, 1] with 1 the worst. An answer is
classified as hallucinated if ``risk >= threshold``. S needs no threshold (eq. 20 of "Black-Box
Hallucination Detection: A Tunable Ensemble Approach"), B does (eq. 22 and 23). The figures are
those of ``veridical bench``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from veridical.arrays import Floats
from veridical.errors import UsageError, unknown_name
from veridical.stats.metrics import calibration, ranking
from veridical.stats.metrics.metric import Metric

#: Counts (true and false positives, false and true negatives) and beta -> figure; 0 if undefined.
OfCounts = Callable[[Floats, Floats, Floats, Floats, float], Floats]
#: The positive class of precision, recall and derived figures. Thresholds apply to the risk in
#: either case.
Positive = Literal["hallucinated", "correct"]
POSITIVES: tuple[Positive, ...] = ("hallucinated", "correct")
#: Objectives that differ between the two classes.
BY_CLASS = ("average_precision", "f1", "f_beta")


@dataclass(frozen=True)
class Objective:
    """An objective of tuning.

    Attributes:
        name: name in ``--objective``.
        larger_is_better: False for losses.
        metric: metric of objectives without a threshold, else None.
        of_counts: figure of objectives with a threshold, else None.
    """

    name: str
    larger_is_better: bool
    metric: Metric | None = None
    of_counts: OfCounts | None = None

    @property
    def needs_threshold(self) -> bool:
        return self.of_counts is not None

    def value(
        self,
        labels: Floats,
        risk: Floats,
        threshold: float | None = None,
        beta: float = 1.0,
        positive: Positive = "hallucinated",
    ) -> float:
        """Return the figure in its natural sign; NaN if undefined or if a risk is NaN.

        Args:
            labels: (n,) 1 = hallucinated; a value of at least 0.5 counts as 1.
            risk: (n,) in [0, 1].
            threshold: answers with ``risk >= threshold`` are classified as hallucinated; only if
                :attr:`needs_threshold`.
            beta: weight of recall relative to precision, for ``f_beta``.
            positive: the positive class.

        Raises:
            UsageError: a threshold is missing, or beta is not a positive number.
            ValueError: lengths differ; for ``brier`` and ``log_loss``, a risk is not in [0, 1].
        """
        truth = (np.asarray(labels, dtype=np.float64) >= 0.5).astype(np.float64)
        risk = np.asarray(risk, dtype=np.float64)
        if self.of_counts is None:
            assert self.metric is not None
            return self.metric(
                *((truth, risk) if positive == "hallucinated" else (1 - truth, 1 - risk))
            )
        if threshold is None:
            raise UsageError(f"objective {self.name!r} requires a threshold")
        check_beta(beta)
        if truth.shape != risk.shape or risk.ndim != 1:
            raise ValueError(f"labels {truth.shape} and risk {risk.shape} must have equal lengths")
        if not len(risk) or np.isnan(risk).any():
            return float("nan")
        called, wrong = risk >= threshold, truth > 0
        kinds = (wrong & called, ~wrong & called, wrong & ~called, ~wrong & ~called)
        tp, fp, fn, tn = (np.array([kind.sum()], dtype=np.float64) for kind in kinds)
        return float(of_class(self.of_counts, positive)(tp, fp, fn, tn, beta)[0])


def of_class(figure: OfCounts, positive: Positive) -> OfCounts:
    """Adapt ``figure`` of the counts of hallucinated answers to the positive class ``positive``."""
    if positive == "hallucinated":
        return figure
    return lambda tp, fp, fn, tn, beta: figure(tn, fn, fp, tp, beta)


def check_positive(positive: str) -> None:
    """Raise UsageError unless the class is in :data:`POSITIVES`."""
    if positive not in POSITIVES:
        raise unknown_name("positive class", positive, POSITIVES)


def check_beta(beta: float) -> None:
    """Raise UsageError unless 0 < beta < infinity."""
    if not 0 < beta < np.inf:
        raise UsageError(f"beta must be a positive number, not {beta}")


def objective_named(name: str) -> Objective:
    """Return the objective with this name.

    Raises:
        UsageError: there is no such objective.
    """
    if name not in OBJECTIVES:
        raise unknown_name("objective", name, OBJECTIVES)
    return OBJECTIVES[name]


def ratio(part: Floats, whole: Floats) -> Floats:
    """Divide ``part`` by ``whole``; 0 if the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)


def _f_beta(tp: Floats, fp: Floats, fn: Floats, tn: Floats, beta: float) -> Floats:
    b2 = beta * beta
    return ratio((1 + b2) * tp, (1 + b2) * tp + fp + b2 * fn)


def _f1(tp: Floats, fp: Floats, fn: Floats, tn: Floats, beta: float = 1.0) -> Floats:
    return ratio(2 * tp, 2 * tp + fp + fn)


def _macro_f1(tp: Floats, fp: Floats, fn: Floats, tn: Floats, beta: float) -> Floats:
    return (_f1(tp, fp, fn, tn) + _f1(tn, fn, fp, tp)) / 2


def _weighted_f1(tp: Floats, fp: Floats, fn: Floats, tn: Floats, beta: float) -> Floats:
    of_positive, of_negative = _f1(tp, fp, fn, tn), _f1(tn, fn, fp, tp)
    return ((tp + fn) * of_positive + (tn + fp) * of_negative) / (tp + fn + tn + fp)


def _balanced_accuracy(tp: Floats, fp: Floats, fn: Floats, tn: Floats, beta: float) -> Floats:
    """Return the mean over the classes that are present."""
    positives, negatives = tp + fn, tn + fp
    classes = np.asarray((positives > 0) * 1.0 + (negatives > 0), dtype=np.float64)
    return ratio(ratio(tp, positives) + ratio(tn, negatives), classes)


def _accuracy(tp: Floats, fp: Floats, fn: Floats, tn: Floats, beta: float) -> Floats:
    return (tp + tn) / (tp + fn + tn + fp)


def _mcc(tp: Floats, fp: Floats, fn: Floats, tn: Floats, beta: float) -> Floats:
    called = np.sqrt((tp + fp) * (tn + fn))
    return ratio(tp * tn - fp * fn, called * np.sqrt((tp + fn) * (tn + fp)))


#: Figures of labels, for which a threshold can be fitted, by name.
OF_COUNTS: Mapping[str, OfCounts] = MappingProxyType(
    {
        "weighted_f1": _weighted_f1,
        "macro_f1": _macro_f1,
        "f1": _f1,
        "f_beta": _f_beta,
        "balanced_accuracy": _balanced_accuracy,
        "accuracy": _accuracy,
        "mcc": _mcc,
    }
)
#: Objectives by name in ``--objective``.
OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {
        o.name: o
        for o in (
            Objective("auroc", True, metric=ranking.auroc),
            Objective("average_precision", True, metric=ranking.average_precision),
            Objective("brier", False, metric=calibration.brier),
            Objective("log_loss", False, metric=calibration.log_loss),
            *(
                Objective(name, True, of_counts=OF_COUNTS[name])
                for name in ("f1", "f_beta", "balanced_accuracy", "accuracy")
            ),
        )
    }
)
