"""Runs whose risks are, and are not, those an ensemble was tuned on."""

from __future__ import annotations

import json

import pytest
from graded_answers import answers

import veridical
from veridical.cli.finish import drift_lines
from veridical.decide.drift import of_run
from veridical.ensembles.graded import gather

SCORERS = "exact_match, ngram_presence"  # both rank the answers alike: the first has the weight


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "ensemble.json"
    veridical.tune(list(answers()), SCORERS, out=path, bootstrap=0, store=None, processes=0)
    return path


@pytest.fixture(scope="module")
def component(file):
    """The one scorer that the ensemble is made of: the other was worth no weight beside it."""
    (only,) = json.loads(file.read_text("utf-8"))["components"]
    return only["scorer"]


def check(rows, file):
    return veridical.check(rows, f"ensemble(file={str(file)!r})", store=None, processes=0)


def test_the_tuning_data_have_not_drifted(file, component):
    results = check(list(answers()), file)
    ((key, found),) = of_run(results).items()
    assert set(found) == {component, "ensemble"}
    for drift in found.values():
        assert (drift.ks, drift.drifted, drift.n) == (0, False, len(results))
        assert drift.mean == pytest.approx(drift.mean_before)
    assert drift_lines(results) == [f"{key}: no drift from the answers it was tuned on"]


def test_answers_that_all_agree_have(file, component):
    rows = [row | {"samples": [row["response"]] * len(row["samples"])} for row in answers()]
    results = check(rows, file)
    (found,) = of_run(results).values()
    told = json.loads(next(results.lines()))["scores"]
    assert found[component].mean < found[component].mean_before / 2
    assert found[component].drifted
    lines = drift_lines(results)
    assert any(
        f"{component} has drifted" in line and f"mean risk {found[component].mean:.3f}" in line
        for line in lines
    )
    assert next(iter(told.values()))["raw"]["components"][component] < found[component].mean_before


def test_rows_of_one_prompt_and_contexts_are_one_unit(file, component):
    once = [row | {"prompt": f"Question {n}?"} for n, row in enumerate(answers())]
    thrice = [row | {"id": 3 * n + i} for n, row in enumerate(once) for i in range(3)]
    instruction = [
        row | {"prompt": "Summarise.", "contexts": [f"Text {i}."]} for i, row in enumerate(thrice)
    ]
    effective = [
        next(iter(of_run(check(rows, file)).values()))[component].effective
        for rows in (once, thrice, instruction)
    ]
    assert effective[0] == pytest.approx(len(once), rel=0.02)
    assert effective[1] == pytest.approx(len(once), rel=0.02)
    assert effective[2] == pytest.approx(len(thrice), rel=0.02)


def test_what_was_not_scored_counts_as_such(file, component):
    rows = [row | {"samples": []} for row in answers()][:30] + list(answers())[:30]
    results = check(rows, file)
    (found,) = of_run(results).values()
    assert found[component].not_scored == 0.5 and found[component].n == 30


def test_a_run_without_a_tuned_ensemble_has_none(file):
    results = veridical.check(list(answers())[:5], SCORERS, store=None, processes=0)
    assert of_run(results) == {} and drift_lines(results) == []
    assert len(gather(results)[0])


def paragraphs(rows):
    """Records of two sentences each, of which only the first is labelled."""
    made = []
    for one, two in zip(rows[::2], rows[1::2], strict=True):
        cut = len(one["response"])
        made.append(
            {
                "id": one["id"],
                "prompt": one["prompt"],
                "response": f"{one['response']} {two['response']}",
                "samples": [
                    f"{a} {b}" for a, b in zip(one["samples"], two["samples"], strict=True)
                ],
                "unit_labels": [{"start": 0, "end": cut, "label": one["label"]}],
            }
        )
    return made


@pytest.fixture(scope="module")
def of_sentences(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "sentences.json"
    rows = paragraphs(list(answers(160)))
    veridical.tune(
        rows,
        "ngram_presence, ngram, exact_match",
        level="sentence",
        method="logistic",  # has a say for all of them
        out=path,
        bootstrap=0,
        store=None,
        processes=0,
    )
    return path


def test_sentences_are_compared_with_all_sentences_of_the_tuning_data(of_sentences):
    rows = paragraphs(list(answers(160)))
    results = check(rows, of_sentences)
    ((key, found),) = of_run(results).items()
    assert set(found) == {
        *("ngram_presence", "ngram_presence/unit", "ngram", "ngram/unit", "exact_match"),
        "ensemble",
    }
    for name, drift in found.items():
        assert not drift.drifted and drift.n == 160
        assert drift.ks == 0 or name == "ensemble"  # of risks to 6 decimals when tuned
        assert drift.mean == pytest.approx(drift.mean_before, abs=1e-5)
    assert found["ngram"].effective == 80  # one risk for the two sentences of a record
    assert 80 <= found["ngram/unit"].effective <= 160
    assert drift_lines(results) == [f"{key}: no drift from the answers it was tuned on"]
    score = next(iter(json.loads(next(results.lines()))["scores"].values()))
    plain = veridical.check(rows[:1], "ngram", store=None, processes=0)
    units = json.loads(next(plain.lines()))["scores"]["ngram"]["units"]
    assert score["raw"]["sentences"]["ngram/unit"] == [u["risk"] for u in units]
    assert "ngram" not in score["raw"]["sentences"]


def test_sentences_that_all_agree_have_drifted(of_sentences):
    rows = [row | {"samples": [row["response"]] * 4} for row in paragraphs(list(answers(160)))]
    results = check(rows, of_sentences)
    (found,) = of_run(results).values()
    assert found["ngram/unit"].drifted and found["ensemble"].drifted
    assert found["ngram/unit"].mean < found["ngram/unit"].mean_before
    assert any("ngram/unit has drifted" in line for line in drift_lines(results))


def test_records_without_a_score_count_with_all_their_sentences(of_sentences):
    rows = paragraphs(list(answers(160)))
    results = check([rows[0] | {"samples": []}, *rows[1:4]], of_sentences)
    (found,) = of_run(results).values()
    assert found["ngram/unit"].not_scored == found["ensemble"].not_scored == 0.25
    assert found["ensemble"].n == 6
    nothing = check([row | {"samples": []} for row in rows[:3]], of_sentences)
    assert drift_lines(nothing)[0].endswith("nothing is scored that could have drifted")
