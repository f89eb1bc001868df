"""Unbiased figures of a tuned ensemble, by nested cross-validation.

Folds are over independent units. Everything that is fitted (weights, calibration, thresholds,
trees) is fitted without each fold, and judged on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints
from veridical.ensembles.fitting import FEWEST as OF_STRATUM
from veridical.ensembles.fitting import Fits, Recipe, fit, folds
from veridical.ensembles.graded import Graded, Level
from veridical.errors import UsageError
from veridical.stats import calibration
from veridical.stats.comparisons import bootstrap_p, holm
from veridical.stats.metrics import Targets, compute
from veridical.stats.metrics.metric import finite
from veridical.stats.objectives import objective_named
from veridical.stats.resampling import Resampler, interval
from veridical.stats.thresholds import best_threshold
from veridical.tuning.held_out import HeldOutTargets, out_of_fold

Tell = Callable[[str], None]

#: Minimum right, and minimum hallucinated, targets for tuning.
FEWEST = 10
#: Beginning of the note on components that do not help.
NOT_HELPING = "each of these alone"
#: Name of the default ensemble in tables.
UNTUNED = "default (not tuned)"
#: Maximum resamples with repeated weight searches.
REFITS = 100
#: Share of right answers that may be flagged when counting the wrong ones found.
ALARMS = 0.1
_MANY = 500  # targets; beyond it fewer refits are made, as each takes longer, down to:
_LEAST_REFITS = 40
_OF_RISK = ("brier", "log_loss")


@dataclass(frozen=True)
class NestedFigure:
    """A value with its 95 % interval; None if it is undefined, or too many replicates are."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Caught(NamedTuple):
    """Number of the ``wrong`` targets above the threshold that at most :data:`ALARMS` of the right
    ones exceed."""

    caught: int
    wrong: int
    threshold: float


@dataclass(frozen=True)
class ComponentRow:
    """A component in comparison with the ensemble.

    Attributes:
        n: targets that it scored.
        alone: its figure on these.
        gain: advantage of the ensemble on targets that both scored, above 0 if better, whatever
            the objective. ``p`` is two-sided, by the paired bootstrap, ``p_holm`` corrected for
            the number of components.
        weight: weight in the final fit, with its interval over resamples; None for learned
            methods.
        needed: advantage of the ensemble over one tuned without this component; None if not
            computed, or if there is no other component.
        caught: wrong targets found by its risk alone; None if it scored only one class.
    """

    name: str
    n: int
    alone: NestedFigure
    gain: NestedFigure
    p: float | None = None
    p_holm: float | None = None
    weight: NestedFigure | None = None
    needed: NestedFigure | None = None
    caught: Caught | None = None

    @property
    def helps(self) -> bool:
        """True if the ensemble would be worse without it, however little."""
        return self.needed is None or self.needed.value is None or self.needed.value > 0


class OfStratum(NamedTuple):
    """Figure on ``n`` targets of one stratum, with its own fit, and with one fit for all."""

    n: int
    own_fit: NestedFigure
    one_fit: NestedFigure


class AtPrecision(NamedTuple):
    """Results of thresholds for a precision, on targets that they were not fitted to.

    Attributes:
        least: the required precision.
        called: targets classified as positive, of which ``right`` are.
        n: targets of the positive class.
    """

    least: float
    precision: NestedFigure
    recall: NestedFigure
    called: int
    right: int
    n: int


@dataclass(frozen=True, eq=False)
class Nested:
    """Unbiased figures of one way to tune.

    Attributes:
        n: targets that the ensemble scored, of ``total``.
        without_strata: figure with one fit for all strata; None without strata.
        before, after: :func:`~veridical.stats.calibration.assess` of out-of-fold risks before
            and after calibration; None without calibration.
        of_strata: figures of each stratum with enough targets for its own fit.
        caught: wrong targets found by the ensemble, by the ranks of ``judged``.
        at_precision: results of thresholds for ``min_precision``; None if not set.
        untuned: the default ensemble on the same targets; None if it was not run.
        judged: the out-of-fold risks, for the ``labels``.
    """

    metric: str
    folds: int
    n: int
    total: int
    ensemble: NestedFigure
    rows: list[ComponentRow]
    without_strata: NestedFigure | None
    before: dict[str, object] | None
    after: dict[str, object] | None
    of_strata: Mapping[str, OfStratum]
    caught: Caught | None
    judged: HeldOutTargets = field(repr=False)
    labels: Floats = field(repr=False)
    at_precision: AtPrecision | None = None
    untuned: ComponentRow | None = None

    @property
    def best(self) -> ComponentRow | None:
        """The component with the best figure alone."""
        scored = [r for r in self.rows if r.alone.value is not None]
        larger = objective_named(self.metric).larger_is_better
        return max(
            scored, key=lambda r: (1 if larger else -1) * (r.alone.value or 0.0), default=None
        )

    @property
    def not_helping(self) -> tuple[str, ...]:
        """Components that could each be left out without loss."""
        return tuple(r.name for r in self.rows if not r.helps)


def caught(labels: Floats, order: Floats) -> Caught | None:
    """Count wrong targets (label 1) found at :data:`ALARMS` false alarms, among those with an
    ``order``; None if there is only one class."""
    scored = ~np.isnan(order)
    wrong, right = order[scored & (labels >= 0.5)], order[scored & (labels < 0.5)]
    if not len(wrong) or not len(right):
        return None
    cut = np.sort(right)[::-1][int(ALARMS * len(right))]
    above = order[order > cut]
    # midway, so that no answer depends on the last digit of a risk
    threshold = cut if not len(above) else (cut + above.min()) / 2
    return Caught(int(np.sum(wrong > cut)), len(wrong), float(threshold))


def check_counts(positive: int, negative: int, level: Level, why: str = "") -> None:
    """Check that there are enough targets of either class.

    Args:
        why: reason why there are not more.

    Raises:
        UsageError: there are too few.
    """
    if min(positive, negative) < FEWEST:
        what = "answers" if level == "response" else "sentences"
        raise UsageError(
            f"{positive} hallucinated and {negative} right {what} are too few to tune on; "
            f"provide at least {FEWEST} of each, better 100"
            f"{f' ({why})' if why else ''}"
        )


def check_enough(graded: Graded, cv: int) -> None:
    """Check that there are enough targets and independent units.

    Raises:
        UsageError: there are too few targets of either kind, or too few independent units.
    """
    positive = graded.positives
    negative = len(graded) - positive
    what = "answers" if graded.level == "response" else "sentences"
    check_counts(positive, negative, graded.level)
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
    """Compute the out-of-fold figures of ``recipe`` and of every component.

    Components are judged on the same folds. Ranking figures use their risks unaltered; figures of
    labels use a threshold fitted to the other folds. ``brier`` and ``log_loss`` use the ensemble's
    calibration (Platt's, for a learned method that calibrates itself).

    Args:
        cv: number of folds.
        bootstrap: resamples of the independent units for each interval, 0 for none.
        final: the fit to all, whose overall weights get intervals.
        tell: callback(text) with the progress.

    Raises:
        UsageError: see :func:`check_enough`; or an extra is not installed.
    """
    check_enough(graded, cv)
    say = tell or (lambda text: None)
    fold = folds(graded, cv, recipe.seed)
    objective = objective_named(recipe.objective)
    calibrated = recipe.calibrate is not None
    decided = objective.needs_threshold or recipe.objective in _OF_RISK
    decided = decided or recipe.min_precision is not None
    decided = decided or (calibrated and graded.strata is not None)
    judged, fits = out_of_fold(graded, recipe, fold, decide=decided or calibrated)
    say(f"judged on {cv} folds")
    whole = _Measure(graded, recipe, bootstrap)
    ensemble, rows = whole.figure(judged), []
    weights = None if final is None else final.overall.weights
    intervals = _weight_intervals(graded, recipe, bootstrap, final, say)
    several = len(graded.scorers) > (2 if recipe.method == "famd" else 1)
    for i, name in enumerate(graded.scorers):
        component = _component(graded, graded.risks[:, i], recipe, fold)
        gain, p = whole.gain(judged, component)
        weight = None if weights is None else NestedFigure(float(weights[i]), *intervals[i])
        needed = None
        if several and weights is not None and weights[i] == 0.0:
            needed = NestedFigure(0.0)
        elif several:
            others = graded.select([s for s in graded.scorers if s != name])
            starts = [f.without(i) for f in fits]
            without, _ = out_of_fold(others, recipe, fold, starts, decide=decided)
            needed, _ = whole.gain(judged, without)
            say(f"tuned without {name}")
        row = ComponentRow(name, int(component.scored.sum()), whole.figure(component), gain, p)
        found = caught(graded.labels, component.order)
        rows.append(replace(row, weight=weight, needed=needed, caught=found))
    corrected = holm([r.p for r in rows])
    rows = [replace(r, p_holm=p) for r, p in zip(rows, corrected, strict=True)]
    without_strata, of_strata = None, {}
    if graded.strata is not None:
        plain = replace(graded, strata=None)
        one_fit, _ = out_of_fold(plain, recipe, fold, fits, decide=decided)
        without_strata = whole.figure(one_fit)
        of_strata = _of_strata(graded, whole, judged, one_fit)
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
        caught=caught(graded.labels, judged.rank),
        judged=judged,
        labels=graded.labels,
        at_precision=whole.at_precision(judged),
        untuned=_untuned(graded, recipe, fold, whole, judged),
    )


def _of_strata(
    graded: Graded, whole: _Measure, judged: HeldOutTargets, one_fit: HeldOutTargets
) -> dict[str, OfStratum]:
    """Return figures of each stratum with enough targets for its own fit."""
    strata, within = np.array(graded.strata), replace(judged, rank=judged.within)
    figures = {}
    for name in sorted(set(strata.tolist()) - {""}):
        here = strata == name
        positive = int(graded.labels[here].sum())
        if min(positive, int(here.sum()) - positive) >= OF_STRATUM:
            n = int((here & judged.scored).sum())
            figures[name] = OfStratum(n, whole.figure(within, here), whole.figure(one_fit, here))
    return figures


class _Measure:
    """Figures of the objective with intervals, all over the same resamples."""

    def __init__(self, graded: Graded, recipe: Recipe, bootstrap: int) -> None:
        self._graded = graded
        self._recipe = recipe
        self._bootstrap = bootstrap
        self._sign = 1.0 if objective_named(recipe.objective).larger_is_better else -1.0

    def figure(
        self, judged: HeldOutTargets, among: NDArray[np.bool_] | None = None
    ) -> NestedFigure:
        """Return the figure on the scored targets (of a mask)."""
        where = judged.scored if among is None else judged.scored & among
        value, replicates = self._of(judged, where)
        return NestedFigure(finite(value), *interval(replicates))

    def gain(self, one: HeldOutTargets, other: HeldOutTargets) -> tuple[NestedFigure, float | None]:
        """Return the advantage of ``one`` on the targets that both scored, and the p-value."""
        both = one.scored & other.scored
        (a, of_a), (b, of_b) = self._of(one, both), self._of(other, both)
        differences = self._sign * (of_a - of_b)
        p = bootstrap_p(differences, len(np.unique(self._graded.groups[both])))
        if a == b and not np.any(differences):
            p = 1.0 if len(differences) else None
        return NestedFigure(finite(self._sign * (a - b)), *interval(differences)), p

    def at_precision(self, judged: HeldOutTargets) -> AtPrecision | None:
        """Return the results of the thresholds for a precision, if required."""
        least = self._recipe.min_precision
        if least is None:
            return None
        where = judged.scored
        positive = self._recipe.positive == "hallucinated"
        wanted = (self._graded.labels[where] >= 0.5) == positive
        called = judged.called[where] == positive
        figures = {}
        for metric in ("precision", "recall"):
            value, replicates = self._of(judged, where, metric)
            figures[metric] = NestedFigure(finite(value), *interval(replicates))
        return AtPrecision(
            least,
            figures["precision"],
            figures["recall"],
            called=int(called.sum()),
            right=int((wanted & called).sum()),
            n=int(wanted.sum()),
        )

    def _of(
        self, judged: HeldOutTargets, where: NDArray[np.bool_], metric: str | None = None
    ) -> tuple[float, Floats]:
        metric, beta = metric or self._recipe.objective, self._recipe.beta
        truth = self._graded.labels[where]
        if not len(truth):
            return math.nan, np.empty(0)
        rank, risk = judged.rank[where], judged.risk[where]
        called = judged.called[where].astype(np.int64)
        targets = Targets(truth, rank, risk, called)
        if self._recipe.positive == "correct":
            targets = Targets(1 - truth, -rank, 1 - risk, 1 - called)
        value = compute([metric], targets, beta=beta)[metric]
        resampler = Resampler(self._graded.groups[where], self._bootstrap, self._recipe.seed)
        replicates = [compute([metric], targets, w, beta=beta)[metric] for w in resampler.chunks()]
        return value, np.concatenate([np.empty(0), *replicates])


def _untuned(
    graded: Graded, recipe: Recipe, fold: Ints, whole: _Measure, judged: HeldOutTargets
) -> ComponentRow | None:
    """Return the default ensemble, which has seen no labels, in comparison with the tuned one."""
    if graded.untuned is None:
        return None
    default = _component(graded, graded.untuned, recipe, fold)
    gain, p = whole.gain(judged, default)
    figure = whole.figure(default)
    found = caught(graded.labels, default.order)
    return ComponentRow(UNTUNED, int(default.scored.sum()), figure, gain, p, caught=found)


def _component(graded: Graded, order: Floats, recipe: Recipe, fold: Ints) -> HeldOutTargets:
    """Judge one component alone, in the same way as the ensemble."""
    risk = order.copy()
    called = np.zeros(len(order), dtype=np.bool_)
    objective = objective_named(recipe.objective)
    method = recipe.calibrate
    if method is None and recipe.method in ("logistic", "boosted"):
        method = "platt"
    calibrated = method is not None and recipe.objective in _OF_RISK
    scored = ~np.isnan(order)
    for f in np.unique(fold):
        of_fold, of_others = scored & (fold == f), scored & (fold != f)
        labels = graded.labels[of_others]
        if calibrated and method is not None and 0 < labels.sum() < len(labels):
            risk[of_fold] = calibration.fit(method, order[of_others], labels).apply(order[of_fold])
        if objective.needs_threshold and len(labels):
            cut = best_threshold(
                labels, order[of_others], recipe.objective, recipe.beta, recipe.positive
            )
            called[of_fold] = order[of_fold] >= cut
    return HeldOutTargets(order, risk, called, order, order)


def _weight_intervals(
    graded: Graded, recipe: Recipe, bootstrap: int, final: Fits | None, say: Tell
) -> Mapping[int, tuple[float | None, float | None]]:
    """Return the 95 % interval of each weight, by repeated searches on resamples of the independent
    units."""
    k = len(graded.scorers)
    if final is None or final.overall.weights is None:
        return {}
    tables: list[Floats] = []
    plain = replace(graded, strata=None)
    most = REFITS if len(graded) <= _MANY else REFITS * _MANY // len(graded)
    resampler = Resampler(graded.groups, min(bootstrap, max(_LEAST_REFITS, most)), recipe.seed)
    for chunk in resampler.chunks():
        for counts in chunk:
            sample = plain.take(np.repeat(np.arange(len(graded)), counts.astype(np.int64)))
            if 0 < sample.positives < len(sample):
                weights = fit(sample, recipe, final, decide=False).overall.weights
                assert weights is not None
                tables.append(weights)
            if len(tables) % 50 == 0:
                say(f"weights searched for in {len(tables)} of {resampler.replicates} resamples")
    table = np.array(tables).reshape(-1, k)
    return {i: interval(table[:, i]) for i in range(k)}
