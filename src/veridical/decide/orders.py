"""Figures of an order as the search for weights needs them: AUROC, average precision, a best cut.

Each grows when a positive gains rank, and is read off two counts at every row of one class: how
many positives, and how many negatives, are above it. Which positive is which does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from veridical.decide.lines import (
    DECIMALS,
    Bools,
    Floats,
    Indices,
    Place,
    Rows,
    counted,
    crossings,
    peaks,
    running,
    widest,
)
from veridical.decide.objectives import Objective

#: (positives above, negatives above) -> figure of a cut.
OfCut = Callable[[Floats, Floats], Floats]

_TIES = 64  # most crossings at which average precision is looked at


class Auroc:
    """Pairs in the right order, ties half."""

    few = 1 << 13

    def __init__(self, positive: Bools) -> None:
        self.positive = positive
        self._pairs = int(positive.sum()) * int((~positive).sum())

    def value(self, risk: Floats) -> float:
        negatives, positives = np.sort(risk[~self.positive]), np.sort(risk[self.positive])
        below = negatives.searchsorted(positives, "left").sum()
        below += negatives.searchsorted(positives, "right").sum()
        return float(below) / (2 * self._pairs)

    def bounds(self, low: Floats, high: Floats, than: float) -> tuple[Floats, Floats]:
        below = _negatives_below(low, high, self.positive)
        most = below.sum(axis=1) / self._pairs
        return most, _open(low, high, self.positive, below, most > than).sum(axis=1)

    def stretches(self, rows: Rows, than: float) -> list[Place]:
        ranks = rows.ranks()
        right = counted(ranks, ~self.positive, "left") + counted(ranks, ~self.positive, "right")
        value = int(right[self.positive].sum()) / 2
        ones, others = np.flatnonzero(self.positive), np.flatnonzero(~self.positive)
        found = list(crossings(rows, ones, others))
        gain = np.where(np.concatenate([f.up for f in found]), -1.0, 1.0)
        places = peaks(np.concatenate([f.t for f in found]), gain, value)
        return [(t, shown / self._pairs) for t, shown in places]


class AveragePrecision:
    """Mean over positives of the share of positives at or above them."""

    few = 1 << 13

    def __init__(self, positive: Bools) -> None:
        self.positive = positive
        self._true = np.arange(int(positive.sum()), 0, -1.0)

    def value(self, risk: Floats) -> float:
        return float(np.mean(_precision(*_at_or_above(risk, self.positive))))

    def bounds(self, low: Floats, high: Floats, than: float) -> tuple[Floats, Floats]:
        below = _negatives_below(low, high, self.positive)
        false = np.count_nonzero(~self.positive) - below
        most = np.mean(_precision(self._true, false), axis=1)
        return most, _open(low, high, self.positive, below, most > than).sum(axis=1)

    def stretches(self, rows: Rows, than: float) -> list[Place]:
        """Then its crossings, where they are few, and its ends: positives tied there are found
        together, so that the figure may be higher than on either side. Theirs is not known:
        infinity."""
        ranks = rows.ranks()
        tied = (
            self.positive & (np.bincount(ranks[self.positive], minlength=len(ranks) + 1) > 1)[ranks]
        )
        # where two positives cross that are tied with none, one gains what the other loses
        counts = ~self.positive | tied
        ones = np.flatnonzero(self.positive & _may_meet(rows, counts))
        t, gain = [np.empty(0)], [np.empty(0)]
        for row in _Walk(rows, ranks, ones, self.positive, _precision):
            changed = counts[row.other] | tied[row.one]
            changed &= ~row.first
            t.append(row.t[changed])
            gain.append(np.diff(row.value, prepend=0.0)[changed])
        where = np.concatenate(t)
        at_start = self.value(ranks.astype(np.float64)) * len(self._true)
        places = peaks(where, np.concatenate(gain), at_start)
        found = [(at, shown / len(self._true)) for at, shown in places]
        crossed = np.unique(np.round(where, 12))
        looked_at = [0.0, 1.0, *(crossed.tolist() if len(crossed) <= _TIES else [])]
        return found + [(at, np.inf) for at in looked_at]


class BestCut:
    """An objective with a threshold, at the best one.

    A best cut can be had just below a positive, and just above a negative: whichever are fewer.
    """

    few = 1 << 9

    def __init__(self, positive: Bools, objective: Objective, beta: float) -> None:
        of_counts = objective.of_counts
        assert of_counts is not None
        self.positive = positive
        positives = float(positive.sum())
        self._negatives = len(positive) - positives
        self._true = np.arange(positives, 0, -1.0)
        self._ones = positive if positives <= self._negatives else ~positive
        self._of_cut: OfCut = lambda true, false: of_counts(
            true, false, positives, self._negatives, beta
        )

    def value(self, risk: Floats) -> float:
        found, false = _at_or_above(risk, self.positive)
        none = np.zeros(1)
        return float(max(self._of_cut(found, false).max(), self._of_cut(none, none)[0]))

    def bounds(self, low: Floats, high: Floats, than: float) -> tuple[Floats, Floats]:
        below = _negatives_below(low, high, self.positive)
        # where no positive is called, or all is, the figure is the same everywhere
        shown = self._of_cut(self._true, self._negatives - below)
        most = shown.max(axis=1)
        pairs = _open(low, high, self.positive, below, most > than)
        return most, np.sum(pairs * (shown > than), axis=1)

    def stretches(self, rows: Rows, than: float) -> list[Place]:
        first, last = rows.first, rows.last
        low, high = np.minimum(first, last), np.maximum(first, last)
        likely: Bools = self._ones.copy()
        likely[self._ones] = self._of_cut(*_most(low, high, self.positive, self._ones)) > than
        best: list[Place] = []
        ones = np.flatnonzero(likely)
        for row in _Walk(rows, rows.ranks(), ones, self.positive, self._of_cut, than):
            end = np.append(np.where(row.first[1:], 1.0, row.t[1:]), 1.0)
            best += widest(row.t, end, row.value)
        return sorted(best, key=lambda place: -place[1])[:3]


def _precision(true: Floats, false: Floats) -> Floats:
    return true / (true + false)


def _at_or_above(risk: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """(m,) positives and negatives at or above each of the m positives, the lowest first."""
    negatives, positives = np.sort(risk[~positive]), np.sort(risk[positive])
    true = len(positives) - positives.searchsorted(positives, "left")
    false = len(negatives) - negatives.searchsorted(positives, "left")
    return true.astype(np.float64), false.astype(np.float64)


def _may_meet(rows: Rows, others: Bools) -> Bools:
    """(n,) whether a row may cross or be tied with one of the others."""
    first, last = rows.first, rows.last
    low, high = np.minimum(first, last), np.maximum(first, last)
    return _below(low[others], high, "right") > _below(high[others], low, "left")


def _negatives_below(low: Floats, high: Floats, positive: Bools, sign: float = 1.0) -> Floats:
    """(p, m) negatives below each of the m positives, from the lowest positive up: the most there
    can be where risks are between (p, n) low and high; with these exchanged and sign -1, the least.
    """
    # one sort of odd and even numbers; what may be tied counts as below, or as not below
    coded = np.rint(np.where(positive, high, low) * 10.0**DECIMALS)
    coded *= 2.0
    coded += sign * positive
    coded.sort(axis=1)
    m = int(np.count_nonzero(positive))
    column = np.nonzero(coded.astype(np.int64) & 1)[1].reshape(len(coded), m)
    return (column - np.arange(m)).astype(np.float64)


def _open(low: Floats, high: Floats, positive: Bools, most: Floats, likely: Bools) -> Floats:
    """(p, m) how many negatives may be below or above each positive, in the likely ones of the p
    parts; 0 in the others."""
    found = np.zeros(most.shape)
    least = _negatives_below(high[likely], low[likely], positive, -1.0)
    found[likely] = most[likely] - least
    return found


def _below(values: Floats, of: Floats, side: Literal["left", "right"]) -> Indices:
    """How many of the values are below each of some others; right: or equal."""
    return np.searchsorted(np.sort(values), of, side=side)


def _most(low: Floats, high: Floats, positive: Bools, ones: Bools) -> tuple[Floats, Floats]:
    """The most positives and the fewest negatives that can be above each of the ones."""
    true = positive.sum() - _below(high[positive], low[ones], "left")
    false = (~positive).sum() - _below(low[~positive], high[ones], "right")
    return true.astype(np.float64), false.astype(np.float64)


@dataclass(frozen=True)
class _Stretches:
    """Of some rows, one after the other: where each of their stretches begins and the figure on it.

    ``first`` marks a row's first stretch, from t = 0; any other begins where ``other`` is crossed.
    """

    t: Floats
    value: Floats
    first: Bools
    one: Indices
    other: Indices


class _Walk:
    """The figure at the cut of each of some rows of one class, along the line.

    The cut is just below a positive, just above a negative; rows tied along the whole line fall on
    its same side.
    """

    def __init__(
        self,
        rows: Rows,
        ranks: Indices,
        ones: Indices,
        positive: Bools,
        of_cut: OfCut,
        than: float = -np.inf,
    ) -> None:
        """Rows whose figure cannot exceed ``than`` anywhere may be left out."""
        self._rows, self._ones, self._positive = rows, ones, positive
        self._of_cut, self._than = of_cut, than
        side: Literal["left", "right"] = "left" if positive[ones[:1]].all() else "right"
        self._true = (positive.sum() - counted(ranks, positive, side)[ones]).astype(np.float64)
        self._false = ((~positive).sum() - counted(ranks, ~positive, side)[ones]).astype(np.float64)

    def __iter__(self) -> Iterator[_Stretches]:
        for found in crossings(self._rows, self._ones, np.arange(len(self._positive))):
            true, false = self._true[found.ones], self._false[found.ones]
            one, t, up, other = found.one, found.t, found.up, found.other
            which = self._ones[found.ones]
            if np.isfinite(self._than):
                rises = np.bincount(one[up & self._positive[other]], minlength=len(true))
                falls = np.bincount(one[~up & ~self._positive[other]], minlength=len(true))
                likely = self._of_cut(true + rises, false - falls) > self._than
                true, false, which = true[likely], false[likely], which[likely]
                kept = likely[one]
                one = (np.cumsum(likely) - 1)[one[kept]]
                t, up, other = t[kept], up[kept], other[kept]
            start, n = (true, false), len(true)
            if not n:
                continue
            one = np.concatenate([np.arange(n), one])
            other = np.concatenate([which, other])
            t = np.concatenate([np.full(n, -0.5), t])
            # rows are 2 apart and t is less than 1: one sort for both, a row's start first
            order = np.argsort(2.0 * one + t)
            first = order < n
            t[:n] = 0.0
            step = np.concatenate([np.ones(n), np.where(up, 1.0, -1.0)])
            of_positive = self._positive[other]
            true, false = np.where(of_positive, step, 0.0), np.where(of_positive, 0.0, step)
            true[:n], false[:n] = start
            value = self._of_cut(running(true[order], first), running(false[order], first))
            yield _Stretches(t[order], value, first, which[one[order]], other[order])
