"""The points of one scorer's plots on one split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.stats.metrics.calibration import accuracy_at, histogram, reliability, risk_coverage
from veridical.stats.metrics.ranking import pr_curve, roc_curve
from veridical.stats.tables import Bin
from veridical_lab.bench.judged import Judged, TaskTargets
from veridical_lab.bench.result import Curves, LabelCounts

_LENGTH_BINS = 6
#: Bins of labels, and points of a scatter plot at most.
_LABEL_BINS, _MOST_POINTS = 20, 500


def curves(name: str, judged: Judged, targets: TaskTargets) -> Curves:
    """Compute the curves of a scorer on a binary task, over the targets it scored."""
    truth = targets.truth[judged.rows]
    plots = Curves(scorer=name)
    if judged.score is not None:
        plots.precision_recall = pr_curve(truth, judged.score)
        plots.roc = roc_curve(truth, judged.score)
        plots.risk_coverage = risk_coverage(truth, judged.score)
    if judged.risk is not None:
        plots.accuracy_at = accuracy_at(truth, judged.risk)
        plots.reliability = reliability(truth, judged.risk)
        plots.histogram = histogram(truth, judged.risk)
    if judged.predicted is not None:
        right = judged.predicted == truth
        plots.lengths = _by_length(targets.length[judged.rows], right, truth)
    return plots


def scatter(name: str, judged: Judged, targets: TaskTargets) -> Curves:
    """Return scores with human graded labels (SelfCheckGPT, figures 6 and 10).

    Of many targets, evenly spaced ones are used.
    """
    plots = Curves(scorer=name)
    if judged.score is not None:
        truth = targets.truth[judged.rows]
        step = -(-len(truth) // _MOST_POINTS) or 1
        pairs = zip(truth[::step].tolist(), judged.score[::step].tolist(), strict=True)
        plots.scatter = [(label, score) for label, score in pairs]
    return plots


def label_counts(targets: TaskTargets) -> LabelCounts | None:
    """Return the histogram of graded labels (SelfCheckGPT, figure 4); None if constant or
    missing.
    """
    truth = targets.truth
    if not len(truth) or truth.min() == truth.max():
        return None
    ends = (0.0, 1.0) if truth.min() >= 0 and truth.max() <= 1 else (truth.min(), truth.max())
    counts, edges = np.histogram(truth, bins=_LABEL_BINS, range=ends)
    return LabelCounts(edges=[float(e) for e in edges], counts=[int(n) for n in counts])


def _by_length(length: Floats, right: NDArray[np.bool_], truth: Floats) -> list[Bin]:
    """Compute accuracy in bins of about equally many targets, by length in words."""
    edges = np.unique(np.quantile(length, np.linspace(0, 1, _LENGTH_BINS + 1)))
    place = np.clip(np.searchsorted(edges, length, side="right") - 1, 0, max(len(edges) - 2, 0))
    bins = []
    for i in range(max(len(edges) - 1, 1)):
        in_bin = place == i
        n = int(in_bin.sum())
        bins.append(
            Bin(
                low=float(edges[i]),
                high=float(edges[min(i + 1, len(edges) - 1)]),
                n=n,
                mean=float(right[in_bin].mean()) if n else None,
                rate=float(truth[in_bin].mean()) if n else None,
            )
        )
    return bins
