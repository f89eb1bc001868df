"""One suite of a benchmark: its items scored in one run, and all that is said of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from veridical.api import AUTO, Job, fingerprint
from veridical.engine import Engine
from veridical.errors import UsageError, unknown_name
from veridical.evaluate.answering import Answering
from veridical.evaluate.datasets.suite import Labelled, Suite, Task
from veridical.evaluate.figures import measure
from veridical.evaluate.judged import Asked
from veridical.evaluate.judgements import RISK, Column, judgements
from veridical.evaluate.metrics.agreement import cohen_kappa, krippendorff_alpha
from veridical.evaluate.notes import left_out, unheard
from veridical.evaluate.protocol import Chosen, Scorers, bind, choose, pick_tasks
from veridical.evaluate.request import Request
from veridical.evaluate.result import AlignmentSplit, Bench, Row, SampleCurve, Split
from veridical.evaluate.study import alignment
from veridical.evidence.run_evidence import ROLES
from veridical.models import trained_on
from veridical.records import Record
from veridical.registry import BoundScorer

_SHOWN_ERRORS = 50

Watch = Callable[[str, Job], Any]


@dataclass
class SuiteRun:
    """A suite, what is asked of it, and what comes of it."""

    suite: Suite
    scorers: Scorers
    request: Request
    chosen: Chosen
    tasks: list[Task]
    labelled: Labelled
    bound: list[BoundScorer]
    combined: list[str]
    models: dict[str, str] = field(default_factory=dict)  # name by the cost of its scorers
    rows: list[Row] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)
    alignment: list[AlignmentSplit] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        suite: Suite,
        path: Path,
        scorers: Scorers,
        request: Request,
        llm: bool = False,
        answering: Answering | None = None,
    ) -> SuiteRun:
        """The suite's data loaded, and what is to be done with it.

        Args:
            llm: there is one, so that the default scorers may call it.
            answering: answers and grades what is not yet.

        Raises:
            UsageError: unusable data, an unknown scorer or split.
        """
        bound, combined = bind(suite, scorers, llm, request.against)
        for name in request.famd:
            if not any(name in (b.key, b.scorer.name) for b in bound):
                raise unknown_name("scorer to combine", name, [b.key for b in bound])
        chosen = None if answering is None else answering.chosen(suite, path, request)
        if chosen is not None and request.multi_sentence:
            raise UsageError("--multi-sentence takes data with responses, not questions")
        chosen = chosen or choose(
            suite,
            path,
            options=request.options,
            splits=request.splits,
            protocol=request.protocol,
            limit=request.limit,
            seed=request.figures.seed,
            against=request.against,
            multi_sentence=request.multi_sentence,
        )
        labelled = Labelled.of(chosen.items)
        tasks = pick_tasks(suite, labelled, request.splits)
        return cls(suite, scorers, request, chosen, tasks, labelled, bound, combined)

    @cached_property
    def counts(self) -> tuple[int | None, ...]:
        """Numbers of samples to judge with; None stands for all there are."""
        if not (self.request.samples and self.most_samples):
            return (None,)
        return tuple(sorted({min(n, self.most_samples) for n in self.request.samples}))

    @cached_property
    def most_samples(self) -> int:
        return max(len(i.record.samples) for i in self.chosen.items)

    def records(self) -> list[Record]:
        """Each item's record, once for each number of samples: side by side, so that one run
        asks models for each text once."""
        return [_cut(i.record, n) for i in self.chosen.items for n in self.counts]

    def run(
        self, engine: Engine, place: Path | None, watch: Watch | None, retry_failed: bool = False
    ) -> str:
        """Score, and say what there is to say. The fingerprint of the run and its bad rows."""
        records = self.records()
        out = None if place is None else place / AUTO
        job = Job(records, self.bound, out=out, retry_failed=retry_failed, engine=engine)
        if watch is not None:
            watch(self.suite.name, job)
        results = job.wait()
        identity = job.directory.manifest()["identity"]
        models = identity["models"]
        self.models = {
            cost: models[role].partition("@")[0] for cost, role in ROLES.items() if role in models
        }
        ways = judgements(
            results.lines(),
            self.bound,
            self.labelled,
            combined=self.combined,
            samples=[len(r.samples) for r in records],
            every=len(self.counts),
        )
        for n, columns in zip(self.counts, ways, strict=True):
            self._tell(columns, n)
        self.rows += _agreement(self.suite, self.chosen)
        self.signatures = _signatures(results.lines())
        made = fingerprint(identity)
        bad = [[b.part, b.error.as_dict()] for b in self.chosen.bad]
        return fingerprint({"run": made, "bad": bad}) if bad else made

    def add_to(self, made: Bench) -> None:
        """Put everything into the benchmark's result."""
        made.rows += self.rows
        made.splits += self.splits
        made.signatures.update(self.signatures)
        if made.study is not None:
            made.study.alignment += self.alignment
        bad = self.chosen.bad
        made.n_row_errors += len(bad)
        room = _SHOWN_ERRORS - len(made.row_errors)
        made.row_errors += [{"part": b.part, **b.error.as_dict()} for b in bad[:room]]

    def _tell(self, columns: Mapping[str, Column], n: int | None) -> None:
        """Figures with ``n`` samples; with the most of them also everything else."""
        settings = replace(self.request.figures, samples=n)
        told = [
            measure(
                *(self.suite, t, self.labelled, columns, self.chosen.bad, settings),
                self._in_domain(t.split),
            )
            for t in self.tasks
        ]
        if n != self.counts[-1]:  # only the curves need it
            self.rows += [r for rows, _ in told for r in rows if r.scorer in columns]
            return
        self.rows += [r for rows, _ in told for r in rows]
        for task, (_, split) in zip(self.tasks, told, strict=True):
            split.samples = _sample_curves(self.rows, split) if len(self.counts) > 1 else []
            split.notes += self._notes(task, split, columns)
            self.splits.append(split)
        if self.request.study:
            self.alignment = list(self._aligned(columns))

    def _in_domain(self, split: str) -> set[str]:
        """Keys of the scorers that were tuned on this suite, or whose model was trained on this
        split of it, and ``risk`` with any of them."""
        trained = {
            cost
            for cost, model in self.models.items()
            if split in trained_on(model).get(self.suite.name, ())
        }
        tuned = {
            b.key
            for b in self.bound
            if b.in_domain(self.suite.name)
            or any(None in b.models(cost) for cost in b.costs & trained)
        }
        return tuned | {RISK} if tuned else tuned

    def _notes(self, task: Task, split: Split, columns: Mapping[str, Column]) -> list[str]:
        notes = left_out(self.chosen, task, self.labelled)
        most = self.most_samples
        if self.request.samples and self.request.samples[-1] > most:
            notes.append(f"no record has {f'more than {most} ' * (most > 0)}samples")
        if self.scorers is not None:
            notes += unheard(task, split, columns, self.labelled)
        return notes

    def _aligned(self, columns: Mapping[str, Column]) -> Iterable[AlignmentSplit]:
        """The study of each response-level task, the record's own risk aside."""
        for task in self.tasks:
            if task.kind != "binary" or task.on != "items" or task.flip:
                continue
            asked = Asked.of(task, self.labelled)
            live = {
                name: c.items
                for name, c in columns.items()
                if name != RISK and not np.isnan(c.items.raw[asked.where]).all()
            }
            if not live or len(np.unique(asked.truth)) < 2:
                continue
            yield alignment(
                self.suite.name,
                task.split,
                asked.truth,
                self.labelled.words[asked.where],
                asked.groups,
                {name: s.raw[asked.where] for name, s in live.items()},
                {name: s.risk[asked.where] for name, s in live.items()},
                as_published=self.request.figures.as_published,
                famd=[n for n in live if {n, n.partition("(")[0]} & set(self.request.famd)],
                seed=self.request.figures.seed,
            )


def _cut(record: Record, samples: int | None) -> Record:
    if samples is None:
        return record
    return record.model_copy(update={"samples": record.samples[:samples]})


def _sample_curves(rows: Sequence[Row], split: Split) -> list[SampleCurve]:
    """The headline figure of each scorer by the number of samples."""
    points: dict[str, list[tuple[int, float | None, float | None, float | None]]] = {}
    for r in rows:
        same = (r.suite, r.split, r.metric) == (split.suite, split.split, split.headline)
        if same and r.samples is not None and r.scorer in split.scorers:
            points.setdefault(r.scorer, []).append((r.samples, r.value, r.ci_low, r.ci_high))
    return [
        SampleCurve(scorer=name, metric=split.headline, points=sorted(found))
        for name, found in points.items()
    ]


def _agreement(suite: Suite, chosen: Chosen) -> list[Row]:
    """Agreement between the annotators of each part, where single annotations are there."""
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
        for metric, value in figures.items():
            rows.append(
                Row(
                    suite=suite.name,
                    scorer="annotators",
                    split=part,
                    level="response",
                    positive="hallucinated",
                    metric=metric,
                    value=value if np.isfinite(value) else None,
                    n_total=len(labels),
                    n_scored=len(labels),
                )
            )
    return rows


def _signatures(lines: Iterable[bytes]) -> dict[str, str]:
    """Signature of each scorer, from the first line that has it."""
    found: dict[str, str] = {}
    for line in lines:
        scores = json.loads(line)["scores"]
        found.update({k: s["signature"] for k, s in scores.items() if s["signature"]})
        if len(found) == len(scores):
            break
    return found
