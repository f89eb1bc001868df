"""Cascades: cheap scorers first, expensive ones only for uncertain records.

Tiers range from scorers without models to judges. After each tier, an ensemble of all scorers so
far yields a calibrated risk. A record with a low or high enough risk stops there. Tiers that do
not pay off are left out. Figures of a learned cascade are on records that it was not learned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from veridical.arrays import Floats
from veridical.core.registry import REGISTRY
from veridical.ensembles.cascade_file import Cascade, CascadeFigures, Cost, Tier
from veridical.ensembles.cascade_search import ColumnFits, Columns, Goal, joined, risk_of, search
from veridical.ensembles.ensemble_file import Component, FittedOn, StoredFigure
from veridical.ensembles.exits import newest
from veridical.ensembles.fitting import FEWEST, Fitted, Recipe, folds
from veridical.ensembles.graded import Graded
from veridical.errors import UsageError
from veridical.stats.metrics.ranking import auroc
from veridical.stats.resampling import Resampler, interval
from veridical.version import __version__

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer


#: Names of the tiers, in order, and the most expensive cost of their scorers.
TIERS = {
    "model-free": "free",
    "embeddings": "tokens",
    "NLI": "nli",
    "language models": "probabilities",
    "checkpoints": "seq2seq",
    "claims": "",
    "judges": "llm",
}
_TIER_OF = {cost: name for name, cost in TIERS.items()} | {"embed": "embeddings"}
_CALIBRATION = "platt"  # if the recipe has no calibration
_REPLICATES = 1000


def tier_of(bound: BoundScorer) -> str:
    """Return the tier of a scorer. One on a record's own token probabilities needs no model."""
    if bound.scorer.level == "claim":
        return "claims"
    if bound.cost == "probabilities" and bound.values.get("proxy") is None:
        return "model-free"
    return _TIER_OF[bound.cost]


def learn(
    graded: Graded,
    costs: Mapping[str, Cost],
    fitted_on: FittedOn,
    *,
    recipe: Recipe | None = None,
    goal: Goal | None = None,
    count: int = 5,
) -> Cascade:
    """Learn the cascade that keeps ``goal.keep`` of the full ensemble's AUROC at the least cost.

    Args:
        graded: responses, with at least 20 of both labels.
        costs: costs by the scorers' keys, measured in the order of :func:`in_order`.
        fitted_on: origin of the graded answers; their numbers are filled in.
        recipe: fit of each tier's ensemble; without calibration, Platt's is used.
        count: folds of the out-of-fold figures.

    Raises:
        UsageError: there are too few labels, all scorers are in one tier, sentences are graded
            instead of responses, or a scorer's cost is unknown.
    """
    goal = goal or Goal()
    goal.check()
    recipe = recipe or Recipe()
    recipe.check()
    if recipe.calibrate is None:
        recipe = replace(recipe, calibrate=_CALIBRATION)
    scored = graded.take(np.flatnonzero(~np.isnan(graded.risks).all(axis=1)))
    bound = [REGISTRY.parse(name)[0] for name in scored.scorers]
    spent = [costs[b.key] for b in bound]
    _check(scored, spent)
    names, tiers = _tiers(bound)
    each = np.array([goal.of(cost) for cost in spent])
    fits = ColumnFits(scored, recipe)
    plan = search(fits, tiers, each, goal)
    parts = [
        Component(scorer=b.call, signature=signature)
        for b, signature in zip(bound, scored.signatures, strict=True)
    ]
    stops = plan.exits.stops(fits.after(plan.columns))
    columns: Columns = ()
    learned = []
    for place, new in enumerate(plan.new):
        columns += new
        learned.append(
            Tier(
                name=names[plan.tiers[place]],
                components=tuple(parts[i] for i in new),
                fit=_of(plan.fits[place], plan.columns[place], columns).as_fit(
                    tuple(parts[i].name for i in columns)
                ),
                low=_exit(plan.exits.low, place),
                high=_exit(plan.exits.high, place),
                costs={parts[i].name: spent[i] for i in new},
                stopped=float(np.mean(stops == place)),
            )
        )
    full = fits.used(joined(tiers))
    return Cascade(
        version=__version__,
        method=recipe.method,
        tiers=tuple(learned),
        keep=goal.keep,
        confidence=goal.confidence,
        hour=goal.hour,
        full=_sum(spent[i] for i in full),
        left_out=tuple(part.name for i, part in enumerate(parts) if i not in columns),
        fitted_on=fitted_on.model_copy(
            update={
                "n": len(scored),
                "positive": scored.positives,
                "groups": len(np.unique(scored.groups)),
            }
        ),
        honest=_honest(scored, recipe, goal, tiers, each, count),
    )


def lines(cascade: Cascade) -> list[str]:
    """Describe a learned cascade for humans."""
    names = ", ".join(cascade.names)
    text = [
        f"cascade: {len(cascade.tiers)} tiers ({names})"
        if len(cascade.tiers) > 1
        else f"cascade: the tier {names} alone is enough"
    ]
    for tier in cascade.tiers:
        scorers = ", ".join(c.scorer for c in tier.components)
        exits = [
            f"{sign} {at:.3f}"
            for sign, at in (("risk <=", tier.low), ("risk >=", tier.high))
            if at is not None
        ]
        until = f"; stops at {' or '.join(exits)}" if exits else ""
        text.append(f"  {tier.name}: {scorers}{until}; {tier.stopped:.0%} of the answers stop here")
    if cascade.left_out:
        text.append(f"  does without {', '.join(cascade.left_out)}")
    honest = cascade.honest
    if honest is not None:
        text.append(
            f"out of fold it keeps {_percent(honest.kept)} of the full ensemble's AUROC "
            f"({honest.cascade.value:.3f} of {honest.full.value:.3f}) at {honest.cost:.1%} of its "
            f"cost; the goal was {cascade.keep:.1%}"
        )
    return text


def _percent(figure: StoredFigure) -> str:
    if figure.low is None or figure.high is None:
        return f"{figure.value:.1%}"
    return f"{figure.value:.1%} ({figure.low:.1%} to {figure.high:.1%})"


def in_order(scorers: Iterable[BoundScorer]) -> list[BoundScorer]:
    """Return ``scorers`` by tier, in the order of a cascade."""
    order = list(TIERS)
    return sorted(scorers, key=lambda bound: order.index(tier_of(bound)))


def _check(graded: Graded, costs: Sequence[Cost]) -> None:
    if graded.level != "response":
        raise UsageError("a cascade stops whole records; tune it on responses, not on sentences")
    right = len(graded) - graded.positives
    if min(graded.positives, right) < FEWEST:
        raise UsageError(
            f"a cascade requires at least {FEWEST} hallucinated answers and {FEWEST} others, not "
            f"{graded.positives} and {right}"
        )
    for name, cost in zip(graded.scorers, costs, strict=True):
        if cost.seconds is None and cost.money is None:
            raise UsageError(
                f"the cost of {name} is unknown; set price_in and price_out (per million "
                "tokens) of its LLM in veridical.toml"
            )


def _tiers(bound: Sequence[BoundScorer]) -> tuple[list[str], list[Columns]]:
    """Return the names of the tiers that the scorers form, in order, and the columns of each."""
    by_name: dict[str, list[int]] = {name: [] for name in TIERS}
    for i, b in enumerate(bound):
        if b.parts:
            raise UsageError(f"{b.key} is an ensemble; name its scorers instead")
        by_name[tier_of(b)].append(i)
    names = [name for name, columns in by_name.items() if columns]
    if len(names) < 2:
        raise UsageError(
            f"a cascade requires scorers of at least two tiers ({', '.join(TIERS)}); all of "
            f"{', '.join(b.key for b in bound)} are in the tier {names[0]!r}"
        )
    return names, [tuple(by_name[name]) for name in names]


def _honest(
    graded: Graded, recipe: Recipe, goal: Goal, tiers: Sequence[Columns], each: Floats, count: int
) -> CascadeFigures:
    """Compute figures on records that nothing was learned from."""
    fold = folds(graded, count, recipe.seed + 1)  # not the inner folds
    risk, full, spent = (np.full(len(graded), np.nan) for _ in range(3))
    every = joined(tiers)
    for f in range(count):
        place = np.flatnonzero(fold == f)
        held_out = graded.take(place)
        fits = ColumnFits(graded.take(np.flatnonzero(fold != f)), recipe)
        plan = search(fits, tiers, each, goal)
        after = plan.after(held_out.risks)
        stops = plan.exits.stops(after)
        risk[place] = newest(after)[np.arange(len(held_out)), stops]
        spent[place] = np.cumsum(plan.costs)[stops]
        full[place] = risk_of(fits.of(every), held_out.risks[:, every])
    full = np.where(np.isnan(full), 0.5, full)
    labels = graded.labels
    ours, theirs = auroc(labels, risk), auroc(labels, full)
    draws = Resampler(graded.groups, _REPLICATES, recipe.seed)
    boot = [np.array([auroc(labels, r, w) for r in (risk, full)]) for w in draws.chunks()]
    mine, whole = np.concatenate([*boot, np.empty((2, 0))], axis=1)
    return CascadeFigures(
        folds=count,
        seed=recipe.seed,
        cascade=_figure(ours, mine),
        full=_figure(theirs, whole),
        kept=_figure(ours / theirs, mine / whole),
        cost=float(spent.mean()),
    )


def _of(fitted: Fitted, columns: Columns, subset: Columns) -> Fitted:
    """Extend a fit of ``columns`` from a ``subset`` of them; the others have no weight."""
    if fitted.weights is None:
        return fitted
    return replace(fitted, weights=fitted.weights[[columns.index(i) for i in subset]])


def _exit(side: Sequence[float], place: int) -> float | None:
    """Return a threshold in the file's form; None for the last tier."""
    at = side[place] if place < len(side) else np.inf
    return float(at) if np.isfinite(at) else None


def _sum(costs: Iterable[Cost]) -> Cost:
    """Add costs; an unknown item makes the sum unknown."""
    listed = list(costs)
    seconds = [c.seconds for c in listed]
    money = [c.money for c in listed]
    return Cost(
        seconds=None if None in seconds else sum(s for s in seconds if s is not None),
        money=None if None in money else sum(m for m in money if m is not None),
    )


def _figure(value: float, boot: Floats) -> StoredFigure:
    low, high = interval(boot)
    return StoredFigure(value=value, low=low, high=high)
