"""Tuning from records: scored, graded, fitted, judged, saved; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graded_answers import answers
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import veridical
from veridical.engine.engine import Engine
from veridical.ensembles import apply
from veridical.ensembles.ensemble_file import read
from veridical.ensembles.graded import Graded
from veridical.errors import UsageError, typed_options
from veridical.tuning.options import TuneOptions
from veridical.tuning.tune_view import sections
from veridical.tuning.tuned import Tuned, tune_graded
from veridical.tuning.tuning import tune

SCORERS = "ngram_presence, ngram, exact_match"
QUICK: dict[str, Any] = {"bootstrap": 0, "store": None, "processes": 0}


def graded(n: int = 240, seed: int = 0, strata: bool = False) -> Graded:
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.4).astype(np.float64)
    risks = expit(rng.normal(size=(n, 3)) + np.outer(labels - 0.5, [2.0, 2.0, 0.5]))
    risks[rng.random((n, 3)) < 0.05] = np.nan
    names = ("ngram", "support", "exact_match")
    return Graded.of(
        dict(zip(names, risks.T, strict=True)),
        labels,
        strata=["qa" if i % 2 else "chat" for i in range(n)] if strata else None,
    )


@pytest.mark.parametrize(
    ("method", "calibrate"),
    [("weighted", None), ("weighted", "isotonic"), ("logistic", "platt"), ("boosted", "beta")],
)
def test_the_file_gives_what_was_fitted(tmp_path: Path, method: str, calibrate: str | None) -> None:
    data = graded(strata=True)
    options = {"method": method, "calibrate": calibrate, "bootstrap": 0, "by": "task", "cv": 2}
    tuned = tune_graded(data, TuneOptions(**options))  # type: ignore[arg-type]
    saved, _ = read(tuned.save(tmp_path / "ensemble.json"))
    assert saved == tuned.ensemble
    columns = [data.scorers.index(c.scorer) for c in saved.components]
    assert data.strata is not None
    risk = apply.risks_of(saved, data.risks[:, columns], data.strata)
    assert np.isnan(risk).sum() == np.isnan(data.risks[:, columns]).all(axis=1).sum()
    known = ~np.isnan(risk)
    assert roc_auc_score(data.labels[known], risk[known]) > 0.85
    if calibrate is not None:
        assert abs(risk[known].mean() - data.labels[known].mean()) < 0.05
    assert saved.reference is not None
    quantiles = saved.reference.quantiles["ensemble"]
    assert quantiles[0] == pytest.approx(np.nanmin(risk), abs=1e-6)
    assert quantiles[-1] == pytest.approx(np.nanmax(risk), abs=1e-6)
    assert saved.strata is not None and set(saved.strata.of) == {"chat", "qa"}


def test_components_without_weight_are_not_asked_again() -> None:
    rng = np.random.default_rng(0)
    labels = np.tile([0.0, 1.0], 60)
    data = Graded.of(
        {"ngram": expit(3 * (labels - 0.5) + rng.normal(size=120)), "support": 1 - labels},
        labels,
    )
    tuned = tune_graded(data, TuneOptions(bootstrap=0))
    assert tuned.ensemble.names == ("ngram",)
    assert tuned.nested.not_helping == ("support",)
    assert any("support" in note for note in tuned.notes)


def test_a_guarantee_is_of_answers_that_nothing_was_fitted_to() -> None:
    data = graded(600, strata=True)
    tuned = tune_graded(
        data,
        TuneOptions(calibrate="platt", bootstrap=0, cv=2, alpha=0.15, delta=0.1, by="task"),
    )
    assert tuned.ensemble.fitted_on.n == 300
    made = tuned.ensemble.fit.guarantee
    assert made is not None and made.n <= 300 and made.threshold is not None
    fresh = graded(20_000, seed=9, strata=True)
    columns = [fresh.scorers.index(c.scorer) for c in tuned.ensemble.components]
    risk = apply.risks_of(tuned.ensemble, fresh.risks[:, columns], fresh.strata)
    accepted = risk <= made.threshold
    assert fresh.labels[accepted].mean() <= 0.15
    assert made.accepted == pytest.approx(accepted.mean(), abs=0.1)
    assert tuned.ensemble.strata is not None
    for fit in tuned.ensemble.strata.of.values():
        assert fit.guarantee is not None and fit.guarantee.n < 200


def test_guarantees_of_all_strata_at_once_take_a_share_of_delta_each() -> None:
    data = graded(600, strata=True)
    how = {"bootstrap": 0, "cv": 2, "alpha": 0.15, "delta": 0.1, "by": "task"}
    alone = tune_graded(data, TuneOptions(**how))
    both = tune_graded(data, TuneOptions(**how, simultaneous=True))
    assert alone.ensemble.strata is not None and both.ensemble.strata is not None
    assert alone.ensemble.strata.simultaneous is None
    assert both.ensemble.strata.simultaneous == 0.1
    count = len(both.ensemble.strata.of)
    for fit in both.ensemble.strata.of.values():
        assert fit.guarantee is not None
        assert fit.guarantee.delta == pytest.approx(0.1 / count) and count > 1
    assert both.ensemble.fit.guarantee == alone.ensemble.fit.guarantee

    def told(tuned: Tuned) -> str:
        return " ".join(fact for section in sections(tuned) for fact in section.facts)

    assert "each guarantee holds separately with probability 90.0%" in told(alone)
    assert "hold together is less probable" in told(alone)
    assert "hold together with probability 90.0%, each being made at 95.0%" in told(both)
    assert "on a scale of their own" in told(alone)
    calibrated = tune_graded(data, TuneOptions(calibrate="platt", **how))
    assert "on a scale of their own" not in told(calibrated)
    heads = next(s.heads for s in sections(alone) if s.title == "fits by task")
    assert "AUROC" in heads and "one fit for all" in heads
    plain = alone.as_dict()["honest"]["strata"]
    assert all(0 < of["own"]["value"] < 1 for of in plain.values()) and plain


def test_a_guarantee_is_refused_for_too_few() -> None:
    made = tune_graded(graded(80), TuneOptions(bootstrap=0, alpha=0.02, delta=0.05))
    guarantee = made.ensemble.fit.guarantee
    assert guarantee is not None and guarantee.threshold is None
    assert guarantee.reason is not None and "149" in guarantee.reason  # log .05 / log .98


def test_records_are_scored_and_tuned(tmp_path: Path) -> None:
    rows = answers()
    tuned = tune(rows, SCORERS, out=tmp_path / "e.json", **QUICK)
    on = tuned.ensemble.fitted_on
    assert (on.n, on.groups, on.labels) == (80, 40, "label")
    assert on.positive == sum(r["label"] for r in rows)
    value = tuned.nested.ensemble.value
    assert value is not None and value > 0.6
    assert {r.name for r in tuned.nested.rows} <= set(SCORERS.split(", "))
    # The saved file scores records as it was tuned.
    (result,) = veridical.check(
        rows[:1], f"ensemble(file='{tmp_path / 'e.json'}')", store=None, processes=0
    )
    (score,) = result.scores.values()
    assert score.status == "scored", score.reason
    told = json.loads(json.dumps(tuned.as_dict()))
    assert told["honest"]["n"] == 80


def test_a_grader_makes_labels() -> None:
    rows = answers()
    tuned = tune(
        [{k: v for k, v in r.items() if k != "label"} for r in rows],
        SCORERS,
        grader="exact",
        **QUICK,
    )
    assert tuned.ensemble.fitted_on.labels.startswith("grader exact")
    assert tuned.ensemble.fitted_on.positive == sum(r["label"] for r in rows)
    again = tune(rows, SCORERS, grader="exact", **QUICK)
    assert any("agrees with 80 of 80" in note for note in again.notes)


def test_what_is_left_out_is_told() -> None:
    rows = answers()
    del rows[3]["label"]
    rows[5] = {"id": "no response", "label": 1}
    rows.append({**rows[0], "samples": []})
    tuned = tune(rows, SCORERS, **QUICK)
    assert tuned.ensemble.fitted_on.n == 79
    assert tuned.nested.n == 78
    told = " | ".join(tuned.notes)
    assert "left out: 2 records (1: no label; 1: bad row: " in told
    assert "1 of 79 have no risk of any component" in told


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"objective": "auc"}, "unknown objective 'auc'"),
        ({"alpha": 1.5}, "alpha must be between 0 and 1"),
        ({"alpha": 0.1, "delta": 0.0}, "delta must be between 0 and 1"),
        ({"simultaneous": True, "alpha": 0.1}, "simultaneous requires alpha and by"),
        ({"simultaneous": True, "by": "task"}, "simultaneous requires alpha and by"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"grader": "exactly"}, "unknown grader 'exactly'"),
        ({"grader": "llm"}, "requires a language model"),
        ({"grader": "exact", "level": "sentence"}, "graders judge whole responses"),
        ({"scorers": "ensemble, ngram"}, "ensemble is an ensemble"),
        ({"by": "topic"}, "no graded record has a field 'topic'"),
        ({"scorers": "knowledge_f1"}, "no component to tune"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], why: str) -> None:
    settings = {"scorers": SCORERS, **settings}
    with pytest.raises(UsageError, match=why):
        tune(answers(40), settings.pop("scorers"), **settings, **QUICK)


def test_without_labels_it_says_how_to_get_them() -> None:
    rows = [{k: v for k, v in r.items() if k != "label"} for r in answers(30)]
    with pytest.raises(UsageError, match="their labels or a grader"):
        tune(rows, SCORERS, **QUICK)


def test_without_labelled_sentences_it_says_what_is_missing() -> None:
    with pytest.raises(UsageError, match="no record has unit_labels"):
        tune(answers(30), SCORERS, level="sentence", **QUICK)


def test_sentences_are_tuned_by_their_own_units() -> None:
    rows = []
    for one, two in zip(answers(120)[::2], answers(120)[1::2], strict=True):
        text = f"{one['response']} {two['response']}"
        cut = len(one["response"])
        rows.append(
            {
                "id": one["id"],
                "prompt": one["prompt"],
                "response": text,
                "samples": [
                    f"{a} {b}" for a, b in zip(one["samples"], two["samples"], strict=True)
                ],
                "unit_labels": [
                    {"start": 0, "end": cut, "label": one["label"]},
                    {"start": cut + 1, "end": len(text), "label": two["label"]},
                ],
            }
        )
    tuned = tune(rows, "ngram_presence, ngram", level="sentence", **QUICK)
    assert tuned.ensemble.level == "sentence"
    assert tuned.ensemble.fitted_on.n == 120 and tuned.ensemble.fitted_on.groups == 60
    assert any(c.part == "unit" for c in tuned.ensemble.components)


@pytest.mark.parametrize(
    ("changed", "settings", "why"),
    [
        ({"label": None}, {}, "no record has a label .* their labels or a grader"),
        ({"label": None, "is_hallucination": 1}, {}, "did you mean label"),
        ({"label": "nope"}, {}, "no record has a label .*30 bad rows, such as .*got 'nope'"),
        ({"label": "wrong"}, {}, "30 hallucinated and 0 right answers are too few"),
        ({}, {"level": "sentence"}, "no record has unit_labels .*level=sentence"),
        ({"reference": None}, {"grader": "exact"}, "no record has a reference"),
        ({}, {"by": "topic"}, "by=topic: no graded record has a field 'topic'"),
        ({}, {"mapping": {"label": "grade"}}, "no row has a column 'grade'"),
        ({}, {"labels": "nowhere.csv"}, "nowhere.csv"),
        ({}, {"corpus": "nowhere"}, "nowhere"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["rows", "stream"])
def test_what_cannot_be_tuned_is_refused_before_any_model_is_loaded(
    changed: dict[str, Any], settings: dict[str, Any], why: str, streamed: bool
) -> None:
    rows = [{k: v for k, v in {**r, **changed}.items() if v is not None} for r in answers(30)]
    with Engine(store=None, processes=0) as engine:
        with pytest.raises(UsageError, match=why):
            tune(iter(rows) if streamed else rows, "cosine", engine=engine, bootstrap=0, **settings)
        assert not engine._loaded and engine.work() == {}
    with typed_options(), pytest.raises(UsageError, match="their --labels or a --grader"):
        tune([{"response": "a"}], "ngram", **QUICK)


def test_labels_are_counted_before_anything_is_scored() -> None:
    rows = [{**r, "label": "wrong" if r["label"] else "right"} for r in answers(40)]
    rows += [{"response": "a"}, {"response": "a", "label": "nope"}, {"respons": "a"}]
    said: list[str] = []
    tuned = tune(rows, SCORERS, tell=said.append, **QUICK)
    wrong = tuned.ensemble.fitted_on.positive
    assert said[0].startswith(
        f"40 labels: {40 - wrong} right, {wrong} hallucinated; 1 records without one; "
        "1 bad row, such as "
    )
    assert "got 'nope'" in said[0] and "response: is missing" not in said[1]
    (line,) = [note for note in tuned.notes if note.startswith("left out: 3 records (")]
    assert "1: no label" in line


def test_components_that_are_left_out_are_one_line() -> None:
    tuned = tune(answers(60), f"{SCORERS}, knowledge_f1, support", **QUICK)
    (line,) = [note for note in tuned.notes if note.startswith("left out: ")]
    assert line == "left out: scored no answers: knowledge_f1, support"


def test_of_many_components_that_are_left_out_few_are_named() -> None:
    names = "knowledge_f1, support, knowledge_precision, turns, citations, actions, context_recall"
    tuned = tune(answers(60), f"{SCORERS}, {names}", **QUICK)
    (line,) = [note for note in tuned.notes if note.startswith("left out: ")]
    assert line.startswith("left out: scored no answers: ") and len(line) < 160
    assert line.endswith(" and 2 more")


def test_a_component_that_scores_few_answers_is_named_with_its_share() -> None:
    rows = [{**r, "contexts": "A context."} if i % 6 == 0 else r for i, r in enumerate(answers(60))]
    tuned = tune(rows, f"{SCORERS}, knowledge_f1", **QUICK)
    (line,) = [note for note in tuned.notes if note.startswith("left out: ")]
    assert line == "left out: scored under 50% of the answers: knowledge_f1 17 %"
