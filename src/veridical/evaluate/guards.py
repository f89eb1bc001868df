"""Flags that keep a reader from being fooled by a figure. Each answers to a known error in the
published record: see docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from veridical.evaluate.datasets.suite import Floats
from veridical.evaluate.metrics.correlation import spearman
from veridical.evaluate.resampling import interval
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

#: Value of a metric that says a score's order is no better than its reverse.
_NEUTRAL = {"auroc": 0.5, "pearson": 0.0, "spearman": 0.0, "kendall": 0.0}


def split_flags(truth: Floats, groups: NDArray[np.int64], binary: bool) -> list[str]:
    """Flags that concern every figure on these targets."""
    flags = []
    few = min(np.sum(truth == 1), np.sum(truth == 0)) if binary else len(truth)
    if few < FEW:
        flags.append("small_n")
    if len(np.unique(groups)) < FEW_GROUPS:
        flags.append("few_groups")
    return flags


def scorer_flags(
    truth: Floats,
    score: Floats,
    length: Floats,
    predicted: NDArray[np.int64] | None,
    values: Mapping[str, float],
    boot: Mapping[str, Floats],
    length_boot: Mapping[str, Floats],
    headline: str,
    *,
    n_failed: int,
    coverage: float | None,
    fitted_on_test: bool,
    in_domain: bool,
) -> list[str]:
    """Flags of one scorer on one split; arrays are over the targets it scored.

    ``boot`` and ``length_boot`` are figures over the same resamples.
    """
    flags = []
    if in_domain:
        flags.append("in_domain")
    if n_failed:
        flags.append(f"failures:{n_failed}")
    if coverage is not None and coverage < MIN_COVERAGE:
        flags.append("low_coverage")
    if fitted_on_test and predicted is not None:
        flags.append("threshold_fitted_on_test")
    if len(score) > 1 and np.all(score == score[0]):
        return [*flags, "constant"]
    if _inverted(values, boot):
        flags.append("inverted")
    gain = values.get("trapezoid_pr", np.nan) - values.get("average_precision", np.nan)
    if gain > TIE_GAIN:
        flags.append("ties_inflate_trapezoid")
    if predicted is not None and len(predicted):
        share = np.bincount(predicted).max() / len(predicted)
        true_share = np.unique(truth, return_counts=True)[1].max() / len(truth)
        if share >= ONE_CLASS and share > true_share:
            flags.append("one_class")
    if len(score) > 2 and abs(float(spearman(score, length))) >= LENGTH_PROXY:
        flags.append("length_proxy")
    elif headline in boot and headline in length_boot:
        low, _ = interval(boot[headline] - length_boot[headline])
        if low is not None and low <= 0:
            flags.append("not_better_than_length")
    return flags


def _inverted(values: Mapping[str, float], boot: Mapping[str, Floats]) -> bool:
    """Whether the score turned upside down would be better, by more than chance."""
    for metric, neutral in _NEUTRAL.items():
        if metric not in values:
            continue
        _, high = interval(boot[metric]) if metric in boot else (None, None)
        return (values[metric] if high is None else high) < neutral
    return False
