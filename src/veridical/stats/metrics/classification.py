"""Figures of predicted labels, all from one matrix of counts.

Every function takes counts (..., k, k), ``[true, predicted]``, and returns (...) or, for one value
a class, (..., k).

What a class's figures are where it is rare: a class that is true of none and predicted for none has
no figures (NaN) and is left out of means. A class that is there on one side only has 0 where its
own quotient is 0 / 0, as with scikit-learn's ``zero_division=0``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.stats.metrics.metric import as_rows

_Args = ParamSpec("_Args")


def _quiet(kernel: Callable[_Args, Floats]) -> Callable[_Args, Floats]:
    """0 / 0 is NaN, and nobody is warned."""
    return np.errstate(divide="ignore", invalid="ignore")(kernel)


def counts(
    truth: NDArray[Any], predicted: NDArray[Any], classes: int, weights: Floats | None = None
) -> Floats:
    """How often each class was true and each predicted: (k, k), or (b, k, k) with weights (b, n).

    Args:
        truth, predicted: (n,) class indices 0 .. classes - 1.

    Raises:
        ValueError: there are other values among them, or lengths differ.
    """
    sides = []
    for name, classes_of in (("truth", truth), ("predicted", predicted)):
        values = np.asarray(classes_of)
        bad = np.flatnonzero(~np.isin(values, np.arange(classes)))
        if len(bad):
            raise ValueError(
                f"{name}[{bad[0]}] = {values[bad[0]]} is no class index 0 .. {classes - 1}"
            )
        sides.append(values.astype(np.int64))
    if sides[0].shape != sides[1].shape:
        raise ValueError(f"{len(sides[0])} true classes, but {len(sides[1])} predicted ones")
    cell = sides[0] * classes + sides[1]
    if weights is None:
        flat = np.bincount(cell, minlength=classes * classes).astype(np.float64)
        return flat.reshape(classes, classes)
    rows = as_rows(cell, weights)
    by_cell: Floats = rows @ np.eye(classes * classes)[cell]
    return by_cell.reshape(len(rows), classes, classes)


def _sides(table: Floats) -> tuple[Floats, Floats, Floats]:
    """Counts by class: how often right, how often predicted, how often true, each (..., k)."""
    right = np.asarray(np.diagonal(table, axis1=-2, axis2=-1))
    return right, table.sum(axis=-2), table.sum(axis=-1)


def _ratio(part: Floats, whole: Floats, there: NDArray[np.bool_]) -> Floats:
    """part / whole; 0 where the whole is 0; NaN where the class is not there at all."""
    return np.asarray(np.where(there, np.where(whole > 0, part / whole, 0.0), np.nan))


def _mean(values: Floats, weights: Floats) -> Floats:
    """Weighted mean over the last axis; values of weight 0 may be NaN. NaN without weight."""
    total = np.sum(np.where(weights > 0, values, 0.0) * weights, axis=-1)
    return np.asarray(total / weights.sum(axis=-1))


def _there(table: Floats) -> NDArray[np.bool_]:
    _, predicted, true = _sides(table)
    return np.asarray(predicted + true > 0)


@_quiet
def per_class_precision(table: Floats) -> Floats:
    """Share of the targets predicted to be of each class that are: (..., k)."""
    right, predicted, _ = _sides(table)
    return _ratio(right, predicted, _there(table))


@_quiet
def per_class_recall(table: Floats) -> Floats:
    """Share of the targets of each class that are predicted so: (..., k)."""
    right, _, true = _sides(table)
    return _ratio(right, true, _there(table))


@_quiet
def per_class_f1(table: Floats, beta: float = 1.0) -> Floats:
    """F-beta of each class: ``(1 + b^2) right / (b^2 true + predicted)``, (..., k)."""
    right, predicted, true = _sides(table)
    b2 = beta * beta
    return _ratio((1 + b2) * right, b2 * true + predicted, _there(table))


def precision(table: Floats) -> Floats:
    """Precision of class 1."""
    return np.asarray(per_class_precision(table)[..., 1])


def recall(table: Floats) -> Floats:
    """Recall of class 1."""
    return np.asarray(per_class_recall(table)[..., 1])


@_quiet
def right_flagged(table: Floats) -> Floats:
    """Share of the targets of class 0 that are predicted 1: false alarms."""
    return np.asarray(table[..., 0, 1] / table[..., 0, :].sum(axis=-1))


@_quiet
def wrong_missed(table: Floats) -> Floats:
    """Share of the targets of class 1 that are predicted 0: misses."""
    return np.asarray(table[..., 1, 0] / table[..., 1, :].sum(axis=-1))


def f_beta(table: Floats, beta: float = 1.0) -> Floats:
    """F-beta of class 1; recall counts ``beta`` times as much as precision."""
    return np.asarray(per_class_f1(table, beta)[..., 1])


def f1(table: Floats) -> Floats:
    """F1 of class 1."""
    return f_beta(table)


@_quiet
def accuracy(table: Floats) -> Floats:
    """Share of targets predicted right."""
    return np.asarray(_sides(table)[0].sum(axis=-1) / table.sum(axis=(-2, -1)))


@_quiet
def balanced_accuracy(table: Floats) -> Floats:
    """Mean recall over the classes that are true of some target."""
    _, _, true = _sides(table)
    return _mean(per_class_recall(table), (true > 0).astype(np.float64))


@_quiet
def macro_f1(table: Floats) -> Floats:
    """Mean F1 over the classes that are true or predicted somewhere."""
    return _mean(per_class_f1(table), _there(table).astype(np.float64))


@_quiet
def weighted_precision(table: Floats) -> Floats:
    """Mean precision over classes, each by how often it is true."""
    return _mean(per_class_precision(table), _sides(table)[2])


@_quiet
def weighted_recall(table: Floats) -> Floats:
    """Mean recall over classes, each by how often it is true: the accuracy."""
    return _mean(per_class_recall(table), _sides(table)[2])


@_quiet
def weighted_f1(table: Floats) -> Floats:
    """Mean F1 over classes, each by how often it is true."""
    return _mean(per_class_f1(table), _sides(table)[2])


@_quiet
def mcc(table: Floats) -> Floats:
    """Matthews's correlation of true and predicted classes, for any number of them (Gorodkin 2004).

    In [-1, 1]; 0 where only one class was predicted, as scikit-learn has it; NaN where only one is
    true, since then no prediction could be told from another.
    """
    right, predicted, true = _sides(table)
    total = table.sum(axis=(-2, -1))
    together = right.sum(axis=-1) * total - np.sum(predicted * true, axis=-1)
    spread_predicted = total * total - np.sum(predicted * predicted, axis=-1)
    spread_true = total * total - np.sum(true * true, axis=-1)
    values = together / np.sqrt(spread_predicted * spread_true)
    values = np.where(np.count_nonzero(predicted > 0, axis=-1) < 2, 0.0, values)
    return np.asarray(np.where(np.count_nonzero(true > 0, axis=-1) < 2, np.nan, values))
