"""Common form of metrics: empty and undefined inputs, groups of equal values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast, overload

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats

#: Truth (n,), score (n,), weights (b, n) -> values (b,).
Kernel = Callable[[Floats, Floats, Floats], Floats]


_BLOCK = 1 << 20  # maximum entries of a block of weights


class Metric(Protocol):
    """A metric ``f(truth, score, weights=None)``: one value, or one per row of weights.

    ``truth`` and ``score`` are (n,). ``weights`` (b, n) is the number of occurrences of each target
    in each of b replicates. A weighted value is that of the repeated data. Undefined
    values, and those of NaN inputs, are NaN.
    """

    @overload
    def __call__(self, truth: Floats, score: Floats, weights: None = None) -> float: ...
    @overload
    def __call__(self, truth: Floats, score: Floats, weights: Floats) -> Floats: ...
    @overload
    def __call__(
        self, truth: Floats, score: Floats, weights: Floats | None = None
    ) -> float | Floats: ...


def metric(kernel: Kernel) -> Metric:
    """Make the metric that ``kernel`` computes for one or more targets without NaN.

    The kernel may divide by zero: the quotient is then NaN, without a warning.
    """

    @functools.wraps(kernel)
    def call(truth: Floats, score: Floats, weights: Floats | None = None) -> float | Floats:
        truth, score = checked(truth, score)
        rows = as_rows(truth, weights)
        if not usable(truth, score):
            return one_or_all(np.full(len(rows), np.nan), weights)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return one_or_all(in_blocks(kernel, truth, score, rows), weights)

    return cast(Metric, call)


def in_blocks(kernel: Kernel, truth: Floats, score: Floats, weights: Floats) -> Floats:
    """Return the kernel's values (b, ...), computed in blocks of replicates to bound memory."""
    step = max(1, _BLOCK // len(truth))
    blocks = [
        kernel(truth, score, weights[at : at + step]) for at in range(0, max(1, len(weights)), step)
    ]
    return np.concatenate(blocks)


def checked(truth: Floats, score: Floats) -> tuple[Floats, Floats]:
    """Return both as float64 vectors.

    Raises:
        ValueError: they are not vectors of equal length.
    """
    truth, score = np.asarray(truth, dtype=np.float64), np.asarray(score, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != score.shape:
        raise ValueError(f"truth {truth.shape} and score {score.shape} must have equal lengths")
    return truth, score


def usable(truth: Floats, score: Floats) -> bool:
    """Return True if there is any target, and no NaN."""
    return len(truth) > 0 and not (np.isnan(truth).any() or np.isnan(score).any())


def as_rows(items: NDArray[Any], weights: Floats | None) -> Floats:
    """Return ``weights``, or a single row of ones: (b, n) or (1, n), for n ``items``.

    Raises:
        ValueError: the weights are not (b, n).
    """
    if weights is None:
        return np.ones((1, len(items)))
    rows = np.asarray(weights, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(items):
        raise ValueError(f"weights are {rows.shape}, not (replicates, {len(items)})")
    return rows


def one_or_all(values: Floats, weights: Floats | None) -> float | Floats:
    """Return the single value without weights, all with weights."""
    return float(values[0]) if weights is None else values


@dataclass(frozen=True)
class Groups:
    """Targets in ascending order of a value, with equal values together.

    Attributes:
        order: (n,) indices that sort the targets, stably.
        starts: (g,) position in that order where each distinct value begins.
        of: (n,) number of the distinct value of each target, 0 the lowest.
    """

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    of: NDArray[np.intp]

    def total(self, weights: Floats) -> Floats:
        """Add up (b, n) weights by distinct value: (b, g)."""
        return np.add.reduceat(weights[:, self.order], self.starts, axis=1)


def groups(values: Floats) -> Groups:
    """Make :class:`Groups` of (n,) values, n >= 1, no NaN; infinities are ordinary values."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    new = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    of = np.empty(len(values), dtype=np.intp)
    of[order] = np.cumsum(new) - 1
    return Groups(order, np.flatnonzero(new), of)


def finite(value: float | None) -> float | None:
    """Return ``value``, or None if it is not a finite number."""
    return None if value is None or not math.isfinite(value) else float(value)
