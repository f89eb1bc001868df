"""Out-of-fold risks: each target judged by fits that have not seen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints
from veridical.ensembles.fitting import Fits, Recipe, fit
from veridical.ensembles.graded import Graded
from veridical.stats.weights import DECIMALS


@dataclass(frozen=True, eq=False)
class HeldOutTargets:
    """Each target judged by fits that have not seen it.

    Attributes:
        order: (n,) risks before calibration; NaN if not scored.
        risk: (n,) final risks.
        called: (n,) True if classified as hallucinated.
        rank: (n,) values for ranking figures, comparable across folds.
        within: (n,) the same within each stratum; not comparable across strata.
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
) -> tuple[HeldOutTargets, list[Fits]]:
    """Judge each target by the fit to the other folds, and return these fits too.

    Args:
        starts: for each fold, fits whose weights are starting points of the search.
        decide: True if more than the order of risks is needed; see :func:`fit`.
    """
    judged = HeldOutTargets(
        np.full(len(graded), np.nan),
        np.full(len(graded), np.nan),
        np.zeros(len(graded), dtype=np.bool_),
        np.full(len(graded), np.nan),
        np.full(len(graded), np.nan),
    )
    fits = []
    for i, f in enumerate(np.unique(fold)):
        of_fold = fold == f
        others, held_out = graded.take(~of_fold), graded.take(of_fold)
        fitted = fit(others, recipe, starts[i] if starts else None, decide=decide)
        fits.append(fitted)
        judged.order[of_fold] = fitted.order(held_out)
        judged.risk[of_fold] = fitted.risk(held_out)
        judged.rank[of_fold] = _quantiles(judged.order[of_fold], fitted.order(graded))
        judged.within[of_fold] = judged.rank[of_fold]
        if graded.strata is not None:
            # several fits share only the scale of calibrated risks
            judged.rank[of_fold] = _quantiles(judged.risk[of_fold], fitted.risk(graded))
            judged.within[of_fold] = _within(fitted, held_out, graded)
        judged.called[of_fold] = fitted.called(held_out)
    return judged, fits


def _quantiles(order: Floats, whole: Floats) -> Floats:
    """Return quantiles of risks among those of all targets by the same fit, since every fold's fit
    has its own scale. No labels are used. With all targets, rather than those of other folds, fits
    that agree give equal quantiles to tied answers of different folds."""
    # rounded, since sums over other rows differ in their last bits
    scored, order = np.sort(np.round(whole[~np.isnan(whole)], DECIMALS)), np.round(order, DECIMALS)
    if not len(scored):
        return order
    middle = np.searchsorted(scored, order, "left") + np.searchsorted(scored, order, "right")
    return np.where(np.isnan(order), np.nan, middle / (2 * len(scored)))


def _within(fitted: Fits, held_out: Graded, whole: Graded) -> Floats:
    """Return quantiles as :func:`_quantiles` does, among the targets of the same stratum's fit."""
    ranks = _quantiles(fitted.overall.order(held_out.risks), fitted.overall.order(whole.risks))
    for name, one in fitted.of.items():
        judged, among = (np.array(graded.strata) == name for graded in (held_out, whole))
        order = one.order(held_out.risks[judged])
        ranks[judged] = _quantiles(order, one.order(whole.risks[among]))
    return ranks
