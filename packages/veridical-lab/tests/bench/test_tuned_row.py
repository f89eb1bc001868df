"""The row ``tuned``: weights by the task's own positives, judged on other folds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brute
from sklearn.metrics import f1_score, roc_auc_score

import veridical
from veridical_lab.bench.datasets.suite import Item, Labelled, Task
from veridical_lab.bench.judgements import Column, Scores
from veridical_lab.bench.tuned_row import TUNED, tuned


def labelled(n: int) -> Labelled:
    items = [
        Item(veridical.Record(response="x", label=0.0), "all", f"question {i}") for i in range(n)
    ]
    return Labelled.of(items)


def column(risk: np.ndarray) -> Column:
    scores = Scores.empty(len(risk))
    for i, r in enumerate(risk.tolist()):
        scores.set(i, None, r)
    scores.settle()
    return Column(scores, Scores.empty(0))


def two_halves(n: int = 400) -> tuple[np.ndarray, dict[str, Column]]:
    """Two scorers that each know something of the truth, and one that knows nothing."""
    rng = np.random.default_rng(7)
    truth = (rng.random(n) < 0.4).astype(np.float64)
    signals = {name: truth + rng.normal(0, spread, n) for name, spread in (("a", 1), ("b", 1))}
    signals["noise"] = rng.normal(0, 1, n)
    return truth, {k: column(1 / (1 + np.exp(-x))) for k, x in signals.items()}


def task(truth: np.ndarray, **more: object) -> Task:
    return Task("all", "response", "binary", "wrong", "items", truth, **more)  # type: ignore[arg-type]


def test_it_is_better_than_its_parts_on_answers_it_was_not_fitted_to() -> None:
    truth, columns = two_halves()
    made, notes = tuned(task(truth), columns, labelled(len(truth)))
    assert made is not None
    alone = max(roc_auc_score(truth, c.items.risk) for c in columns.values())
    assert roc_auc_score(truth, made.items.risk) > alone + 0.05
    (note,) = notes
    assert "weights by auroc of the wrong ones (mean of 5 folds)" in note
    weights = {w.split()[-2]: float(w.split()[-1]) for w in note.split("): ")[1].split(",")}
    assert weights["noise"] < 0.2 and sum(weights.values()) == pytest.approx(1, abs=0.02)


def test_where_the_right_ones_are_asked_for_their_f1_is_what_weights_are_chosen_by() -> None:
    truth, columns = two_halves(200)
    right = task(1 - truth, flip=True, objective="f1")
    made, notes = tuned(right, columns, labelled(200), as_published=True)
    assert made is not None and "f1 of the wrong ones, with the threshold (all targets" in notes[0]
    confidence = 1 - made.items.risk
    found = max(f1_score(1 - truth, confidence >= cut) for cut in np.unique(confidence))
    # every mix of the two useful scorers on a grid, at its best threshold
    a, b = (1 - columns[n].items.risk for n in ("a", "b"))

    def lost(w: np.ndarray) -> float:
        mix = float(w[0]) * a + (1 - float(w[0])) * b
        return -max(
            f1_score(1 - truth, mix >= cut) for cut in np.quantile(mix, np.linspace(0, 1, 60))
        )

    assert found >= -brute(lost, ((0, 1),), Ns=11, finish=None, full_output=True)[1] - 0.01


def test_labels_of_a_fold_have_no_part_in_its_risks() -> None:
    """Of scorers that know nothing no weights can be better than chance beyond it."""
    rng = np.random.default_rng(3)
    truth = (rng.random(300) < 0.5).astype(np.float64)
    columns = {f"s{i}": column(rng.random(300)) for i in range(8)}
    made, _ = tuned(task(truth), columns, labelled(300))
    fitted, _ = tuned(task(truth), columns, labelled(300), as_published=True)
    assert made is not None and fitted is not None
    assert abs(roc_auc_score(truth, made.items.risk) - 0.5) < 0.08
    assert roc_auc_score(truth, fitted.items.risk) > 0.55


@pytest.mark.parametrize("kind", ["few", "one scorer", "graded"])
def test_why_there_is_none(kind: str) -> None:
    truth, columns = two_halves(60)
    asked = task(truth)
    if kind == "few":
        asked = task(np.where(np.arange(60) < 55, 0.0, 1.0))
    elif kind == "one scorer":
        columns = {"a": columns["a"], "flat": column(np.full(60, 0.5))}
    else:
        asked = Task("all", "response", "graded", "rate", "items", truth)
    made, notes = tuned(asked, columns, labelled(60))
    assert made is None and len(notes) == (kind != "graded")


def test_in_a_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    path = tmp_path / "answers.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for i in range(60):
            wrong = bool(rng.random() < 0.5)
            row = {
                "prompt": f"Question {i}?",
                "response": f"It is {i if wrong else 7}.",
                "samples": ["It is 7."] * (1 if rng.random() < 0.3 else 3) + ["It is 9."],
                "label": int(wrong),
                "dataset": "mine",
            }
            file.write(json.dumps(row) + "\n")
    made = veridical.bench(
        "qa", path, "ngram, ngram_presence, exact_match", tuned=True, bootstrap=20
    )
    for split, metric in (("mine", "auroc"), ("mine-right", "f1")):
        (row,) = (r for r in made.rows if (r.scorer, r.split, r.metric) == (TUNED, split, metric))
        assert row.value is not None and row.value > 0.8 and row.n_scored == 60
        notes = next(s.notes for s in made.splits if s.split == split)
        assert any(n.startswith("tuned: weights by") for n in notes)
    assert made.settings["tuned"] is True
