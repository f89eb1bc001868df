"""Evaluation of extractors against human claims: precision, recall and F1.

Hu et al. 2024 (RefChecker), section 6.1. A judge of entailment decides whether the response
entails each extracted claim (precision). It also decides whether the extracted claims together
entail each given one (recall). See :mod:`veridical_lab.bench.extraction_quality`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.claims import extractors
from veridical.core.registry import BoundScorer
from veridical.errors import UsageError, option_named
from veridical.report.results import Results
from veridical.stats.comparisons import compare
from veridical.stats.resampling import Resampler, interval
from veridical_lab.bench.answering import Answering
from veridical_lab.bench.datasets.suite import Labelled, Suite
from veridical_lab.bench.extraction_quality import QUALITY
from veridical_lab.bench.guards import Counts, known_mean, split_flags
from veridical_lab.bench.notes import left_out
from veridical_lab.bench.options import Request
from veridical_lab.bench.protocol import Scorers, choose
from veridical_lab.bench.result import Row, Split
from veridical_lab.bench.suite_options import ExtractionOptions
from veridical_lab.bench.suite_run import SuiteRun

#: Default extractors: all without an LLM or an extra. ``given`` are the claims of the data
#: themselves, which show the judge's decisions on right claims.
DEFAULT = ("given", "response", "sentences", "clauses", "triplets")
METRICS = ("f1", "precision", "recall")
_POSITIVE = "entailed claims"
_MEANING = (
    "precision: share of a response's claims that the response (after its prompt, if it has one) "
    "entails",
    "recall: share of the given claims that the extracted ones together entail",
    "all three figures are means over responses, so F1 is not made of the other two",
    "given: the data's own claims by the same judge, an upper bound under this judge",
    "response: the whole response as one claim loses nothing and is not checkable, so read "
    "these figures together with the number of claims",
)


@dataclass
class _Column:
    """Metrics of one extractor over all items: (n,) by metric, NaN if undefined."""

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
class ExtractionRun(SuiteRun):
    """The suite ``extraction``, what is asked of it, and what comes of it."""

    judge: str

    @classmethod
    def of(
        cls, suite: Suite, path: Path, scorers: Scorers, request: Request, answering: Answering
    ) -> ExtractionRun:
        """Load the data and prepare the run.

        Args:
            scorers: names of extractors, in a text or a list; None for :data:`DEFAULT`.
            answering: gives the LLM, if any, of extractors and judges.

        Raises:
            UsageError: unusable data, an unknown extractor or judge, or a missing LLM.
        """
        options = request.suites[suite.name]
        assert isinstance(options, ExtractionOptions)
        judge = options.judge or "nli"
        bound = []
        for name in _names(scorers):
            extraction = BoundScorer(QUALITY, {"extractor": name, "judge_by": judge})
            if "llm" in extraction.costs and not answering.has_llm:
                llm = option_named("llm", "NAME")
                raise UsageError(f"{name} judged by {judge} needs a language model ({llm})")
            bound.append(extraction)
        bench = replace(request.bench, against=None)
        if bench.threshold is not None:
            raise UsageError(f"{option_named('threshold')} parts two classes: claims have no risk")
        chosen = choose(suite, path, bench, options, labelled=False)
        return cls(suite, request, chosen, Labelled.of(chosen.items), bound, judge)

    def tell(self, results: Results, models: Mapping[str, str]) -> None:
        """Make the figures of each part, and of all together."""
        extractors = {b.key: str(b.values["extractor"]) for b in self.bound}
        rows = len(self.chosen.items)
        columns = {name: _Column.empty(rows) for name in extractors.values()}
        for line in results.lines():
            result = json.loads(line)
            for key, name in extractors.items():
                score = result["scores"][key]
                columns[name].put(result["row"], score)
                if score["signature"]:
                    self.signatures.setdefault(name, score["signature"])
        parts = self.labelled.parts
        names = list(dict.fromkeys(parts.tolist()))
        for part in [*names, *(["all"] if len(names) > 1 else [])]:
            self._tell(part, np.flatnonzero((parts == part) | (part == "all")), columns)

    def _tell(self, part: str, where: NDArray[np.int64], columns: dict[str, _Column]) -> None:
        """Add the metrics of one part, over the responses that have claims in the data."""
        count = np.array([len(i.record.meta["claims"]) for i in self.chosen.items])
        claiming = where[count[where] > 0]
        silent = where[count[where] == 0]
        groups = self.labelled.groups[claiming]
        bench = self.request.bench
        bad = sum(b.part == part or part == "all" for b in self.chosen.bad)
        flags = split_flags(np.zeros(len(claiming)), groups, 0)
        boot: dict[str, dict[str, Floats]] = {}
        for name, column in columns.items():
            values = {m: column.figures[m][claiming] for m in METRICS}
            boot[name] = _replicates(values, Resampler(groups, bench.bootstrap, bench.seed))
            self.rows += self._rows(part, name, column, claiming, bad, boot[name], flags)
        scored = {n: c for n, c in columns.items() if not np.isnan(c.figures["f1"][claiming]).all()}
        compared = compare(
            np.zeros(len(claiming)),
            {n: c.figures["f1"][claiming] for n, c in scored.items()},
            groups,
            "f1",
            {n: boot[n]["f1"] for n in scored},
            permutations=0,
            seed=bench.seed,
            values={n: float(np.nanmean(c.figures["f1"][claiming])) for n, c in scored.items()},
        )
        self.splits.append(
            Split(
                suite=self.suite.name,
                split=part,
                level="response",
                kind="extraction",
                positive=_POSITIVE,
                n_total=len(claiming) + bad,
                n_positive=None,
                n_groups=len(np.unique(groups)),
                headline="f1",
                scorers=list(columns),
                comparisons=[c.model_copy(update={"p_delong": None}) for c in compared[0]],
                ranks=compared[1],
                cliques=compared[2],
                notes=self._notes(part, claiming, silent, count, columns),
            )
        )

    def _rows(
        self,
        part: str,
        name: str,
        column: _Column,
        claiming: NDArray[np.int64],
        bad: int,
        boot: dict[str, Floats],
        flags: Sequence[str],
    ) -> list[Row]:
        statuses = Counter(column.status[i] for i in claiming)
        reasons = Counter(column.reasons[i] for i in claiming if column.status[i] == "failed")
        numbers = (statuses["scored"], statuses["failed"] + bad, statuses["not_applicable"])
        counts = Counts(len(claiming) + bad, *numbers, reasons)
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
                    value=known_mean(column.figures[metric][claiming]),
                    ci_low=low,
                    ci_high=high,
                    **counts.of_row(),
                    flags=[*flags, *counts.flags()],
                )
            )
        return rows

    def _notes(
        self,
        part: str,
        claiming: NDArray[np.int64],
        silent: NDArray[np.int64],
        count: NDArray[np.int64],
        columns: dict[str, _Column],
    ) -> list[str]:
        """Return notes on the meaning of the metrics, on omissions, and on the number of claims."""
        in_data = known_mean(count[claiming].astype(np.float64)) or 0.0
        each = [
            f"{name} {known_mean(c.claims[claiming]):.1f}"
            for name, c in columns.items()
            if not np.isnan(c.claims[claiming]).all()
        ]
        notes = [
            *_MEANING,
            f"judge: {self.judge}",
            f"claims a response: {in_data:.1f} in the data; {', '.join(each)}",
        ]
        for name, c in columns.items():
            if refused := int(c.abstained[claiming].sum()):
                notes.append(f"{name}: no claims in {refused:,} responses taken for refusals")
        if len(silent):
            heard = ", ".join(f"{n} {int(c.abstained[silent].sum())}" for n, c in columns.items())
            notes.append(
                f"{len(silent):,} responses claim nothing by the data and are left out; taken for "
                f"refusals: {heard}"
            )
        parts = {i.part for i in self.chosen.items} if part == "all" else {part}
        return notes + left_out(self.chosen, parts)


def _names(scorers: Scorers) -> list[str]:
    """Return names of extractors, each once.

    Raises:
        UsageError: the list is empty, a name is duplicated or unknown.
    """
    named: Iterable[str | BoundScorer] = DEFAULT if scorers is None else scorers
    if isinstance(named, str):
        named = named.split(",")
    names = [str(name).strip() for name in named]
    names = [extractors.pin(name) for name in names if name]
    if not names:
        raise UsageError("name an extractor (--scorers)")
    for name in names:
        extractors.costs_of(name)
        if names.count(name) > 1:
            raise UsageError(f"extractor {name!r} is given twice; remove one")
    return names


def _replicates(values: dict[str, Floats], resampler: Resampler) -> dict[str, Floats]:
    """Return means (B,) of each metric over resamples of whole groups, of scored items."""
    replicates: dict[str, list[Floats]] = {m: [np.empty(0)] for m in values}
    scored = ~np.isnan(values["f1"])
    for weights in resampler.chunks():
        total = weights @ scored
        with np.errstate(divide="ignore", invalid="ignore"):
            for metric, x in values.items():
                replicates[metric].append((weights @ np.where(scored, x, 0.0)) / total)
    return {m: np.concatenate(parts) for m, parts in replicates.items()}
