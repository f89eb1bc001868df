"""Scorers that need no method, whose figures stand beside every other's."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veridical.evaluate.datasets.suite import Floats, Labelled, Task
from veridical.evaluate.judged import Asked, Judged, decide, gold_spans, is_decision
from veridical.evaluate.metrics import classification, of_table
from veridical.evaluate.metrics.spans import span_statistics
from veridical.evaluate.thresholds import cross_fitted_classes

#: Their names, in the order in which tables show them.
BASELINES = ("constant", "random", "length", "majority", "always_positive")


def baselines(
    task: Task, asked: Asked, labelled: Labelled, *, as_published: bool, seed: int
) -> dict[str, Judged]:
    """What needs no method, as scorers: a constant, the length, and fixed decisions.

    The constant claims the prevalence as its risk. Longer is riskier, whichever way the task is
    put; labels of the length are fitted as a scorer's are, and where spans are asked for, a
    response that is long enough is marked whole. Of equally frequent classes the first is the
    majority. A random order has expected values in closed form: see :func:`expected_at_random`.
    """
    n = len(asked.truth)
    rows = np.arange(n)
    if not n:
        return {}
    truth, groups = asked.truth, asked.groups
    score = -asked.length if task.flip else asked.length
    length = Judged(rows, score=score)
    if task.kind == "graded":
        return {"length": length}
    if task.kind == "classes":
        length.predicted = cross_fitted_classes(truth, score, groups, len(task.classes), seed=seed)
        length.threshold = "cross-fitted"
    else:
        fit_on_test = as_published and task.kind == "binary"
        decide(
            length,
            truth,
            score,
            groups,
            as_published=fit_on_test,
            objective=task.objective,
            seed=seed,
        )
    if task.kind == "spans":
        assert length.predicted is not None
        gold = gold_spans(asked, labelled)
        whole = [[(0, int(labelled.length[i]))] for i in asked.item]
        marked = [w if p else [] for w, p in zip(whole, length.predicted, strict=True)]
        length.statistics = span_statistics(gold, marked)
        always = Judged(rows, statistics=span_statistics(gold, whole))
        return {"length": length, "always_positive": always}
    majority = Judged(rows, predicted=_always(_most_frequent(asked.truth), n))
    if task.kind == "classes":
        return {"length": length, "majority": majority}
    prevalence = np.full(n, asked.truth.mean())
    return {
        "constant": Judged(rows, score=np.zeros(n), risk=prevalence),
        "length": length,
        "majority": majority,
        "always_positive": Judged(rows, predicted=_always(1, n)),
    }


def expected_at_random(
    task: Task, truth: Floats, names: Sequence[str], marked: float = math.nan
) -> dict[str, float]:
    """Expected figures of a random order, and of labels drawn by the class shares.

    AUROC is 0.5, correlations and PRR are 0. Areas under precision-recall are the prevalence, that
    of a random order of many targets; of few they are larger, at n targets by up to H_n / n, which
    is 0.05 for a hundred. Figures of labels are those of the expected confusion matrix. Of spans,
    every character is called with the share of the characters that are ``marked``.
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
    }
    made: dict[str, float] = {}
    for name in names:
        if name in fixed:
            made[name] = fixed[name]
        elif name == "f1" and task.kind == "classes":
            each = classification.per_class_f1(table)
            made.update({f"f1:{c}": float(each[i]) for i, c in enumerate(task.classes)})
        elif is_decision(name) and name != "f_beta":
            made[name] = float(of_table([name], table)[name])
    return made


def _most_frequent(truth: Floats) -> int:
    return int(np.bincount(truth.astype(np.int64)).argmax())


def _always(label: int, n: int) -> NDArray[np.int64]:
    return np.full(n, label, dtype=np.int64)
