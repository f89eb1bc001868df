"""Flags that keep a reader from being fooled by a figure. Each answers to a known error in the
published record: see docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from veridical.evaluate.datasets.suite import Floats
from veridical.evaluate.judged import Asked, Judged
from veridical.evaluate.metrics.correlation import spearman
from veridical.evaluate.resampling import Resampler, interval
from veridical.results import MIN_COVERAGE

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

_REPLICATES = 500  # of the correlation with the truth, to tell an inverted score from chance


def split_flags(truth: Floats, groups: NDArray[np.int64], classes: int) -> list[str]:
    """Flags that concern every figure on these targets; ``classes`` is 0 for a graded truth."""
    flags = []
    sizes = np.bincount(truth.astype(np.int64), minlength=classes) if classes else [len(truth)]
    if min(sizes) < FEW:
        flags.append("small_n")
    if len(np.unique(groups)) < FEW_GROUPS:
        flags.append("few_groups")
    return flags


def scorer_flags(
    found: Judged,
    asked: Asked,
    headline: str,
    *,
    n_failed: int,
    coverage: float | None,
    fitted_on_test: bool,
    in_domain: bool,
    seed: int,
) -> list[str]:
    """Flags of one scorer on one split, over the targets it scored."""
    truth, groups = asked.truth[found.rows], asked.groups[found.rows]
    length, score, predicted = asked.length[found.rows], found.score, found.predicted
    flags = []
    if in_domain:
        flags.append("in_domain")
    if n_failed:
        flags.append(f"failures:{n_failed}")
    if coverage is not None and coverage < MIN_COVERAGE:
        flags.append("low_coverage")
    if fitted_on_test and predicted is not None:
        flags.append("threshold_fitted_on_test")
    if ties_inflate(found.values):
        flags.append("ties_inflate_trapezoid")
    if predicted is not None and len(predicted):
        share = np.bincount(predicted).max() / len(predicted)
        true_share = np.unique(truth, return_counts=True)[1].max() / len(truth)
        if share >= ONE_CLASS and share > true_share:
            flags.append("one_class")
    if score is None or len(score) < 2:
        return flags
    if found.statistics is None and np.all(score == score[0]):
        return [*flags, "constant"]
    if inverted(truth, score, groups, seed):
        flags.append("inverted")
    if abs(float(spearman(score, length))) >= LENGTH_PROXY:
        flags.append("length_proxy")
    elif headline in found.boot and found.of_length is not None and np.ptp(truth):
        low, _ = interval(found.boot[headline] - found.of_length)
        if low is not None and low <= 0:
            flags.append("not_better_than_length")
    return flags


def ties_inflate(values: Mapping[str, float]) -> bool:
    """Whether the trapezoid area exceeds average precision by more than curves do."""
    gain = values.get("trapezoid_pr", np.nan) - values.get("average_precision", np.nan)
    return bool(gain > TIE_GAIN)


def inverted(truth: Floats, score: Floats, groups: NDArray[np.int64], seed: int) -> bool:
    """Whether the score turned upside down would be better, by more than chance.

    That is when the 95 % interval of its rank correlation with the truth, over resampled groups,
    ends below 0. For a binary truth the AUROC's then ends below a half. Of fewer than two groups
    nothing can be said, so they give False.
    """
    if not spearman(truth, score) < 0:  # the usual case, and NaN
        return False
    drawn = [spearman(truth, score, w) for w in Resampler(groups, _REPLICATES, seed).chunks()]
    _, high = interval(np.concatenate(drawn)) if drawn else (None, None)
    return high is not None and high < 0
