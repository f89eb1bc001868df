"""Comparisons, curves and plots of one split."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.stats.comparisons import RANKING, compare
from veridical.stats.metrics.classification import counts
from veridical.stats.tables import Comparison, Rank
from veridical.stats.thresholds import best_threshold
from veridical_lab.bench.curves import curves, label_counts, scatter
from veridical_lab.bench.datasets.suite import Suite, Task
from veridical_lab.bench.guards import rank_correlations, ties_inflate
from veridical_lab.bench.judged import Judged, TaskTargets
from veridical_lab.bench.result import BASELINES, Confusion, Curves, Split, Suggested


def split_of(
    suite: Suite,
    task: Task,
    targets: TaskTargets,
    judged: Mapping[str, Judged],
    base: Mapping[str, Judged],
    *,
    permutations: int,
    seed: int,
) -> Split:
    """Compute comparisons, correlations, curves and confusions of the scorers.

    Args:
        judged, base: scorers and baselines by name.
        permutations, seed: of the paired tests.
    """
    live = {n: j for n, j in judged.items() if len(j.rows)}
    scores = {n: _over_all(j, len(targets.truth)) for n, j in judged.items()}
    compared: tuple[list[Comparison], list[Rank], list[list[str]]] = ([], [], [])
    boot = {n: j.boot[task.headline] for n, j in live.items() if task.headline in j.boot}
    if len(boot) > 1:
        ranked = task.headline in RANKING
        compared = compare(
            targets.truth,
            {n: scores[n] for n in boot},
            targets.groups,
            task.headline,
            boot,
            permutations=permutations if ranked else 0,
            seed=seed,
            values={n: live[n].values[task.headline] for n in boot},
        )
    notes = [*suite.notes, *task.notes]
    if "constant" in base and ties_inflate(base["constant"].values):
        constant = base["constant"].values
        notes.append(
            f"ties: a constant score has a trapezoid PR area of {constant['trapezoid_pr']:.4f} "
            f"here and an average precision of {constant['average_precision']:.4f}, the prevalence"
        )
    binary = task.kind in ("binary", "spans")
    return Split(
        suite=suite.name,
        split=task.split,
        level=task.level,
        kind=task.kind,
        positive=task.positive,
        n_total=len(targets.truth),
        n_positive=int(targets.truth.sum()) if binary else None,
        n_groups=len(np.unique(targets.groups)),
        headline=task.headline,
        scorers=list(judged),
        spearman=rank_correlations(list(scores.values())),
        comparisons=compared[0],
        ranks=compared[1],
        cliques=compared[2],
        curves=_plots(task, targets, live, base),
        labels=label_counts(targets) if task.kind == "graded" else None,
        confusions=_confusions({**live, **base}, task, targets),
        suggested=_suggested(live, task, targets),
        notes=notes,
    )


def _plots(
    task: Task, targets: TaskTargets, live: Mapping[str, Judged], base: Mapping[str, Judged]
) -> list[Curves]:
    """Return curves of scorers and length on a binary task, scatter plots on a graded one."""
    drawn = {**live, **{n: j for n, j in base.items() if n == "length"}}
    if task.kind == "graded":
        return [scatter(n, j, targets) for n, j in drawn.items()]
    if task.kind == "binary":
        return [curves(n, j, targets) for n, j in drawn.items()]
    return []


def _suggested(judged: Mapping[str, Judged], task: Task, targets: TaskTargets) -> list[Suggested]:
    """Return thresholds on the risk of a response, if the positives are the wrong ones."""
    if task.kind != "binary" or task.on != "items" or task.flip:
        return []
    suggested = []
    for name, j in judged.items():
        truth = targets.truth[j.rows] >= 0.5
        if j.risk is None or j.predicted is None or j.threshold != "cross-fitted":
            continue
        if not truth.any() or truth.all():
            continue
        labels = truth.astype(np.float64)
        cut = best_threshold(labels, j.risk, task.objective or "balanced_accuracy")
        if not 0 <= cut < 1:
            continue
        suggested.append(
            Suggested(
                scorer=name,
                threshold=_shortest(cut, j.risk),
                caught=float(np.mean(j.predicted[truth])),
                false_alarms=float(np.mean(j.predicted[~truth])),
            )
        )
    return suggested


def _shortest(cut: float, risk: Floats) -> float:
    """Return the number of fewest decimals that calls the same risks positive."""
    for decimals in range(1, 7):
        rounded = round(cut, decimals)
        if np.array_equal(risk > rounded, risk >= cut):
            return rounded
    return cut


def _over_all(judged: Judged, n: int) -> Floats:
    whole = np.full(n, np.nan)
    if judged.score is not None:
        whole[judged.rows] = judged.score
    return whole


def _confusions(by_name: Mapping[str, Judged], task: Task, targets: TaskTargets) -> list[Confusion]:
    if task.kind not in ("classes", "binary"):
        return []
    classes = list(task.classes) or [f"not {task.positive}", task.positive]
    confusions = []
    for name, judged in by_name.items():
        if judged.predicted is None or (name in BASELINES and task.kind == "binary"):
            continue
        truth: NDArray[np.int64] = targets.truth[judged.rows].astype(np.int64)
        table = counts(truth, judged.predicted, len(classes), None)
        matrix = [[int(x) for x in row] for row in table]
        confusions.append(Confusion(scorer=name, classes=classes, matrix=matrix))
    return confusions
