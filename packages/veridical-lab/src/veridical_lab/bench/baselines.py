"""Baseline scorers without a method."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veridical.arrays import Floats
from veridical.stats.metrics import classification, of_table
from veridical.stats.thresholds import cross_fitted_classes
from veridical_lab.bench.datasets.suite import Labelled, Task
from veridical_lab.bench.judged import (
    AT_HALF,
    CROSS_FITTED,
    MACRO,
    Judged,
    TaskTargets,
    decide,
    gold_spans,
    is_decision,
)
from veridical_lab.bench.metrics.spans import span_statistics


def baselines(
    task: Task, targets: TaskTargets, labelled: Labelled, *, as_published: bool, seed: int
) -> dict[str, Judged]:
    """Return the baselines as scorers: a constant, the length, and fixed decisions.

    The constant claims the prevalence as its risk. Longer is riskier in every task. Labels of the
    length are fitted as a scorer's are; for spans, a response that is long enough is marked whole.
    Of equally frequent classes the first is the majority. A random order has expected values in
    closed form: see :func:`expected_at_random`.
    """
    n = len(targets.truth)
    rows = np.arange(n)
    if not n:
        return {}
    truth, groups = targets.truth, targets.groups
    score = -targets.length if task.flip else targets.length
    length = Judged(rows, score=score, sets=task.sets_of(targets.where))
    if task.kind == "graded":
        return {"length": length}
    if task.kind == "classes":
        length.predicted = cross_fitted_classes(truth, score, groups, len(task.classes), seed=seed)
        length.threshold = "cross-fitted"
    else:
        on_test = as_published and task.kind == "binary"
        objective = task.objective
        decide(length, truth, score, groups, as_published=on_test, objective=objective, seed=seed)
    if task.at_verdict and length.predicted is not None:
        length.other[CROSS_FITTED] = length.predicted
    if task.kind == "spans":
        assert length.predicted is not None
        gold = gold_spans(targets, labelled)
        whole = [[(0, int(labelled.length[i]))] for i in targets.item]
        marked = [w if p else [] for w, p in zip(whole, length.predicted, strict=True)]
        length.statistics = span_statistics(gold, marked)
        always = Judged(rows, statistics=span_statistics(gold, whole))
        return {"length": length, "always_positive": always}
    most_frequent = np.bincount(truth.astype(np.int64)).argmax()
    majority = Judged(rows, predicted=np.full(n, most_frequent, dtype=np.int64))
    if task.kind == "classes":
        return {"length": length, "majority": majority}
    prevalence = np.full(n, targets.truth.mean())
    return {
        "constant": Judged(rows, score=np.zeros(n), risk=prevalence),
        "length": length,
        "majority": majority,
        "always_positive": Judged(rows, predicted=np.ones(n, dtype=np.int64)),
    }


def expected_at_random(
    task: Task, truth: Floats, names: Sequence[str], marked: float = math.nan
) -> dict[str, float]:
    """Compute expected metrics of a random order, and of labels drawn by class frequency.

    AUROC is 0.5, correlations and PRR are 0. Areas under precision-recall are the prevalence, that
    of a random order of many targets. With few targets they are larger, at n targets by up to H_n /
    n, which is 0.05 for a hundred. Metrics of labels are those of the expected confusion matrix.
    For spans, every character is marked with the share of the characters that are ``marked``.
    """
    if not len(truth):
        return {}
    if task.kind == "spans":
        characters = ("span_precision", "span_recall", "span_f1")
        return {name: marked for name in names if name in characters}
    if task.kind == "graded":
        return dict.fromkeys(names, 0.0)
    k = max(2, len(task.classes))
    shares = np.bincount(truth.astype(np.int64), minlength=k) / len(truth)
    table = np.outer(shares, shares) * len(truth)
    fixed = {
        "average_precision": float(shares[1]),
        "trapezoid_pr": float(shares[1]),
        "auroc": 0.5,
        "prr": 0.0,
        **dict.fromkeys((AT_HALF, CROSS_FITTED), 0.5),
    }
    fixed |= {name + MACRO: fixed[name] for name in ("auroc", AT_HALF, CROSS_FITTED)}
    fixed[f"balanced_accuracy{MACRO}"] = 0.5
    figures: dict[str, float] = {}
    for name in names:
        if name in fixed:
            figures[name] = fixed[name]
        elif name == "f1" and task.kind == "classes":
            each = classification.per_class_f1(table)
            figures.update({f"f1:{c}": float(each[i]) for i, c in enumerate(task.classes)})
        elif is_decision(name) and name != "f_beta" and not name.endswith(MACRO):
            figures[name] = float(of_table([name], table)[name])
    return figures
