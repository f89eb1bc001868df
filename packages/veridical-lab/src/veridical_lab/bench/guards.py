"""Flags that keep a reader from being fooled by a figure. Each answers to a known error in the
published record: see docs/evidence/benchmarks.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.engine.results import MIN_COVERAGE
from veridical.stats.metrics.correlation import spearman
from veridical.stats.metrics.metric import finite
from veridical.stats.resampling import Resampler, interval
from veridical_lab.bench.judged import Judged, TaskTargets

#: Fewer positives, or negatives, than this make every figure on a split shaky.
FEW = 30
#: Fewer independent units than this make bootstrap intervals too narrow.
FEW_GROUPS = 50
#: Trapezoid minus average precision from which ties are said to inflate the area.
TIE_GAIN = 0.005
#: Share of one predicted class from which a score "predicts nearly always one class".
ONE_CLASS = 0.95
#: Rank correlation with the response's length from which a score is little else.
LENGTH_PROXY = 0.95

_REASONS = 20  # shown of a scorer's failures
_REPLICATES = (
    500  # resamples of the correlation with the truth, to distinguish an inverted score from chance
)


@dataclass(frozen=True)
class Counts:
    """Counts of scored targets of a task, and of the data's bad rows."""

    n_total: int
    n_scored: int
    n_failed: int
    n_not_applicable: int
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def coverage(self) -> float | None:
        applicable = self.n_total - self.n_not_applicable
        return self.n_scored / applicable if applicable else None

    def of_row(self) -> dict[str, Any]:
        """Return the fields of a row."""
        numbers = {name: n for name, n in vars(self).items() if name != "reasons"}
        reasons = dict(self.reasons.most_common(_REASONS))
        return {**numbers, "coverage": self.coverage, "failed_reasons": reasons}

    def flags(self) -> list[str]:
        """Return flags of failures, and of insufficient coverage."""
        flags = [f"failures:{self.n_failed}"] if self.n_failed else []
        low = self.coverage is not None and self.coverage < MIN_COVERAGE
        return [*flags, "low_coverage"] if low else flags


def split_flags(truth: Floats, groups: NDArray[np.int64], classes: int) -> list[str]:
    """Return flags of all metrics on these targets; ``classes`` is 0 for a graded truth."""
    flags = []
    sizes = np.bincount(truth.astype(np.int64), minlength=classes) if classes else [len(truth)]
    if min(sizes) < FEW:
        flags.append("small_n")
    if len(np.unique(groups)) < FEW_GROUPS:
        flags.append("few_groups")
    return flags


def scorer_flags(
    judged: Judged,
    targets: TaskTargets,
    headline: str,
    counts: Counts,
    *,
    fitted_on_test: bool,
    in_domain: bool,
    seed: int,
) -> list[str]:
    """Return flags of one scorer on one split, over the targets it scored."""
    truth, groups = targets.truth[judged.rows], targets.groups[judged.rows]
    length, score, predicted = targets.length[judged.rows], judged.score, judged.predicted
    flags = ["in_domain"] * in_domain + counts.flags()
    if fitted_on_test and predicted is not None:
        flags.append("threshold_fitted_on_test")
    if ties_inflate(judged.values):
        flags.append("ties_inflate_trapezoid")
    if predicted is not None and len(predicted):
        share = np.bincount(predicted).max() / len(predicted)
        true_share = np.unique(truth, return_counts=True)[1].max() / len(truth)
        if share >= ONE_CLASS and share > true_share:
            flags.append("one_class")
    if score is None or len(score) < 2:
        return flags
    if judged.statistics is None and np.all(score == score[0]):
        return [*flags, "constant"]
    if inverted(truth, score, groups, seed):
        flags.append("inverted")
    if abs(float(spearman(score, length))) >= LENGTH_PROXY:
        flags.append("length_proxy")
    elif headline in judged.boot and judged.of_length is not None and np.ptp(truth):
        low, _ = interval(judged.boot[headline] - judged.of_length)
        if low is not None and low <= 0:
            flags.append("not_better_than_length")
    return flags


def ties_inflate(values: Mapping[str, float]) -> bool:
    """Return True if the trapezoid area exceeds average precision by more than curves usually
    do.
    """
    gain = values.get("trapezoid_pr", np.nan) - values.get("average_precision", np.nan)
    return bool(gain > TIE_GAIN)


def inverted(truth: Floats, score: Floats, groups: NDArray[np.int64], seed: int) -> bool:
    """Return True if the inverted score would be significantly better.

    That is when the 95 % interval of its rank correlation with the truth, over resampled groups,
    ends below 0. For a binary truth the AUROC's then ends below a half. False for fewer than two
    groups.
    """
    if not spearman(truth, score) < 0:  # the usual case, and NaN
        return False
    correlations = [
        spearman(truth, score, w) for w in Resampler(groups, _REPLICATES, seed).chunks()
    ]
    _, high = interval(np.concatenate(correlations)) if correlations else (None, None)
    return high is not None and high < 0


def rank_correlations(scores: Sequence[Floats]) -> list[list[float | None]]:
    """Compute Spearman's correlation of each pair of scorers over shared targets, or None."""
    matrix: list[list[float | None]] = [[None] * len(scores) for _ in scores]
    for i, a in enumerate(scores):
        for j, b in enumerate(scores[: i + 1]):
            both = ~(np.isnan(a) | np.isnan(b))
            matrix[i][j] = matrix[j][i] = finite(float(spearman(a[both], b[both])))
    return matrix


def known_mean(values: Floats) -> float | None:
    """Return the mean without NaN; None if empty."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
