"""From labels and scores to figures: every scorer on one task, with baselines, intervals, flags."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veridical.evaluate.baselines import baselines, expected_at_random
from veridical.evaluate.datasets.suite import BadItem, Floats, Labelled, Suite, Task
from veridical.evaluate.guards import inverted, scorer_flags, split_flags, ties_inflate
from veridical.evaluate.judged import Asked, Judged, is_decision, judge
from veridical.evaluate.judgements import (
    FAILED,
    NOT_APPLICABLE,
    RISK,
    SCORED,
    Column,
    Scores,
)
from veridical.evaluate.metrics.metric import finite
from veridical.evaluate.published import paper_figure
from veridical.evaluate.resampling import Resampler, interval
from veridical.evaluate.result import Baselines, Row, Split
from veridical.evaluate.splits import split_of
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
    base = baselines(
        task, view.asked, labelled, as_published=settings.as_published, seed=settings.seed
    )
    view.fill({**judged, **base})
    if "length" in base:
        for found in judged.values():
            found.of_length = view.headline_on(base["length"], found.rows)
    everything = base["always_positive"].values if "always_positive" in base else {}
    marked = everything.get("span_precision", math.nan)  # share of the characters
    view.random = expected_at_random(task, view.asked.truth, view.names, marked)
    view.base = {n: j.values for n, j in base.items()}

    rows: list[Row] = []
    for name, found in judged.items():
        flags = view.flags(found, counted[name], name in in_domain)
        rows += view.rows(name, found, counted[name], flags, view.bounds(found, columns[name]))
    everyone = _Counts(len(view.asked.truth), len(view.asked.truth), 0, 0, {})
    shared = view.shared_flags()
    for name, found in base.items():
        rows += view.rows(name, found, everyone, shared + view.baseline_flags(found), {})
    chance = Judged(np.arange(0), values=view.random)
    rows += view.rows("random", chance, everyone, shared, {})
    return rows, split_of(
        suite, task, view.asked, judged, base, permutations=settings.bootstrap, seed=settings.seed
    )


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

    @property
    def resampler(self) -> Resampler:
        return Resampler(self.asked.groups, self.settings.bootstrap, self.settings.seed)

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
        for weights in self.resampler.chunks():
            for name, found in live.items():
                drawn = found.measure(self.task, self.names, truth, weights, self.beta)
                for metric, replicates in drawn.items():
                    gathered[name].setdefault(metric, []).append(np.asarray(replicates))
        for name, found in live.items():
            found.boot = {m: np.concatenate(parts) for m, parts in gathered[name].items()}

    def headline_on(self, found: Judged, rows: NDArray[np.int64]) -> Floats | None:
        """Replicates of the headline figure of ``found`` on ``rows`` of its targets alone."""
        headline = self.task.headline
        if headline not in found.boot or not len(rows):
            return None
        if len(rows) == len(found.rows):
            return found.boot[headline]
        part, truth = found.within(rows), self.asked.truth
        drawn = (
            part.measure(self.task, [headline], truth, w, self.beta)[headline]
            for w in self.resampler.chunks()
        )
        return np.concatenate([np.asarray(d) for d in drawn])

    def shared_flags(self) -> list[str]:
        classes = {"graded": 0, "classes": len(self.task.classes)}.get(self.task.kind, 2)
        return split_flags(self.asked.truth, self.asked.groups, classes)

    def flags(self, found: Judged, numbers: _Counts, in_domain: bool) -> list[str]:
        """Everything a reader should be warned of."""
        return self.shared_flags() + scorer_flags(
            found,
            self.asked,
            self.task.headline,
            n_failed=numbers.failed,
            coverage=numbers.coverage,
            fitted_on_test=self.settings.as_published and self.task.kind == "binary",
            in_domain=in_domain,
            seed=self.settings.seed,
        )

    def baseline_flags(self, found: Judged) -> list[str]:
        """Those that say something of a baseline too: shorter may be riskier, for one."""
        flags = []
        if isinstance(found.threshold, float):
            flags.append("threshold_fitted_on_test")
        if ties_inflate(found.values):
            flags.append("ties_inflate_trapezoid")
        asked, seed = self.asked, self.settings.seed
        if found.score is not None and inverted(asked.truth, found.score, asked.groups, seed):
            flags.append("inverted")
        return flags

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
            paper, notes = paper_figure(suite, task.split, key, name, samples)
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
            return finite(float(np.mean(self.asked.truth == self.task.classes.index(of_class))))
        if self.task.kind in ("graded", "classes") or not len(self.asked.truth):
            return None
        return float(np.mean(self.asked.truth))

    def baselines(self, key: str) -> Baselines:
        return Baselines(
            constant=finite(self.base.get("constant", {}).get(key)),
            random=finite(self.random.get(key)),
            length=finite(self.base.get("length", {}).get(key)),
            majority=finite(self.base.get("majority", {}).get(key)),
        )

    def bounds(self, found: Judged, column: Column) -> dict[str, tuple[float, float]]:
        """Figures had the failed targets been scored in agreement with their labels, or against:
        see :meth:`Judged.with_failed`. Rows of the data that could not be read have no labels, and
        no part in this."""
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
