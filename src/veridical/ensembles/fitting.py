"""Fits of an ensemble to graded answers, and their recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints
from veridical.ensembles import famd_fit as famd
from veridical.ensembles import stacking
from veridical.ensembles.apply import combined
from veridical.ensembles.ensemble_file import Boosted, Famd, Fit, Logistic, Method
from veridical.ensembles.graded import Graded
from veridical.errors import UsageError, option_named, unknown_name
from veridical.stats import weights
from veridical.stats.calibration import METHODS, Calibration
from veridical.stats.calibration import fit as fit_calibration
from veridical.stats.folds import grouped_folds
from veridical.stats.objectives import Positive, check_beta, check_positive, objective_named
from veridical.stats.thresholds import best_threshold

if TYPE_CHECKING:
    from veridical.ensembles.ensemble_file import StoredGuarantee


LEARNED = ("weighted", "logistic", "boosted", "famd")
#: Objective of a threshold if the recipe's objective needs no threshold (eq. 22).
THRESHOLD_OBJECTIVE = "f1"
#: Minimum right, and minimum hallucinated, targets of a stratum for its own fit.
FEWEST = 20
#: Maximum components in a weight search.
MOST = 12
_COPY = 0.98  # rank correlation at or above which one of two components suffices
_INNER = 5  # folds for out-of-fold stacked risks


@dataclass(frozen=True)
class Recipe:
    """Method and objective of a fit.

    Attributes:
        method: weighted mean, or one of the learned methods.
        objective: name in :data:`~veridical.stats.objectives.OBJECTIVES`, for the weights and, if
            applicable, the threshold. Learned methods have their own loss instead of the former.
        joint: weights and threshold jointly (eq. 23).
        calibrate: method of :mod:`veridical.stats.calibration`; None for no calibration.
        seed: seed of search, folds and trees.
        positive: the class that objective and threshold are to find.
        min_precision: minimum precision of this class; the threshold then has the highest recall
            that reaches it. None: by the objective.
    """

    method: Method = "weighted"
    objective: str = "auroc"
    joint: bool = False
    beta: float = 1.0
    calibrate: str | None = None
    seed: int = 0
    positive: Positive = "hallucinated"
    min_precision: float | None = None

    def check(self) -> None:
        """Check that the recipe is valid and consistent.

        Raises:
            UsageError: a value is unknown, or values cannot be combined.
        """
        objective = objective_named(self.objective)
        check_beta(self.beta)
        check_positive(self.positive)
        if self.method not in LEARNED:
            raise unknown_name("method", self.method, LEARNED)
        if self.calibrate is not None and self.calibrate not in METHODS:
            raise unknown_name("calibration", self.calibrate, METHODS)
        if self.beta != 1.0 and self.objective != "f_beta":
            raise UsageError(
                f"{option_named('beta')} goes with {option_named('objective', 'f_beta')}"
            )
        if self.min_precision is not None and not 0 < self.min_precision <= 1:
            raise UsageError(
                f"{option_named('min_precision')} must be above 0 and at most 1, not "
                f"{self.min_precision:g}"
            )
        if self.min_precision is not None and self.joint:
            raise UsageError(
                f"{option_named('joint')} determines the threshold, so it cannot be combined "
                f"with {option_named('min_precision')}"
            )
        if self.joint and self.method != "weighted":
            raise UsageError(
                f"{option_named('joint')} tunes weights, which method {self.method!r} does not have"
            )
        if self.joint and not objective.needs_threshold:
            raise UsageError(
                f"{option_named('joint')} requires an objective with a threshold (f1, f_beta, "
                f"balanced_accuracy, accuracy), not {self.objective!r}"
            )

    @property
    def threshold_objective(self) -> str:
        """Objective of the threshold."""
        needs = objective_named(self.objective).needs_threshold
        return self.objective if needs else THRESHOLD_OBJECTIVE


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit: ``weights`` (k,) or ``parameters``; ``threshold`` is on the calibrated scale."""

    weights: Floats | None
    parameters: Logistic | Boosted | Famd | None
    calibration: Calibration | None
    threshold: float | None
    n: int
    positive: int

    def order(self, risks: Floats) -> Floats:
        """Return (n,) risks before calibration, from (n, k) risks; NaN if no component (of weight)
        is scored."""
        return combined(self.weights, self.parameters, risks)

    def calibrated(self, order: Floats) -> Floats:
        """Return (n,) final risks."""
        return order if self.calibration is None else self.calibration.apply(order)

    def as_fit(self, names: tuple[str, ...], guarantee: StoredGuarantee | None = None) -> Fit:
        """Return the fit in the file's form."""
        by_name = None
        if self.weights is not None:
            by_name = dict(zip(names, self.weights.tolist(), strict=True))
        return Fit(
            weights=by_name,
            parameters=self.parameters,
            calibration=None if self.calibration is None else self.calibration.as_dict(),
            threshold=None if self.threshold is None else min(1.0, self.threshold),
            guarantee=guarantee,
            n=self.n,
            positive=self.positive,
        )


@dataclass(frozen=True, eq=False)
class Fits:
    """The fit to all targets, and fits to single strata with enough targets."""

    overall: Fitted
    of: Mapping[str, Fitted] = field(default_factory=dict)

    def order(self, graded: Graded) -> Floats:
        """Return (n,) risks before calibration."""
        order = self.overall.order(graded.risks)
        for fitted, mask in self._by_stratum(graded):
            order[mask] = fitted.order(graded.risks[mask])
        return order

    def risk(self, graded: Graded) -> Floats:
        """Return (n,) final risks."""
        order = self.order(graded)
        risk = self.overall.calibrated(order)
        for fitted, mask in self._by_stratum(graded):
            risk[mask] = fitted.calibrated(order[mask])
        return risk

    def called(self, graded: Graded) -> NDArray[np.bool_]:
        """Return (n,) True if classified as hallucinated; False without a risk."""
        risk = self.risk(graded)
        called = risk >= _cut(self.overall)
        for fitted, mask in self._by_stratum(graded):
            called[mask] = risk[mask] >= _cut(fitted)
        return called

    def without(self, i: int) -> Fits:
        """Return the weights without component ``i``, as the start of a search."""
        return Fits(_without(self.overall, i), {n: _without(f, i) for n, f in self.of.items()})

    def _by_stratum(self, graded: Graded) -> list[tuple[Fitted, NDArray[np.bool_]]]:
        if graded.strata is None:
            return []
        strata = np.array(graded.strata)
        return [(fitted, strata == name) for name, fitted in self.of.items()]


def _cut(fitted: Fitted) -> float:
    return 0.5 if fitted.threshold is None else fitted.threshold


def _without(fitted: Fitted, i: int) -> Fitted:
    return replace(fitted, weights=None if fitted.weights is None else np.delete(fitted.weights, i))


def fit(graded: Graded, recipe: Recipe, start: Fits | None = None, *, decide: bool = True) -> Fits:
    """Fit to all targets, and again to each stratum with :data:`FEWEST` targets of both classes.

    Args:
        start: fits to similar targets, whose weights are the start of the search.
        decide: True to fit calibration and threshold too; without, only the order of risks is
            used.

    Raises:
        UsageError: an extra is not installed.
    """
    overall = fit_one(graded, recipe, None if start is None else start.overall, decide=decide)
    if graded.strata is None:
        return Fits(overall)
    strata = np.array(graded.strata)
    of_strata: dict[str, Fitted] = {}
    for name in sorted(set(graded.strata) - {""}):
        members = graded.take(strata == name)
        if min(members.positives, len(members) - members.positives) >= FEWEST:
            first = None if start is None else start.of.get(name)
            of_strata[name] = fit_one(members, recipe, first, decide=decide)
    return Fits(overall, of_strata)


def fit_one(
    graded: Graded, recipe: Recipe, start: Fitted | None = None, *, decide: bool = True
) -> Fitted:
    """Fit to all targets.

    Threshold and calibration of weights are fitted to the same targets as the weights (eq. 22).
    Stacked models fit these too closely, so theirs are fitted to out-of-fold risks.
    """
    fitted = _model(graded, recipe, start)
    if not decide:
        return fitted
    order = fitted.order(graded.risks)
    if recipe.method in ("logistic", "boosted"):
        order = _out_of_fold(graded, recipe)
    scored = ~np.isnan(order)
    labels = graded.labels[scored]
    both = 0 < labels.sum() < len(labels)
    if recipe.calibrate is not None and both:
        fitted = replace(
            fitted, calibration=fit_calibration(recipe.calibrate, order[scored], labels)
        )
    risk = fitted.calibrated(order[scored])
    if recipe.joint and fitted.threshold is not None:
        # The cut was found on the scale before calibration, which keeps the order. The cut that
        # separates the same answers lies between their calibrated risks.
        threshold = _carried(order[scored], risk, fitted.threshold)
    else:
        threshold = best_threshold(
            labels,
            risk,
            recipe.threshold_objective,
            recipe.beta,
            recipe.positive,
            recipe.min_precision,
        )
    return replace(fitted, threshold=threshold)


def _model(graded: Graded, recipe: Recipe, start: Fitted | None = None) -> Fitted:
    """Return weights or parameters, and the threshold of joint weights."""
    risks, labels = graded.risks, graded.labels
    n, positive = len(labels), int(labels.sum())
    if recipe.method == "weighted":
        chosen = promising(risks, labels)
        first = None
        if start is not None and start.weights is not None and start.weights[chosen].sum() > 0:
            first = start.weights[chosen]
        searched = weights.search(
            risks[:, chosen],
            labels,
            recipe.objective,
            joint=recipe.joint,
            beta=recipe.beta,
            positive=recipe.positive,
            seed=recipe.seed,
            start=first,
        )
        whole = np.zeros(risks.shape[1])
        whole[chosen] = searched.weights
        return Fitted(whole, None, None, searched.threshold, n, positive)
    # a column without any score here is uninformative: as a constant it has no effect
    risks = np.where(np.isnan(risks).all(axis=0), 0.5, risks)
    parameters: Logistic | Boosted | Famd
    if recipe.method == "famd":
        parameters = famd.fit(risks, verdicts(risks))
    elif recipe.method == "logistic":
        parameters = stacking.fit_logistic(risks, labels, graded.degrees)
    else:
        parameters = stacking.fit_boosted(risks, labels, seed=recipe.seed)
    return Fitted(None, parameters, None, None, n, positive)


def promising(risks: Floats, labels: Floats) -> Ints:
    """Return the components for a weight search: those with any score.

    Of more than :data:`MOST`, it returns those with the highest AUROC alone, without near copies of
    a better one.
    """
    from scipy.stats import rankdata

    from veridical.stats.metrics.ranking import auroc

    scored = np.flatnonzero(~np.isnan(risks).all(axis=0))
    if len(scored) <= MOST:
        return scored
    columns = risks[:, scored]
    filled = np.where(np.isnan(columns), np.nanmean(columns, axis=0), columns)
    ranks = rankdata(filled, axis=0)
    alone = np.array([auroc(labels, column) for column in filled.T])
    chosen: list[int] = []
    for i in np.argsort(-alone, kind="stable").tolist():
        copies = (abs(np.corrcoef(ranks[:, i], ranks[:, j])[0, 1]) > _COPY for j in chosen)
        if len(chosen) < MOST and not any(copies):
            chosen.append(i)
    return np.sort(scored[chosen])


def verdicts(risks: Floats) -> list[bool]:
    """Return (k,) True for columns of verdicts (0 or 1) instead of degrees."""
    return [bool(np.isin(column[~np.isnan(column)], (0.0, 1.0)).all()) for column in risks.T]


def _out_of_fold(graded: Graded, recipe: Recipe) -> Floats:
    fold = folds(graded, _INNER, recipe.seed)
    order = np.full(len(graded), np.nan)
    for f in np.unique(fold):
        others = graded.take(fold != f)
        if 0 < others.positives < len(others):
            here = fold == f
            order[here] = _model(others, recipe).order(graded.risks[here])
    return order


def _carried(order: Floats, risk: Floats, threshold: float) -> float:
    """Convert a threshold to the calibrated scale."""
    if risk is order:
        return threshold
    called = np.asarray(order >= threshold)
    above, below = risk[called], risk[~called]
    if not len(above):
        return float(np.nextafter(1.0, 2.0))
    low = float(below.max()) if len(below) else 0.0
    high = float(above.min())
    return (low + high) / 2 if low < high else high


def folds(graded: Graded, count: int, seed: int) -> Ints:
    """Return (n,) the fold of each target; folds are balanced by strata and labels."""
    return grouped_folds(graded.groups, count, seed, labels=graded.labels, strata=graded.strata)
