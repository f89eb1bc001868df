"""What a tuned ensemble is worth: figures on answers that had no part in the fit.

Nested cross-validation over independent units: everything that is fitted (weights, calibration,
thresholds, trees) is fitted anew without each fold, and judged on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.decide import calibration
from veridical.decide.fitting import FEWEST as OF_STRATUM
from veridical.decide.fitting import Fits, Recipe, fit, folds
from veridical.decide.graded import Graded
from veridical.decide.held_out import Judged, out_of_fold
from veridical.decide.objectives import best_threshold, named
from veridical.errors import UsageError
from veridical.evaluate.comparisons import bootstrap_p, holm
from veridical.evaluate.metrics import Targets, compute
from veridical.evaluate.metrics.metric import finite
from veridical.evaluate.resampling import Resampler, interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tell = Callable[[str], None]

#: Right and hallucinated targets without which there is nothing to tune on.
FEWEST = 10
#: Most resamples in which weights are searched for anew.
REFITS = 100
_MANY = 500  # targets; more of them get fewer refits, as each takes longer, but no fewer than:
_LEAST_REFITS = 40
_OF_RISK = ("brier", "log_loss")


@dataclass(frozen=True)
class Figure:
    """A value with its 95 % interval; None where it is undefined or too few replicates are not."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Row:
    """A component beside the ensemble.

    Attributes:
        n: targets that it scored.
        alone: its figure on these.
        gain: by how much the ensemble is better on the targets that both scored, above 0 better
            whatever the objective; ``p`` is two-sided, by the paired bootstrap, ``p_holm``
            corrected for the number of components.
        weight: in the final fit, with the interval over resamples; None for learned methods.
        needed: by how much the ensemble is better than one tuned without this component; None
            where that was not asked, or there is no other.
    """

    name: str
    n: int
    alone: Figure
    gain: Figure
    p: float | None = None
    p_holm: float | None = None
    weight: Figure | None = None
    needed: Figure | None = None

    @property
    def helps(self) -> bool:
        """Whether the ensemble would be worse without it, if ever so little."""
        return self.needed is None or self.needed.value is None or self.needed.value > 0


class OfStratum(NamedTuple):
    """The figure on ``n`` targets of one stratum: of its ``own`` fit, and of one fit for all."""

    n: int
    own: Figure
    one_fit: Figure


@dataclass(frozen=True, eq=False)
class Nested:
    """The honest figures of one way to tune.

    Attributes:
        n: targets that the ensemble scored, of ``total``.
        without_strata: the figure where one fit serves all strata; None without strata.
        before, after: :func:`~veridical.decide.calibration.assess` of out-of-fold risks before
            and after calibration; None without calibration.
        of_strata: figures of each stratum with enough targets for a fit of its own.
        judged: the out-of-fold risks themselves.
    """

    metric: str
    folds: int
    n: int
    total: int
    ensemble: Figure
    rows: list[Row]
    without_strata: Figure | None
    before: dict[str, object] | None
    after: dict[str, object] | None
    of_strata: Mapping[str, OfStratum]
    judged: Judged = field(repr=False)

    @property
    def best(self) -> Row | None:
        """The component that is best alone."""
        known = [r for r in self.rows if r.alone.value is not None]
        larger = named(self.metric).larger_is_better
        return max(
            known, key=lambda r: (1 if larger else -1) * (r.alone.value or 0.0), default=None
        )

    @property
    def not_helping(self) -> tuple[str, ...]:
        """Components each of which could be left out and nothing would be worse."""
        return tuple(r.name for r in self.rows if not r.helps)


def check_enough(graded: Graded, cv: int) -> None:
    """
    Raises:
        UsageError: there are too few targets of either kind, or too few independent units.
    """
    positive = graded.positives
    negative = len(graded) - positive
    what = "answers" if graded.level == "response" else "sentences"
    if min(positive, negative) < FEWEST:
        raise UsageError(
            f"{positive} hallucinated and {negative} right {what} are too few to tune on: it takes "
            f"{FEWEST} of each, and is worth little under 100 of both"
        )
    units = [len(np.unique(graded.groups[graded.labels == v])) for v in (0.0, 1.0)]
    if min(units) < cv or len(np.unique(graded.groups)) < 2 * cv:
        raise UsageError(
            f"the graded {what} are of {len(np.unique(graded.groups))} independent units "
            f"(prompts), {units[1]} of them with hallucinated ones and {units[0]} with right ones: "
            f"too few for {cv} folds. Grade answers to more prompts; where rows of one prompt do "
            "not depend on each other, a column 'group' says what does"
        )


def nested(
    graded: Graded,
    recipe: Recipe,
    *,
    cv: int = 5,
    bootstrap: int = 1000,
    final: Fits | None = None,
    tell: Tell | None = None,
) -> Nested:
    """The out-of-fold figure of ``recipe``, beside that of every component.

    Components are judged on the same folds: as they are by ranking figures; with a threshold
    fitted to the other folds by those of labels; by ``brier`` and ``log_loss`` with the
    calibration that the ensemble gets (Platt's, where a learned method calibrates by itself).

    Args:
        cv: folds.
        bootstrap: resamples of the independent units behind each interval, 0 for none.
        final: the fit to all, whose overall weights get intervals.
        tell: is told how far it is.

    Raises:
        UsageError: see :func:`check_enough`; or an extra is not installed.
    """
    check_enough(graded, cv)
    say = tell or (lambda text: None)
    fold = folds(graded, cv, recipe.seed)
    objective = named(recipe.objective)
    calibrated = recipe.calibrate is not None
    decided = objective.needs_threshold or recipe.objective in _OF_RISK
    decided = decided or (calibrated and graded.strata is not None)
    judged, fits = out_of_fold(graded, recipe, fold, decide=decided or calibrated)
    say(f"judged on {cv} folds")
    alone = {name: _component(graded, i, recipe, fold) for i, name in enumerate(graded.scorers)}
    whole = _Measure(graded, recipe, bootstrap)
    ensemble, rows = whole.figure(judged), []
    weights = None if final is None else final.overall.weights
    intervals = _weight_intervals(graded, recipe, bootstrap, final, say)
    for i, name in enumerate(graded.scorers):
        gain, p = whole.gain(judged, alone[name])
        weight = None
        if weights is not None:
            weight = Figure(float(weights[i]), *intervals[i])
        needed = None
        if len(graded.scorers) > (2 if recipe.method == "famd" else 1):
            if weights is not None and weights[i] == 0.0:
                needed = Figure(0.0)
            else:
                others = [s for s in graded.scorers if s != name]
                starts = [f.without(i) for f in fits]
                without, _ = out_of_fold(
                    graded.select(others), recipe, fold, starts, decide=decided
                )
                needed, _ = whole.gain(judged, without)
                say(f"tuned without {name}")
        row = Row(name, int(alone[name].scored.sum()), whole.figure(alone[name]), gain, p)
        rows.append(replace(row, weight=weight, needed=needed))
    corrected = holm([r.p for r in rows])
    rows = [replace(r, p_holm=p) for r, p in zip(rows, corrected, strict=True)]
    without_strata, of_strata = None, {}
    if graded.strata is not None:
        plain = replace(graded, strata=None)
        plainly, _ = out_of_fold(plain, recipe, fold, fits, decide=decided)
        without_strata = whole.figure(plainly)
        strata, within = np.array(graded.strata), replace(judged, rank=judged.within)
        for name in sorted(set(graded.strata) - {""}):
            own = strata == name
            positive = int(graded.labels[own].sum())
            if min(positive, int(own.sum()) - positive) >= OF_STRATUM:
                figures = whole.figure(within, own), whole.figure(plainly, own)
                of_strata[name] = OfStratum(int((own & judged.scored).sum()), *figures)
    before = after = None
    if recipe.calibrate is not None:
        before = calibration.assess(judged.order, graded.labels)
        after = calibration.assess(judged.risk, graded.labels)
    return Nested(
        metric=recipe.objective,
        folds=cv,
        n=int(judged.scored.sum()),
        total=len(graded),
        ensemble=ensemble,
        rows=rows,
        without_strata=without_strata,
        before=before,
        after=after,
        of_strata=of_strata,
        judged=judged,
    )


class _Measure:
    """Figures of the objective with intervals, all over the same resamples."""

    def __init__(self, graded: Graded, recipe: Recipe, bootstrap: int) -> None:
        self._graded = graded
        self._recipe = recipe
        self._bootstrap = bootstrap
        self._sign = 1.0 if named(recipe.objective).larger_is_better else -1.0

    def figure(self, judged: Judged, among: NDArray[np.bool_] | None = None) -> Figure:
        """On the targets (of a mask) that are scored."""
        where = judged.scored if among is None else judged.scored & among
        value, replicates = self._of(judged, where)
        return Figure(finite(value), *interval(replicates))

    def gain(self, one: Judged, other: Judged) -> tuple[Figure, float | None]:
        """By how much ``one`` is better on the targets that both scored, and the p-value."""
        both = one.scored & other.scored
        (a, of_a), (b, of_b) = self._of(one, both), self._of(other, both)
        differences = self._sign * (of_a - of_b)
        p = bootstrap_p(differences, len(np.unique(self._graded.groups[both])))
        if a == b and not np.any(differences):
            p = 1.0 if len(differences) else None
        return Figure(finite(self._sign * (a - b)), *interval(differences)), p

    def _of(self, judged: Judged, where: NDArray[np.bool_]) -> tuple[float, Floats]:
        metric, beta = self._recipe.objective, self._recipe.beta
        truth = self._graded.labels[where]
        if not len(truth):
            return math.nan, np.empty(0)
        targets = Targets(
            truth, judged.rank[where], judged.risk[where], judged.called[where].astype(np.int64)
        )
        value = compute([metric], targets, beta=beta)[metric]
        resampler = Resampler(self._graded.groups[where], self._bootstrap, self._recipe.seed)
        found = [compute([metric], targets, w, beta=beta)[metric] for w in resampler.chunks()]
        return value, np.concatenate([np.empty(0), *found])


def _component(graded: Graded, i: int, recipe: Recipe, fold: Ints) -> Judged:
    """One component alone, judged as the ensemble is."""
    order = graded.risks[:, i]
    risk = order.copy()
    called = np.zeros(len(order), dtype=np.bool_)
    objective = named(recipe.objective)
    method = recipe.calibrate
    if method is None and recipe.method in ("logistic", "boosted"):
        method = "platt"
    calibrated = method is not None and recipe.objective in _OF_RISK
    scored = ~np.isnan(order)
    for f in np.unique(fold):
        own, other = scored & (fold == f), scored & (fold != f)
        labels = graded.labels[other]
        if calibrated and method is not None and 0 < labels.sum() < len(labels):
            risk[own] = calibration.fit(method, order[other], labels).apply(order[own])
        if objective.needs_threshold and len(labels):
            cut, _ = best_threshold(labels, order[other], recipe.objective, recipe.beta)
            called[own] = order[own] >= cut
    return Judged(order, risk, called, order, order)


def _weight_intervals(
    graded: Graded, recipe: Recipe, bootstrap: int, final: Fits | None, say: Tell
) -> Mapping[int, tuple[float | None, float | None]]:
    """95 % interval of each weight, searched for anew on resamples of the independent units."""
    k = len(graded.scorers)
    if final is None or final.overall.weights is None:
        return {}
    found: list[Floats] = []
    plain = replace(graded, strata=None)
    most = REFITS if len(graded) <= _MANY else REFITS * _MANY // len(graded)
    resampler = Resampler(graded.groups, min(bootstrap, max(_LEAST_REFITS, most)), recipe.seed)
    for chunk in resampler.chunks():
        for counts in chunk:
            drawn = plain.take(np.repeat(np.arange(len(graded)), counts.astype(np.int64)))
            if 0 < drawn.positives < len(drawn):
                made = fit(drawn, recipe, final, decide=False).overall.weights
                assert made is not None
                found.append(made)
            if len(found) % 50 == 0:
                say(f"weights searched for in {len(found)} of {resampler.replicates} resamples")
    table = np.array(found).reshape(-1, k)
    return {i: interval(table[:, i]) for i in range(k)}
