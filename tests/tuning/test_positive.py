"""``--positive``: whose precision and recall the objective and the threshold are of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from veridical.cli.app import app
from veridical.ensembles.ensemble_file import read
from veridical.ensembles.graded import Graded
from veridical.errors import UsageError
from veridical.stats.objectives import OBJECTIVES, POSITIVES, objective_named
from veridical.stats.thresholds import best_threshold
from veridical.stats.weights import combine, search
from veridical.tuning.options import TuneOptions
from veridical.tuning.tune_text import tuned_markdown
from veridical.tuning.tuned import tune_graded

sklearn_metrics = pytest.importorskip("sklearn.metrics")
average_precision_score = sklearn_metrics.average_precision_score
f1_score, fbeta_score = sklearn_metrics.f1_score, sklearn_metrics.fbeta_score

RNG = np.random.default_rng(3)
LABELS = (RNG.random(160) < 0.25).astype(float)
RISKS = np.clip(0.3 * LABELS[:, None] + RNG.uniform(0, 0.7, (160, 3)), 0, 1).round(2)
COLUMNS = dict(zip(("ngram", "support", "exact_match"), RISKS.T, strict=True))


def by_sklearn(name: str, labels: np.ndarray, risk: np.ndarray, cut: float, beta: float) -> float:
    """The figure of the right answers: class 0."""
    called = (risk >= cut).astype(int)
    if name == "average_precision":
        return float(average_precision_score(1 - labels, 1 - risk))
    if name == "f1":
        return float(f1_score(labels, called, pos_label=0))
    return float(fbeta_score(labels, called, pos_label=0, beta=beta))


@pytest.mark.parametrize("name", ["average_precision", "f1", "f_beta"])
@pytest.mark.parametrize("cut", [0.2, 0.45, 0.8])
def test_figures_of_the_right_answers_agree_with_scikit_learn(name: str, cut: float) -> None:
    risk = RISKS[:, 0]
    found = objective_named(name).value(LABELS, risk, cut, 2.0, "correct")
    assert found == pytest.approx(by_sklearn(name, LABELS, risk, cut, 2.0))
    assert found != pytest.approx(objective_named(name).value(LABELS, risk, cut, 2.0))


@pytest.mark.parametrize("name", ["auroc", "brier", "log_loss", "accuracy", "balanced_accuracy"])
def test_the_others_are_the_same_for_both(name: str) -> None:
    figures = [objective_named(name).value(LABELS, RISKS[:, 0], 0.4, positive=p) for p in POSITIVES]
    assert figures[0] == pytest.approx(figures[1])


@pytest.mark.parametrize("objective", ["f1", "f_beta"])
def test_no_threshold_finds_the_right_answers_better(objective: str) -> None:
    risk = RISKS[:, 1]
    found = best_threshold(LABELS, risk, objective, 0.5, "correct")
    figures = [by_sklearn(objective, LABELS, risk, cut, 0.5) for cut in np.arange(0, 1.02, 0.005)]
    assert by_sklearn(objective, LABELS, risk, found, 0.5) == pytest.approx(max(figures))
    assert found != best_threshold(LABELS, risk, objective, 0.5)


@pytest.mark.parametrize("joint", [False, True])
def test_weights_and_threshold_are_those_of_the_right_answers(joint: bool) -> None:
    risks = RISKS[:, :2]
    found = search(risks, LABELS, "f1", joint=joint, positive="correct")
    value = by_sklearn("f1", LABELS, combine(risks, found.weights), found.threshold, 1.0)
    assert found.value == pytest.approx(value)
    if joint:  # as good as the best of all weights on a grid, each with its best threshold
        grid = []
        for w in np.linspace(0, 1, 201):
            risk = combine(risks, np.array([w, 1 - w]))
            cut = best_threshold(LABELS, risk, "f1", 1.0, "correct")
            grid.append(by_sklearn("f1", LABELS, risk, cut, 1.0))
        assert found.value >= max(grid) - 1e-9


def test_average_precision_is_searched_for_by_the_right_answers() -> None:
    risks = RISKS[:, :2]
    found = search(risks, LABELS, "average_precision", positive="correct")
    grid = [
        average_precision_score(1 - LABELS, 1 - combine(risks, np.array([w, 1 - w])))
        for w in np.linspace(0, 1, 201)
    ]
    assert found.value >= max(grid) - 1e-9


def test_the_file_the_json_and_the_report_keep_it(tmp_path: Path) -> None:
    graded = Graded.of(COLUMNS, LABELS)
    options = TuneOptions(objective="f1", positive="correct", bootstrap=100, cv=4)
    tuned = tune_graded(graded, options)
    path = tuned.save(tmp_path / "e.json")
    assert read(path)[0].objective.positive == "correct"
    assert json.loads(path.read_text())["objective"]["positive"] == "correct"
    assert tuned.as_dict()["honest"]["positive"] == "correct"
    judged = tuned.nested.judged
    expected = f1_score(LABELS, judged.called.astype(int), pos_label=0)
    assert tuned.nested.ensemble.value == pytest.approx(expected)
    assert "of right answers" in tuned_markdown(tuned)
    other = tune_graded(graded, TuneOptions(objective="f1", bootstrap=100, cv=4))
    assert other.ensemble.objective.positive == "hallucinated"
    assert other.ensemble.fit.threshold != tuned.ensemble.fit.threshold


@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_it_goes_with_every_objective(objective: str) -> None:
    graded = Graded.of(COLUMNS, LABELS)
    options = TuneOptions(objective=objective, positive="correct", bootstrap=0, cv=3)
    assert tune_graded(graded, options).nested.ensemble.value is not None


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(UsageError, match="positive class"):
        TuneOptions(positive="corect")


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "response": f"It was in {1900 + i}.",
            "samples": [f"It was in {1900 + i + (i % 3 == 0)}."],
            "label": int(i % 3 == 0) if i % 7 else 1,
        }
        for i in range(60)
    ]
    Path("graded.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = (
        "tune graded.jsonl --scorers ngram_presence,exact_match --objective f1 --positive correct "
        "--joint --out e.json --json figures.json --bootstrap 20"
    )
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 0, result.output
    assert json.loads(Path("e.json").read_text())["objective"]["positive"] == "correct"
    figures = json.loads(Path("figures.json").read_text())
    assert figures["ensemble"]["objective"]["positive"] == "correct"
    assert CliRunner().invoke(app, [*command.split()[:2], "--positive", "right"]).exit_code != 0
