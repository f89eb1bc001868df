"""The header's judgement of coverage, and its figures."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from veridical.core.verdict_cuts import Unchecked, Verdict
from veridical.report.overview import (
    REASONS,
    VERDICTS,
    Banner,
    banner,
    bars,
    cards,
    meaning,
    nothing_checked,
    number,
    percent,
)


def scorer(name: str, coverage: float | None, failed: int = 0) -> dict[str, Any]:
    return {"name": name, "coverage": coverage, "n_failed": failed, "n_total": 100}


def head(*scorers: dict[str, Any], **changes: Any) -> dict[str, Any]:
    base = {"records": 100, "row_errors": 0, "min_coverage": 0.98, "scorers": list(scorers)}
    return {**base, **changes}


def test_full_coverage_is_no_news() -> None:
    assert banner(head(scorer("a", 1.0), scorer("b", None))) is None


def told(summary: dict[str, Any]) -> Banner:
    found = banner(summary)
    assert found is not None
    return found


def test_few_failures_are_a_warning_that_names_the_scorer() -> None:
    found = told(head(scorer("a", 0.99, failed=1)))
    assert found.level == "warn"
    assert found.points == [("a", "failed on 1 of 100.")]


def test_low_coverage_is_bad_and_says_how_low() -> None:
    found = told(head(scorer("a", 0.5, failed=50), scorer("b", 0.98, failed=2)))
    assert found.level == "bad"
    assert found.points == [
        ("a", "covers only 50 % (minimum 98 %)."),
        ("b", "failed on 2 of 100."),
    ]


def test_rejected_rows_are_counted_against_all_rows() -> None:
    found = told(head(scorer("a", 0.99), row_errors=3))
    assert found.level == "warn"
    assert " ".join(found.points[0]).startswith("3 of 103 input rows were rejected")
    assert told(head(row_errors=1)).points[0][1].startswith("of 101 input row was")


def test_a_run_without_records_is_bad() -> None:
    assert told(head(records=0, row_errors=4)).level == "bad"
    assert told({"records": 0}).level == "bad"


def unchecked(**reasons: int) -> dict[str, Any]:
    n = sum(reasons.values())
    return {"records": n, "verdicts": {"unchecked": n}, "unchecked": reasons}


def test_a_run_in_which_nothing_was_checked_is_bad_and_says_which_columns_are_unused() -> None:
    columns = [("ctx", "contexts", "--map contexts=ctx"), ("colour", None, "")]
    found = told(head(scorer("a", None), unused_columns=columns, **unchecked(nothing_to_check=3)))
    assert (found.level, found.headline) == ("bad", "Nothing was checked.")
    assert [" ".join(point) for point in found.points] == [
        "3 records: there are no contexts, samples, reference or log-probabilities to check it "
        "against.",
        "ctx is a column that is not used; did you mean contexts? --map contexts=ctx",
        "colour is a column that is not used.",
    ]


def test_risks_without_a_verdict_are_a_warning() -> None:
    words = {**unchecked(not_judged=3), "risk": {"n": 3}}
    found = told(head(scorer("a", 1.0), **words))
    assert (found.level, found.headline) == ("warn", "No answer has a verdict, only a risk.")
    assert told(head(scorer("a", 0.1), **words)).level == "bad"


def test_refusals_alone_are_no_failure_to_check() -> None:
    assert not nothing_checked({**unchecked(no_statement=2), "risk": {"n": 2}})
    assert nothing_checked(unchecked(no_statement=1, failed=1))
    mixed = {"verdicts": {"unchecked": 3, "supported": 1}, "unchecked": {"failed": 3}}
    assert not nothing_checked(mixed)


def test_unused_columns_of_a_checked_run_are_a_warning() -> None:
    columns = [("note", None, ""), ("ctx", "contexts", "--map contexts=ctx")]
    found = told(head(scorer("a", 1.0), unused_columns=columns, verdicts={"supported": 9}))
    assert found.level == "warn"
    assert [name for name, _ in found.points] == ["ctx"]  # a note is the input's own
    assert banner(head(scorer("a", 1.0), unused_columns=columns[:1])) is None


def test_cards_are_the_verdicts_that_there_are_the_worst_first() -> None:
    verdicts = {"supported": 15, "contradicted": 1, "unchecked": 4, "unsupported": 0}
    found = cards({"records": 20, "verdicts": verdicts, "unchecked": {"failed": 4}})
    assert [(c.verdict, c.mark, c.tone, c.records, c.share) for c in found] == [
        ("contradicted", "✗", "contradiction", 1, 5),
        ("unchecked", "–", "none", 4, 20),
        ("supported", "✓", "entailment", 15, 75),
    ]
    assert set(VERDICTS) == set(get_args(Verdict)) and set(REASONS) == set(get_args(Unchecked))


def test_a_run_of_an_earlier_version_has_no_cards_and_says_what_to_do() -> None:
    old = unchecked(earlier_version=5)
    assert cards(old) == []
    found = told(head(scorer("a", 1.0), **old))
    assert found.level == "warn" and found.headline.endswith("check again to have them.")
    assert told(head(scorer("a", 0.5), **old)).level == "bad"


def test_what_a_risk_means_is_the_runs_own_sentence_where_it_has_one() -> None:
    scored = {"risk": {"n": 3}}
    assert meaning({}) == []
    assert "Not calibrated on your data" in " ".join(meaning(scored))
    assert meaning({**scored, "meaning": ["Of answers like this 7 in 10 are wrong."]}) == [
        "Of answers like this 7 in 10 are wrong."
    ]


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
