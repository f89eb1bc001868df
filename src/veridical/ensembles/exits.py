"""Exits of a cascade: thresholds per tier, with bounded loss of AUROC.

A record with a risk after tier t of at most ``low[t]``, or at least ``high[t]``, stops there with
that risk. The others continue to the next tier. AUROC compares records that stopped at different
tiers, so the risks of all tiers must be on one scale: probabilities.

As thresholds close in, the cost falls, and AUROC with it. Neither is smooth, so there is no
gradient to follow. Pairs of thresholds are tried, tier by tier, for the highest ``margin - price *
cost``, until no tier's pair can be improved. The price is bisected to find the cheapest thresholds
with a margin of at least 0. A last round tries finer steps around these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints

_LEVELS = 12  # coarse candidates for a threshold
_FINER = 8  # fine steps per coarse step
_PRICES = 10  # bisections of the price, on a logarithmic scale
_DEAREST = 1e3  # AUROC value of the whole cost at the maximum price: all records stop at once
_ROUNDS = 20  # maximum rounds over all tiers; two or three are usual


@dataclass(frozen=True)
class Exits:
    """Thresholds of all tiers except the last: (T - 1,) each; -inf and inf without an exit."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def stops(self, risks: Floats) -> Ints:
        """Return (n,) the tier at which each record stops, from (n, T) risks after each tier; NaN
        (nothing scored yet) continues."""
        tier = np.full(len(risks), risks.shape[1] - 1)
        for t in reversed(range(len(self.low))):
            tier[(risks[:, t] <= self.low[t]) | (risks[:, t] >= self.high[t])] = t
        return tier


def newest(risks: Floats) -> Floats:
    """Return (n, T) the final risk of each record if it stops at a tier.

    It is the latest of the record's risks; 0.5 if nothing was scored yet.
    """
    latest = risks.copy()
    for t in range(1, latest.shape[1]):
        latest[:, t] = np.where(np.isnan(latest[:, t]), latest[:, t - 1], latest[:, t])
    return np.where(np.isnan(latest), 0.5, latest)


@dataclass(frozen=True, eq=False)
class ExitProblem:
    """Inputs of the search for thresholds.

    Attributes:
        risks: (n, T) probabilities after each tier; NaN if nothing was scored yet.
        full: (n,) risks of the ensemble for the reference AUROC; no NaN.
        costs: (T,) cost of each tier per record, as shares of the full ensemble's cost.
        labels: (n,) 0 or 1, both present.
        groups: (n,) the independent unit of each record.
        keep: share of the full ensemble's AUROC to keep, in (0, 1].
        z: standard errors of the required margin; 0 for the estimate itself.
    """

    risks: Floats
    full: Floats
    costs: Floats
    labels: Floats
    groups: Ints
    keep: float
    z: float

    @cached_property
    def total(self) -> Floats:
        """(T,) cost of a record that stops at a tier."""
        return np.cumsum(self.costs)

    @cached_property
    def _ranks(self) -> tuple[Ints, int]:
        values, ranks = np.unique(newest(self.risks), return_inverse=True)
        return ranks.reshape(self.risks.shape).astype(np.int64), len(values)

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions of the hallucinated records, and of the others."""
        return np.flatnonzero(self.labels >= 0.5), np.flatnonzero(self.labels < 0.5)

    @cached_property
    def _least(self) -> tuple[Floats, Floats]:
        values, ranks = np.unique(self.full, return_inverse=True)
        under, over = self._placements(ranks.astype(np.int64), len(values))
        return self.keep * under, self.keep * over

    @cached_property
    def _units(self) -> tuple[Ints, int]:
        units, member = np.unique(self.groups, return_inverse=True)
        return member.astype(np.int64), len(units)

    def _placements(self, ranks: Ints, count: int) -> tuple[Floats, Floats]:
        """Return the placements of records; the mean of either is AUROC (DeLong 1988).

        For each hallucinated record it is the share of the others below it. For each other record
        it is the share of the hallucinated above it. Ties count half.
        """
        bad, good = (ranks[which] for which in self._kinds)
        others = np.bincount(good, minlength=count)
        worse = np.bincount(bad, minlength=count)
        under = (np.cumsum(others) - others / 2) / len(good)
        over = 1 - (np.cumsum(worse) - worse / 2) / len(bad)
        return under[bad], over[good]

    def margin(self, tier: Ints) -> float:
        """Return the margin of records that stop at ``tier`` (n,).

        It is their AUROC, less ``keep`` times that of the full ensemble, less ``z`` standard errors
        of this difference. The error is DeLong's, for whole groups (Obuchowski 1997).
        """
        under, over = self._placed(tier)
        under, over = under - self._least[0], over - self._least[1]
        m, n = len(under), len(over)
        value = float(under.sum()) / m
        if not self.z:
            return value
        member, units = self._units
        if units < 2:
            return -np.inf
        pull = np.empty(m + n)
        for which, part in zip(self._kinds, (under, over), strict=True):
            pull[which] = (part - value) / len(part)
        if units < m + n:
            pull = np.bincount(member, weights=pull).astype(np.float64)
        return value - self.z * float(np.sqrt(units / (units - 1) * (pull @ pull)))

    def _placed(self, tier: Ints) -> tuple[Floats, Floats]:
        ranks, count = self._ranks
        return self._placements(ranks[np.arange(len(tier)), tier], count)

    def cost(self, tier: Ints) -> float:
        """Return the mean cost, as a share of the full ensemble's."""
        return float(self.total[tier].mean())

    def auroc(self, tier: Ints) -> float:
        """Return the AUROC of records that stop at ``tier``."""
        return float(self._placed(tier)[0].mean())


@dataclass(frozen=True)
class FoundExits:
    """The cheapest thresholds found, with their cost and margin."""

    exits: Exits
    cost: float
    margin: float


def find(problem: ExitProblem) -> FoundExits | None:
    """Find the cheapest thresholds with a margin of at least 0; None if even a cascade that never
    stops early has a negative one."""
    return _Search(problem).run()


class _Search:
    def __init__(self, problem: ExitProblem) -> None:
        self.problem = problem
        self.tiers = problem.risks.shape[1]
        self.best: FoundExits | None = None
        self._known: dict[Exits, tuple[float, float]] = {}

    def run(self) -> FoundExits | None:
        none = (np.inf,) * (self.tiers - 1)
        never = Exits(tuple(-x for x in none), none)
        self._try(never)
        if self.tiers == 1:
            return self.best
        low, high = np.log(1e-4), np.log(_DEAREST)
        self._climb(never, _DEAREST)
        for _ in range(_PRICES):
            price = (low + high) / 2
            if self._climb(never, float(np.exp(price))):
                low = price
            else:
                high = price
        if self.best is not None:
            self._refine()
        return self.best

    def _try(self, exits: Exits) -> tuple[float, float]:
        """Return margin and cost, and remember the best exits so far."""
        if exits in self._known:
            return self._known[exits]
        tier = exits.stops(self.problem.risks)
        margin, cost = self.problem.margin(tier), self.problem.cost(tier)
        best = self.best
        if margin >= 0 and (best is None or (cost, -margin) < (best.cost, -best.margin)):
            self.best = FoundExits(exits, cost, margin)
        self._known[exits] = margin, cost
        return margin, cost

    def _climb(self, exits: Exits, price: float) -> bool:
        """Improve ``exits`` tier by tier for ``margin - price * cost``; return True if the final
        margin is at least 0."""
        margin, cost = self._try(exits)
        value = margin - price * cost
        for _ in range(_ROUNDS):
            before = value
            for t in range(self.tiers - 1):
                cuts = self._cuts(exits, t, _LEVELS)
                for candidate in _pairs(exits, t, cuts, cuts):
                    m, c = self._try(candidate)
                    if m - price * c > value:
                        value, exits, margin = m - price * c, candidate, m
            if value <= before:
                break
        return margin >= 0

    def _refine(self) -> None:
        for _ in range(_ROUNDS):
            assert self.best is not None
            before = self.best.cost
            for t in range(self.tiers - 1):
                exits = self.best.exits
                cuts = self._cuts(exits, t, _LEVELS * _FINER)
                near = [_near(cuts, side[t]) for side in (exits.low, exits.high)]
                for candidate in _pairs(exits, t, *near):
                    self._try(candidate)
            if self.best.cost >= before:
                return

    def _cuts(self, exits: Exits, t: int, levels: int) -> Floats:
        """Return ascending candidates for a threshold of tier ``t``.

        They lie midway between neighbouring risks of the records that reach it: at most ``levels``,
        evenly by rank.
        """
        here = self.problem.risks[exits.stops(self.problem.risks) >= t, t]
        values = np.sort(here[~np.isnan(here)])
        if not len(values):
            return np.empty(0)
        middle = (values[1:] + values[:-1]) / 2
        middle = np.unique(middle[values[1:] > values[:-1]])
        if len(middle) <= levels:
            return middle
        at = np.unique(np.searchsorted(middle, np.quantile(values, np.linspace(0, 1, levels))))
        places: Floats = middle[np.minimum(at, len(middle) - 1)]
        return places


def _pairs(exits: Exits, t: int, lows: Floats, highs: Floats) -> list[Exits]:
    """Return ``exits`` with every pair of thresholds at tier ``t`` that leaves room between
    them."""
    pairs = []
    for low in (-np.inf, *lows.tolist()):
        for high in (*highs.tolist(), np.inf):
            if low < high:
                pairs.append(
                    Exits(
                        (*exits.low[:t], low, *exits.low[t + 1 :]),
                        (*exits.high[:t], high, *exits.high[t + 1 :]),
                    )
                )
    return pairs


def _near(cuts: Floats, at: float) -> Floats:
    """Return the cuts within a coarse step of ``at``."""
    place = int(np.searchsorted(cuts, at))
    near: Floats = cuts[max(0, place - _FINER) : place + _FINER + 1]
    return near
