"""The best point on a line of weights, for figures that only depend on an order.

Along a line between two points of the simplex, ``w(t) = (1 - t) w0 + t w1``, the order of two rows
changes only where their combined risks cross: at one place that a division gives, or at up to two,
roots of a quadratic, where a component is scored in one of them only. Between crossings a figure is
constant. So the crossings are found, the figure is carried from each to the next, and the middle
of the best stretch is taken: there is no grid, and nothing between its points is missed.

Of many rows only the parts of a line are looked at so closely that may hold something better: a row
keeps between its risks at the two ends of a part, which bounds how far it can rise or fall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
#: A place t on a line, and the figure there.
Place = tuple[float, float]

DECIMALS = 12  # combined risks that agree so far are tied
_NARROW = 1e-9  # shortest stretch of t that is a place to stay
_SHORT = 2.0**-16  # shortest part that is
_BLOCK = 1 << 16  # pairs looked at together
_MANY = 1 << 11  # changes that are worth a first look by bins
_BINS = 512
_NONE = np.empty(0, dtype=np.intp)


class Figure(Protocol):
    """A figure of an order, the larger the better."""

    #: So few pairs are compared sooner than a part is halved.
    few: int

    def value(self, risk: Floats) -> float:
        """Of risks (n,)."""

    def open_pairs(self, low: Floats, high: Floats, than: float) -> int:
        """How many pairs may have to be compared, where risks are between (n,) low and high, to
        know whether the figure exceeds ``than``; 0 where it cannot."""

    def stretches(self, rows: Rows, than: float) -> list[Place]:
        """The best between t = 0 and 1, if there is any above ``than``."""


@dataclass(frozen=True)
class Rows:
    """Combined risks along a line: ``((1 - t) a0 + t a1) / ((1 - t) c0 + t c1)``, (n,) each.

    Where the same weight is scored all along, c0 = c1 = 1: ``straight``.
    """

    a0: Floats
    a1: Floats
    c0: Floats
    c1: Floats
    straight: Bools

    @property
    def first(self) -> Floats:
        """(n,) risks at t = 0."""
        return np.round(self.a0 / self.c0, DECIMALS)

    @property
    def last(self) -> Floats:
        """(n,) risks at t = 1."""
        return np.round(self.a1 / self.c1, DECIMALS)

    def ranks(self) -> Indices:
        """(n,) just after t = 0, from 1; equal only for rows that are tied along the whole line."""
        slope = (self.a1 * self.c0 - self.a0 * self.c1) / (self.c0 * self.c0)
        keys = [np.round(slope, DECIMALS), self.first]
        if not self.straight.all():
            keys.insert(0, np.round(slope * (self.c0 - self.c1) / self.c0, DECIMALS))
        order = np.lexsort(keys)
        new = np.ones(len(order), dtype=np.intp)
        new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
        ranks = np.empty(len(order), dtype=np.intp)
        ranks[order] = np.cumsum(new)
        return ranks

    def part(self, start: float, end: float) -> Rows:
        """The line between two places."""
        sides = []
        for t in (start, end):
            sides += [(1 - t) * self.a0 + t * self.a1, (1 - t) * self.c0 + t * self.c1]
        return _tidy(sides[0], sides[2], sides[1], sides[3], self.straight)


def _tidy(a0: Floats, a1: Floats, c0: Floats, c1: Floats, straight: Bools) -> Rows:
    a0 = np.where(straight, np.round(a0, DECIMALS), a0)
    a1 = np.where(straight, np.round(a1, DECIMALS), a1)
    return Rows(a0, a1, c0, c1, straight)


def rows_between(
    filled: Floats, scored: Floats | None, w0: Floats, w1: Floats, undecided: float
) -> Rows:
    """The rows of risks (n, k) between two points of the simplex.

    Args:
        filled: 0 where not scored.
        scored: 1 or 0; None where all is scored.
        undecided: risk of a row of which nothing with a weight is scored.
    """
    a0, a1 = filled @ w0, filled @ w1
    if scored is None:
        ones = np.ones(len(filled))
        return _tidy(a0, a1, ones, ones, np.ones(len(filled), dtype=np.bool_))
    c0, c1 = scored @ w0, scored @ w1
    # what has a weight at one end only gives the same risk all along
    first, last = c0 <= 0, c1 <= 0
    a0, c0 = np.where(first, a1, a0), np.where(first, c1, c0)
    a1, c1 = np.where(last, a0, a1), np.where(last, c0, c1)
    none = first & last
    a0, a1 = np.where(none, undecided, a0), np.where(none, undecided, a1)
    c0, c1 = np.where(none, 1.0, c0), np.where(none, 1.0, c1)
    straight = np.abs(c0 - c1) <= 1e-12
    a0, a1 = np.where(straight, a0 / c0, a0), np.where(straight, a1 / c1, a1)
    c0, c1 = np.where(straight, 1.0, c0), np.where(straight, 1.0, c1)
    return _tidy(a0, a1, c0, c1, straight)


def best_places(rows: Rows, figure: Figure, than: float) -> list[Place]:
    """Places of a figure above ``than``, the best of the line among them; none if there is none.

    Its ends are looked at too: rows may be tied there that are not beside them. Stretches shorter
    than 1e-9 are not places.
    """
    found = [(t, figure.value(risk)) for t, risk in ((0.0, rows.first), (1.0, rows.last))]
    best = max(than, *(value for _, value in found))
    parts = [(0.0, 1.0, rows)]
    while parts:
        start, end, part = parts.pop()
        first, last = part.first, part.last
        pairs = figure.open_pairs(np.minimum(first, last), np.maximum(first, last), best)
        if pairs > figure.few and end - start > _SHORT:
            middle = (start + end) / 2
            parts.append((start, middle, part.part(0.0, 0.5)))
            parts.append((middle, end, part.part(0.5, 1.0)))
        elif pairs:
            for t, value in figure.stretches(part, best):
                found.append((start + t * (end - start), value))
                if np.isfinite(value):
                    best = max(best, value)
    found = [place for place in found if place[1] > than]
    return sorted(found, key=lambda place: -place[1])


@dataclass(frozen=True)
class Crossings:
    """Where some rows cross others, in no order: (m,) each.

    Attributes:
        ones: which of the rows this is about.
        one: index into these.
        other: index of the other row, among all.
        t: in (0, 1).
        up: whether the other row is above from there on.
    """

    ones: slice
    one: Indices
    other: Indices
    t: Floats
    up: Bools


def by_risk(rows: Rows, which: Indices) -> Indices:
    """These rows in the order of their mean risk: neighbours are near each other all along."""
    middle = rows.a0[which] / rows.c0[which] + rows.a1[which] / rows.c1[which]
    return which[np.argsort(middle, kind="stable")]


def crossings(rows: Rows, ones: Indices, others: Indices) -> Iterator[Crossings]:
    """Where each of the rows ``ones`` crosses the rows ``others``, for some of the ones at a time.

    Fewest pairs are looked at where the ones are :func:`by_risk`.
    """
    first, last = rows.first, rows.last
    low, high = np.minimum(first, last), np.maximum(first, last)
    for at in range(0, len(ones), max(32, _BLOCK // len(others))):
        block = ones[at : at + max(32, _BLOCK // len(others))]
        near = (high[others] >= low[block].min()) & (low[others] <= high[block].max())
        right = others[near]
        found = [(_NONE, _NONE, np.empty(0), np.empty(0, dtype=np.bool_))]
        for straight in (True, False):
            left = np.flatnonzero(rows.straight[block] == straight)
            for also in (True, False):
                meets = right[rows.straight[right] == also]
                if not len(left) or not len(meets):
                    continue
                find = _of_straight if straight and also else _of_bent
                pair, t, up = find(rows, block[left], meets)
                one, other = np.divmod(pair, len(meets))
                found.append((left[one], meets[other], t, up))
        one, other, t, up = (np.concatenate(column) for column in zip(*found, strict=True))
        yield Crossings(slice(at, at + len(block)), one, other, t, up)


def _of_straight(rows: Rows, ones: Indices, others: Indices) -> tuple[Indices, Floats, Bools]:
    """Number of the pair, t and up."""
    before = (rows.a0[ones, None] - rows.a0[others]).ravel()
    after = (rows.a1[ones, None] - rows.a1[others]).ravel()
    at = np.flatnonzero(before * after < 0)
    before, after = before[at], after[at]
    return at, before / (before - after), after < 0


def _of_bent(rows: Rows, ones: Indices, others: Indices) -> tuple[Indices, Floats, Bools]:
    """As :func:`_of_straight`, from the other row's numerator times the one's denominator less the
    reverse: ``f0 + 2 f1 x + f2 x^2`` up to a factor, x = t / (1 - t)."""

    def difference(a: Floats, c: Floats, b: Floats, d: Floats) -> Floats:
        return np.asarray(np.outer(c[ones], b[others]) - np.outer(a[ones], d[others])).ravel()

    a0, a1, c0, c1 = rows.a0, rows.a1, rows.c0, rows.c1
    f0, f2 = difference(a0, c0, a0, c0), difference(a1, c1, a1, c1)
    f1 = (difference(a0, c0, a1, c1) + difference(a1, c1, a0, c0)) / 2
    for f in (f0, f1, f2):
        f[np.abs(f) < 1e-12] = 0.0
    square = f1 * f1 - f0 * f2
    at = np.flatnonzero(square > 0)
    f0, f1, f2 = f0[at], f1[at], f2[at]
    q = -(f1 + np.where(f1 < 0, -1.0, 1.0) * np.sqrt(square[at]))
    found: list[tuple[Indices, Floats, Bools]] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for x in (q / f2, f0 / q):
            real = np.isfinite(x) & (x > 0)
            root = x[real]
            found.append((at[real], root / (1 + root), f1[real] + f2[real] * root > 0))
    pair, t, up = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return pair, t, up


def counted(ranks: Indices, among: Bools, side: Literal["left", "right"]) -> Indices:
    """(n,) how many of the rows ``among`` are of a lower rank; right: or of the same."""
    upto = np.cumsum(np.bincount(ranks[among], minlength=int(ranks.max()) + 1))
    return np.asarray(upto[ranks if side == "right" else ranks - 1])


def running(values: Floats, first: Bools) -> Floats:
    """Sums so far, begun anew at every ``first``; exact for whole numbers."""
    total = np.cumsum(values)
    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, len(values)))
    return np.asarray(total - np.repeat((total - values)[starts], lengths))


def peaks(t: Floats, gain: Floats, value: float, than: float) -> list[Place]:
    """(middle, value) of the widest 3 of the best stretches between changes; none may be returned
    where none is above ``than``.

    Args:
        t: (m,) in (0, 1), where the value changes.
        gain: (m,) by how much.
        value: before the first.
    """
    if len(t) > _MANY:
        return widest(*_promising(t, gain, value, than))
    order = np.argsort(t, kind="stable")
    edges = np.concatenate([[0.0], t[order], [1.0]])
    shown = value + np.concatenate([[0.0], np.cumsum(gain[order])])
    return widest(edges[:-1], edges[1:], shown)


def _promising(t: Floats, gain: Floats, value: float, than: float) -> tuple[Floats, Floats, Floats]:
    """Start, end and value of the stretches in those bins of t that may hold more than ``than``.

    No value in a bin exceeds that at its start and all its gains; most need no sorting.
    """
    bins = np.minimum((t * _BINS).astype(np.intp), _BINS - 1)
    net = np.bincount(bins, weights=gain, minlength=_BINS)
    gains = np.bincount(bins, weights=np.maximum(gain, 0.0), minlength=_BINS)
    before = value + np.concatenate([[0.0], np.cumsum(net)[:-1]])
    likely = before + gains > than
    chosen, kept = np.flatnonzero(likely), np.flatnonzero(likely[bins])
    # a stretch from each bin's edge on comes before its changes
    of = np.concatenate([chosen, bins[kept]])
    start = np.concatenate([chosen / _BINS, t[kept]])
    change = np.concatenate([np.zeros(len(chosen)), gain[kept]])
    order = np.lexsort((start, np.arange(len(of)) >= len(chosen), of))
    of, start = of[order], start[order]
    shown = before[of] + running(change[order], order < len(chosen))
    end = np.minimum(np.append(start[1:], 1.0), (of + 1) / _BINS)
    return start, end, shown


def widest(start: Floats, end: Floats, shown: Floats) -> list[Place]:
    """(middle, value) of the widest 3 of the best of some stretches."""
    wide = np.flatnonzero(end - start > _NARROW)
    if not len(wide):
        return []
    top = wide[shown[wide] >= shown[wide].max() - 1e-11]
    top = top[np.argsort(start[top] - end[top], kind="stable")][:3]
    return [(float(start[i] + end[i]) / 2, float(shown[i])) for i in top]
