from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.claims.merge import (
    merge_about,
    merge_any,
    merge_conflict,
    merge_mean,
)
from veridical.core.protocols import LABELS

E, N, C = range(3)
TABLES = st.lists(st.tuples(*[st.integers(0, 9)] * 3).filter(any), min_size=1, max_size=6).map(
    lambda rows: np.array([np.array(r) / sum(r) for r in rows])
)


@pytest.mark.parametrize(
    ("rows", "label", "decides"),
    [
        ([(0.1, 0.8, 0.1), (0.6, 0.3, 0.1), (0.0, 0.1, 0.9)], E, 1),
        ([(0.1, 0.8, 0.1), (0.3, 0.3, 0.4), (0.0, 0.1, 0.9)], C, 2),
        ([(0.1, 0.8, 0.1), (0.3, 0.6, 0.1)], N, 1),  # nearest to entailment
        ([(0.5, 0.4, 0.1), (0.5, 0.1, 0.4)], E, 0),  # a tie: the earliest
        ([(0.4, 0.2, 0.4)], E, 0),  # a tie of classes: the earlier one
    ],
)
def test_any_passage(rows, label, decides):
    table = np.array(rows)
    found = merge_any(table)
    assert found.label == label
    assert found.shown[0] == (decides, label)
    assert (found.probabilities == table[decides]).all()


def test_all_that_say_the_label_are_shown():
    found = merge_any(np.array([(0.5, 0.4, 0.1), (0, 0.1, 0.9), (0.8, 0.1, 0.1)]))
    assert found.shown == ((2, E), (0, E))
    assert found.conflict
    assert not merge_any(np.array([(0.5, 0.4, 0.1), (0.1, 0.8, 0.1)])).conflict


def test_conflict_reports_both_sides():
    table = np.array([(0.5, 0.4, 0.1), (0.0, 0.1, 0.9), (0.8, 0.1, 0.1), (0.1, 0.8, 0.1)])
    found = merge_conflict(table)
    # (0.8 + 0, 0.1 + 0.1, 0.1 + 0.9) / 2
    assert found.probabilities == pytest.approx([0.4, 0.1, 0.5])
    assert (found.label, found.conflict) == (C, True)
    assert found.shown == ((1, C), (2, E), (0, E))
    even = merge_conflict(np.array([(0.7, 0.1, 0.2), (0.2, 0.1, 0.7)]))
    assert even.label == C  # a tie is no support
    alone = table[[0, 2, 3]]
    assert merge_conflict(alone).shown == merge_any(alone).shown
    assert not merge_conflict(alone).conflict


def test_contradiction_from_the_passage_most_about_the_claim():
    table = np.array([(0.1, 0.8, 0.1), (0.0, 0.1, 0.9), (0.3, 0.6, 0.1)])
    found = merge_about(table, 0)
    assert found.probabilities == pytest.approx([0.3, 0.6, 0.1])
    assert (found.label, found.shown) == (N, ((2, N),))
    found = merge_about(table, 1)
    assert found.probabilities == pytest.approx([0.3, 0.0, 0.7])  # capped at 1 - 0.3
    assert (found.label, found.shown) == (C, ((1, C),))


def test_mean_of_sources():
    each = [merge_any(np.array([row])) for row in [(0.9, 0.1, 0), (0.1, 0, 0.9), (0.8, 0.2, 0)]]
    found = merge_mean(each)
    assert found.probabilities == pytest.approx([0.6, 0.1, 0.3])
    assert (found.label, found.shown, found.conflict) == (E, ((0, E), (2, E)), True)
    # nobody says it, yet it is the likeliest of all: the source nearest to it is shown
    each = [merge_any(np.array([row])) for row in [(0.51, 0.49, 0), (0, 0.45, 0.55)]]
    assert merge_mean(each).shown == ((0, N),)


@given(TABLES)
def test_the_published_rule_and_the_likeliest_class(table):
    said = [LABELS[i] for i in table.argmax(axis=1)]
    found = merge_any(table)
    assert LABELS[found.label] == next(
        (x for x in ("entailment", "contradiction") if x in said), "neutral"
    )
    for merged in (found, merge_conflict(table), merge_about(table, 0)):
        assert merged.probabilities.sum() == pytest.approx(1)
        assert merged.probabilities[merged.label] == merged.probabilities.max()
        assert merged.shown
    both = {"entailment", "contradiction"} <= set(said)
    assert found.conflict == both == merge_conflict(table).conflict
    if both:
        assert {c for _, c in merge_conflict(table).shown[:2]} == {E, C}
