"""The points of one scorer's plots on one split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veridical.evaluate.datasets.suite import Floats
from veridical.evaluate.judged import Asked, Judged
from veridical.evaluate.metrics.calibration import (
    accuracy_at,
    histogram,
    reliability,
    risk_coverage,
)
from veridical.evaluate.metrics.ranking import pr_curve, roc_curve
from veridical.evaluate.result import Bin, Curves

_LENGTH_BINS = 6


def curves(name: str, judged: Judged, asked: Asked) -> Curves:
    """Curves of a scorer on a binary task, over the targets it scored."""
    truth = asked.truth[judged.rows]
    made = Curves(scorer=name)
    if judged.score is not None:
        made.precision_recall = pr_curve(truth, judged.score)
        made.roc = roc_curve(truth, judged.score)
        made.risk_coverage = risk_coverage(truth, judged.score)
    if judged.risk is not None:
        made.accuracy_at = accuracy_at(truth, judged.risk)
        made.reliability = reliability(truth, judged.risk)
        made.histogram = histogram(truth, judged.risk)
    if judged.predicted is not None:
        right = judged.predicted == truth
        made.lengths = _by_length(asked.length[judged.rows], right, truth)
    return made


def _by_length(length: Floats, right: NDArray[np.bool_], truth: Floats) -> list[Bin]:
    """Accuracy in bins of about equally many targets, by length in words."""
    edges = np.unique(np.quantile(length, np.linspace(0, 1, _LENGTH_BINS + 1)))
    place = np.clip(np.searchsorted(edges, length, side="right") - 1, 0, max(len(edges) - 2, 0))
    bins = []
    for i in range(max(len(edges) - 1, 1)):
        own = place == i
        n = int(own.sum())
        bins.append(
            Bin(
                low=float(edges[i]),
                high=float(edges[min(i + 1, len(edges) - 1)]),
                n=n,
                mean=float(right[own].mean()) if n else None,
                rate=float(truth[own].mean()) if n else None,
            )
        )
    return bins
