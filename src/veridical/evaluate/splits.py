"""All that is not a single figure, for one split: scorers compared, and their plots."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from veridical.evaluate.baselines import BASELINES
from veridical.evaluate.comparisons import RANKING, compare
from veridical.evaluate.curves import curves
from veridical.evaluate.datasets.suite import Floats, Suite, Task
from veridical.evaluate.guards import ties_inflate
from veridical.evaluate.judged import Asked, Judged
from veridical.evaluate.metrics.classification import counts
from veridical.evaluate.metrics.correlation import spearman
from veridical.evaluate.metrics.metric import finite
from veridical.evaluate.result import Comparison, Confusion, Rank, Split


def split_of(
    suite: Suite,
    task: Task,
    asked: Asked,
    judged: Mapping[str, Judged],
    base: Mapping[str, Judged],
    *,
    permutations: int,
    seed: int,
) -> Split:
    """Comparisons, correlations, curves and confusions of the scorers, whose figures are made.

    Args:
        judged, base: scorers and baselines by name.
        permutations, seed: of the paired tests.
    """
    live = {n: j for n, j in judged.items() if len(j.rows)}
    scores = {n: _over_all(j, len(asked.truth)) for n, j in judged.items()}
    compared: tuple[list[Comparison], list[Rank], list[list[str]]] = ([], [], [])
    boot = {n: j.boot[task.headline] for n, j in live.items() if task.headline in j.boot}
    if len(boot) > 1:
        ranked = task.headline in RANKING
        compared = compare(
            asked.truth,
            {n: scores[n] for n in boot},
            asked.groups,
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
        n_total=len(asked.truth),
        n_positive=int(asked.truth.sum()) if binary else None,
        n_groups=len(np.unique(asked.groups)),
        headline=task.headline,
        scorers=list(judged),
        spearman=[[_correlation(scores[a], scores[b]) for b in scores] for a in scores],
        comparisons=compared[0],
        ranks=compared[1],
        cliques=compared[2],
        curves=[
            curves(n, j, asked) for n, j in {**live, **base}.items() if n in live or n == "length"
        ]
        if task.kind == "binary"
        else [],
        confusions=_confusions({**live, **base}, task, asked),
        notes=notes,
    )


def _over_all(found: Judged, n: int) -> Floats:
    whole = np.full(n, np.nan)
    if found.score is not None:
        whole[found.rows] = found.score
    return whole


def _correlation(a: Floats, b: Floats) -> float | None:
    both = ~(np.isnan(a) | np.isnan(b))
    return finite(float(spearman(a[both], b[both])))


def _confusions(judged: Mapping[str, Judged], task: Task, asked: Asked) -> list[Confusion]:
    if task.kind not in ("classes", "binary"):
        return []
    classes = list(task.classes) or [f"not {task.positive}", task.positive]
    made = []
    for name, found in judged.items():
        if found.predicted is None or (name in BASELINES and task.kind == "binary"):
            continue
        truth: NDArray[np.int64] = asked.truth[found.rows].astype(np.int64)
        table = counts(truth, found.predicted, len(classes), None)
        matrix = [[int(x) for x in row] for row in table]
        made.append(Confusion(scorer=name, classes=classes, matrix=matrix))
    return made
