"""Span metrics, micro-averaged over items.

Each item is reduced to a few counts, so that resampling is a matrix product.

``span_*`` count characters: those of a predicted span that are in a gold one are right (RAGTruth's
span level). ``span_overlap_*`` count spans: a predicted one is right if it shares a character with
a gold one. A gold one is found if it shares one with a predicted one.

A quotient 0 / 0 is 0 if the other side has spans, and NaN if neither has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from veridical.arrays import Floats
from veridical.stats.metrics.metric import as_rows

Spans = Sequence[tuple[int, int]]
#: Counts of :func:`span_statistics`: characters in both, predicted, gold; predicted spans that
#: overlap a gold one, all; gold spans that overlap a predicted one, all.
STATISTICS = (
    "characters_right",
    "characters_predicted",
    "characters_gold",
    "spans_right",
    "spans_predicted",
    "spans_found",
    "spans_gold",
)


def span_statistics(gold: Sequence[Spans], predicted: Sequence[Spans]) -> Floats:
    """Count each item's characters and spans: (n, 7), in the order of :data:`STATISTICS`.

    Args:
        gold, predicted: one list per item of (start, end), end exclusive, in any order. For the
            characters, overlapping or touching spans are merged; for the overlaps each counts.
            Empty spans are ignored.

    Raises:
        ValueError: the numbers of items differ, or a span ends before it starts.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} items of gold spans, but {len(predicted)} of predicted ones")
    table = np.zeros((len(gold), len(STATISTICS)))
    for item, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        g, p = _nonempty("gold", item, g), _nonempty("predicted", item, p)
        merged_g, merged_p = merged(g), merged(p)
        table[item] = (
            _common(merged_g, merged_p),
            sum(end - start for start, end in merged_p),
            sum(end - start for start, end in merged_g),
            _touching(p, merged_g),
            len(p),
            _touching(g, merged_p),
            len(g),
        )
    return table


def _nonempty(name: str, item: int, spans: Spans) -> list[tuple[int, int]]:
    for start, end in spans:
        if not 0 <= start <= end:
            raise ValueError(f"{name}[{item}]: ({start}, {end}) is not a span")
    return [(start, end) for start, end in spans if end > start]


def merged(spans: Spans) -> list[tuple[int, int]]:
    """Return the fewest spans with the same characters, in order."""
    fewest: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if fewest and start <= fewest[-1][1]:
            fewest[-1] = (fewest[-1][0], max(end, fewest[-1][1]))
        else:
            fewest.append((start, end))
    return fewest


def _common(a: Spans, b: Spans) -> int:
    """Count the characters in both lists of merged spans."""
    return sum(max(0, min(e, f) - max(s, t)) for s, e in a for t, f in b)


def _touching(spans: Spans, others: Spans) -> int:
    """Count the ``spans`` that share a character with any of ``others``."""
    return sum(any(s < f and t < e for t, f in others) for s, e in spans)


@overload
def span_metrics(statistics: Floats, weights: None = None) -> dict[str, float]: ...
@overload
def span_metrics(statistics: Floats, weights: Floats) -> dict[str, Floats]: ...
@overload
def span_metrics(
    statistics: Floats, weights: Floats | None = None
) -> dict[str, float] | dict[str, Floats]: ...
def span_metrics(
    statistics: Floats, weights: Floats | None = None
) -> dict[str, float] | dict[str, Floats]:
    """Compute precision, recall and F1 in [0, 1] over all items, by character and by overlap.

    Args:
        statistics: (n, 7) of :func:`span_statistics`.
        weights: (b, n) number of occurrences of each item in each of b replicates.

    Returns:
        One value, or (b,), under each of ``span_precision``, ``span_recall``, ``span_f1``,
            ``span_overlap_precision``, ``span_overlap_recall``, ``span_overlap_f1``.
    """
    common, predicted, gold, right, n_predicted, touched, n_gold = (
        as_rows(statistics, weights) @ statistics
    ).T
    with np.errstate(divide="ignore", invalid="ignore"):
        values: dict[str, Floats] = {}
        for prefix, hit, of, recalled, relevant in (
            ("span", common, predicted, common, gold),
            ("span_overlap", right, n_predicted, touched, n_gold),
        ):
            there = of + relevant > 0
            p = np.where(there, np.where(of > 0, hit / of, 0.0), np.nan)
            r = np.where(there, np.where(relevant > 0, recalled / relevant, 0.0), np.nan)
            values[f"{prefix}_precision"], values[f"{prefix}_recall"] = p, r
            values[f"{prefix}_f1"] = np.where(p + r == 0, 0.0, 2 * p * r / (p + r))
    if weights is None:
        return {name: float(v[0]) for name, v in values.items()}
    return values
