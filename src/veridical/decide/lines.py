"""The best point on a line of weights, for figures that only depend on an order.

Along a line between two points of the simplex, ``w(t) = (1 - t) w0 + t w1``, the order of two rows
changes only where their combined risks cross: at one place that a division gives, or at up to two,
roots of a quadratic, where a component is scored in one of them only. Between crossings a figure is
constant. So the crossings are found, the figure is carried from each to the next, and the middle
of the best stretch is taken: there is no grid, and nothing between its points is missed.

Of many rows only the parts of a line are looked at so closely that may hold something better: a row
keeps between its risks at the two ends of a part, so the figure there is at most that of positives
at their highest and negatives at their lowest.
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
_A_ROW = 0.2  # pairs that are compared sooner than parts are cut further: of each row of each part
_SPLIT = 4  # parts that a part is cut into
_WORTH = 0.9  # of the pairs may be left where parts are cut once more
_LOST = 1e-11  # of a figure, by rounding
_BLOCK = 1 << 20  # pairs looked at together


class Figure(Protocol):
    """A figure of an order, the larger the better."""

    #: So many pairs are compared at once.
    few: int

    def value(self, risk: Floats) -> float:
        """Of risks (n,)."""

    def bounds(self, low: Floats, high: Floats, than: float) -> tuple[Floats, Floats]:
        """(p,) of p parts in which risks are between (p, n) low and high: the most that the figure
        can be, and about how many pairs have to be compared to know whether it exceeds ``than``."""

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

    def at(self, t: Floats) -> Floats:
        """(p, n) risks at (p,) places."""
        risk = np.outer(1 - t, self.a0) + np.outer(t, self.a1)
        if not self.straight.all():
            risk /= np.outer(1 - t, self.c0) + np.outer(t, self.c1)
        return risk

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
    for start, end in _ranges(rows, figure, than, best):
        for t, value in figure.stretches(rows.part(start, end), best):
            found.append((start + t * (end - start), value))
            if np.isfinite(value):
                best = max(best, value)
    found = [place for place in found if place[1] > than]
    return sorted(found, key=lambda place: -place[1])


def _ranges(rows: Rows, figure: Figure, than: float, best: float) -> list[Place]:
    """(start, end) of the ranges of t that may hold more than ``than`` and as much as ``best``,
    cut as small as pays."""
    starts, width = np.zeros(1), 1.0
    before = np.inf
    while True:
        at_start, at_end = rows.at(starts), rows.at(starts + width)
        # a row is monotone along the line; the rest is for what is rounded when it is tied
        low, high = np.minimum(at_start, at_end), np.maximum(at_start, at_end)
        least = max(than, best - _LOST)
        most, pairs = figure.bounds(low, high, least)
        likely = most > least
        starts, left = starts[likely], float(pairs[likely].sum())
        few = max(figure.few, _A_ROW * len(rows.a0) * len(starts))
        if left <= few or left > _WORTH * before or width <= _SHORT:
            break
        middle = starts[np.argmax(most[likely])] + width / 2
        best = max(best, figure.value(np.round(rows.at(np.array([middle]))[0], DECIMALS)))
        before = left
        width /= _SPLIT
        starts = (starts[:, None] + width * np.arange(_SPLIT)).ravel()
    new = np.flatnonzero(np.diff(starts, prepend=-2.0) > width)
    ends = starts[np.append(new[1:], len(starts)) - 1] + width if len(starts) else starts
    return list(zip(starts[new].tolist(), ends.tolist(), strict=True))


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


def crossings(rows: Rows, ones: Indices, others: Indices) -> Iterator[Crossings]:
    """Where each of the rows ``ones`` crosses the ``others``, for some of the ones at a time."""
    first, last = rows.first, rows.last
    low, high = np.minimum(first, last), np.maximum(first, last)
    others = others[np.argsort(low[others])]
    if not len(ones) or not len(others):
        return
    span = float((high[others] - low[others]).max())
    begin = np.searchsorted(low[others], low[ones] - span - 10.0**-DECIMALS, "left")
    number = np.searchsorted(low[others], high[ones], "right") - begin
    upto = np.cumsum(number)
    straight = bool(rows.straight.all())
    at = 0
    while at < len(ones):
        done = int(upto[at - 1]) if at else 0
        to = max(at + 1, int(np.searchsorted(upto, done + _BLOCK, "right")))
        block, n = ones[at:to], number[at:to]
        if straight and 2 * n.sum() > len(block) * len(others):
            before = np.subtract.outer(rows.a0[block], rows.a0[others]).ravel()
            after = np.subtract.outer(rows.a1[block], rows.a1[others]).ravel()
            pair, t, up = _of_straight(before, after)
            one, met = np.divmod(pair, len(others))
        else:
            one = np.repeat(np.arange(to - at), n)
            # the numbers of each one's others: begin, begin + 1 ...
            met = np.arange(len(one)) - np.repeat(np.cumsum(n) - n - begin[at:to], n)
            pair, t, up = _crossed(rows, block[one], others[met])
            one, met = one[pair], met[pair]
        yield Crossings(slice(at, to), one, others[met], t, up)
        at = to


def _crossed(rows: Rows, ones: Indices, others: Indices) -> tuple[Indices, Floats, Bools]:
    """Number of the pair of rows, t and up; a pair may cross twice."""
    straight = rows.straight[ones] & rows.straight[others]
    found = []
    for which in (straight, ~straight):
        chosen = np.flatnonzero(which)
        one, other = ones[chosen], others[chosen]
        if which is straight:
            pair, t, up = _of_straight(rows.a0[one] - rows.a0[other], rows.a1[one] - rows.a1[other])
        else:
            pair, t, up = _of_bent(rows, one, other)
        found.append((chosen[pair], t, up))
    pair, t, up = (np.concatenate(column) for column in zip(*found, strict=True))
    return pair, t, up


def _of_straight(before: Floats, after: Floats) -> tuple[Indices, Floats, Bools]:
    """From how far the ones are above the others at both ends."""
    at = np.flatnonzero(before * after < 0)
    before, after = before[at], after[at]
    return at, before / (before - after), after < 0


def _of_bent(rows: Rows, ones: Indices, others: Indices) -> tuple[Indices, Floats, Bools]:
    """From the other row's numerator times the one's denominator less the reverse:
    ``f0 + 2 f1 x + f2 x^2`` up to a factor, x = t / (1 - t)."""

    def difference(a: Floats, c: Floats, b: Floats, d: Floats) -> Floats:
        return np.asarray(c[ones] * b[others] - a[ones] * d[others])

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


def peaks(t: Floats, gain: Floats, value: float) -> list[Place]:
    """(middle, value) of the widest 3 of the best stretches between changes.

    Args:
        t: (m,) in (0, 1), where the value changes.
        gain: (m,) by how much.
        value: before the first.
    """
    order = np.argsort(t)
    edges = np.concatenate([[0.0], t[order], [1.0]])
    shown = value + np.concatenate([[0.0], np.cumsum(gain[order])])
    return widest(edges[:-1], edges[1:], shown)


def widest(start: Floats, end: Floats, shown: Floats) -> list[Place]:
    """(middle, value) of the widest 3 of the best of some stretches."""
    wide = np.flatnonzero(end - start > _NARROW)
    if not len(wide):
        return []
    top = wide[shown[wide] >= shown[wide].max() - 1e-11]
    top = top[np.argsort(start[top] - end[top], kind="stable")][:3]
    return [(float(start[i] + end[i]) / 2, float(shown[i])) for i in top]
