"""Columns of one scorer or baseline on one task's targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.stats.metrics import Targets, classification, compute, of_table
from veridical.stats.thresholds import best_threshold, cross_fitted, cross_fitted_classes, refitted
from veridical_lab.bench.datasets.suite import Labelled, Task
from veridical_lab.bench.judgements import SCORED, Column, Scores
from veridical_lab.bench.metrics.spans import span_metrics, span_statistics

#: Risk from which a predicted span counts.
SPAN_THRESHOLD = 0.5
_RANKING = (
    *("average_precision", "trapezoid_pr", "auroc", "prr", "balanced_accuracy_best"),
    *("pearson", "spearman", "kendall"),
)
#: Share of the targets with the verdict ``unclear``.
UNCLEAR_SHARE = "unclear"
#: Balanced accuracy, for tasks at the verdict, by labels other than the verdicts. These labels are
#: positive from risk 0.5 on, or from a threshold fitted on other folds.
AT_HALF, CROSS_FITTED = "balanced_accuracy_half", "balanced_accuracy_cross_fitted"
#: Ends the names of figures that are means over a task's sets.
MACRO = "_macro"
_APART = (UNCLEAR_SHARE, AT_HALF, CROSS_FITTED)
_CALIBRATION = ("brier", "log_loss", "ece", "mce")


def is_decision(metric: str) -> bool:
    """Return True if ``metric`` uses labels rather than scores or risks."""
    return metric not in _RANKING and metric not in _CALIBRATION and metric != UNCLEAR_SHARE


@dataclass(frozen=True)
class TaskTargets:
    """Targets of a task, in columns.

    Positions among the suite's items or units, the item of each, its truth, and independent group.
    Lengths are in words (in characters if no text has white space).
    """

    where: NDArray[np.int64]
    item: NDArray[np.int64]
    truth: Floats
    groups: NDArray[np.int64]
    length: Floats

    @classmethod
    def of(cls, task: Task, labelled: Labelled) -> TaskTargets:
        where = np.flatnonzero(~np.isnan(task.truth))
        if task.on == "items":
            item, words, length = where, labelled.words[where], labelled.length[where]
        else:
            item, words = labelled.unit_item[where], labelled.unit_words[where]
            length = (labelled.unit_end - labelled.unit_start)[where]
        length = words if words.max(initial=0) > 1 else length
        groups = labelled.groups[item]
        return cls(where, item, task.truth[where], groups, length.astype(np.float64))


@dataclass
class Judged:
    """A scorer's columns over the targets it scored.

    Attributes:
        rows: their positions among the task's targets.
        score: larger is more positive (for spans, of the whole response); None where there is
            only a decision.
        risk: probability of the positive class as the scorer claims it.
        predicted: class index.
        statistics: span counts of each target, for span tasks.
        unclear: 1 where the verdict is unclear, else 0; of tasks at the verdict.
        other: of tasks at the verdict, class indices by :data:`AT_HALF` and :data:`CROSS_FITTED`.
        sets: the number of the set that each of the task's targets is of, where figures are means
            over sets.
        threshold: what made ``predicted`` of the risk.
        refit: resamples' weights (b, n of ``rows``) -> counts (b, 2, 2) of labels whose thresholds
            are fitted again on each. None for three classes, ``as_published``, a given threshold
            and a scorer's own classes. Resamples then keep the labels of ``predicted``, so
            intervals hold for these.
        values, boot: metric -> figure, and -> the same over the resamples.
        of_length: the length baseline's headline figure on these very targets and resamples.
    """

    rows: NDArray[np.int64]
    score: Floats | None = None
    risk: Floats | None = None
    predicted: NDArray[np.int64] | None = None
    statistics: Floats | None = None
    unclear: Floats | None = None
    other: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    sets: NDArray[np.int64] | None = None
    threshold: float | Literal["cross-fitted"] | None = None
    refit: Callable[[Floats], Floats] | None = None
    values: dict[str, float] = field(default_factory=dict)
    boot: dict[str, Floats] = field(default_factory=dict)
    of_length: Floats | None = None

    def measure(
        self, task: Task, names: Sequence[str], truth: Floats, weights: Floats | None, beta: float
    ) -> Mapping[str, float | Floats]:
        """Return metrics by name, those of ``names`` that these columns allow; ``truth`` is of all
        targets.
        """
        whole = len(self.rows) == len(truth)
        own_truth = truth if whole else truth[self.rows]
        drawn_weights = weights if weights is None or whole else weights[:, self.rows]
        if task.kind == "spans":
            assert self.statistics is not None
            of_spans = span_metrics(self.statistics, drawn_weights)
            return {name: of_spans[name] for name in names}
        score = np.zeros(len(self.rows)) if self.score is None else self.score
        targets = Targets(own_truth, score, self.risk, self.predicted, max(2, len(task.classes)))
        able = [n for n in names if n not in _APART and not n.endswith(MACRO) and self._can(n)]
        if drawn_weights is not None and self.refit is not None:
            fixed = compute([n for n in able if not is_decision(n)], targets, drawn_weights)
            decided = [n for n in able if is_decision(n)]
            return {**fixed, **of_table(decided, self.refit(drawn_weights), beta=beta)}
        figures: dict[str, Any] = {**compute(able, targets, drawn_weights, beta=beta)}
        if UNCLEAR_SHARE in names and self.unclear is not None:
            figures[UNCLEAR_SHARE] = _share(self.unclear, drawn_weights)
        for name in self.other.keys() & set(names):
            labels = Targets(own_truth, score, None, self.other[name], 2)
            (figures[name],) = compute(["balanced_accuracy"], labels, drawn_weights).values()
        figures |= self._macro(task, names, truth, weights, beta)
        if task.kind != "classes" or self.predicted is None:
            return figures
        table = classification.counts(own_truth, self.predicted, targets.classes, drawn_weights)
        each = classification.per_class_f1(table)
        return {**figures, **{f"f1:{c}": each[..., i] for i, c in enumerate(task.classes)}}

    def _macro(
        self, task: Task, names: Sequence[str], truth: Floats, weights: Floats | None, beta: float
    ) -> dict[str, Any]:
        """Compute means over the sets of those of ``names`` that are macro metrics.

        A set counts if it has both classes.
        """
        wanted = [n.removesuffix(MACRO) for n in names if n.endswith(MACRO)]
        if not wanted or self.sets is None:
            return {}
        own = self.sets[self.rows]
        places = [np.flatnonzero(own == one) for one in np.unique(own)]
        both = [p for p in places if len(np.unique(truth[self.rows[p]])) == 2]
        of_sets = [self._taken(p).measure(task, wanted, truth, weights, beta) for p in both]
        return {
            name + MACRO: np.mean([np.asarray(one[name]) for one in of_sets], axis=0)
            for name in wanted
            if of_sets and name in of_sets[0]
        }

    def with_failed(
        self, failed: NDArray[np.int64], task: Task, truth: Floats, *, agree: bool
    ) -> Judged:
        """Add the ``failed`` targets, scored in agreement with their labels or against them.

        In agreement means above (positives) or below (negatives) all others, with a risk of 1 or 0
        and the right label; against, the reverse. The figures are then the highest and the lowest
        that any scores could give (the other way round for Brier and log loss). There are four
        exceptions. AP and the trapezoid area could be a little lower still, since the positives
        put last are tied. ECE and MCE can go farther either way, since gaps within a bin add up or
        cancel. Of three classes, the wrong one is the next in order, and another might cost more.
        For a graded truth, scores are linear in it, with the mean and spread of the existing
        scores: the expected figure, not the extreme one.
        """
        rows = np.concatenate([self.rows, failed])
        order = np.argsort(rows, kind="stable")
        labels = truth[failed]
        whole = Judged(rows[order], sets=self.sets)
        if self.score is not None:
            way = 1.0 if agree else -1.0
            if task.kind == "graded":
                spread = truth.std() or 1.0
                away = (labels - truth.mean()) / spread
                scores = self.score.mean() + way * self.score.std() * away
            else:
                high, low = self.score.max() + 1, self.score.min() - 1
                scores = np.where((labels > 0) == agree, high, low)
            whole.score = np.concatenate([self.score, scores])[order]
        if self.risk is not None:
            whole.risk = np.concatenate([self.risk, labels if agree else 1 - labels])[order]
        if self.predicted is not None:
            classes = labels.astype(np.int64)
            wrong = (classes + 1) % max(2, len(task.classes))
            said = classes if agree else wrong
            whole.predicted = np.concatenate([self.predicted, said])[order]
            for name, known in self.other.items():
                whole.other[name] = np.concatenate([known, said])[order]
        if self.unclear is not None:
            whole.unclear = np.concatenate([self.unclear, np.zeros(len(failed))])[order]
        return whole

    def within(self, rows: NDArray[np.int64]) -> Judged:
        """Return the columns of only the targets ``rows``; it must have all."""
        return self._taken(rows)

    def _taken(self, places: NDArray[np.int64]) -> Judged:
        """Return the columns of some of its own targets, by their positions in its columns."""
        columns = ("score", "risk", "predicted", "statistics", "unclear")
        part: dict[str, Any] = {
            c: None if (own := getattr(self, c)) is None else own[places] for c in columns
        }
        other = {name: labels[places] for name, labels in self.other.items()}
        return replace(Judged(self.rows[places], other=other), **part)

    def _can(self, name: str) -> bool:
        if is_decision(name):
            return self.predicted is not None
        return self.score is not None if name in _RANKING else self.risk is not None


def judge(
    column: Column,
    task: Task,
    targets: TaskTargets,
    labelled: Labelled,
    *,
    as_published: bool,
    threshold: float | None = None,
    seed: int,
) -> Judged | None:
    """Build a scorer's columns on a task; None if it has no result at this level.

    Args:
        threshold: the risk from which a target of two classes is called wrong; None fits one.
    """
    if task.kind == "spans":
        return _judge_spans(column, task, targets, labelled)
    if task.on == "units" and not column.has_units:
        return None
    scores = column.over(task.on)
    rows = np.flatnonzero(scores.status[targets.where] == SCORED)
    scored = targets.where[rows]
    sign = -1.0 if task.flip else 1.0
    risk = 1.0 - scores.risk[scored] if task.flip else scores.risk[scored]
    judged = Judged(rows, score=sign * scores.raw[scored], sets=task.sets_of(targets.where))
    if not len(rows):
        return judged
    truth, groups = targets.truth[rows], targets.groups[rows]
    if task.kind == "binary":
        judged.risk = risk
        objective = task.objective
        if task.at_verdict:
            fitted = cross_fitted(truth, risk, groups, objective="balanced_accuracy", seed=seed)
            judged.other = {AT_HALF: (risk >= 0.5).astype(np.int64), CROSS_FITTED: fitted}
        if task.at_verdict and threshold is None:
            if scores.flagged is not None:
                judged.predicted = scores.flagged[scored].astype(np.int64)
                judged.unclear = scores.unclear[scored]
            return judged
        if threshold is not None:
            wrong = scores.risk[scored] >= threshold
            judged.predicted, judged.threshold = (wrong != task.flip).astype(np.int64), threshold
            return judged
        decide(
            judged, truth, risk, groups, as_published=as_published, objective=objective, seed=seed
        )
    elif task.kind == "classes":
        judged.predicted = _classes(scores, scored, task)
        if judged.predicted is None:
            judged.predicted = cross_fitted_classes(
                truth, risk, groups, len(task.classes), seed=seed
            )
            judged.threshold = "cross-fitted"
    return judged


def decide(
    judged: Judged,
    truth: Floats,
    risk: Floats,
    groups: NDArray[np.int64],
    *,
    as_published: bool = False,
    objective: str | None = None,
    seed: int = 0,
) -> None:
    """Assign labels from risks, by a threshold fitted on other folds (as published: on these
    targets).

    Args:
        objective: of the threshold. Default: balanced accuracy, or as published weighted F1.
    """
    if as_published:
        threshold = best_threshold(truth, risk, objective or "weighted_f1")
        judged.predicted = (risk >= threshold).astype(np.int64)
        judged.threshold, judged.refit = float(threshold), None
    else:
        objective = objective or "balanced_accuracy"
        judged.predicted = cross_fitted(truth, risk, groups, objective=objective, seed=seed)
        judged.refit = partial(refitted, truth, risk, groups, objective=objective, seed=seed)
        judged.threshold = "cross-fitted"


def _share(values: Floats, weights: Floats | None) -> float | Floats:
    """Return the mean of (n,) values, or one a row of weights."""
    if weights is None:
        return float(values.mean()) if len(values) else math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(weights @ values / weights.sum(axis=1))


def gold_spans(targets: TaskTargets, labelled: Labelled) -> list[list[tuple[int, int]]]:
    """Return the hallucinated spans of each target."""
    first = np.searchsorted(labelled.unit_item, targets.item)
    last = np.searchsorted(labelled.unit_item, targets.item, side="right")
    return [
        [
            (int(labelled.unit_start[u]), int(labelled.unit_end[u]))
            for u in range(a, b)
            if labelled.unit_label[u] >= 0.5
        ]
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]


def _judge_spans(
    column: Column, task: Task, targets: TaskTargets, labelled: Labelled
) -> Judged | None:
    if not column.has_units:
        return None
    rows = np.flatnonzero(column.items.status[targets.where] == SCORED)
    gold = gold_spans(targets, labelled)
    predicted = [
        [(start, end) for start, end, risk in column.spans.get(i, []) if risk >= SPAN_THRESHOLD]
        for i in targets.where[rows].tolist()
    ]
    statistics = span_statistics([gold[r] for r in rows.tolist()], predicted)
    score = column.items.raw[targets.where[rows]]
    return Judged(rows, score=score, statistics=statistics, threshold=SPAN_THRESHOLD)


def _classes(scores: Scores, scored: NDArray[np.int64], task: Task) -> NDArray[np.int64] | None:
    """Return the scorer's own classes, if it gives one of the task's for every target."""
    place = {**{c.lower(): i for i, c in enumerate(task.classes)}, **task.named}
    classes = [place.get(str(label).lower()) for label in scores.labels[scored]]
    if any(f is None for f in classes):
        return None
    return np.array(classes, dtype=np.int64)
