"""Counts and means of a run, against numpy and by hand."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from veridical.core.registry import REGISTRY
from veridical.core.scores import Result, Score
from veridical.engine.summary import Moments, Summary

SCORERS = REGISTRY.parse("ngram, exact_match, support")


def result(row: int, risk: float | None, **scores: Score) -> Result:
    return Result(id=row, row=row, risk=risk, by=None if risk is None else "x", scores=scores)


def by_name(summary: Summary) -> dict[str, dict[str, Any]]:
    return {s["name"]: s for s in summary.as_dict()["scorers"]}


@pytest.mark.parametrize("n", [2, 3, 50, 2000])
def test_moments_are_those_of_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.beta(2, 5, n)
    moments = Moments()
    for v in values:
        moments.add(float(v))
    assert moments.n == n
    assert moments.mean == pytest.approx(values.mean(), abs=1e-12)
    assert moments.m2 == pytest.approx(((values - values.mean()) ** 2).sum(), abs=1e-10)
    half = 1.959964 * values.std(ddof=1) / np.sqrt(n)
    low, high = moments.interval()
    assert low == pytest.approx(max(0.0, values.mean() - half), abs=1e-12)
    assert high == pytest.approx(min(1.0, values.mean() + half), abs=1e-12)


def test_moments_do_not_lose_small_spreads() -> None:
    moments = Moments()
    for v in (1.0, 1.0 - 1e-9, 1.0 - 2e-9):
        moments.add(v)
    assert moments.m2 == pytest.approx(2e-18, rel=1e-3)


def test_an_interval_needs_two_and_stays_within_bounds() -> None:
    moments = Moments()
    assert moments.interval() == (None, None)
    moments.add(0.5)
    assert moments.interval() == (None, None)
    wide = Moments()
    for v in (0.0, 1.0):
        wide.add(v)
    assert wide.interval() == (0.0, 1.0)
    same = Moments()
    for _ in range(3):
        same.add(0.25)
    assert same.interval() == (0.25, 0.25)


def test_coverage_leaves_nobody_out() -> None:
    """scored / (records + row errors - not applicable), contract section 5."""
    summary = Summary(SCORERS)
    for row in range(10):
        scores = {
            "ngram": Score.of(row / 10),  # 10 scored
            "exact_match": Score.failed("broke") if row < 3 else Score.of(1.0),  # 7 of 10
            "support": Score.not_applicable("no samples") if row < 6 else Score.of(0.5),  # 4 of 4
        }
        summary.add(result(row, row / 10, **scores))
    for _ in range(2):
        summary.add_row_error("no response")
    found = by_name(summary)
    assert found["ngram"]["coverage"] == 10 / (10 + 2 - 0)
    assert found["exact_match"]["coverage"] == 7 / (10 + 2 - 0)
    assert found["support"]["coverage"] == 4 / (10 + 2 - 6)
    assert summary.coverage == summary.as_dict()["coverage"] == 7 / 12
    assert (summary.records, summary.row_errors) == (10, 2)
    for s in found.values():
        assert s["n_total"] == s["n_scored"] + s["n_failed"] + s["n_not_applicable"] == 12
    assert found["exact_match"]["failed_reasons"] == {"broke": 3, "row error: no response": 2}
    assert found["support"]["not_applicable_reasons"] == {"no samples": 6}


def test_random_runs_against_plain_arithmetic() -> None:
    rng = random.Random(4)
    for _ in range(30):
        summary = Summary(SCORERS)
        risks = {s.key: [] for s in SCORERS}
        failed = dict.fromkeys(risks, 0)
        skipped = dict.fromkeys(risks, 0)
        records, errors = rng.randrange(30), rng.randrange(5)
        for row in range(records):
            scores = {}
            for key in risks:
                kind = rng.randrange(3)
                if kind == 0:
                    risks[key].append(rng.random())
                    scores[key] = Score.of(risks[key][-1])
                elif kind == 1:
                    failed[key] += 1
                    scores[key] = Score.failed("f")
                else:
                    skipped[key] += 1
                    scores[key] = Score.not_applicable("n")
            summary.add(result(row, None, **scores))
        for _ in range(errors):
            summary.add_row_error("e")
        found = by_name(summary)
        coverages = []
        for key, values in risks.items():
            base = records + errors - skipped[key]
            coverage = len(values) / base if base > errors else None
            assert found[key]["coverage"] == coverage
            assert found[key]["n_failed"] == failed[key] + errors
            if coverage is not None:
                coverages.append(coverage)
            if not values:
                assert found[key]["mean"] is found[key]["best"] is found[key]["worst"] is None
                continue
            # as though every record without a score were right, or were wrong
            assert found[key]["best"] == pytest.approx(sum(values) / base, abs=1e-12)
            missing = base - len(values)
            assert found[key]["worst"] == pytest.approx((sum(values) + missing) / base, abs=1e-12)
            mean = found[key]["mean"]
            assert mean == pytest.approx(np.mean(values), abs=1e-12)
            assert found[key]["best"] - 1e-12 <= mean <= found[key]["worst"] + 1e-12
        assert summary.coverage == (min(coverages) if coverages else None)


def test_the_records_own_risk() -> None:
    summary = Summary(SCORERS[:1])
    risks = [0.0, 0.049, 0.05, 0.5, 0.999, 1.0, 1.0]
    for row, risk in enumerate(risks):
        summary.add(result(row, risk, ngram=Score.of(risk)))
    summary.add(result(7, None, ngram=Score.not_applicable("the response is empty")))
    found = summary.as_dict()
    assert found["records"] == 8 and found["by"] == "x"
    assert found["risk"]["n"] == 7
    assert found["risk"]["mean"] == pytest.approx(np.mean(risks))
    expected, _ = np.histogram(risks, bins=20, range=(0, 1))
    assert found["risk"]["histogram"] == expected.tolist()


def test_nothing_at_all() -> None:
    summary = Summary(SCORERS)
    assert summary.coverage is None
    found = summary.as_dict()
    assert found["risk"]["mean"] is None and found["records"] == 0
    assert all(s["coverage"] is None and s["best"] is None for s in found["scorers"])
    summary.add_row_error("e")
    assert summary.coverage is None  # a bad row says nothing of a scorer that never applied
    summary.add(result(0, None, ngram=Score.failed("f")))
    assert summary.coverage == 0.0


def test_reasons_are_counted_in_bounded_room() -> None:
    summary = Summary(SCORERS[:1])
    for row in range(1000):
        summary.add(result(row, None, ngram=Score.failed(f"reason {row}")))
    summary.add(result(1000, None, ngram=Score.failed("reason 7")))
    (found,) = summary.as_dict()["scorers"]
    assert found["n_failed"] == 1001 == sum(found["failed_reasons"].values())
    assert len(found["failed_reasons"]) == 51
    assert found["failed_reasons"]["other reasons"] == 950
    assert found["failed_reasons"]["reason 7"] == 2
