"""Extractors against the claims that people found: precision, recall and F1 (Hu et al. 2024,
RefChecker, section 6.1).

A judge of entailment says both: whether the response entails each extracted claim (precision), and
whether the extracted claims together entail each given one (recall). See
:mod:`veridical.claims.quality`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.api import AUTO, Job, fingerprint
from veridical.claims import extractors
from veridical.claims.quality import QUALITY
from veridical.engine import Engine
from veridical.errors import UsageError
from veridical.evaluate.answering import Answering
from veridical.evaluate.comparisons import compare
from veridical.evaluate.datasets.suite import Floats, Labelled, Suite
from veridical.evaluate.guards import split_flags
from veridical.evaluate.protocol import Chosen, Scorers, choose
from veridical.evaluate.request import Request
from veridical.evaluate.resampling import Resampler, interval
from veridical.evaluate.result import Bench, Row, Split
from veridical.evaluate.suite_run import Watch
from veridical.registry import BoundScorer
from veridical.results import MIN_COVERAGE

#: What is measured unless others are named: all that need no LLM and no extra. ``given`` are the
#: claims of the data themselves, which show what the judge makes of right claims.
DEFAULT = ("given", "response", "sentences", "clauses", "triplets")
METRICS = ("f1", "precision", "recall")
_POSITIVE = "entailed claims"
_SHOWN_ERRORS = 50
_REASONS = 20
_MEANING = (
    "precision: share of a response's claims that the response (after its prompt, if it has one) "
    "entails; recall: share of the given claims that the extracted ones together entail; all three "
    "figures are means over responses, so F1 is not made of the other two",
    "given: the data's own claims by the same judge, which is as well as the judge lets anyone do; "
    "response: the whole response as one claim loses nothing and is no claim to check, so read "
    "these figures beside the number of claims",
)


@dataclass
class _Column:
    """One extractor over all items: (n,) figures by metric, NaN where there are none."""

    figures: dict[str, Floats]
    claims: Floats
    abstained: NDArray[np.bool_]
    status: list[str]
    reasons: list[str]

    @classmethod
    def empty(cls, n: int) -> _Column:
        figures = {m: np.full(n, np.nan) for m in METRICS}
        return cls(figures, np.full(n, np.nan), np.zeros(n, np.bool_), [""] * n, [""] * n)

    def put(self, i: int, score: dict[str, Any]) -> None:
        self.status[i], self.reasons[i] = score["status"], score["reason"] or ""
        if score["status"] == "scored":
            raw = score["raw"]
            for metric in METRICS:
                self.figures[metric][i] = raw[metric]
            self.claims[i], self.abstained[i] = raw["claims"], raw["abstained"]


@dataclass
class ExtractionRun:
    """The suite ``extraction``, what is asked of it, and what comes of it; used as a
    :class:`~veridical.evaluate.suite_run.SuiteRun` is."""

    suite: Suite
    request: Request
    chosen: Chosen
    labelled: Labelled
    bound: list[BoundScorer]
    rows: list[Row] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)
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
    ) -> ExtractionRun:
        """The data loaded, and what is to be done with it.

        Args:
            scorers: names of extractors, in a text or a list; None for :data:`DEFAULT`.
            llm: there is one, for extractors and judges that ask it.
            answering: not used: the responses are there.

        Raises:
            UsageError: unusable data, an unknown extractor or judge, or no LLM for one.
        """
        judge_by = request.judge or "nli"
        bound = []
        for name in _names(scorers):
            arguments = {"extractor": name, "judge_by": judge_by}
            made = BoundScorer(QUALITY, arguments)
            if "llm" in made.costs and not llm:
                raise UsageError(f"{name} judged by {judge_by} needs a language model (--llm NAME)")
            bound.append(made)
        chosen = choose(
            suite,
            path,
            options=request.options,
            splits=request.splits,
            protocol=request.protocol,
            limit=request.limit,
            seed=request.figures.seed,
            labelled=False,
            multi_sentence=request.multi_sentence,
        )
        return cls(suite, request, chosen, Labelled.of(chosen.items), bound)

    def run(
        self, engine: Engine, place: Path | None, watch: Watch | None, retry_failed: bool = False
    ) -> str:
        """Extract, judge, and say what there is to say. The fingerprint of the run."""
        records = [i.record for i in self.chosen.items]
        out = None if place is None else place / AUTO
        job = Job(records, self.bound, out=out, retry_failed=retry_failed, engine=engine)
        if watch is not None:
            watch(self.suite.name, job)
        results = job.wait()
        columns = {b.key: _Column.empty(len(records)) for b in self.bound}
        for line in results.lines():
            result = json.loads(line)
            for key, column in columns.items():
                score = result["scores"][key]
                column.put(result["row"], score)
                if score["signature"]:
                    self.signatures.setdefault(_name(key), score["signature"])
        named = {_name(key): column for key, column in columns.items()}
        parts = self.labelled.parts
        names = list(dict.fromkeys(parts.tolist()))
        for part in [*names, *(["all"] if len(names) > 1 else [])]:
            self._tell(part, np.flatnonzero((parts == part) | (part == "all")), named)
        made = fingerprint(job.directory.manifest()["identity"])
        bad = [[b.part, b.error.as_dict()] for b in self.chosen.bad]
        return fingerprint({"run": made, "bad": bad}) if bad else made

    def add_to(self, made: Bench) -> None:
        """Put everything into the benchmark's result."""
        made.rows += self.rows
        made.splits += self.splits
        made.signatures.update(self.signatures)
        bad = self.chosen.bad
        made.n_row_errors += len(bad)
        room = _SHOWN_ERRORS - len(made.row_errors)
        made.row_errors += [{"part": b.part, **b.error.as_dict()} for b in bad[:room]]

    def _tell(self, part: str, where: NDArray[np.int64], columns: dict[str, _Column]) -> None:
        """Figures of one part, over the responses that claim something by the data."""
        count = np.array([len(i.record.meta["claims"]) for i in self.chosen.items])
        asked = where[count[where] > 0]
        silent = where[count[where] == 0]
        groups = self.labelled.groups[asked]
        settings = self.request.figures
        bad = sum(b.part == part or part == "all" for b in self.chosen.bad)
        flags = split_flags(np.zeros(len(asked)), groups, 0)
        boot: dict[str, dict[str, Floats]] = {}
        for name, column in columns.items():
            values = {m: column.figures[m][asked] for m in METRICS}
            boot[name] = _replicates(values, Resampler(groups, settings.bootstrap, settings.seed))
            self.rows += self._rows(part, name, column, asked, bad, boot[name], flags)
        scored = {n: c for n, c in columns.items() if not np.isnan(c.figures["f1"][asked]).all()}
        compared = compare(
            np.zeros(len(asked)),
            {n: c.figures["f1"][asked] for n, c in scored.items()},
            groups,
            "f1",
            {n: boot[n]["f1"] for n in scored},
            permutations=0,
            seed=settings.seed,
            values={n: float(np.nanmean(c.figures["f1"][asked])) for n, c in scored.items()},
        )
        self.splits.append(
            Split(
                suite=self.suite.name,
                split=part,
                level="response",
                kind="extraction",
                positive=_POSITIVE,
                n_total=len(asked) + bad,
                n_positive=None,
                n_groups=len(np.unique(groups)),
                headline="f1",
                scorers=list(columns),
                comparisons=[c.model_copy(update={"p_delong": None}) for c in compared[0]],
                ranks=compared[1],
                cliques=compared[2],
                notes=self._notes(part, asked, silent, count, columns),
            )
        )

    def _rows(
        self,
        part: str,
        name: str,
        column: _Column,
        asked: NDArray[np.int64],
        bad: int,
        boot: dict[str, Floats],
        flags: Sequence[str],
    ) -> list[Row]:
        said = Counter(column.status[i] for i in asked)
        reasons = Counter(column.reasons[i] for i in asked if column.status[i] == "failed")
        total, failed = len(asked) + bad, said["failed"] + bad
        applicable = total - said["not_applicable"]
        coverage = said["scored"] / applicable if applicable else None
        own = list(flags)
        if failed:
            own.append(f"failures:{failed}")
        if coverage is not None and coverage < MIN_COVERAGE:
            own.append("low_coverage")
        rows = []
        for metric in METRICS:
            low, high = interval(boot[metric])
            rows.append(
                Row(
                    suite=self.suite.name,
                    scorer=name,
                    split=part,
                    level="response",
                    positive=_POSITIVE,
                    metric=metric,
                    value=_mean(column.figures[metric][asked]),
                    ci_low=low,
                    ci_high=high,
                    n_total=total,
                    n_scored=said["scored"],
                    n_failed=failed,
                    n_not_applicable=said["not_applicable"],
                    coverage=coverage,
                    failed_reasons=dict(reasons.most_common(_REASONS)),
                    flags=own,
                )
            )
        return rows

    def _notes(
        self,
        part: str,
        asked: NDArray[np.int64],
        silent: NDArray[np.int64],
        count: NDArray[np.int64],
        columns: dict[str, _Column],
    ) -> list[str]:
        """What the figures mean and leave out, and how many claims there are."""
        given = _mean(count[asked].astype(np.float64)) or 0.0
        each = [
            f"{name} {_mean(c.claims[asked]):.1f}"
            for name, c in columns.items()
            if not np.isnan(c.claims[asked]).all()
        ]
        notes = [
            *_MEANING,
            f"judge: {self.request.judge or 'nli'}",
            f"claims a response: {given:.1f} in the data; {', '.join(each)}",
        ]
        for name, c in columns.items():
            if refused := int(c.abstained[asked].sum()):
                notes.append(f"{name}: no claims in {refused:,} responses taken for refusals")
        if len(silent):
            heard = ", ".join(f"{n} {int(c.abstained[silent].sum())}" for n, c in columns.items())
            notes.append(
                f"{len(silent):,} responses claim nothing by the data and are left out; taken for "
                f"refusals: {heard}"
            )
        own = {i.part for i in self.chosen.items} if part == "all" else {part}
        for name in sorted(own):
            notes += self.chosen.notes.get(name, [])
            if name in self.chosen.taken:
                taken, total = self.chosen.taken[name]
                notes.append(
                    f"quick protocol: {taken} of {total} independent items of {name}, drawn by seed"
                )
        return notes


def _names(scorers: Scorers) -> list[str]:
    """Names of extractors, each once.

    Raises:
        UsageError: none, one twice, or one that does not exist.
    """
    given: Iterable[str | BoundScorer] = DEFAULT if scorers is None else scorers
    if isinstance(given, str):
        given = given.split(",")
    names = [str(name).strip() for name in given]
    names = [name for name in names if name]
    if not names:
        raise UsageError("name an extractor (--scorers)")
    for name in names:
        extractors.costs_of(name)
        if names.count(name) > 1:
            raise UsageError(f"extractor {name!r} is asked for twice")
    return names


def _name(key: str) -> str:
    """The extractor of ``extraction(extractor=NAME, ...)``."""
    return key.partition("extractor=")[2].rstrip(")").partition(",")[0]


def _replicates(values: dict[str, Floats], resampler: Resampler) -> dict[str, Floats]:
    """(B,) means of each metric over resamples of whole groups, of what was scored."""
    found: dict[str, list[Floats]] = {m: [np.empty(0)] for m in values}
    there = ~np.isnan(values["f1"])
    for weights in resampler.chunks():
        total = weights @ there
        with np.errstate(divide="ignore", invalid="ignore"):
            for metric, x in values.items():
                found[metric].append((weights @ np.where(there, x, 0.0)) / total)
    return {m: np.concatenate(parts) for m, parts in found.items()}


def _mean(x: Floats) -> float | None:
    there = x[~np.isnan(x)]
    return float(there.mean()) if len(there) else None
