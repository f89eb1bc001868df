"""Metrics of every scorer on one task, with baselines, intervals and flags."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.engine.risk import fitted_on
from veridical.stats.metrics.metric import finite
from veridical.stats.resampling import Resampler, interval
from veridical_lab.bench.baselines import baselines, expected_at_random
from veridical_lab.bench.datasets.suite import BadItem, Labelled, Suite, Task
from veridical_lab.bench.guards import Counts, inverted, scorer_flags, split_flags, ties_inflate
from veridical_lab.bench.judged import Judged, TaskTargets, is_decision, judge
from veridical_lab.bench.judgements import FAILED, NOT_APPLICABLE, RISK, SCORED, Column
from veridical_lab.bench.published import paper_figure
from veridical_lab.bench.result import Baselines, Row, Split
from veridical_lab.bench.splits import split_of


@dataclass(frozen=True)
class Settings:
    """Options of the metrics.

    ``beta`` adds an F-beta, ``samples`` is noted in the rows. From the risk ``threshold`` on,
    scorers call a target wrong. ``limited``: only the first items were used.
    """

    seed: int = 0
    bootstrap: int = 1000
    as_published: bool = False
    beta: float | None = None
    samples: int | None = None
    threshold: float | None = None
    limited: bool = False


def measure(
    suite: Suite,
    task: Task,
    labelled: Labelled,
    columns: Mapping[str, Column],
    bad: Sequence[BadItem],
    settings: Settings,
    in_domain: Collection[str],
) -> tuple[list[Row], Split]:
    """Compute all metrics of one task.

    Args:
        columns: results of each scorer, by its key.
        bad: invalid rows of the data; those of the task's parts count as failed.
        in_domain: keys of the scorers that were tuned on this suite.
    """
    as_published, seed = settings.as_published, settings.seed
    view = _View(suite, task, TaskTargets.of(task, labelled), settings)
    parts = set(labelled.parts[view.targets.item].tolist())
    bad_of_parts = [b for b in bad if b.part in parts]
    by_scorer: dict[str, Judged] = {}
    counted: dict[str, Counts] = {}
    for name, column in columns.items():
        judged = judge(
            column,
            task,
            view.targets,
            labelled,
            as_published=as_published,
            threshold=settings.threshold,
            seed=seed,
        )
        if judged is None:
            continue
        numbers = view.count(column, bad_of_parts)
        if numbers.n_scored or numbers.n_failed > len(bad_of_parts):
            by_scorer[name], counted[name] = judged, numbers
    base = baselines(task, view.targets, labelled, as_published=as_published, seed=seed)
    view.fill({**by_scorer, **base})
    if "length" in base:
        for judged in by_scorer.values():
            judged.of_length = view.headline_on(base["length"], judged.rows)
    everything = base["always_positive"].values if "always_positive" in base else {}
    marked = everything.get("span_precision", math.nan)  # share of the characters
    view.random = expected_at_random(task, view.targets.truth, view.names, marked)
    view.base = {n: j.values for n, j in base.items()}

    rows: list[Row] = []
    for name, judged in by_scorer.items():
        flags = view.flags(judged, counted[name], name in in_domain)
        rows += view.rows(name, judged, counted[name], flags, view.bounds(judged, columns[name]))
    everyone = Counts(len(view.targets.truth), len(view.targets.truth), 0, 0)
    shared = view.shared_flags()
    for name, judged in base.items():
        rows += view.rows(name, judged, everyone, shared + view.baseline_flags(judged), {})
    chance = Judged(np.arange(0), values=view.random)
    rows += view.rows("random", chance, everyone, shared, {})
    return rows, split_of(
        suite, task, view.targets, by_scorer, base, permutations=settings.bootstrap, seed=seed
    )


@dataclass
class _View:
    """One task on one set of items: what the figures of all its scorers share."""

    suite: Suite
    task: Task
    targets: TaskTargets
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

    def count(self, column: Column, bad: Sequence[BadItem]) -> Counts:
        """Count the scored targets; bad rows of the data count as failed."""
        scores = column.over(self.task.on)
        status = scores.status[self.targets.where]
        mask = np.zeros(len(scores.status), dtype=np.bool_)
        mask[self.targets.where] = True
        reasons = scores.failed_reasons(mask)
        for row in bad:
            field = f"{row.error.field}: " if row.error.field else ""
            reasons[f"row error: {field}{row.error.error}"] += 1
        scored, na, failed = (int(np.sum(status == s)) for s in (SCORED, NOT_APPLICABLE, FAILED))
        return Counts(len(status) + len(bad), scored, failed + len(bad), na, reasons)

    @property
    def resampler(self) -> Resampler:
        return Resampler(self.targets.groups, self.settings.bootstrap, self.settings.seed)

    def fill(self, by_name: Mapping[str, Judged]) -> None:
        """Compute metrics and their resamples in one pass, so that scorers share the draws."""
        live = {n: j for n, j in by_name.items() if len(j.rows)}
        for name in by_name.keys() - live.keys():  # failed throughout: its rows say so
            by_name[name].values = dict.fromkeys(self.names, math.nan)
        truth = self.targets.truth
        for judged in live.values():
            values = judged.measure(self.task, self.names, truth, None, self.beta)
            judged.values = {m: float(v) for m, v in values.items()}
        gathered: dict[str, dict[str, list[Floats]]] = {n: {} for n in live}
        for weights in self.resampler.chunks():
            for name, judged in live.items():
                resampled = judged.measure(self.task, self.names, truth, weights, self.beta)
                for metric, replicates in resampled.items():
                    gathered[name].setdefault(metric, []).append(np.asarray(replicates))
        for name, judged in live.items():
            judged.boot = {m: np.concatenate(parts) for m, parts in gathered[name].items()}

    def headline_on(self, judged: Judged, rows: NDArray[np.int64]) -> Floats | None:
        """Return replicates of the headline metric of ``found`` on only ``rows`` of its targets."""
        headline = self.task.headline
        if headline not in judged.boot or not len(rows):
            return None
        if len(rows) == len(judged.rows):
            return judged.boot[headline]
        part, truth = judged.within(rows), self.targets.truth
        resampled = (
            part.measure(self.task, [headline], truth, w, self.beta)[headline]
            for w in self.resampler.chunks()
        )
        return np.concatenate([np.asarray(d) for d in resampled])

    def shared_flags(self) -> list[str]:
        classes = {"graded": 0, "classes": len(self.task.classes)}.get(self.task.kind, 2)
        return split_flags(self.targets.truth, self.targets.groups, classes)

    def flags(self, judged: Judged, numbers: Counts, in_domain: bool) -> list[str]:
        """Return all warnings of a scorer."""
        return self.shared_flags() + scorer_flags(
            judged,
            self.targets,
            self.task.headline,
            numbers,
            fitted_on_test=self.settings.as_published and self.task.kind == "binary",
            in_domain=in_domain,
            seed=self.settings.seed,
        )

    def baseline_flags(self, judged: Judged) -> list[str]:
        """Return the flags that apply to baselines too: shorter may be riskier, for one."""
        flags = []
        if isinstance(judged.threshold, float):
            flags.append("threshold_fitted_on_test")
        if ties_inflate(judged.values):
            flags.append("ties_inflate_trapezoid")
        targets, seed = self.targets, self.settings.seed
        if judged.score is not None and inverted(targets.truth, judged.score, targets.groups, seed):
            flags.append("inverted")
        return flags

    def rows(
        self,
        name: str,
        judged: Judged,
        numbers: Counts,
        flags: Sequence[str],
        bounds: Mapping[str, tuple[float, float]],
    ) -> list[Row]:
        """Return one row per metric."""
        suite, task, samples = self.suite.name, self.task, self.settings.samples
        rows = []
        for key, value in judged.values.items():
            metric, _, of_class = key.partition(":")
            known = key in judged.boot and finite(value) is not None
            low, high = interval(judged.boot[key]) if known else (None, None)
            paper, notes = paper_figure(suite, task.split, key, name, samples)
            if self.settings.limited:
                notes = tuple(f"on the whole set, not this part of it: {note}" for note in notes)
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
                value=finite(value),
                ci_low=low,
                ci_high=high,
                best=finite(best),
                worst=finite(worst),
                **numbers.of_row(),
                prevalence=self.prevalence(of_class),
                baselines=self.baselines(key),
                flags=list(flags),
                paper=paper,
                notes=list(notes),
                threshold=judged.threshold if is_decision(metric) else None,
                samples=samples,
            )
            rows.append(row)
        return rows

    def prevalence(self, of_class: str) -> float | None:
        """Return the share of positives, or of one class; None for graded labels."""
        if of_class:
            return finite(float(np.mean(self.targets.truth == self.task.classes.index(of_class))))
        if self.task.kind in ("graded", "classes") or not len(self.targets.truth):
            return None
        return float(np.mean(self.targets.truth))

    def baselines(self, key: str) -> Baselines:
        figures = {"random": self.random, **self.base}
        names = Baselines.model_fields
        return Baselines(**{n: finite(figures[n].get(key)) for n in names if n in figures})

    def bounds(self, judged: Judged, column: Column) -> dict[str, tuple[float, float]]:
        """Return metrics as if the failed targets had been scored in agreement with their labels,
        or against.

        See :meth:`Judged.with_failed`. Unreadable rows of the data have no labels and do not count
        here.
        """
        failed = np.flatnonzero(column.over(self.task.on).status[self.targets.where] == FAILED)
        if self.task.kind == "spans" or not len(failed) or not len(judged.rows):
            return {}
        best, worst = (
            judged.with_failed(failed, self.task, self.targets.truth, agree=agree).measure(
                self.task, self.names, self.targets.truth, None, self.beta
            )
            for agree in (True, False)
        )
        return {m: (float(best[m]), float(worst[m])) for m in judged.values}
