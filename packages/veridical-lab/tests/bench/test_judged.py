"""Spans, three-way labels, baselines and bounds, on examples small enough to do by hand."""

from __future__ import annotations

import json
from pathlib import Path

import graded_data
import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, matthews_corrcoef

import veridical
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical_lab.bench.baselines import baselines, expected_at_random
from veridical_lab.bench.datasets.suite import Item, Labelled, Task
from veridical_lab.bench.judged import Judged, TaskTargets, decide
from veridical_lab.bench.judgements import FAILED, NOT_APPLICABLE, SCORED, judgements

pytestmark = pytest.mark.usefixtures("test_scorers")


def test_span_figures_by_hand(tmp_path: Path) -> None:
    rows = [
        # gold "41", found exactly
        {"response": "it has 41 rooms", "unit_labels": [{"start": 7, "end": 9, "label": 1}]},
        # gold "7 red" (5 characters), found "7" (1 character)
        {"response": "it has 7 red doors", "unit_labels": [{"start": 7, "end": 12, "label": 1}]},
        # nothing gold, found "1999" (4 characters)
        {"response": "built in 1999 here", "unit_labels": []},
        # gold "old" (3 characters), nothing found
        {"response": "it is old now", "unit_labels": [{"start": 6, "end": 9, "label": 1}]},
    ]
    path = graded_data.write(tmp_path, rows)
    made = veridical.bench("graded", path, "t_numbers", bootstrap=0)
    found = {r.metric: r.value for r in made.rows if r.scorer == "t_numbers" and r.level == "span"}
    precision, recall = (2 + 1) / (2 + 1 + 4), (2 + 1) / (2 + 5 + 3)
    assert found["span_precision"] == pytest.approx(precision)
    assert found["span_recall"] == pytest.approx(recall)
    assert found["span_f1"] == pytest.approx(2 * precision * recall / (precision + recall))
    assert found["span_overlap_f1"] == pytest.approx(2 / 3)  # 2 of 3 found right, 2 of 3 gold found
    always = {r.metric: r.value for r in made.rows if r.scorer == "always_positive"}
    characters = sum(len(str(r["response"])) for r in rows)
    assert always["span_precision"] == pytest.approx(10 / characters)
    assert always["span_recall"] == 1.0
    random = {r.metric: r.value for r in made.rows if (r.scorer, r.level) == ("random", "span")}
    share = pytest.approx(10 / characters)
    assert random == {"span_precision": share, "span_recall": share, "span_f1": share}


def test_a_scorers_own_classes_are_used(tmp_path: Path) -> None:
    says = ["Entailment", "Neutral", "Contradiction", "Neutral", "Entailment", "Contradiction"]
    true = ["Entailment", "Neutral", "Contradiction", "Contradiction", "Neutral", "Neutral"]
    lines = [
        {
            "setting": "zero_context", "dataset": "nq", "model": "m", "id": str(i),
            "response": "r", "triplet": ["a", "b", str(i)], "human_label": t, "says": s,
        }
        for i, (s, t) in enumerate(zip(says, true, strict=True))
    ]  # fmt: skip
    path = tmp_path / "claims.jsonl"
    path.write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    made = veridical.bench("refchecker", path, "t_three", bootstrap=0, split="zero_context")
    classes = ["Entailment", "Neutral", "Contradiction"]
    rows = {
        (r.metric, r.positive): r for r in made.rows
        if r.scorer == "t_three" and r.split == "zero_context"
    }  # fmt: skip
    by_metric = {m: r for (m, _), r in rows.items() if m != "f1"}
    macro = f1_score(true, says, labels=classes, average="macro")
    assert by_metric["macro_f1"].value == pytest.approx(macro)
    assert by_metric["mcc"].value == pytest.approx(matthews_corrcoef(true, says))
    each = f1_score(true, says, labels=classes, average=None)
    for name, value in zip(classes, each, strict=True):
        assert rows["f1", name].value == pytest.approx(value)
        assert rows["f1", name].prevalence == pytest.approx(true.count(name) / 6)
    split = next(s for s in made.splits if s.split == "zero_context")
    table = next(c for c in split.confusions if c.scorer == "t_three")
    assert table.classes == classes
    assert table.matrix == confusion_matrix(true, says, labels=classes).tolist()
    assert by_metric["accuracy"].threshold is None  # nothing was fitted


def _labelled(labels: list[float]) -> tuple[Labelled, Task]:
    items = [
        Item(Record(response="word " * (i + 1), label=y), "all", str(i))
        for i, y in enumerate(labels)
    ]
    labelled = Labelled.of(items)
    truth = np.array(labels)
    return labelled, Task("all", "response", "binary", "hallucinated", "items", truth)


def test_baselines_by_hand() -> None:
    labelled, task = _labelled([0, 0, 1, 1, 1])
    asked = TaskTargets.of(task, labelled)
    assert asked.length.tolist() == [1, 2, 3, 4, 5]
    made = baselines(task, asked, labelled, as_published=False, seed=0)
    names = ("average_precision", "trapezoid_pr", "auroc", "accuracy", "f1", "brier")
    values = {n: j.measure(task, names, asked.truth, None, 1.0) for n, j in made.items()}
    assert values["constant"]["average_precision"] == pytest.approx(0.6)
    assert values["constant"]["trapezoid_pr"] == pytest.approx(0.8)  # (prevalence + 1) / 2
    assert values["constant"]["brier"] == pytest.approx(0.24)  # p (1 - p)
    assert values["length"]["auroc"] == 1.0
    assert values["majority"]["accuracy"] == pytest.approx(0.6)
    assert values["always_positive"]["f1"] == pytest.approx(0.75)  # 2 p / (1 + p)
    assert "auroc" not in values["majority"] and "brier" not in values["length"]
    chance = expected_at_random(task, asked.truth, names)
    assert chance["auroc"] == 0.5 and chance["trapezoid_pr"] == pytest.approx(0.6)
    assert chance["accuracy"] == pytest.approx(0.6**2 + 0.4**2)


def test_the_first_of_equally_frequent_classes_is_the_majority() -> None:
    labelled, task = _labelled([1, 0, 1, 0])
    made = baselines(task, TaskTargets.of(task, labelled), labelled, as_published=False, seed=0)
    assert made["majority"].predicted is not None and not made["majority"].predicted.any()


def test_the_length_baseline_has_a_figure_on_every_kind_of_task() -> None:
    n = 60
    texts = ["word " * (30 if i % 3 == 0 else 5 + i % 4) for i in range(n)]
    wrong = np.array([i % 3 == 0 for i in range(n)], dtype=float)
    items = [
        Item(
            Record.model_validate(
                {
                    "response": t,
                    "unit_labels": [{"start": 0, "end": 4, "label": 1}] if w else [],
                }
            ),
            "all",
            str(i),
        )
        for i, (t, w) in enumerate(zip(texts, wrong, strict=True))
    ]
    labelled = Labelled.of(items)
    spans = Task("all", "span", "spans", "has spans", "items", wrong)
    classes = Task(
        "all", "claim", "classes", "class", "items", 2 * wrong, classes=("no", "maybe", "yes")
    )
    asked = TaskTargets.of(spans, labelled)
    length = baselines(spans, asked, labelled, as_published=False, seed=0)["length"]
    found = length.measure(spans, spans.metrics, wrong, None, 1.0)
    assert found["span_recall"] == 1.0  # exactly the long ones are marked, whole
    assert found["span_precision"] == pytest.approx(4 / len(texts[0]))
    asked = TaskTargets.of(classes, labelled)
    length = baselines(classes, asked, labelled, as_published=False, seed=0)["length"]
    assert length.measure(classes, ("accuracy",), 2 * wrong, None, 1.0)["accuracy"] == 1.0


def test_resampled_decisions_are_fitted_anew() -> None:
    draw = np.random.default_rng(0)
    truth = (draw.random(200) < 0.3).astype(float)
    risk = 1 / (1 + np.exp(-truth - draw.normal(size=200)))
    task = Task("all", "response", "binary", "x", "items", truth)
    found = Judged(np.arange(200), score=risk, risk=risk)
    decide(found, truth, risk, np.arange(200))
    weights = draw.multinomial(200, np.full(200, 1 / 200), 100).astype(float)
    names = ("auroc", "accuracy", "mcc", "f_beta")
    anew = found.measure(task, names, truth, weights, 2.0)
    assert set(anew) == set(names)
    assert found.refit is not None
    table = found.refit(weights)
    assert np.asarray(anew["accuracy"]) == pytest.approx(np.trace(table, axis1=1, axis2=2) / 200)
    tp, fp, fn = table[:, 1, 1], table[:, 0, 1], table[:, 1, 0]
    assert np.asarray(anew["f_beta"]) == pytest.approx(5 * tp / (5 * tp + 4 * fn + fp))
    decide(found, truth, risk, np.arange(200), as_published=True)
    assert found.refit is None and isinstance(found.threshold, float)


def test_length_is_in_characters_where_there_is_no_white_space() -> None:
    items = [Item(Record(response=t, label=0.0), "all", t) for t in ("短い", "とても長い答え")]
    labelled = Labelled.of(items)
    task = Task("all", "response", "binary", "x", "items", np.array([0.0, 1.0]))
    assert TaskTargets.of(task, labelled).length.tolist() == [2, 7]


def test_failed_targets_in_agreement_and_against() -> None:
    truth = np.array([0.0, 0.25, 0.5, 1.0, 0.75])
    task = Task("p", "passage", "graded", "mean label", "items", truth)
    found = Judged(np.array([0, 1, 2]), score=np.array([1.0, 2.0, 3.0]))
    failed = np.array([3, 4])
    names = ("pearson", "spearman")
    best = found.with_failed(failed, task, truth, agree=True)
    worst = found.with_failed(failed, task, truth, agree=False)
    assert best.rows.tolist() == worst.rows.tolist() == [0, 1, 2, 3, 4]
    high = best.measure(task, names, truth, None, 1.0)
    low = worst.measure(task, names, truth, None, 1.0)
    alone = found.measure(task, names, truth, None, 1.0)
    assert low["spearman"] < alone["spearman"] and high["pearson"] > low["pearson"]  # type: ignore[operator]


def test_decisions_are_not_fitted_on_what_they_label() -> None:
    """Flipping one target's own truth never changes its own label."""
    draw = np.random.default_rng(0)
    truth = draw.integers(0, 2, 60).astype(float)
    risk = np.clip(0.3 * truth + draw.random(60) * 0.7, 0, 1)
    groups = np.arange(60)
    base = Judged(groups)
    decide(base, truth, risk, groups)
    for i in range(0, 60, 7):
        flipped = truth.copy()
        flipped[i] = 1 - flipped[i]
        other = Judged(groups)
        decide(other, flipped, risk, groups)
        assert other.predicted is not None and base.predicted is not None
        assert other.predicted[i] == base.predicted[i]


def test_judgements_are_aligned_by_row_whatever_the_order() -> None:
    (bound,) = REGISTRY.parse("exact_match")
    items = [Item(Record(response=f"r{i}", label=0.0), "all", str(i)) for i in range(4)]

    def line(row: int, status: str, risk: float | None) -> bytes:
        score = {"risk": risk, "raw": risk, "status": status, "units": []}
        score["reason"] = None if status == "scored" else f"why {row}"
        return json.dumps({"row": row, "risk": risk, "scores": {"exact_match": score}}).encode()

    lines = [
        line(3, "scored", 0.3),
        line(0, "failed", None),
        line(2, "scored", 0.2),
        line(1, "not_applicable", None),
    ]
    (columns,) = judgements(lines, [bound], Labelled.of(items))
    column = columns["exact_match"].items
    assert column.status.tolist() == [FAILED, NOT_APPLICABLE, SCORED, SCORED]
    assert column.risk[2:].tolist() == [0.2, 0.3]
    assert column.raw[2:].tolist() == [-0.2, -0.3]  # exact_match's raw is confidence
    assert column.failed_reasons(np.ones(4, dtype=bool)) == {"why 0": 1}
