"""Figures of predicted labels, all from one matrix of counts.

Every function takes counts (..., k, k), ``[true, predicted]``, and returns (...) or, for one value
per class, (..., k).

A class that is neither true nor predicted anywhere has no figures (NaN) and is left out of means. A
class on one side only has 0 where its own quotient is 0 / 0, as with scikit-learn's
``zero_division=0``.
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
    """Suppress warnings about 0 / 0, which is NaN."""
    return np.errstate(divide="ignore", invalid="ignore")(kernel)


def counts(
    truth: NDArray[Any], predicted: NDArray[Any], classes: int, weights: Floats | None = None
) -> Floats:
    """Count pairs of true and predicted classes: (k, k), or (b, k, k) with weights (b, n).

    Args:
        truth, predicted: (n,) class indices 0 .. classes - 1.

    Raises:
        ValueError: there are other values, or lengths differ.
    """
    sides = []
    for name, classes_of in (("truth", truth), ("predicted", predicted)):
        values = np.asarray(classes_of)
        bad = np.flatnonzero(~np.isin(values, np.arange(classes)))
        if len(bad):
            raise ValueError(
                f"{name}[{bad[0]}] = {values[bad[0]]} is not a class index 0 .. {classes - 1}"
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
    """Return counts by class: correct, predicted and true, each (..., k)."""
    right = np.asarray(np.diagonal(table, axis1=-2, axis2=-1))
    return right, table.sum(axis=-2), table.sum(axis=-1)


def _ratio(part: Floats, whole: Floats, there: NDArray[np.bool_]) -> Floats:
    """Divide ``part`` by ``whole``; 0 where the whole is 0, NaN where the class is absent."""
    return np.asarray(np.where(there, np.where(whole > 0, part / whole, 0.0), np.nan))


def _mean(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over the last axis; values of weight 0 may be NaN. NaN without
    weight."""
    total = np.sum(np.where(weights > 0, values, 0.0) * weights, axis=-1)
    return np.asarray(total / weights.sum(axis=-1))


def _there(table: Floats) -> NDArray[np.bool_]:
    _, predicted, true = _sides(table)
    return np.asarray(predicted + true > 0)


@_quiet
def per_class_precision(table: Floats) -> Floats:
    """Compute the share of correct targets among those predicted as each class: (..., k)."""
    right, predicted, _ = _sides(table)
    return _ratio(right, predicted, _there(table))


@_quiet
def per_class_recall(table: Floats) -> Floats:
    """Compute the share of the targets of each class that are predicted so: (..., k)."""
    right, _, true = _sides(table)
    return _ratio(right, true, _there(table))


@_quiet
def per_class_f1(table: Floats, beta: float = 1.0) -> Floats:
    """Compute the F-beta of each class: ``(1 + b^2) right / (b^2 true + predicted)``, (..., k)."""
    right, predicted, true = _sides(table)
    b2 = beta * beta
    return _ratio((1 + b2) * right, b2 * true + predicted, _there(table))


def precision(table: Floats) -> Floats:
    """Compute the precision of class 1."""
    return np.asarray(per_class_precision(table)[..., 1])


def recall(table: Floats) -> Floats:
    """Compute the recall of class 1."""
    return np.asarray(per_class_recall(table)[..., 1])


@_quiet
def right_flagged(table: Floats) -> Floats:
    """Compute the share of the targets of class 0 that are predicted 1: false alarms."""
    return np.asarray(table[..., 0, 1] / table[..., 0, :].sum(axis=-1))


@_quiet
def wrong_missed(table: Floats) -> Floats:
    """Compute the share of the targets of class 1 that are predicted 0: misses."""
    return np.asarray(table[..., 1, 0] / table[..., 1, :].sum(axis=-1))


def f_beta(table: Floats, beta: float = 1.0) -> Floats:
    """Compute the F-beta of class 1, in which recall has ``beta`` times the weight of precision."""
    return np.asarray(per_class_f1(table, beta)[..., 1])


def f1(table: Floats) -> Floats:
    """Compute the F1 of class 1."""
    return f_beta(table)


@_quiet
def accuracy(table: Floats) -> Floats:
    """Compute the share of correct predictions."""
    return np.asarray(_sides(table)[0].sum(axis=-1) / table.sum(axis=(-2, -1)))


@_quiet
def balanced_accuracy(table: Floats) -> Floats:
    """Compute the mean recall over the classes that are true of some target."""
    _, _, true = _sides(table)
    return _mean(per_class_recall(table), (true > 0).astype(np.float64))


@_quiet
def macro_f1(table: Floats) -> Floats:
    """Compute the mean F1 over the classes that are true or predicted somewhere."""
    return _mean(per_class_f1(table), _there(table).astype(np.float64))


@_quiet
def weighted_precision(table: Floats) -> Floats:
    """Compute the mean precision over classes, weighted by their true frequency."""
    return _mean(per_class_precision(table), _sides(table)[2])


@_quiet
def weighted_recall(table: Floats) -> Floats:
    """Compute the mean recall over classes, weighted by their true frequency: the accuracy."""
    return _mean(per_class_recall(table), _sides(table)[2])


@_quiet
def weighted_f1(table: Floats) -> Floats:
    """Compute the mean F1 over classes, weighted by their true frequency."""
    return _mean(per_class_f1(table), _sides(table)[2])


@_quiet
def mcc(table: Floats) -> Floats:
    """Compute Matthews's correlation of true and predicted classes, for any number of them.

    It is in [-1, 1]; 0 if only one class was predicted, as in scikit-learn. It is NaN if only one
    is true, since no predictions can then be distinguished. Source: Gorodkin 2004.
    """
    right, predicted, true = _sides(table)
    total = table.sum(axis=(-2, -1))
    together = right.sum(axis=-1) * total - np.sum(predicted * true, axis=-1)
    spread_predicted = total * total - np.sum(predicted * predicted, axis=-1)
    spread_true = total * total - np.sum(true * true, axis=-1)
    values = together / np.sqrt(spread_predicted * spread_true)
    values = np.where(np.count_nonzero(predicted > 0, axis=-1) < 2, 0.0, values)
    return np.asarray(np.where(np.count_nonzero(true > 0, axis=-1) < 2, np.nan, values))
