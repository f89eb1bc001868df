"""Row ``tuned`` of a benchmark: a cross-fitted ensemble of its scorers.

Bouchard and Chauhan 2025, sections 3.4 and 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from veridical.arrays import Floats
from veridical.ensembles.fitting import Recipe, fit_one, folds
from veridical.ensembles.graded import Graded
from veridical.stats.objectives import objective_named
from veridical_lab.bench.datasets.suite import Labelled, Task
from veridical_lab.bench.judged import TaskTargets
from veridical_lab.bench.judgements import FAILED, NOT_APPLICABLE, RISK, Column, Scores

#: Name of the row.
TUNED = "tuned"
_FOLDS = 5
#: Targets of either kind that weights are fitted to at least.
_FEWEST = 10


def tuned(
    task: Task,
    columns: Mapping[str, Column],
    labelled: Labelled,
    *,
    as_published: bool = False,
    seed: int = 0,
) -> tuple[Column | None, list[str]]:
    """Fit a weighted mean of the scorers' risks on a task with two classes.

    Weights are chosen by the task's own objective and positives. If these are the right answers
    (``flip``), it is their F1, jointly with the threshold (eq. 23); else AUROC (eq. 20). Each
    target's risk uses weights of the other folds of independent units; with ``as_published``,
    weights fitted to all targets.

    Returns:
        The column, or None if tuning is impossible; and notes: the weights, or the reason.
    """
    if task.kind != "binary":
        return None, []
    targets = TaskTargets.of(task, labelled)
    truth = (targets.truth >= 0.5).astype(np.float64)
    risks = _components(columns, task, targets)
    if len(risks) < 2:
        return None, [f"{TUNED}: takes two scorers of which at least half of the targets is scored"]
    if min(truth.sum(), len(truth) - truth.sum()) < _FEWEST:
        return None, [f"{TUNED}: fewer than {_FEWEST} targets of either kind"]
    objective = task.objective or "auroc"
    recipe = Recipe(
        "weighted", objective, joint=objective_named(objective).needs_threshold, seed=seed
    )
    # The weighed value is the degree of the positives: 1 - risk if these are the right ones.
    degrees = {name: 1 - x if task.flip else x for name, x in risks.items()}
    graded = Graded.of(degrees, truth, groups=targets.groups)
    degree = np.full(len(truth), np.nan)
    fold = folds(graded, _FOLDS, seed)
    weights = []
    for f in [-1] if as_published else np.unique(fold).tolist():
        fitted = fit_one(graded.take(fold != f), recipe, decide=False)
        here = np.full(len(fold), True) if f == -1 else fold == f
        degree[here] = fitted.order(graded.risks[here])
        weights.append(fitted.weights)
    column = _column(columns, task, targets, 1 - degree if task.flip else degree)
    mean = np.mean([w for w in weights if w is not None], axis=0)
    shares = (f"{name} {w:.2f}" for name, w in zip(risks, mean.tolist(), strict=True))
    how = "all targets, as published" if as_published else f"mean of {len(weights)} folds"
    by = f"{objective} of the {task.positive} ones{', with the threshold' * recipe.joint}"
    return column, [f"{TUNED}: weights by {by} ({how}): {', '.join(shares)}"]


def _components(
    columns: Mapping[str, Column], task: Task, targets: TaskTargets
) -> dict[str, Floats]:
    """Return risks of the scorers that scored at least half of the targets and are not constant."""
    found = {}
    for name, column in columns.items():
        risk = column.over(task.on).risk[targets.where]
        known = risk[~np.isnan(risk)]
        if name != RISK and len(known) * 2 >= len(risk) > 0 and known.max() > known.min():
            found[name] = risk
    return found


def _column(
    columns: Mapping[str, Column], task: Task, targets: TaskTargets, risk: Floats
) -> Column:
    """Return the risks as a column. A target without components has failed if any failed."""
    over = [c.over(task.on).status for c in columns.values()]
    failed = (np.array([status[targets.where] for status in over]) == FAILED).any(axis=0)
    scores, nothing = Scores.empty(len(over[0])), Scores.empty(0)
    for place, (i, value) in enumerate(zip(targets.where.tolist(), risk.tolist(), strict=True)):
        if np.isnan(value):
            scores.miss(i, FAILED if failed[place] else NOT_APPLICABLE, "no component is scored")
        else:
            scores.set(i, None, min(max(value, 0.0), 1.0))
    scores.settle()
    if task.on == "items":
        return Column(scores, nothing)
    return Column(nothing, scores, has_units=True)
