"""``--min-precision``: threshold, precision and recall on other folds, the curve in the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.ensembles.graded import Graded
from veridical.errors import UsageError
from veridical.stats.thresholds import best_threshold
from veridical.tuning.options import TuneOptions
from veridical.tuning.tune_text import tuned_markdown, write_tuned_page
from veridical.tuning.tuned import Tuned, tune_graded

RNG = np.random.default_rng(1)
LABELS = (RNG.random(300) < 0.3).astype(float)
RISKS = np.clip(0.4 * LABELS[:, None] + RNG.uniform(0, 0.6, (300, 3)), 0, 1).round(3)
COLUMNS = dict(zip(("ngram", "support", "ensemble"), RISKS.T, strict=True))


def tuned_by(least: float, positive: str = "hallucinated", **more: Any) -> Tuned:
    graded = Graded.of(COLUMNS, LABELS).with_untuned("ensemble")
    options: dict[str, Any] = {"min_precision": least, "positive": positive, "bootstrap": 100}
    return tune_graded(graded, TuneOptions(**options, **more))


@pytest.mark.parametrize("positive", ["hallucinated", "correct"])
@pytest.mark.parametrize("least", [0.6, 0.9, 0.99])
def test_the_threshold_has_the_highest_recall_of_all_that_are_precise(
    positive: Any, least: float
) -> None:
    risk = RISKS[:, 0]
    wanted = (LABELS >= 0.5) == (positive == "hallucinated")
    found = best_threshold(LABELS, risk, positive=positive, min_precision=least)

    def at(cut: float) -> tuple[float, float]:
        called = (risk >= cut) == (positive == "hallucinated")
        return (wanted & called).sum() / max(1, called.sum()), (wanted & called).sum()

    values = np.unique(risk)
    cuts = [-1.0, *((values[1:] + values[:-1]) / 2), 2.0]
    best = max(hits for precision, hits in map(at, cuts) if precision >= least)
    assert at(found)[0] >= least and at(found)[1] == best


@pytest.mark.parametrize(("positive", "called"), [("hallucinated", 0), ("correct", 40)])
def test_a_precision_out_of_reach_calls_nothing_positive(positive: Any, called: int) -> None:
    labels, risk = np.tile([0.0, 1.0], 20), np.full(40, 0.5)
    cut = best_threshold(labels, risk, positive=positive, min_precision=0.95)
    assert int((risk >= cut).sum()) == called


def test_figures_are_of_other_folds_with_intervals() -> None:
    tuned = tuned_by(0.95)
    found, called = tuned.nested.at_precision, tuned.nested.judged.called
    assert found is not None and found.called == called.sum() and found.n == LABELS.sum()
    assert found.right == LABELS[called].sum()
    assert found.recall.value == pytest.approx(found.right / found.n)
    assert found.precision.value == pytest.approx(found.right / found.called)
    assert found.recall.low is not None and found.recall.low < found.recall.value
    threshold = tuned.ensemble.fit.threshold
    text = tuned_markdown(tuned)
    assert threshold is not None and f"--fail-over {threshold:.4g}" in text
    assert f"finds {found.right} of {found.n} wrong answers (recall" in text
    assert tuned.as_dict()["honest"]["at_precision"]["recall"]["value"] == found.recall.value


def test_the_page_draws_precision_and_recall(tmp_path: Path) -> None:
    write_tuned_page(tuned_by(0.9, "correct"), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Of right answers, at every threshold" in page and "precision 0.9<" in page


def test_the_default_stands_beside_the_tuned_ensemble() -> None:
    tuned = tuned_by(0.9)
    default = tuned.nested.untuned
    assert default is not None and default.n == 300
    from sklearn.metrics import roc_auc_score

    assert default.alone.value == pytest.approx(roc_auc_score(LABELS, RISKS[:, 2]))
    assert "ensemble" not in [row.name for row in tuned.nested.rows]
    assert "Tuning has helped; the default, not tuned: " in tuned_markdown(tuned)
    assert "| default (not tuned) |" in tuned_markdown(tuned)


def test_a_summary_is_printed_and_a_frame_is_made() -> None:
    tuned = tuned_by(0.9)
    assert len(str(tuned)) < 1_000 and "finds" in str(tuned)
    assert len(repr(tuned)) < 200 and repr(tuned).startswith("<Tuned weighted ensemble of 2 ")
    frame = tuned.to_pandas()
    assert list(frame["name"]) == ["ensemble", "default (not tuned)", "ngram", "support"]
    assert frame["value"].iloc[0] == tuned.nested.ensemble.value
    assert "| default (not tuned) |" in tuned._repr_markdown_()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"min_precision": 0.0}, "min_precision must be above 0"),
        ({"min_precision": 95}, "at most 1, not 95"),
        ({"min_precision": 0.9, "joint": True, "objective": "f1"}, "cannot be combined with"),
    ],
)
def test_a_precision_that_makes_no_sense_is_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        TuneOptions(**settings)


def test_sentences_are_compared_with_the_default_of_sentences() -> None:
    columns = {**COLUMNS, "ensemble/unit": RISKS[:, 2] / 2}
    graded = replace(Graded.of(columns, LABELS, level="sentence"))
    apart = graded.with_untuned("ensemble")
    assert apart.scorers == ("ngram", "support")
    assert apart.untuned is not None and np.array_equal(apart.untuned, RISKS[:, 2] / 2)
