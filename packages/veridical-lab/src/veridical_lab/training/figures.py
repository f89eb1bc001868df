"""Metrics of a trained checker, with the majority class as a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.stats.metrics import classification, of_table
from veridical.stats.resampling import Resampler, interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRICS = ("macro_f1", "accuracy")


@dataclass(frozen=True)
class FigureRow:
    """One figure with its 95 % interval (None where too few replicates define it).

    Attributes:
        part: ``held out``, or the file.
        method: the checker's; ``majority`` (the part's most frequent class, said always); or the
            ``difference`` of the two, with a paired interval.
        n: pairs.
    """

    part: str
    method: str
    metric: str
    value: float
    low: float | None
    high: float | None
    n: int


def beside_majority(
    truth: NDArray[np.int64],
    said: NDArray[np.int64],
    groups: NDArray[np.int64],
    classes: int,
    *,
    part: str,
    method: str,
    bootstrap: int,
    seed: int,
) -> list[FigureRow]:
    """Compute macro-F1 and accuracy of a checker, of the majority class, and their difference.

    Args:
        truth, said: (n,) classes 0 .. classes - 1, n >= 1.
        groups: (n,) units of the bootstrap: the pair's premise.
    """
    constant = np.full(len(truth), np.bincount(truth, minlength=classes).argmax())
    resampler = Resampler(groups, bootstrap, seed)
    values = {}
    for name, predicted in ((method, said), ("majority", constant)):
        whole = of_table(METRICS, classification.counts(truth, predicted, classes))
        drawn = [
            of_table(METRICS, classification.counts(truth, predicted, classes, weights))
            for weights in resampler.chunks()
        ]
        for metric in METRICS:
            replicates = np.concatenate([d[metric] for d in drawn]) if drawn else np.zeros(0)
            values[name, metric] = float(whole[metric]), replicates
    for metric in METRICS:
        (value, draws), (other, others) = values[method, metric], values["majority", metric]
        values["difference", metric] = value - other, draws - others
    rows = []
    for (name, metric), (value, draws) in values.items():
        low, high = interval(draws)
        rows.append(FigureRow(part, name, metric, value, low, high, len(truth)))
    return rows
