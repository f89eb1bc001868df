"""Run of one benchmark suite: scoring and all results."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from veridical.api import AUTO, Job, fingerprint
from veridical.core.identity import Identity
from veridical.core.kinds import KINDS
from veridical.core.records import Record
from veridical.core.registry import BoundScorer
from veridical.core.verdict_cuts import Strictness
from veridical.engine.engine import Engine
from veridical.errors import UsageError, option_named, unknown_name
from veridical.models import trained_on
from veridical.report.results import Results
from veridical.stats.metrics.metric import finite
from veridical_lab.bench.answering import Answering
from veridical_lab.bench.datasets.suite import Labelled, Suite, Task
from veridical_lab.bench.figures import Settings, measure
from veridical_lab.bench.judged import TaskTargets
from veridical_lab.bench.judgements import RISK, Column, judgements
from veridical_lab.bench.metrics.agreement import cohen_kappa, krippendorff_alpha
from veridical_lab.bench.notes import left_out, unheard
from veridical_lab.bench.options import Request
from veridical_lab.bench.protocol import Chosen, Scorers, bind, choose, pick_tasks
from veridical_lab.bench.result import AlignmentSplit, Row, SampleCurve, Split, StoredBench
from veridical_lab.bench.study import alignment
from veridical_lab.bench.tuned_row import TUNED, tuned

_SHOWN_ERRORS = 50
#: Metrics that are drawn by the number of samples, where a split has them (SelfCheckGPT, figures 7
#: and 8; CheckEmbed, figure 7).
_DRAWN = ("trapezoid_pr", "spearman", "pearson")

Watch = Callable[[str, Job], Any]


@dataclass
class SuiteRun(ABC):
    """A suite, what is asked of it, and what comes of it."""

    suite: Suite
    request: Request
    chosen: Chosen
    labelled: Labelled
    bound: list[BoundScorer]
    rows: list[Row] = field(default_factory=list, init=False)
    splits: list[Split] = field(default_factory=list, init=False)
    alignment: list[AlignmentSplit] = field(default_factory=list, init=False)
    signatures: dict[str, str] = field(default_factory=dict, init=False)

    def records(self) -> list[Record]:
        """Return the records to score, in order."""
        return [item.record for item in self.chosen.items]

    @property
    def _strictness(self) -> Strictness | None:
        return None

    @abstractmethod
    def tell(self, results: Results, models: Mapping[str, str]) -> None:
        """Make the figures of a finished run by ``models``, ``name@revision`` by role."""

    def run(self, engine: Engine, runs: Path | None, watch: Watch | None) -> str:
        """Score, and say what there is to say. The fingerprint of the run and its bad rows."""
        bench = self.request.bench
        job = Job(
            self.records(),
            self.bound,
            strictness=self._strictness,
            out=None if runs is None else runs / AUTO,
            retry_failed=bench.retry_failed,
            fresh=bench.fresh,
            engine=engine,
        )
        if watch is not None:
            watch(self.suite.name, job)
        results = job.wait()
        identity = job.directory.manifest()["identity"]
        self.tell(results, identity["models"])
        bad = [[b.part, b.error.as_dict()] for b in self.chosen.bad]
        run = fingerprint(identity)
        return fingerprint({"run": run, "bad": bad}) if bad else run

    def add_to(self, bench: StoredBench) -> None:
        """Put everything into the benchmark's result."""
        bench.rows += self.rows
        bench.splits += self.splits
        bench.signatures.update(self.signatures)
        if bench.study is not None:
            bench.study.alignment += self.alignment
        bad = self.chosen.bad
        bench.n_row_errors += len(bad)
        room = _SHOWN_ERRORS - len(bench.row_errors)
        bench.row_errors += [{"part": b.part, **b.error.as_dict()} for b in bad[:room]]


@dataclass
class ScorerRun(SuiteRun):
    """Run of a suite that measures scorers.

    Attributes:
        named: whether the scorers were named by the user, so that each must be reported.
        combined: keys of the scorers in the record's combined risk.
        models: name by the cost of its scorers.
    """

    tasks: list[Task]
    combined: list[str]
    named: bool
    models: dict[str, str] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls, suite: Suite, path: Path, scorers: Scorers, request: Request, answering: Answering
    ) -> ScorerRun:
        """Load the suite's data and prepare the run.

        Args:
            answering: answers and grades where missing; with an LLM the default scorers may call it
                too.

        Raises:
            UsageError: unusable data, an unknown scorer or split.
        """
        bench = request.bench
        engine = answering.engine
        bound, combined = bind(
            suite,
            scorers,
            answering.has_llm,
            bench.against,
            engine.proxy,
            engine.spans,
            bench.answer,
            bench.paper_forms,
        )
        for name in request.study.famd:
            if not any(name in (b.key, b.scorer.name) for b in bound):
                raise unknown_name("scorer to combine", name, [b.key for b in bound])
        chosen = answering.chosen(suite, path, bench)
        if chosen is not None and bench.multi_sentence:
            raise UsageError("--multi-sentence takes data with responses, not questions")
        chosen = chosen or choose(suite, path, bench, request.suites[suite.name])
        labelled = Labelled.of(chosen.items)
        tasks = pick_tasks(suite, labelled, bench.splits)
        if bench.threshold is not None and all(task.kind != "binary" for task in tasks):
            given = option_named("threshold")
            raise UsageError(
                f"{given} requires two classes, which no selected split of {suite.name!r} has"
            )
        return cls(
            suite, request, chosen, labelled, bound, tasks, combined, named=scorers is not None
        )

    @cached_property
    def counts(self) -> tuple[int | None, ...]:
        """Numbers of samples to judge with; None stands for all there are."""
        counts = self.request.bench.counts
        if not (counts and self.most_samples):
            return (None,)
        return tuple(sorted({min(n, self.most_samples) for n in counts}))

    @property
    def _strictness(self) -> Strictness | None:
        """The operating point of the verdicts; None where no task is at the verdict."""
        options = self.request.suites.get(self.suite.name)
        return getattr(options, "strictness", None)

    @cached_property
    def most_samples(self) -> int:
        return max(len(i.record.samples) for i in self.chosen.items)

    def records(self) -> list[Record]:
        """Return each item's record for each number of samples.

        Variants are adjacent, so that one run computes each text once.
        """
        return [_cut(i.record, n) for i in self.chosen.items for n in self.counts]

    def tell(self, results: Results, models: Mapping[str, str]) -> None:
        """Make the figures for each number of samples."""
        self.models = {
            kind.cost: models[kind.name].partition("@")[0]
            for kind in KINDS.values()
            if kind.batched and kind.name in models
        }
        ways = judgements(
            results.lines(),
            self.bound,
            self.labelled,
            combined=self.combined,
            samples=[len(r.samples) for r in self.records()],
            every=len(self.counts),
            strictness=self._strictness,
        )
        for n, columns in zip(self.counts, ways, strict=True):
            self._tell(columns, n)
        self.rows += _agreement(self.suite, self.chosen)
        self.signatures = _signatures(results.lines())

    def _tell(self, columns: Mapping[str, Column], n: int | None) -> None:
        """Add the metrics with ``n`` samples; with the maximum also everything else."""
        bench = self.request.bench
        settings = Settings(
            bench.seed,
            bench.bootstrap,
            bench.as_published,
            bench.beta,
            n,
            bench.threshold,
            bench.limit is not None,
        )
        measured = []
        told: list[list[str]] = []
        for task in self.tasks:
            shown, notes = self._with_tuned(task, columns)
            in_domain = self._in_domain(task.split)
            measured.append(
                measure(
                    self.suite, task, self.labelled, shown, self.chosen.bad, settings, in_domain
                )
            )
            told.append(notes)
        if n != self.counts[-1]:  # only the curves need it
            known = {*columns, TUNED}
            self.rows += [r for rows, _ in measured for r in rows if r.scorer in known]
            return
        self.rows += [r for rows, _ in measured for r in rows]
        for task, (_, split), notes in zip(self.tasks, measured, told, strict=True):
            split.samples = _sample_curves(self.rows, split) if len(self.counts) > 1 else []
            split.notes += [*self._notes(task, split, columns), *notes]
            self.splits.append(split)
        if self.request.study.study:
            self.alignment = list(self._aligned(columns))

    def _with_tuned(
        self, task: Task, columns: Mapping[str, Column]
    ) -> tuple[Mapping[str, Column], list[str]]:
        """Return the columns, with the tuned ensemble if requested, and its notes."""
        bench = self.request.bench
        if not bench.tuned:
            return columns, []
        column, notes = tuned(
            task, columns, self.labelled, as_published=bench.as_published, seed=bench.seed
        )
        return columns if column is None else {**columns, TUNED: column}, notes

    def _in_domain(self, split: str) -> set[str]:
        """Return the keys of the in-domain scorers.

        These were tuned on this suite, or their model was trained on this split. ``risk`` is
        included if it uses any of them.
        """
        trained = {
            cost
            for cost, model in self.models.items()
            if split in trained_on(model).get(self.suite.name, ())
        }
        fitted = {
            b.key
            for b in self.bound
            if b.in_domain(self.suite.name)
            or any(None in b.models(cost) for cost in b.costs & trained)
        }
        return fitted | {RISK, TUNED} if fitted else fitted

    def _notes(self, task: Task, split: Split, columns: Mapping[str, Column]) -> list[str]:
        item = TaskTargets.of(task, self.labelled).item
        notes = left_out(self.chosen, set(self.labelled.parts[item].tolist()))
        most, counts = self.most_samples, self.request.bench.counts
        if counts and counts[-1] > most:
            notes.append(f"no record has {f'more than {most} ' * (most > 0)}samples")
        threshold = self.request.bench.threshold
        if threshold is not None and task.kind == "binary":
            notes.append(
                f"a risk of {threshold:g} or more is called wrong, as requested; the length's "
                "threshold is fitted on other folds"
            )
        if self.named:
            notes += unheard(task, split, columns, self.labelled)
        return notes

    def _aligned(self, columns: Mapping[str, Column]) -> Iterable[AlignmentSplit]:
        """Yield the study of each response-level task, without the record's combined risk."""
        for task in self.tasks:
            if task.kind != "binary" or task.on != "items" or task.flip:
                continue
            targets = TaskTargets.of(task, self.labelled)
            live = {
                name: c.items
                for name, c in columns.items()
                if name != RISK and not np.isnan(c.items.raw[targets.where]).all()
            }
            if not live or len(np.unique(targets.truth)) < 2:
                continue
            yield alignment(
                self.suite.name,
                task.split,
                targets.truth,
                self.labelled.words[targets.where],
                targets.groups,
                {name: s.raw[targets.where] for name, s in live.items()},
                {name: s.risk[targets.where] for name, s in live.items()},
                as_published=self.request.bench.as_published,
                famd=[n for n in live if {n, Identity.read(n).name} & set(self.request.study.famd)],
                seed=self.request.bench.seed,
            )


def _cut(record: Record, samples: int | None) -> Record:
    if samples is None:
        return record
    return record.model_copy(update={"samples": record.samples[:samples]})


def _sample_curves(rows: Sequence[Row], split: Split) -> list[SampleCurve]:
    """Return metrics of each scorer by the number of samples: the headline, and those in papers."""
    points: dict[tuple[str, str], list[tuple[int, float | None, float | None, float | None]]] = {}
    for metric in dict.fromkeys((split.headline, *_DRAWN)):
        for r in rows:
            same = (r.suite, r.split, r.metric) == (split.suite, split.split, metric)
            if same and r.samples is not None and r.scorer in split.scorers:
                of = points.setdefault((r.scorer, metric), [])
                of.append((r.samples, r.value, r.ci_low, r.ci_high))
    return [
        SampleCurve(scorer=name, metric=metric, points=sorted(values))
        for (name, metric), values in points.items()
    ]


def _agreement(suite: Suite, chosen: Chosen) -> list[Row]:
    """Return the agreement of annotators in each part with single annotations."""
    rows = []
    for part in dict.fromkeys(i.part for i in chosen.items):
        labels = [i.annotators for i in chosen.items if i.part == part and i.annotators]
        if not labels:
            continue
        figures = {
            "cohen_kappa": cohen_kappa(labels),
            "krippendorff_alpha": krippendorff_alpha(labels, "nominal"),
            "krippendorff_alpha_interval": krippendorff_alpha(labels, "interval"),
        }
        rows += [
            Row(
                suite=suite.name,
                scorer="annotators",
                split=part,
                level="response",
                positive="hallucinated",
                metric=metric,
                value=finite(value),
                n_total=len(labels),
                n_scored=len(labels),
            )
            for metric, value in figures.items()
        ]
    return rows


def _signatures(lines: Iterable[bytes]) -> dict[str, str]:
    """Signature of each scorer, from the first line that has it."""
    signatures: dict[str, str] = {}
    for line in lines:
        scores = json.loads(line)["scores"]
        signatures.update({k: s["signature"] for k, s in scores.items() if s["signature"]})
        if len(signatures) == len(scores):
            break
    return signatures
