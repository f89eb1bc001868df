"""Runs whose risks are, and are not, those an ensemble was tuned on."""

from __future__ import annotations

import json

import pytest
from graded_answers import answers

import veridical
from veridical.cli.finish import drift_lines
from veridical.decide.drift import of_run
from veridical.decide.graded import gather

SCORERS = "ngram_presence, exact_match"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "ensemble.json"
    veridical.tune(list(answers()), SCORERS, out=path, bootstrap=0, store=None, processes=0)
    return path


def check(rows, file):
    return veridical.check(rows, f"ensemble(file={str(file)!r})", store=None, processes=0)


def test_the_tuning_data_have_not_drifted(file):
    results = check(list(answers()), file)
    ((key, found),) = of_run(results).items()
    assert set(found) == {"exact_match", "ensemble"}  # the other was worth no weight
    for drift in found.values():
        assert (drift.ks, drift.drifted, drift.n) == (0, False, len(results))
        assert drift.mean == pytest.approx(drift.mean_before)
    assert drift_lines(results) == [f"{key}: no drift from the answers it was tuned on"]


def test_answers_that_all_agree_have(file):
    rows = [row | {"samples": [row["response"]] * len(row["samples"])} for row in answers()]
    results = check(rows, file)
    (found,) = of_run(results).values()
    told = json.loads(next(results.lines()))["scores"]
    assert found["exact_match"].mean == 0 < found["exact_match"].mean_before
    assert found["exact_match"].drifted
    lines = drift_lines(results)
    assert any("exact_match has drifted" in line and "mean risk 0.000" in line for line in lines)
    assert next(iter(told.values()))["raw"]["components"]["exact_match"] == 0


def test_what_was_not_scored_counts_as_such(file):
    rows = [row | {"samples": []} for row in answers()][:30] + list(answers())[:30]
    results = check(rows, file)
    (found,) = of_run(results).values()
    assert found["exact_match"].not_scored == 0.5 and found["exact_match"].n == 30


def test_a_run_without_a_tuned_ensemble_has_none(file):
    results = veridical.check(list(answers())[:5], SCORERS, store=None, processes=0)
    assert of_run(results) == {} and drift_lines(results) == []
    assert len(gather(results)[0])
