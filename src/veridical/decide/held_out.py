"""Targets judged by fits that have not seen them, fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.decide.fitting import Fits, Recipe, fit
from veridical.decide.graded import Graded
from veridical.decide.lines import DECIMALS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Judged:
    """Each target by fits that have not seen it.

    Attributes:
        order: (n,) risks before calibration; NaN where not scored.
        risk: (n,) risks as they are given out.
        called: (n,) which are called hallucinated.
        rank: (n,) what ranking figures are of, comparable across folds.
        within: (n,) the same within each stratum; across strata it says nothing.
    """

    order: Floats
    risk: Floats
    called: NDArray[np.bool_]
    rank: Floats
    within: Floats

    @property
    def scored(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.order)


def out_of_fold(
    graded: Graded,
    recipe: Recipe,
    fold: Ints,
    starts: Sequence[Fits] = (),
    *,
    decide: bool = True,
) -> tuple[Judged, list[Fits]]:
    """Each target by the fit to the other folds, and these fits.

    Args:
        starts: for each fold, fits whose weights the search goes on from.
        decide: whether more is wanted than the order of risks; see :func:`fit`.
    """
    judged = Judged(
        np.full(len(graded), np.nan),
        np.full(len(graded), np.nan),
        np.zeros(len(graded), dtype=np.bool_),
        np.full(len(graded), np.nan),
        np.full(len(graded), np.nan),
    )
    fits = []
    for i, f in enumerate(np.unique(fold)):
        own = fold == f
        others, held_out = graded.take(~own), graded.take(own)
        fitted = fit(others, recipe, starts[i] if starts else None, decide=decide)
        fits.append(fitted)
        judged.order[own] = fitted.order(held_out)
        judged.risk[own] = fitted.risk(held_out)
        judged.rank[own] = _quantiles(judged.order[own], fitted.order(graded))
        judged.within[own] = judged.rank[own]
        if graded.strata is not None:
            # of several fits, what they have in common is the scale of the calibrated risk
            judged.rank[own] = _quantiles(judged.risk[own], fitted.risk(graded))
            judged.within[own] = _within(fitted, held_out, graded)
        judged.called[own] = fitted.called(held_out)
    return judged, fits


def _quantiles(order: Floats, whole: Floats) -> Floats:
    """Where risks stand among those of all targets by the same fit, since every fold's fit has a
    scale of its own. No label has a part in it. All targets, not those of the other folds: then
    fits that agree give tied answers of different folds the same place."""
    # rounded, since sums over other rows differ in their last bits
    known, order = np.sort(np.round(whole[~np.isnan(whole)], DECIMALS)), np.round(order, DECIMALS)
    if not len(known):
        return order
    middle = np.searchsorted(known, order, "left") + np.searchsorted(known, order, "right")
    return np.where(np.isnan(order), np.nan, middle / (2 * len(known)))


def _within(fitted: Fits, held_out: Graded, whole: Graded) -> Floats:
    """As :func:`_quantiles`, among the targets of the same stratum's fit."""
    made = _quantiles(fitted.overall.order(held_out.risks), fitted.overall.order(whole.risks))
    here, there = np.array(held_out.strata), np.array(whole.strata)
    for name, own in fitted.of.items():
        risks = own.order(held_out.risks[here == name])
        made[here == name] = _quantiles(risks, own.order(whole.risks[there == name]))
    return made
