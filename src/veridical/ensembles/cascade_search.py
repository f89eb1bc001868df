"""Search for a cascade: scorers of each tier, and exits of records."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from veridical.arrays import Floats
from veridical.ensembles.cascade_file import Cost
from veridical.ensembles.exits import ExitProblem, Exits, find
from veridical.ensembles.fitting import Fitted, Recipe, fit_one, folds
from veridical.ensembles.graded import DIGITS, Graded
from veridical.errors import UsageError

#: Indices of scorers.
Columns: TypeAlias = tuple[int, ...]
#: Indices of the remaining tiers, with their remaining scorers.
_Remaining: TypeAlias = tuple[tuple[int, Columns], ...]

_FOLDS = 3  # for out-of-fold risks of the graded records
_CHEAP = 0.005  # share of the full cost below which leaving out a tier is not tried
_WORTH = 0.02  # share of the full cost that justifies a tier or a trial: less may be chance


@dataclass(frozen=True)
class Goal:
    """The goal of a cascade.

    Attributes:
        keep: share of the full ensemble's AUROC to keep, in (0, 1].
        confidence: one-sided confidence, on the graded records, that it is kept; 0.5 uses the
            estimate itself.
        hour: price of an hour of models and processors, relative to money for LLM calls.
    """

    keep: float = 0.99
    confidence: float = 0.9
    hour: float = 1.0

    def check(self) -> None:
        """Check the ranges of the figures.

        Raises:
            UsageError: a figure is out of its range.
        """
        if not 0 < self.keep <= 1:
            raise UsageError(
                f"the share of AUROC to keep must be over 0 and at most 1, not {self.keep}"
            )
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"confidence must be from 0.5 to under 1, not {self.confidence}")
        if not 0 <= self.hour < np.inf:
            raise UsageError(
                f"the price of an hour must be a number of at least 0, not {self.hour}"
            )

    @property
    def z(self) -> float:
        return statistics.NormalDist().inv_cdf(self.confidence)

    def of(self, cost: Cost) -> float:
        """Combine seconds and money into one number; an unknown one counts as 0 if the other is
        known."""
        return (cost.money or 0.0) + self.hour * (cost.seconds or 0.0) / 3600


@dataclass(frozen=True, eq=False)
class Plan:
    """A learned cascade of some of the tiers.

    Attributes:
        tiers: indices of the tiers.
        columns: (T,) columns of each tier's fit: its own and those of the tiers before it.
        new: (T,) columns that each tier adds: a scorer belongs to the first tier where it has a
            weight.
        costs: (T,) cost of each tier, as a share of the full ensemble's.
    """

    tiers: tuple[int, ...]
    columns: tuple[Columns, ...]
    new: tuple[Columns, ...]
    costs: Floats
    fits: tuple[Fitted, ...]
    exits: Exits

    def after(self, risks: Floats) -> Floats:
        """Return (n, T) risks after each of its tiers, from (n, k) risks."""
        columns_after = [
            risk_of(fitted, risks[:, columns])
            for fitted, columns in zip(self.fits, self.columns, strict=True)
        ]
        return np.stack(columns_after, axis=1)


class ColumnFits:
    """Fits by the columns they are of: to all graded records, and out of fold."""

    def __init__(self, graded: Graded, recipe: Recipe) -> None:
        self.graded = graded
        self._recipe = recipe
        self._fold = folds(graded, _FOLDS, recipe.seed)
        self._made: dict[Columns, Fitted] = {}
        self._risks: dict[Columns, Floats] = {}

    def of(self, columns: Columns) -> Fitted:
        if columns not in self._made:
            self._made[columns] = _fit(self.graded, columns, self._recipe)
        return self._made[columns]

    def used(self, columns: Columns) -> Columns:
        """Return the columns with a weight in the fit to all."""
        weights = self.of(columns).weights
        return columns if weights is None else tuple(np.array(columns)[weights > 0].tolist())

    def risks(self, columns: Columns) -> Floats:
        """Return (n,) out-of-fold risks; NaN if nothing is scored."""
        if columns not in self._risks:
            risk = np.full(len(self.graded), np.nan)
            for f in range(_FOLDS):
                here = np.flatnonzero(self._fold == f)
                fitted = _fit(
                    self.graded.take(np.flatnonzero(self._fold != f)), columns, self._recipe
                )
                risk[here] = risk_of(fitted, self.graded.risks[here][:, columns])
            self._risks[columns] = risk
        return self._risks[columns]

    def after(self, columns: Sequence[Columns]) -> Floats:
        """Return (n, T) out-of-fold risks, for each tier's ``columns``."""
        return np.stack([self.risks(c) for c in columns], axis=1)


def search(fits: ColumnFits, tiers: Sequence[Columns], each: Floats, goal: Goal) -> Plan:
    """Find the cheapest cascade.

    Tiers, and single expensive scorers, are left out one by one as long as the cost hardly rises.
    """
    graded = fits.graded
    every = joined(tiers)
    price = _prices(each, fits.used(every))
    full = fits.risks(every)
    full = np.where(np.isnan(full), 0.5, full)

    def solve(remaining: _Remaining) -> tuple[_Remaining, Plan, float] | None:
        columns = tuple(joined(c for _, c in remaining[: i + 1]) for i in range(len(remaining)))
        new: list[Columns] = []
        for c in columns:
            new.append(tuple(i for i in fits.used(c) if not any(i in a for a in new)))
        if not all(new):  # a tier without new scorers is redundant
            return None
        costs = np.array([price[list(a)].sum() for a in new])
        best_exits = find(
            ExitProblem(
                fits.after(columns), full, costs, graded.labels, graded.groups, goal.keep, goal.z
            )
        )
        if best_exits is None:
            return None
        fitted = tuple(fits.of(c) for c in columns)
        places = tuple(t for t, _ in remaining)
        plan = Plan(places, columns, tuple(new), costs, fitted, best_exits.exits)
        return remaining, plan, best_exits.cost

    remaining: _Remaining = tuple(enumerate(tiers))
    best = solve(remaining)
    least = np.inf if best is None else best[2]
    while True:
        solutions = [solve(fewer) for fewer in _fewer(remaining, price, best is None)]
        cheapest = min((f for f in solutions if f is not None), key=lambda f: f[2], default=None)
        if cheapest is None or cheapest[2] > least + _WORTH:
            break
        best, remaining, least = cheapest, cheapest[0], min(least, cheapest[2])
    if best is not None:
        return best[1]
    whole = (every,)  # one tier with all scorers: few records, and next to no loss is allowed
    new = (fits.used(every),)
    return Plan((len(tiers) - 1,), whole, new, np.ones(1), (fits.of(every),), Exits((), ()))


def _fewer(remaining: _Remaining, price: Floats, any_tier: bool) -> list[_Remaining]:
    """Return the ``remaining`` tiers without one tier, or without one scorer of a tier, where that
    may pay off."""
    choices = []
    for place, (t, columns) in enumerate(remaining):
        before, after = remaining[:place], remaining[place + 1 :]
        last = not after
        if (before or after) and (any_tier or last or price[list(columns)].sum() >= _CHEAP):
            choices.append(before + after)
        if len(columns) > 1:
            dear = [i for i in columns if price[i] >= _WORTH]
            choices += [(*before, (t, tuple(j for j in columns if j != i)), *after) for i in dear]
    return choices


def _prices(each: Floats, used: Columns) -> Floats:
    """Return (k,) costs as shares of the full ensemble's; if nothing has a cost, all scorers cost
    the same."""
    whole = each[list(used)].sum()
    return each / whole if whole > 0 else np.full(len(each), 1 / len(used))


def _fit(graded: Graded, columns: Columns, recipe: Recipe) -> Fitted:
    return fit_one(graded.select([graded.scorers[i] for i in columns]), recipe)


def risk_of(fitted: Fitted, risks: Floats) -> Floats:
    """Return (n,) calibrated risks from (n, k) risks, rounded for comparisons with thresholds."""
    risk: Floats = np.clip(fitted.calibrated(fitted.order(risks)), 0, 1).round(DIGITS)
    return risk


def joined(tiers: Iterable[Columns]) -> Columns:
    return tuple(i for columns in tiers for i in columns)
