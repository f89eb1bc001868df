"""The search for a cascade: which scorers it asks in which tier, and where records stop."""

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

#: Of scorers, by their place among all.
Columns: TypeAlias = tuple[int, ...]
#: Tiers that are left, by their place among all, with the scorers that they still have.
_Remaining: TypeAlias = tuple[tuple[int, Columns], ...]

_FOLDS = 3  # by which risks of the graded records are made out of fold
_CHEAP = 0.005  # share of the full cost under which leaving out a tier is not worth a look
_WORTH = 0.02  # share of the full cost that is worth a tier or a look: less may be chance


@dataclass(frozen=True)
class Goal:
    """What a cascade is to achieve.

    Attributes:
        keep: the share of the full ensemble's AUROC to keep, in (0, 1].
        confidence: one-sided, with which the graded records must show that it is kept; 0.5 takes
            the estimate at its word.
        hour: what an hour of models and processors counts beside money for LLM calls.
    """

    keep: float = 0.99
    confidence: float = 0.9
    hour: float = 1.0

    def check(self) -> None:
        """
        Raises:
            UsageError: a figure is out of its range.
        """
        if not 0 < self.keep <= 1:
            raise UsageError(
                f"the share of AUROC to keep must be over 0 and at most 1: {self.keep}"
            )
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"confidence must be from 0.5 to under 1: {self.confidence}")
        if not 0 <= self.hour < np.inf:
            raise UsageError(f"what an hour counts must be a number of at least 0: {self.hour}")

    @property
    def z(self) -> float:
        return statistics.NormalDist().inv_cdf(self.confidence)

    def of(self, cost: Cost) -> float:
        """Seconds and money as one number; what is unknown of a known other counts nothing."""
        return (cost.money or 0.0) + self.hour * (cost.seconds or 0.0) / 3600


@dataclass(frozen=True, eq=False)
class Plan:
    """A learned cascade of some of the tiers.

    Attributes:
        tiers: which, by their place among all.
        columns: (T,) that each tier's fit is of: its own and those of the tiers before it.
        new: (T,) those that it asks: the first tier where a scorer has a weight asks it.
        costs: (T,) of what each tier asks, as shares of the full ensemble's.
    """

    tiers: tuple[int, ...]
    columns: tuple[Columns, ...]
    new: tuple[Columns, ...]
    costs: Floats
    fits: tuple[Fitted, ...]
    exits: Exits

    def after(self, risks: Floats) -> Floats:
        """(n, T) risks after each of its tiers, of (n, k)."""
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
        """The columns that have a weight in the fit to all."""
        weights = self.of(columns).weights
        return columns if weights is None else tuple(np.array(columns)[weights > 0].tolist())

    def risks(self, columns: Columns) -> Floats:
        """(n,) by fits that each know only the other folds; NaN where nothing is scored."""
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
        """(n, T) out-of-fold risks, for each tier's ``columns``."""
        return np.stack([self.risks(c) for c in columns], axis=1)


def search(fits: ColumnFits, tiers: Sequence[Columns], each: Floats, goal: Goal) -> Plan:
    """The cheapest cascade of the scorers, or of those that remain when tiers, and single dear
    scorers, are left out one by one for as long as that makes it hardly dearer."""
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
        if not all(new):  # a tier that asks nothing new: without it there is the same
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
    whole = (every,)  # one tier that asks all: few records, and next to nothing may be lost
    new = (fits.used(every),)
    return Plan((len(tiers) - 1,), whole, new, np.ones(1), (fits.of(every),), Exits((), ()))


def _fewer(remaining: _Remaining, price: Floats, any_tier: bool) -> list[_Remaining]:
    """``remaining`` tiers without one, or without one scorer of a tier, where that may pay."""
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
    """(k,) costs as shares of the full ensemble's; where nothing costs anything, one scorer is as
    dear as another."""
    whole = each[list(used)].sum()
    return each / whole if whole > 0 else np.full(len(each), 1 / len(used))


def _fit(graded: Graded, columns: Columns, recipe: Recipe) -> Fitted:
    return fit_one(graded.select([graded.scorers[i] for i in columns]), recipe)


def risk_of(fitted: Fitted, risks: Floats) -> Floats:
    """(n,) calibrated risks of (n, k), rounded as all that a threshold looks at."""
    risk: Floats = np.clip(fitted.calibrated(fitted.order(risks)), 0, 1).round(DIGITS)
    return risk


def joined(tiers: Iterable[Columns]) -> Columns:
    return tuple(i for columns in tiers for i in columns)
