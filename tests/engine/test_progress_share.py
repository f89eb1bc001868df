"""The share of a run that is done: work of models, and rows to come."""

from __future__ import annotations

import pytest

from veridical.engine.progress import Progress
from veridical.llm.ledger import Ledger


def test_nothing_is_known_of_an_input_of_unknown_length() -> None:
    assert Progress(records=5, seen=5).done is None and Progress(records=5, seen=5).rows is None


def test_work_that_is_answered_counts_before_records_are_finished() -> None:
    p = Progress(in_flight=10, seen=10, total=10, meter=lambda: (4.0, 8.0))
    assert p.done == pytest.approx(4 / (8 + 0.25 * 8))


def test_no_full_bar_while_records_may_ask_for_more() -> None:
    p = Progress(in_flight=10, seen=10, total=10, meter=lambda: (8.0, 8.0))
    assert p.done == pytest.approx(0.8)
    p.ledger = Ledger()
    assert p.done == pytest.approx(0.5), "an LLM is asked on by what it said"
    p.records, p.in_flight = 10, 0
    assert p.done == 1


def test_rows_to_come_need_as_much_as_those_before() -> None:
    p = Progress(records=64, in_flight=64, seen=128, total=1280, meter=lambda: (1.0, 2.0))
    half = (1 + 0.25 * 2 / 128 * 64) / (2 + 0.25 * 2)
    assert p.done == pytest.approx(half / 10)


def test_bad_rows_are_done_and_need_nothing() -> None:
    assert Progress(row_errors=30, seen=30, total=60).done == 0.5
    p = Progress(records=5, row_errors=45, in_flight=5, seen=55, total=110, meter=lambda: (1, 2))
    assert p.rows == 110 and p.done == pytest.approx((1 + 0.25) / (2 + 0.5) / 2)


def test_resumed_records_are_done() -> None:
    p = Progress(resumed=90, seen=90, total=100)
    assert p.done == pytest.approx(0.9)
    p.records, p.seen = 5, 95
    assert p.done == pytest.approx(0.95)


def test_rows_are_estimated_where_they_were_not_counted() -> None:
    p = Progress(records=10, seen=10, fraction=0.25)
    assert p.rows == 40 and p.done == pytest.approx(0.25)
    assert Progress(records=10, seen=10, total=3).rows == 10, "more came than were counted"
