"""Metrics, vectorised over bootstrap weights; NaN where undefined, without warnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.stats.metrics import calibration, classification, correlation, ranking
from veridical.stats.metrics.metric import Metric

__all__ = ["Floats", "Metric", "Targets", "compute", "of_table"]


@dataclass(frozen=True)
class Targets:
    """Targets of a metric, (n,) each.

    Attributes:
        truth: 1 positive, 0 negative; a number for graded labels; a class index for ``classes`` >
            2.
        score: higher is riskier; any scale.
        risk: the calibrated score in [0, 1].
        predicted: class index; for two classes 1 is positive.
    """

    truth: Floats
    score: Floats
    risk: Floats | None = None
    predicted: NDArray[np.int64] | None = None
    classes: int = 2


_CORRELATION: dict[str, Metric] = {
    "pearson": correlation.pearson,
    "spearman": correlation.spearman,
    "kendall": correlation.kendall,
}
_CALIBRATION: dict[str, Metric] = {
    "brier": calibration.brier,
    "log_loss": calibration.log_loss,
    "ece": calibration.ece,
    "mce": calibration.mce,
}
_CLASSIFICATION: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": classification.accuracy,
    "balanced_accuracy": classification.balanced_accuracy,
    "macro_f1": classification.macro_f1,
    "weighted_precision": classification.weighted_precision,
    "weighted_recall": classification.weighted_recall,
    "weighted_f1": classification.weighted_f1,
    "mcc": classification.mcc,
}
#: Figures of the positive class, undefined for more than two classes.
_BINARY: dict[str, Callable[[Floats], Floats]] = {
    "precision": classification.precision,
    "recall": classification.recall,
    "f1": classification.f1,
    "right_flagged": classification.right_flagged,
    "wrong_missed": classification.wrong_missed,
}


_OF_LABELS = {*_CLASSIFICATION, *_BINARY, "f_beta"}


def of_table(names: Sequence[str], table: Floats, *, beta: float = 1.0) -> dict[str, Floats]:
    """Return figures of labels by name, (...) each, from counts (..., k, k) ``[true, predicted]``.

    ``precision``, ``recall``, ``f1`` and ``f_beta`` are those of class 1.
    """
    by_name: dict[str, Callable[[Floats], Floats]]
    by_name = {**_CLASSIFICATION, **_BINARY, "f_beta": partial(classification.f_beta, beta=beta)}
    return {name: by_name[name](table) for name in names}


@overload
def compute(
    names: Sequence[str], targets: Targets, weights: None = None, *, beta: float = 1.0
) -> dict[str, float]: ...
@overload
def compute(
    names: Sequence[str], targets: Targets, weights: Floats, *, beta: float = 1.0
) -> dict[str, Floats]: ...
@overload
def compute(
    names: Sequence[str], targets: Targets, weights: Floats | None = None, *, beta: float = 1.0
) -> dict[str, float] | dict[str, Floats]: ...
def compute(
    names: Sequence[str], targets: Targets, weights: Floats | None = None, *, beta: float = 1.0
) -> dict[str, float] | dict[str, Floats]:
    """Compute the named metrics, in their order.

    Ranking metrics and correlations use ``score``; ``brier``, ``log_loss``, ``ece`` and ``mce`` use
    ``risk``; the others ``predicted``. They are NaN without their input. ``precision``, ``recall``,
    ``f1`` and ``f_beta`` are those of the positive class, and left out for more than two classes
    (see :func:`classification.per_class_f1`).

    Args:
        weights: (b, n), the number of occurrences of each target in each of b replicates.
        beta: parameter of ``f_beta``.

    Returns:
        A float each; with weights (b,) each.

    Raises:
        ValueError: a name is unknown, a predicted or true class is out of range, a risk is not in
            [0, 1], or lengths differ.
    """
    rows = 1 if weights is None else len(weights)
    undefined = np.full(rows, np.nan)
    values: dict[str, Floats] = {}

    if any(name in ranking.AREAS for name in names):
        areas = ranking.areas(targets.truth, targets.score, weights)
        values |= {name: np.atleast_1d(value) for name, value in areas.items()}

    binary_only = {*_BINARY, "f_beta"} if targets.classes > 2 else set()
    of_labels = [name for name in names if name in _OF_LABELS and name not in binary_only]
    if of_labels:
        if targets.predicted is None:
            values |= dict.fromkeys(of_labels, undefined)
        else:
            table = classification.counts(
                targets.truth, targets.predicted, targets.classes, weights
            )
            of_class = of_table(of_labels, table, beta=beta)
            values |= {name: np.atleast_1d(value) for name, value in of_class.items()}

    for name in names:
        if name in values or name in binary_only:
            continue
        if name in _CORRELATION:
            value = _CORRELATION[name](targets.truth, targets.score, weights)
        elif name in _CALIBRATION:
            value = (
                undefined
                if targets.risk is None
                else _CALIBRATION[name](targets.truth, targets.risk, weights)
            )
        else:
            raise ValueError(f"there is no metric {name!r}")
        values[name] = np.atleast_1d(value)

    computed = [name for name in names if name in values]
    if weights is None:
        return {name: float(values[name][0]) for name in computed}
    return {name: values[name] for name in computed}
