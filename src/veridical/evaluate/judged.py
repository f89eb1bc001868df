"""One scorer, or one baseline, on the targets of one task: what figures are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.evaluate.datasets.suite import Floats, Labelled, Task
from veridical.evaluate.judgements import SCORED, Column, Predicted, Scores
from veridical.evaluate.metrics import Targets, classification, compute, of_table
from veridical.evaluate.metrics.spans import span_metrics, span_statistics
from veridical.evaluate.thresholds import (
    best_threshold,
    cross_fitted,
    cross_fitted_classes,
    refitted,
)

#: Risk from which a predicted span counts.
SPAN_THRESHOLD = 0.5
_RANKING = ("average_precision", "trapezoid_pr", "auroc", "prr", "pearson", "spearman", "kendall")
_CALIBRATION = ("brier", "log_loss", "ece", "mce")


def is_decision(metric: str) -> bool:
    """Whether ``metric`` is of labels rather than of scores or risks."""
    return metric not in _RANKING and metric not in _CALIBRATION


@dataclass(frozen=True)
class Asked:
    """The targets of a task, in columns: positions among the suite's items or units, the item of
    each, its truth, independent group, and length in words (in characters where no text has white
    space)."""

    where: NDArray[np.int64]
    item: NDArray[np.int64]
    truth: Floats
    groups: NDArray[np.int64]
    length: Floats

    @classmethod
    def of(cls, task: Task, labelled: Labelled) -> Asked:
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
        threshold: what made ``predicted`` of the risk.
        refit: resamples' weights (b, n of ``rows``) -> counts (b, 2, 2) of labels whose thresholds
            are fitted anew on each. Without it (three classes, ``as_published``, a scorer's own
            classes) resamples keep the labels of ``predicted``, so intervals hold for these.
        values, boot: metric -> figure, and -> the same over the resamples.
        of_length: the length baseline's headline figure on these very targets and resamples.
    """

    rows: NDArray[np.int64]
    score: Floats | None = None
    risk: Floats | None = None
    predicted: NDArray[np.int64] | None = None
    statistics: Floats | None = None
    threshold: float | Literal["cross-fitted"] | None = None
    refit: Callable[[Floats], Floats] | None = None
    values: dict[str, float] = field(default_factory=dict)
    boot: dict[str, Floats] = field(default_factory=dict)
    of_length: Floats | None = None

    def measure(
        self, task: Task, names: Sequence[str], truth: Floats, weights: Floats | None, beta: float
    ) -> Mapping[str, float | Floats]:
        """Those of the metrics ``names`` that these columns allow; ``truth`` over all targets."""
        whole = len(self.rows) == len(truth)
        own = truth if whole else truth[self.rows]
        drawn = weights if weights is None or whole else weights[:, self.rows]
        if task.kind == "spans":
            assert self.statistics is not None
            found = span_metrics(self.statistics, drawn)
            return {name: found[name] for name in names}
        targets = Targets(own, self._filled(), self.risk, self.predicted, max(2, len(task.classes)))
        able = [n for n in names if self._can(n)]
        if drawn is not None and self.refit is not None:
            fixed = compute([n for n in able if not is_decision(n)], targets, drawn)
            decided = [n for n in able if is_decision(n)]
            return {**fixed, **of_table(decided, self.refit(drawn), beta=beta)}
        found = compute(able, targets, drawn, beta=beta)
        if task.kind != "classes" or self.predicted is None:
            return found
        table = classification.counts(own, self.predicted, targets.classes, drawn)
        each = classification.per_class_f1(table)
        return {**found, **{f"f1:{c}": each[..., i] for i, c in enumerate(task.classes)}}

    def with_failed(
        self, failed: NDArray[np.int64], task: Task, truth: Floats, *, agree: bool
    ) -> Judged:
        """This with the ``failed`` targets scored in agreement with their labels, or against.

        In agreement means above (positives) or below (negatives) all others, with a risk of 1 or 0
        and the right label; against, the reverse. The figures are then the highest and the lowest
        that any scores could give (the other way round for Brier and log loss), but for four: AP
        and the trapezoid area could be a little lower still, since the positives put last are
        tied; ECE and MCE can go farther either way, since gaps within a bin add up or cancel; of
        three classes, the wrong one is the next in order, and another might cost more; and for a
        graded truth, scores are set linear in it with the mean and spread of those there are,
        which says what to expect, not what is possible.
        """
        rows = np.concatenate([self.rows, failed])
        order = np.argsort(rows, kind="stable")
        own = truth[failed]
        whole = Judged(rows[order])
        if self.score is not None:
            way = 1.0 if agree else -1.0
            if task.kind == "graded":
                spread = truth.std() or 1.0
                away = (own - truth.mean()) / spread
                made = self.score.mean() + way * self.score.std() * away
            else:
                high, low = self.score.max() + 1, self.score.min() - 1
                made = np.where((own > 0) == agree, high, low)
            whole.score = np.concatenate([self.score, made])[order]
        if self.risk is not None:
            whole.risk = np.concatenate([self.risk, own if agree else 1 - own])[order]
        if self.predicted is not None:
            classes = own.astype(np.int64)
            wrong = (classes + 1) % max(2, len(task.classes))
            whole.predicted = np.concatenate([self.predicted, classes if agree else wrong])[order]
        return whole

    def within(self, rows: NDArray[np.int64]) -> Judged:
        """This on the targets ``rows`` only; it must have all."""
        columns = (self.score, self.risk, self.predicted, self.statistics)
        kept = (None if c is None else c[rows] for c in columns)
        return Judged(rows, *kept)  # type: ignore[arg-type]

    def _can(self, name: str) -> bool:
        if is_decision(name):
            return self.predicted is not None
        return self.score is not None if name in _RANKING else self.risk is not None

    def _filled(self) -> Floats:
        return np.zeros(len(self.rows)) if self.score is None else self.score


def judge(
    column: Column, task: Task, asked: Asked, labelled: Labelled, *, as_published: bool, seed: int
) -> Judged | None:
    """A scorer's columns on a task; None where it says nothing at this level."""
    if task.kind == "spans":
        return _judge_spans(column, task, asked, labelled)
    if task.on == "units" and not column.has_units:
        return None
    scores = column.items if task.on == "items" else column.units
    rows = np.flatnonzero(scores.status[asked.where] == SCORED)
    kept = asked.where[rows]
    sign = -1.0 if task.flip else 1.0
    risk = 1.0 - scores.risk[kept] if task.flip else scores.risk[kept]
    judged = Judged(rows, score=sign * scores.raw[kept])
    if not len(rows):
        return judged
    truth, groups = asked.truth[rows], asked.groups[rows]
    if task.kind == "binary":
        judged.risk = risk
        decide(
            judged,
            truth,
            risk,
            groups,
            as_published=as_published,
            objective=task.objective,
            seed=seed,
        )
    elif task.kind == "classes":
        judged.predicted = _classes(scores, kept, task)
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
    """Labels from risks: a threshold fitted on other folds, or, as published, on these targets.

    Args:
        objective: what it is fitted to. Default: balanced accuracy, or as published weighted F1.
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


def gold_spans(asked: Asked, labelled: Labelled) -> list[list[tuple[int, int]]]:
    """The hallucinated spans of each target."""
    first = np.searchsorted(labelled.unit_item, asked.item)
    last = np.searchsorted(labelled.unit_item, asked.item, side="right")
    return [
        [
            (int(labelled.unit_start[u]), int(labelled.unit_end[u]))
            for u in range(a, b)
            if labelled.unit_label[u] >= 0.5
        ]
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]


def _judge_spans(column: Column, task: Task, asked: Asked, labelled: Labelled) -> Judged | None:
    if not column.has_units:
        return None
    rows = np.flatnonzero(column.items.status[asked.where] == SCORED)
    gold = gold_spans(asked, labelled)
    predicted = [_pointed_at(column.spans.get(int(i), [])) for i in asked.where[rows]]
    statistics = span_statistics([gold[r] for r in rows.tolist()], predicted)
    score = column.items.raw[asked.where[rows]]
    return Judged(rows, score=score, statistics=statistics, threshold=SPAN_THRESHOLD)


def _pointed_at(units: list[Predicted]) -> list[tuple[int, int]]:
    return [(start, end) for start, end, risk in units if risk >= SPAN_THRESHOLD]


def _classes(scores: Scores, kept: NDArray[np.int64], task: Task) -> NDArray[np.int64] | None:
    """The scorer's own classes, where it names one of the task's for every target."""
    place = {**{c.lower(): i for i, c in enumerate(task.classes)}, **task.named}
    found = [place.get(str(label).lower()) for label in scores.labels[kept]]
    if any(f is None for f in found):
        return None
    return np.array(found, dtype=np.int64)
