"""Span figures against sets of characters and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical_lab.bench.metrics.spans import STATISTICS, merged, span_metrics, span_statistics

SPAN = st.tuples(st.integers(0, 12), st.integers(0, 5)).map(lambda s: (s[0], s[0] + s[1]))
SPANS = st.lists(SPAN, max_size=5)
Spans = list[tuple[int, int]]


def characters(spans: Spans) -> set[int]:
    return {c for start, end in spans for c in range(start, end)}


def ratio(part: float, whole: float, other: float) -> float:
    return part / whole if whole else (0.0 if other else float("nan"))


@given(st.lists(st.tuples(SPANS, SPANS), min_size=1, max_size=4))
def test_against_sets_of_characters(items: list[tuple[Spans, Spans]]) -> None:
    gold, predicted = map(list, zip(*items, strict=True))
    common = sum(len(characters(g) & characters(p)) for g, p in items)
    n_gold, n_predicted = (
        sum(len(characters(spans)) for spans in side) for side in (gold, predicted)
    )
    right = sum(bool(characters([s]) & characters(g)) for g, p in items for s in p)
    found = sum(bool(characters([s]) & characters(p)) for g, p in items for s in g)
    all_p = sum(e > s for _, p in items for s, e in p)
    all_g = sum(e > s for g, _ in items for s, e in g)
    values = span_metrics(span_statistics(gold, predicted))
    assert values["span_precision"] == pytest.approx(
        ratio(common, n_predicted, n_gold), nan_ok=True
    )
    assert values["span_recall"] == pytest.approx(ratio(common, n_gold, n_predicted), nan_ok=True)
    assert values["span_f1"] == pytest.approx(
        ratio(2 * common, n_gold + n_predicted, 0), nan_ok=True
    )
    p, r = ratio(right, all_p, all_g), ratio(found, all_g, all_p)
    assert values["span_overlap_precision"] == pytest.approx(p, nan_ok=True)
    assert values["span_overlap_recall"] == pytest.approx(r, nan_ok=True)
    f1 = 2 * p * r / (p + r) if p + r != 0 else 0.0
    assert values["span_overlap_f1"] == pytest.approx(f1, nan_ok=True)


def test_by_hand() -> None:
    """Item 0: gold 0-10, predicted 5-8 and 7-12 (7 characters, 5 right) and 20-22; item 1: gold
    3-5 missed; item 2: a false alarm of 4 characters."""
    statistics = span_statistics(
        [[(0, 10)], [(3, 5)], []], [[(20, 22), (7, 12), (5, 8)], [], [(0, 4)]]
    )
    assert statistics.tolist() == [
        [5, 9, 10, 2, 3, 1, 1],
        [0, 0, 2, 0, 0, 0, 1],
        [0, 4, 0, 0, 1, 0, 0],
    ]
    assert statistics.shape[1] == len(STATISTICS)
    values = span_metrics(statistics)
    assert values == pytest.approx(
        {
            "span_precision": 5 / 13,
            "span_recall": 5 / 12,
            "span_f1": 10 / 25,
            "span_overlap_precision": 2 / 4,
            "span_overlap_recall": 1 / 2,
            "span_overlap_f1": 1 / 2,
        }
    )


def test_touching_spans_share_no_character() -> None:
    values = span_metrics(span_statistics([[(0, 5)]], [[(5, 9)]]))
    assert set(values.values()) == {0.0}
    assert merged([(5, 9), (0, 5), (2, 3), (12, 13)]) == [(0, 9), (12, 13)]
    assert merged([]) == []


@pytest.mark.filterwarnings("error")
def test_no_spans_at_all() -> None:
    statistics = span_statistics([[], []], [[], [(4, 4)]])
    assert not statistics.any()
    assert all(np.isnan(v) for v in span_metrics(statistics).values())
    assert all(np.isnan(v).all() for v in span_metrics(statistics, np.ones((3, 2))).values())
    assert span_statistics([], []).shape == (0, 7)
    missed = span_metrics(span_statistics([[(0, 3)]], [[]]))
    alarm = span_metrics(span_statistics([[]], [[(0, 3)]]))
    assert set(missed.values()) == set(alarm.values()) == {0.0}


def test_broken_spans_are_named() -> None:
    with pytest.raises(ValueError, match=r"predicted\[1\]: \(5, 3\) is not a span"):
        span_statistics([[], []], [[], [(5, 3)]])
    with pytest.raises(ValueError, match=r"gold\[0\]: \(-1, 3\) is not a span"):
        span_statistics([[(-1, 3)]], [[]])
    with pytest.raises(ValueError, match="1 items of gold spans, but 2"):
        span_statistics([[]], [[], []])
