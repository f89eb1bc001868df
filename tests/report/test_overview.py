"""The header's judgement of coverage, and its figures."""

from __future__ import annotations

from typing import Any

import pytest

from veridical.report.overview import banner, bars, number, percent


def scorer(name: str, coverage: float | None, failed: int = 0) -> dict[str, Any]:
    return {"name": name, "coverage": coverage, "n_failed": failed, "n_total": 100}


def head(*scorers: dict[str, Any], **changes: Any) -> dict[str, Any]:
    base = {"records": 100, "row_errors": 0, "min_coverage": 0.98, "scorers": list(scorers)}
    return {**base, **changes}


def test_full_coverage_is_good() -> None:
    found = banner(head(scorer("a", 1.0), scorer("b", None)))
    assert found.level == "good"
    assert found.points == []


def test_few_failures_are_a_warning_that_names_the_scorer() -> None:
    found = banner(head(scorer("a", 0.99, failed=1)))
    assert found.level == "warn"
    assert found.points == [("a", "failed on 1 of 100.")]


def test_low_coverage_is_bad_and_says_how_low() -> None:
    found = banner(head(scorer("a", 0.5, failed=50), scorer("b", 0.98, failed=2)))
    assert found.level == "bad"
    assert found.points == [
        ("a", "covers only 50 % (minimum 98 %)."),
        ("b", "failed on 2 of 100."),
    ]


def test_rejected_rows_are_counted_against_all_rows() -> None:
    found = banner(head(scorer("a", 0.99), row_errors=3))
    assert found.level == "warn"
    assert " ".join(found.points[0]).startswith("3 of 103 input rows were rejected")
    assert banner(head(row_errors=1)).points[0][1].startswith("of 101 input row was")


def test_a_run_without_records_is_bad() -> None:
    assert banner(head(records=0, row_errors=4)).level == "bad"
    assert banner({"records": 0}).level == "bad"


def test_bars_share_the_axis_and_the_highest_fills_it() -> None:
    found = bars([0, 2, 4, 1])
    assert [b.x for b in found] == [0, 25, 50, 75]
    assert [b.height for b in found] == [0, 50, 100, 25]
    assert (found[1].low, found[1].high, found[1].records) == (0.25, 0.5, 2)
    assert [b.height for b in bars([0, 0])] == [0, 0]
    assert bars([]) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "n/a"),
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.9804, "98 %"),
        (0.987, "98.7 %"),
        (0.99999, "> 99.9 %"),
        (1e-9, "< 0.1 %"),
    ],
)
def test_percent_never_rounds_to_all_or_nothing(value: float | None, text: str) -> None:
    assert percent(value) == text


def test_number() -> None:
    assert number(0.12345) == "0.123"
    assert number(None) == "–"
