"""From labels and scores to figures: every scorer on one task, with baselines, intervals, flags."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veridical.evaluate.comparisons import compare
from veridical.evaluate.curves import curves
from veridical.evaluate.datasets.suite import BadItem, Floats, Labelled, Suite, Task
from veridical.evaluate.guards import TIE_GAIN, scorer_flags, split_flags
from veridical.evaluate.judged import (
    BASELINES,
    Asked,
    Judged,
    baselines,
    expected_at_random,
    is_decision,
    judge,
)
from veridical.evaluate.judgements import (
    FAILED,
    NOT_APPLICABLE,
    RISK,
    SCORED,
    Column,
    Scores,
)
from veridical.evaluate.metrics.classification import counts
from veridical.evaluate.metrics.correlation import spearman
from veridical.evaluate.published import paper_figure
from veridical.evaluate.resampling import Resampler, interval
from veridical.evaluate.result import Baselines, Comparison, Confusion, Rank, Row, Split
from veridical.scorers.ensembles.quantile_mean import fitted_on

_REASONS = 20  # shown of a scorer's failures


@dataclass(frozen=True)
class Settings:
    """How figures are made: ``beta`` adds an F-beta, ``samples`` is noted in the rows."""

    seed: int = 0
    bootstrap: int = 1000
    as_published: bool = False
    beta: float | None = None
    samples: int | None = None


@dataclass(frozen=True)
class _Counts:
    """Who was scored, of a task's targets and of the data's bad rows."""

    total: int
    scored: int
    failed: int
    not_applicable: int
    reasons: dict[str, int]

    @property
    def coverage(self) -> float | None:
        applicable = self.total - self.not_applicable
        return self.scored / applicable if applicable else None


def measure(
    suite: Suite,
    task: Task,
    labelled: Labelled,
    columns: Mapping[str, Column],
    bad: Sequence[BadItem],
    settings: Settings,
    in_domain: Collection[str],
) -> tuple[list[Row], Split]:
    """All figures of one task.

    Args:
        columns: what each scorer said, by its key.
        bad: rows of the data that are no items; those of the task's parts count as failed.
        in_domain: keys of the scorers that were tuned on this suite.
    """
    view = _View(suite, task, Asked.of(task, labelled), settings)
    parts = set(labelled.parts[view.asked.item].tolist())
    own_bad = [b for b in bad if b.part in parts]
    judged: dict[str, Judged] = {}
    counted: dict[str, _Counts] = {}
    for name, column in columns.items():
        found = judge(
            column,
            task,
            view.asked,
            labelled,
            as_published=settings.as_published,
            seed=settings.seed,
        )
        if found is None:
            continue
        numbers = view.count(column, own_bad)
        if numbers.scored or numbers.failed > len(own_bad):
            judged[name], counted[name] = found, numbers
    base = baselines(task, view.asked, labelled, settings.seed)
    view.fill({**judged, **base})
    view.random = expected_at_random(task, view.asked.truth, view.names)
    view.base = {n: j.values for n, j in base.items()}

    rows: list[Row] = []
    for name, found in judged.items():
        length = base["length"].boot if "length" in base else {}
        flags = view.flags(found, counted[name], length, name in in_domain)
        rows += view.rows(name, found, counted[name], flags, view.bounds(found, columns[name]))
    everyone = _Counts(len(view.asked.truth), len(view.asked.truth), 0, 0, {})
    shared = view.shared_flags()
    for name, found in base.items():
        ties = ["ties_inflate_trapezoid"] if _tie_gain(found.values) > TIE_GAIN else []
        rows += view.rows(name, found, everyone, shared + ties, {})
    chance = Judged(np.arange(0), values=view.random)
    rows += view.rows("random", chance, everyone, shared, {})
    return rows, _split(view, judged, base)


@dataclass
class _View:
    """One task on one set of items: what the figures of all its scorers share."""

    suite: Suite
    task: Task
    asked: Asked
    settings: Settings
    base: dict[str, dict[str, float]] = field(default_factory=dict)
    random: dict[str, float] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        extra = ["f_beta"] if self.settings.beta and self.task.kind == "binary" else []
        return [*self.task.metrics, *extra]

    @property
    def beta(self) -> float:
        return self.settings.beta or 1.0

    def count(self, column: Column, bad: Sequence[BadItem]) -> _Counts:
        """Who was scored; bad rows of the data count as failed."""
        scores = self.targets(column)
        status = scores.status[self.asked.where]
        mask = np.zeros(len(scores.status), dtype=np.bool_)
        mask[self.asked.where] = True
        reasons = scores.failed_reasons(mask)
        for row in bad:
            field = f"{row.error.field}: " if row.error.field else ""
            reasons[f"row error: {field}{row.error.error}"] += 1
        scored, na, failed = (int(np.sum(status == s)) for s in (SCORED, NOT_APPLICABLE, FAILED))
        shown = dict(reasons.most_common(_REASONS))
        return _Counts(len(status) + len(bad), scored, failed + len(bad), na, shown)

    def targets(self, column: Column) -> Scores:
        return column.items if self.task.on == "items" else column.units

    def fill(self, judged: Mapping[str, Judged]) -> None:
        """Figures, and figures over the resamples: one pass, so that scorers share the draws."""
        live = {n: j for n, j in judged.items() if len(j.rows)}
        for name in judged.keys() - live.keys():  # failed throughout: its rows say so
            judged[name].values = dict.fromkeys(self.names, math.nan)
        truth = self.asked.truth
        for found in live.values():
            values = found.measure(self.task, self.names, truth, None, self.beta)
            found.values = {m: float(v) for m, v in values.items()}
        gathered: dict[str, dict[str, list[Floats]]] = {n: {} for n in live}
        resampler = Resampler(self.asked.groups, self.settings.bootstrap, self.settings.seed)
        for weights in resampler.chunks():
            for name, found in live.items():
                drawn = found.measure(self.task, self.names, truth, weights, self.beta)
                for metric, replicates in drawn.items():
                    gathered[name].setdefault(metric, []).append(np.asarray(replicates))
        for name, found in live.items():
            found.boot = {m: np.concatenate(parts) for m, parts in gathered[name].items()}

    def shared_flags(self) -> list[str]:
        binary = self.task.kind in ("binary", "spans")
        return split_flags(self.asked.truth, self.asked.groups, binary)

    def flags(
        self, found: Judged, numbers: _Counts, length: Mapping[str, Floats], in_domain: bool
    ) -> list[str]:
        """Everything a reader should be warned of; ``length`` is that baseline's resamples."""
        return self.shared_flags() + scorer_flags(
            self.asked.truth[found.rows],
            np.zeros(0) if found.score is None else found.score,
            self.asked.length[found.rows],
            found.predicted,
            found.values,
            found.boot,
            length,
            self.task.headline,
            n_failed=numbers.failed,
            coverage=numbers.coverage,
            fitted_on_test=self.settings.as_published and self.task.kind == "binary",
            in_domain=in_domain,
        )

    def rows(
        self,
        name: str,
        found: Judged,
        numbers: _Counts,
        flags: Sequence[str],
        bounds: Mapping[str, tuple[float, float]],
    ) -> list[Row]:
        """One row a metric."""
        suite, task, samples = self.suite.name, self.task, self.settings.samples
        rows = []
        for key, value in found.values.items():
            metric, _, of_class = key.partition(":")
            low, high = interval(found.boot[key]) if key in found.boot else (None, None)
            paper, notes = paper_figure(suite, task.split, metric, name, samples)
            if name == RISK:
                notes = (*notes, f"label-free tables, fitted on texts of {', '.join(fitted_on())}")
            best, worst = bounds.get(key, (value, value))
            row = Row(
                suite=suite,
                scorer=name,
                split=task.split,
                level=task.level,
                positive=of_class or task.positive,
                metric=metric,
                value=_known(value),
                ci_low=low,
                ci_high=high,
                best=_known(best),
                worst=_known(worst),
                n_total=numbers.total,
                n_scored=numbers.scored,
                n_failed=numbers.failed,
                n_not_applicable=numbers.not_applicable,
                coverage=numbers.coverage,
                failed_reasons=numbers.reasons,
                prevalence=self.prevalence(of_class),
                baselines=self.baselines(key),
                flags=list(flags),
                paper=paper,
                notes=list(notes),
                threshold=found.threshold if is_decision(metric) else None,
                samples=samples,
            )
            rows.append(row)
        return rows

    def prevalence(self, of_class: str) -> float | None:
        """Share of positives, or of one class; of graded labels there is none."""
        if of_class:
            return _known(float(np.mean(self.asked.truth == self.task.classes.index(of_class))))
        if self.task.kind in ("graded", "classes") or not len(self.asked.truth):
            return None
        return float(np.mean(self.asked.truth))

    def baselines(self, key: str) -> Baselines:
        return Baselines(
            constant=_known(self.base.get("constant", {}).get(key)),
            random=_known(self.random.get(key)),
            length=_known(self.base.get("length", {}).get(key)),
            majority=_known(self.base.get("majority", {}).get(key)),
        )

    def bounds(self, found: Judged, column: Column) -> dict[str, tuple[float, float]]:
        """Figures had the failed targets been scored in agreement with their labels, or against.

        In agreement means above (positives) or below (negatives) all others; for a graded truth,
        linear in it, with the mean and spread of the scores there are.
        """
        failed = np.flatnonzero(self.targets(column).status[self.asked.where] == FAILED)
        if self.task.kind == "spans" or not len(failed) or not len(found.rows):
            return {}
        best, worst = (
            found.with_failed(failed, self.task, self.asked.truth, agree=agree).measure(
                self.task, self.names, self.asked.truth, None, self.beta
            )
            for agree in (True, False)
        )
        return {m: (float(best[m]), float(worst[m])) for m in found.values}


def _split(view: _View, judged: Mapping[str, Judged], base: Mapping[str, Judged]) -> Split:
    suite, task, asked, settings = view.suite, view.task, view.asked, view.settings
    live = {n: j for n, j in judged.items() if len(j.rows)}
    scores = {n: _over_all(j, len(asked.truth)) for n, j in judged.items()}
    compared: tuple[list[Comparison], list[Rank], list[list[str]]] = ([], [], [])
    boot = {n: j.boot[task.headline] for n, j in live.items() if task.headline in j.boot}
    if len(boot) > 1:
        ranked = task.kind in ("binary", "graded")
        compared = compare(
            asked.truth,
            {n: scores[n] for n in boot},
            asked.groups,
            task.headline,
            boot,
            permutations=settings.bootstrap if ranked else 0,
            seed=settings.seed,
            values={n: live[n].values[task.headline] for n in boot},
        )
    notes = [*suite.notes, *task.notes]
    if "constant" in base and _tie_gain(base["constant"].values) > TIE_GAIN:
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
    return _known(float(spearman(a[both], b[both])))


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


def _tie_gain(values: Mapping[str, float]) -> float:
    """By how much the trapezoid area exceeds average precision; 0 where either is not there."""
    return values.get("trapezoid_pr", 0.0) - values.get("average_precision", math.inf)


def _known(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
