"""Figures of an order as the search for weights needs them: AUROC, average precision, a best cut.

Each grows when a positive gains rank, and is read off two counts at every row of one class: how
many positives, and how many negatives, are above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from veridical.decide.lines import (
    Bools,
    Floats,
    Indices,
    Place,
    Rows,
    by_risk,
    counted,
    crossings,
    peaks,
    running,
    widest,
)
from veridical.decide.objectives import Objective, best_threshold
from veridical.evaluate.metrics import ranking

#: (positives above, negatives above) -> figure of a cut.
OfCut = Callable[[Floats, Floats], Floats]

_TIES = 64  # most crossings at which average precision is looked at


class Auroc:
    """Pairs in the right order, ties half."""

    few = 1 << 16

    def __init__(self, positive: Bools) -> None:
        self.positive = positive
        self._pairs = int(positive.sum()) * int((~positive).sum())

    def value(self, risk: Floats) -> float:
        negatives, positives = risk[~self.positive], risk[self.positive]
        below = _below(negatives, positives, "left") + _below(negatives, positives, "right")
        return float(below.sum()) / (2 * self._pairs)

    def open_pairs(self, low: Floats, high: Floats, than: float) -> int:
        upto = _below(low[~self.positive], high[self.positive], "right").sum()
        below = _below(high[~self.positive], low[self.positive], "left").sum()
        # none may cross, and the order that all share be the best
        return max(1, int(upto - below)) if upto > than * self._pairs else 0

    def stretches(self, rows: Rows, than: float) -> list[Place]:
        ranks = rows.ranks()
        right = counted(ranks, ~self.positive, "left") + counted(ranks, ~self.positive, "right")
        value = int(right[self.positive].sum()) / 2
        ones = by_risk(rows, np.flatnonzero(self.positive))
        found = list(crossings(rows, ones, np.flatnonzero(~self.positive)))
        gain = np.where(np.concatenate([f.up for f in found]), -1.0, 1.0)
        places = peaks(np.concatenate([f.t for f in found]), gain, value, than * self._pairs)
        return [(t, shown / self._pairs) for t, shown in places]


class AveragePrecision:
    """Mean over positives of the share of positives at or above them."""

    few = 1 << 15

    def __init__(self, positive: Bools) -> None:
        self.positive = positive
        self._truth = positive.astype(np.float64)

    def value(self, risk: Floats) -> float:
        return ranking.average_precision(self._truth, risk)

    def open_pairs(self, low: Floats, high: Floats, than: float) -> int:
        true, false = _most(low, high, self.positive, self.positive)
        if np.mean(true / (true + false)) <= than:
            return 0
        return int(_near(low, high, self.positive).sum())

    def stretches(self, rows: Rows, than: float) -> list[Place]:
        """Then its crossings, where they are few: positives tied there are found together, so that
        the figure may be higher than on either side. Theirs is not known: infinity."""
        ones = by_risk(rows, np.flatnonzero(self.positive))
        walk = _Walk(rows, ones, self.positive, lambda true, false: true / (true + false))
        t, gain = [np.empty(0)], [np.empty(0)]
        for row in walk:
            t.append(row.t[~row.first])
            gain.append(np.diff(row.value, prepend=0.0)[~row.first])
        where = np.concatenate(t)
        at_start = float(walk.at_start.sum())
        # sums of many fractions: what is lost to rounding must not decide
        least = than * len(ones) - 1e-9
        places = peaks(where, np.concatenate(gain), at_start, least)
        found = [(at, shown / len(ones)) for at, shown in places]
        crossed = np.unique(np.round(where, 12))
        return found + [(float(at), np.inf) for at in crossed if len(crossed) <= _TIES]


class BestCut:
    """An objective with a threshold, at the best one.

    A best cut can be had just below a positive, and just above a negative: whichever are fewer.
    """

    few = 1 << 15

    def __init__(self, positive: Bools, objective: Objective, beta: float) -> None:
        of_counts = objective.of_counts
        assert of_counts is not None
        self.positive = positive
        self._truth = positive.astype(np.float64)
        self._name, self._beta = objective.name, beta
        positives = float(self._truth.sum())
        negatives = len(positive) - positives
        self._ones = positive if positives <= negatives else ~positive
        self._of_cut: OfCut = lambda true, false: of_counts(true, false, positives, negatives, beta)

    def value(self, risk: Floats) -> float:
        return best_threshold(self._truth, risk, self._name, self._beta)[1]

    def open_pairs(self, low: Floats, high: Floats, than: float) -> int:
        ones = self._likely(low, high, than)
        return int(_near(low, high, ones).sum()) if ones.any() else 0

    def _likely(self, low: Floats, high: Floats, than: float) -> Bools:
        """Which of the ones may have a cut above ``than``."""
        likely: Bools = self._ones.copy()
        likely[self._ones] = self._of_cut(*_most(low, high, self.positive, self._ones)) > than
        return likely

    def stretches(self, rows: Rows, than: float) -> list[Place]:
        first, last = rows.first, rows.last
        likely = self._likely(np.minimum(first, last), np.maximum(first, last), than)
        ones = by_risk(rows, np.flatnonzero(likely))
        best: list[Place] = []
        for row in _Walk(rows, ones, self.positive, self._of_cut, than):
            end = np.append(np.where(row.first[1:], 1.0, row.t[1:]), 1.0)
            best += widest(row.t, end, row.value)
        return sorted(best, key=lambda place: -place[1])[:3]


def _below(values: Floats, of: Floats, side: Literal["left", "right"]) -> Indices:
    """How many of the values are below each of some others; right: or equal."""
    return np.searchsorted(np.sort(values), of, side=side)


def _near(low: Floats, high: Floats, ones: Bools) -> Indices:
    """How many rows each of the ones may meet."""
    return _below(low, high[ones], "right") - _below(high, low[ones], "left")


def _most(low: Floats, high: Floats, positive: Bools, ones: Bools) -> tuple[Floats, Floats]:
    """The most positives and the fewest negatives that can be above each of the ones."""
    true = positive.sum() - _below(high[positive], low[ones], "left")
    false = (~positive).sum() - _below(low[~positive], high[ones], "right")
    return true.astype(np.float64), false.astype(np.float64)


@dataclass(frozen=True)
class _Stretches:
    """Of some rows, one after the other: where each of their stretches begins and the figure on it.

    ``first`` marks a row's first stretch, from t = 0.
    """

    t: Floats
    value: Floats
    first: Bools


class _Walk:
    """The figure at the cut of each of some rows of one class, along the line.

    The cut is just below a positive, just above a negative; rows tied along the whole line fall on
    its same side.
    """

    def __init__(
        self, rows: Rows, ones: Indices, positive: Bools, of_cut: OfCut, than: float = -np.inf
    ) -> None:
        """Rows whose figure cannot exceed ``than`` anywhere may be left out."""
        self._rows, self._ones, self._positive = rows, ones, positive
        self._of_cut, self._than = of_cut, than
        ranks = rows.ranks()
        side: Literal["left", "right"] = "left" if positive[ones[0]] else "right"
        self._true = (positive.sum() - counted(ranks, positive, side)[ones]).astype(np.float64)
        self._false = ((~positive).sum() - counted(ranks, ~positive, side)[ones]).astype(np.float64)
        self.at_start = of_cut(self._true, self._false)

    def __iter__(self) -> Iterator[_Stretches]:
        for found in crossings(self._rows, self._ones, np.arange(len(self._positive))):
            true, false = self._true[found.ones], self._false[found.ones]
            one, t, up, of_positive = found.one, found.t, found.up, self._positive[found.other]
            if np.isfinite(self._than):
                rises = np.bincount(one[up & of_positive], minlength=len(true))
                falls = np.bincount(one[~up & ~of_positive], minlength=len(true))
                likely = self._of_cut(true + rises, false - falls) > self._than
                true, false = true[likely], false[likely]
                kept = likely[one]
                one = (np.cumsum(likely) - 1)[one[kept]]
                t, up, of_positive = t[kept], up[kept], of_positive[kept]
            n = len(true)
            if not n:
                continue
            one = np.concatenate([np.arange(n), one])
            t = np.concatenate([np.zeros(n), t])
            # rows are 2 apart and t is less than 1: one sort for both, a row's start first
            order = np.argsort(2.0 * one + t, kind="stable")
            first = order < n
            step = np.where(up, 1.0, -1.0)
            true = np.concatenate([true, np.where(of_positive, step, 0.0)])[order]
            false = np.concatenate([false, np.where(of_positive, 0.0, step)])[order]
            value = self._of_cut(running(true, first), running(false, first))
            yield _Stretches(t[order], value, first)
