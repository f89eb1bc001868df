"""What a whole run says: counts that leave nobody out, moments that need no second pass."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veridical.registry import BoundScorer
    from veridical.scores import Headline, ScoreHeadline

_BINS = 20
_REASONS = 50  # distinct reasons that are counted by name


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
        """95 % interval of the mean by the normal approximation, clipped to [0, 1]."""
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
    failed_reasons: Counter[str] = field(default_factory=Counter)
    not_applicable_reasons: Counter[str] = field(default_factory=Counter)

    def add(self, score: ScoreHeadline) -> None:
        if score.status == "scored":
            self.n_scored += 1
            if score.risk is not None:
                self.risk.add(score.risk)
        elif score.status == "failed":
            self.fail(score.reason or "")
        else:
            self.n_not_applicable += 1
            _count(self.not_applicable_reasons, score.reason or "")

    def fail(self, reason: str) -> None:
        self.n_failed += 1
        _count(self.failed_reasons, reason)

    @property
    def coverage(self) -> float | None:
        """scored / (records + row errors - not applicable); None where no valid record was to be
        scored: bad rows alone say nothing of a scorer."""
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
    """Counts and means of a run, filled one result at a time. ``llm`` is its ledger."""

    def __init__(self, scorers: Sequence[BoundScorer]) -> None:
        self.scorers = {
            s.key: ScorerSummary(s.key, s.scorer.level, s.scorer.source) for s in scorers
        }
        self.records = 0
        self.row_errors = 0
        self.risk = Moments()
        self.histogram = [0] * _BINS
        self.by: Counter[str] = Counter()
        self.llm: dict[str, Any] | None = None

    def add(self, result: Headline) -> None:
        self.records += 1
        if result.risk is not None:
            self.risk.add(result.risk)
            self.histogram[min(_BINS - 1, int(result.risk * _BINS))] += 1
            self.by[result.by or ""] += 1
        for key, score in result.scores.items():
            self.scorers[key].add(score)

    def add_row_error(self, error: str) -> None:
        self.row_errors += 1
        for scorer in self.scorers.values():
            scorer.fail(f"row error: {error}")
            scorer.n_row_errors += 1

    @property
    def coverage(self) -> float | None:
        """The lowest coverage of any scorer that applied to a record."""
        found = [s.coverage for s in self.scorers.values() if s.coverage is not None]
        return min(found, default=None)

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
            "scorers": [s.as_dict() for s in self.scorers.values()],
            "llm": self.llm,
        }


def _count(reasons: Counter[str], reason: str) -> None:
    if reason not in reasons and len(reasons) >= _REASONS:
        reason = "other reasons"
    reasons[reason] += 1
