"""Summary of a run: complete counts and streaming moments."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from veridical.core.registry import BoundScorer
from veridical.core.scores import Decision, ResultSummary, ScoreSummary
from veridical.errors import count_cause
from veridical.text.scripts import UNREAD

_BINS = 20


@dataclass
class Moments:
    """Streaming count, mean and variance (Welford 1962)."""

    n: int = 0
    mean: float = 0.0
    m2: float = 0.0

    def add(self, x: float) -> None:
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (x - self.mean)

    def interval(self) -> tuple[float | None, float | None]:
        """Return the 95 % interval of the mean by the normal approximation, clipped to [0, 1]."""
        if self.n < 2:
            return None, None
        half = 1.959964 * math.sqrt(self.m2 / (self.n - 1) / self.n)
        return max(0.0, self.mean - half), min(1.0, self.mean + half)


@dataclass
class ScorerSummary:
    """One scorer over a run. A row error counts as failed: nothing leaves the denominator."""

    name: str
    level: str
    source: str
    risk: Moments = field(default_factory=Moments)
    n_scored: int = 0
    n_failed: int = 0
    n_row_errors: int = 0
    n_not_applicable: int = 0
    unread: int = 0
    failed_reasons: Counter[str] = field(default_factory=Counter)
    not_applicable_reasons: Counter[str] = field(default_factory=Counter)

    def add(self, score: ScoreSummary) -> None:
        if score.status == "scored":
            self.n_scored += 1
            if score.risk is not None:
                self.risk.add(score.risk)
        elif score.status == "failed":
            self.fail(score.reason or "")
        else:
            self.n_not_applicable += 1
            self.unread += (score.reason or "").endswith(UNREAD)
            count_cause(self.not_applicable_reasons, score.reason or "")

    def fail(self, reason: str, n: int = 1) -> None:
        self.n_failed += n
        count_cause(self.failed_reasons, reason, n)

    @property
    def coverage(self) -> float | None:
        """scored / (records + row errors - not applicable); None without an applicable valid
        record, as invalid rows alone give no information on a scorer."""
        applicable = self.n_scored + self.n_failed
        return self.n_scored / applicable if applicable > self.n_row_errors else None

    def as_dict(self) -> dict[str, Any]:
        low, high = self.risk.interval()
        scored, failed = self.n_scored, self.n_failed
        total = self.risk.mean * self.risk.n
        return {
            "name": self.name,
            "level": self.level,
            "source": self.source,
            "n_total": scored + failed + self.n_not_applicable,
            "n_scored": scored,
            "n_failed": failed,
            "n_not_applicable": self.n_not_applicable,
            "failed_reasons": dict(self.failed_reasons.most_common()),
            "not_applicable_reasons": dict(self.not_applicable_reasons.most_common()),
            "coverage": self.coverage,
            "mean": self.risk.mean if self.risk.n else None,
            "ci_low": low,
            "ci_high": high,
            "best": total / (scored + failed) if scored else None,
            "worst": (total + failed) / (scored + failed) if scored else None,
        }


class Summary:
    """Counts and means of a run, updated with each result.

    Attributes:
        llm: ledger of LLM calls.
        verdicts: records by verdict.
        unchecked: unchecked records by reason.
        causes: records by decision and its cause; a record may have several causes.
        invisible: records with invisible characters, which were not judged.
        selected: records by kind of the selected answer: ``response``, ``sample`` or ``none``.
        repairs: records by the status of their repair.
        resumed: records scored before, by an earlier command on the same run directory.
        untrusted: stored lines that are not used.
        sealed: True if the results were sealed by this computer.
        stopped: for each cascade, records by the tier at which they stopped ("": no risk).
        statements: statements by the basis of their risk, as the deciding scores counted them (see
            :data:`veridical.core.scores.DecidedBy`).
    """

    def __init__(self, scorers: Sequence[BoundScorer]) -> None:
        self.scorers = {
            s.key: ScorerSummary(s.key, s.scorer.level, s.scorer.source) for s in scorers
        }
        self.records = 0
        self.row_errors = 0
        self.risk = Moments()
        self.histogram = [0] * _BINS
        self.by: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.unchecked: Counter[str] = Counter()
        self.invisible = 0
        self.llm: dict[str, Any] | None = None
        self.causes: Counter[tuple[str, str]] = Counter()
        self.selected: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.resumed = 0
        self.untrusted = 0
        self.sealed = True
        self.statements: Counter[str] = Counter()
        self._decided: Counter[str] = Counter()
        self.stopped = {s.key: dict.fromkeys(s.stages, 0) for s in scorers if s.stages}

    def add(self, result: ResultSummary) -> None:
        self.records += 1
        self.verdicts[result.verdict] += 1
        if result.reason is not None:
            self.unchecked[result.reason] += 1
        self.invisible += result.invisible is not None
        if result.risk is not None:
            self.risk.add(result.risk)
            self.histogram[min(_BINS - 1, int(result.risk * _BINS))] += 1
            self.by[result.by or ""] += 1
        if result.decision is not None:
            self._decided[result.decision] += 1
            for cause in result.why or ():
                self.causes[result.decision, cause] += 1
        if result.selected is not None:
            self.selected[result.selected.kind or "none"] += 1
        if result.repair is not None:
            self.repairs[result.repair.status] += 1
        for key, score in result.scores.items():
            if key in self.scorers:  # the mean of several scorers is not a scorer of the run
                self.scorers[key].add(score)
        deciding = result.deciding
        if deciding is not None and deciding.statements is not None:
            self.statements.update(deciding.statements)

    def add_stops(self, line: bytes) -> None:
        """Count the tier at which each cascade stopped, from a result line."""
        scores = json.loads(line)["scores"]
        for key, tiers in self.stopped.items():
            score = scores[key]
            raw = score["raw"] if score["status"] == "scored" else None
            tier = str(raw.get("tier", "")) if isinstance(raw, dict) else ""
            tiers[tier] = tiers.get(tier, 0) + 1

    def add_row_error(self, error: str, n: int = 1) -> None:
        self.row_errors += n
        for scorer in self.scorers.values():
            scorer.fail(f"row error: {error}", n)
            scorer.n_row_errors += n

    @property
    def shown(self) -> list[ScorerSummary]:
        """Scorers that applied to any record, or failed on one; all without such a scorer."""
        applied = [s for s in self.scorers.values() if s.n_scored or s.n_failed > s.n_row_errors]
        return applied or list(self.scorers.values())

    @property
    def unread(self) -> int:
        """Minimum number of records in a language that a model of the run does not read."""
        return max((s.unread for s in self.scorers.values()), default=0)

    @property
    def coverage(self) -> float | None:
        """The lowest coverage of any scorer that applied to a record."""
        coverages = [s.coverage for s in self.scorers.values() if s.coverage is not None]
        return min(coverages, default=None)

    @property
    def decisions(self) -> dict[str, int] | None:
        """Records by decision; None without a policy."""
        if not self._decided:
            return None
        return {name: self._decided[name] for name in get_args(Decision)}

    def as_dict(self) -> dict[str, Any]:
        low, high = self.risk.interval()
        return {
            "records": self.records,
            "row_errors": self.row_errors,
            "coverage": self.coverage,
            "by": ", ".join(self.by),
            "risk": {
                "n": self.risk.n,
                "mean": self.risk.mean if self.risk.n else None,
                "ci_low": low,
                "ci_high": high,
                "histogram": self.histogram,
            },
            "verdicts": dict(self.verdicts),
            "unchecked": dict(self.unchecked),
            "invisible": self.invisible,
            "decisions": self.decisions,
            "causes": [[*cause, n] for cause, n in self.causes.most_common()],
            "selected": dict(self.selected),
            "repairs": dict(self.repairs),
            "stopped": {key: dict(tiers) for key, tiers in self.stopped.items()},
            "statements": dict(self.statements),
            "scorers": [s.as_dict() for s in self.scorers.values()],
            "resumed": self.resumed,
            "untrusted": self.untrusted,
            "sealed": self.sealed,
            "llm": self.llm,
        }
