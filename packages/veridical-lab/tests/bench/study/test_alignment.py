"""The alignment tables, against scikit-learn, scipy and worked examples."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from veridical.errors import UsageError
from veridical_lab.bench.datasets.begin import SUITE
from veridical_lab.bench.datasets.suite import Item
from veridical_lab.bench.result import Alignment, AlignmentSplit
from veridical_lab.bench.study import alignment

Floats = NDArray[np.float64]


def align(
    truth: Any,
    scores: dict[str, Any],
    *,
    as_published: bool = True,
    lengths: Any = None,
    groups: Any = None,
    **settings: Any,
) -> AlignmentSplit:
    truth = np.asarray(truth, dtype=np.float64)
    n = len(truth)
    columns = {name: np.asarray(s, dtype=np.float64) for name, s in scores.items()}
    return alignment(
        "begin",
        "wow/test",
        truth,
        np.arange(n) if lengths is None else np.asarray(lengths),
        np.arange(n) if groups is None else np.asarray(groups),
        columns,
        columns,
        as_published=as_published,
        **settings,
    )


def of(made: AlignmentSplit, name: str) -> Alignment:
    return next(a for a in made.scorers if a.scorer == name)


def sample(n: int = 600, prevalence: float = 0.7, signal: float = 1.0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(n)
    truth = (rng.random(n) < prevalence).astype(np.float64)
    risk = 1 / (1 + np.exp(-(signal * (truth - 0.5) + rng.normal(size=n))))
    return truth, np.round(risk, 2)  # with ties


def test_areas_and_labels_are_those_of_scikit_learn() -> None:
    import sklearn.metrics as metrics

    truth, risk = sample()
    made = align(truth, {"a": risk})
    row = of(made, "a")

    def trapezoid(score: Floats) -> float:
        precision, recall, _ = metrics.precision_recall_curve(truth, score)
        return float(metrics.auc(recall, precision))

    assert row.area == pytest.approx(trapezoid(risk))
    assert row.area_inverted == pytest.approx(trapezoid(-risk))
    assert row.average_precision == pytest.approx(metrics.average_precision_score(truth, risk))
    best = max(
        metrics.f1_score(truth, risk >= t, average="weighted") for t in [*np.unique(risk), 2.0]
    )
    assert row.f1 == pytest.approx(best)
    assert row.threshold is not None
    predicted = risk >= row.threshold
    wanted = metrics.precision_recall_fscore_support(
        truth, predicted, average="weighted", zero_division=0
    )
    assert (row.precision, row.recall, row.f1) == pytest.approx(wanted[:3])
    assert row.accuracy == pytest.approx(metrics.accuracy_score(truth, predicted))
    assert (row.predicted_positive, row.predicted_negative) == (predicted.sum(), (~predicted).sum())
    always = metrics.f1_score(truth, np.ones(600), average="weighted")
    assert made.majority_f1 == pytest.approx(always)
    assert (made.n, made.prevalence) == (600, pytest.approx(truth.mean()))


def test_a_perfect_scorer_upside_down_has_area_one_less_ln_two() -> None:
    # Precision at recall r is r / (1 + r) where half are positive; its integral is 1 - ln 2.
    # Table 9 prints 0.30 and 0.31 for ROUGE-L and BERTScore on HaluEval.
    truth = np.repeat([0.0, 1.0], 5000)
    perfect = np.linspace(0, 1, 10_000)
    made = align(truth, {"right": perfect, "wrong": 1 - perfect})
    wrong, right = of(made, "wrong"), of(made, "right")
    assert wrong.area == pytest.approx(1 - math.log(2), abs=1e-3)
    assert wrong.area_inverted == right.area == pytest.approx(1.0)
    assert "inverted" in wrong.flags and "inverted" not in right.flags
    assert right.area_inverted == wrong.area


def test_inverted_means_more_than_chance() -> None:
    rng = np.random.default_rng(0)
    flagged = 0
    for _ in range(60):
        truth = (rng.random(150) < 0.6).astype(np.float64)
        flagged += "inverted" in of(align(truth, {"noise": rng.random(150)}), "noise").flags
    assert flagged <= 6  # 1.5 expected
    truth, risk = sample(300)
    assert "inverted" in of(align(truth, {"a": 1 - risk}), "a").flags


def test_inverted_counts_groups_not_items() -> None:
    # Six prompts repeated fifty times: chance among six must not look like evidence from 300.
    truth = np.tile([1.0, 0, 1, 0, 1, 0], 50)
    score = np.tile([0.2, 0.3, 0.25, 0.5, 0.1, 0.05], 50)
    groups = np.tile(np.arange(6), 50)
    assert "inverted" in of(align(truth, {"a": score}), "a").flags
    assert "inverted" not in of(align(truth, {"a": score}, groups=groups), "a").flags


def test_a_scorer_that_calls_everything_hallucinated() -> None:
    rng = np.random.default_rng(1)
    truth = (rng.random(3000) < 0.83).astype(np.float64)
    # Somewhat upside down, as the paper's continuous scorers were on BEGIN: the best threshold
    # then calls everything hallucinated (its table 11: 3804 of 3805).
    row = of(align(truth, {"noise": rng.random(3000) - 0.1 * truth}), "noise")
    assert "one_class" in row.flags and row.predicted_negative <= 30
    truth, risk = sample(600, 0.5)
    assert "one_class" not in of(align(truth, {"a": risk}), "a").flags


def test_only_as_published_fits_on_the_test_set() -> None:
    rng = np.random.default_rng(2)
    truth, noise = (rng.random(200) < 0.5).astype(np.float64), rng.random(200)
    fitted = of(align(truth, {"a": noise}), "a")
    fair = of(align(truth, {"a": noise}, as_published=False), "a")
    assert (fitted.threshold_on, fair.threshold_on) == ("test", "cross-fitted")
    assert "threshold_fitted_on_test" in fitted.flags
    assert "threshold_fitted_on_test" not in fair.flags and fair.threshold is None
    # Chance cannot be seen in a threshold that knew the answers; it can in one that did not.
    assert fitted.f1 is not None and fair.f1 is not None and fitted.f1 > fair.f1
    assert (fitted.area, fitted.average_precision) == (fair.area, fair.average_precision)
    again = of(align(truth, {"a": noise}, as_published=False), "a")
    assert again == fair


def test_matrices_by_hand() -> None:
    truth = [1, 1, 1, 0, 0, 0]
    made = align(truth, {"a": [9, 8, 7, 1, 2, 3], "b": [9, 8, 1, 2, 3, 7], "flat": [5] * 6})
    # a is right throughout; b at its best calls the first two positive and misses the third.
    assert of(made, "a").accuracy == 1.0
    assert of(made, "b").accuracy == pytest.approx(5 / 6)
    assert made.overlap[0][0] == 1.0
    assert made.overlap[0][1] == made.overlap[1][0] == pytest.approx(5 / 6)
    rho = stats.spearmanr([9, 8, 7, 1, 2, 3], [9, 8, 1, 2, 3, 7])[0]
    assert made.spearman[0][1] == made.spearman[1][0] == pytest.approx(rho)
    assert made.spearman[0][0] == pytest.approx(1.0)
    assert made.spearman[2] == [None, None, None]


def test_failures_are_left_out_of_their_own_figures_only() -> None:
    truth, risk = sample(200)
    gaps = risk.copy()
    gaps[::4] = np.nan
    made = align(truth, {"whole": risk, "gaps": gaps})
    kept = ~np.isnan(gaps)
    alone = align(truth[kept], {"gaps": gaps[kept]})
    assert of(made, "gaps") == of(alone, "gaps")
    assert of(made, "whole") == of(align(truth, {"whole": risk}), "whole")
    assert of(made, "gaps").predicted_positive + of(made, "gaps").predicted_negative == 150
    assert made.spearman[0][1] == pytest.approx(1.0)
    assert made.n == 200 and sum(made.length_counts) == 200


def test_nothing_scored_is_none_throughout() -> None:
    for published in (True, False):
        row = of(align([1, 0, 1], {"a": [np.nan] * 3}, as_published=published), "a")
        assert (row.area, row.f1, row.accuracy) == (None, None, None)
        assert (row.predicted_positive, row.predicted_negative) == (0, 0)


def test_accuracy_by_length() -> None:
    rng = np.random.default_rng(3)
    truth = np.tile([1.0, 0.0], 300)
    words = rng.integers(1, 60, 600)
    risk = np.where(words < 30, truth, 1 - truth)  # right for short responses, wrong for long
    risk = np.where(truth == 1, np.maximum(risk, 0.5), risk)
    made = align(truth, {"a": risk}, lengths=words)
    edges = made.length_edges
    assert edges == sorted(set(edges)) and len(edges) == 7
    assert (edges[0], edges[-1]) == (words.min(), words.max())
    assert all(70 <= c <= 130 for c in made.length_counts) and sum(made.length_counts) == 600
    row = of(made, "a")
    assert row.threshold is not None
    right = (risk >= row.threshold) == truth
    for b, accuracy in enumerate(made.lengths[0]):
        last = b == len(edges) - 2
        inside = (words >= edges[b]) & ((words <= edges[b + 1]) if last else words < edges[b + 1])
        assert made.length_counts[b] == inside.sum()
        assert accuracy == pytest.approx(right[inside].mean())
    assert made.lengths[0][0] == 1.0 and made.lengths[0][-1] < 0.7


@pytest.mark.parametrize("words", [[7, 7, 7, 7], [1, 1, 1, 9], [1, 9, 9, 9], [0, 0, 1, 2]])
def test_lengths_that_tie(words: list[int]) -> None:
    made = align([1, 0, 1, 0], {"a": [0.9, 0.1, 0.8, 0.7]}, lengths=words)
    bins = len(made.length_edges) - 1
    assert bins >= 1 and len(made.length_counts) == bins == len(made.lengths[0])
    assert sum(made.length_counts) == 4
    assert (made.length_edges[0], made.length_edges[-1]) == (min(words), max(words))


def test_famd_is_one_more_scorer() -> None:
    truth, risk = sample(400)
    other = sample(401)[1][:400]
    verdict = (risk > 0.6).astype(float)
    made = align(truth, {"a": risk, "b": other, "judge": verdict}, famd=["a", "b", "judge"])
    assert [a.scorer for a in made.scorers] == ["a", "b", "judge", "famd"]
    assert len(made.overlap) == len(made.spearman) == len(made.lengths) == 4
    assert made.spearman[3][0] is not None and made.spearman[3][0] > 0.8
    assert [a.scorer for a in align(truth, {"a": risk}, famd=["a"]).scorers] == ["a"]
    with pytest.raises(UsageError, match="unknown scorer of famd 'c'"):
        align(truth, {"a": risk}, famd=["a", "c"])


def test_items_without_a_label_are_left_out() -> None:
    made = align([1, np.nan, 0, 1], {"a": [0.9, 0.1, 0.2, 0.8]})
    assert (made.n, made.prevalence, of(made, "a").area) == (3, pytest.approx(2 / 3), 1.0)
    with pytest.raises(UsageError, match="begin wow/test: no item has a label"):
        align([np.nan, np.nan], {"a": [0.9, 0.1]})


@pytest.mark.parametrize("truth", [[1, 1, 1], [0, 0, 0], [1]])
def test_one_class_of_truth_breaks_nothing(truth: list[int]) -> None:
    for published in (True, False):
        made = align(truth, {"a": [0.1, 0.5, 0.9][: len(truth)]}, as_published=published)
        assert made.majority_f1 == 1.0
        AlignmentSplit.model_validate_json(made.model_dump_json())


def overlap(a: str, b: str) -> float:
    """Token F1 without articles and punctuation."""
    bags = [
        Counter(t for t in re.sub(r"[^\w\s]", "", x.lower()).split() if t not in ("a", "an", "the"))
        for x in (a, b)
    ]
    common = (bags[0] & bags[1]).total()
    return 2 * common / (bags[0].total() + bags[1].total()) if common else 0.0


@pytest.mark.data
def test_the_papers_figures_on_begin_are_those_of_scores_upside_down(shared_data: Path) -> None:
    items = [
        i for i in SUITE.load(shared_data / "begin") if isinstance(i, Item) and i.part == "wow/test"
    ]
    truth = [float((i.record.label or 0) >= 0.5) for i in items]
    faithful = np.array(
        [overlap((i.record.contexts or ())[0].text, i.record.response) for i in items]
    )
    numbers: dict[str, int] = {}
    groups = [numbers.setdefault(i.group, len(numbers)) for i in items]
    made = align(truth, {"wrong": faithful, "right": 1 - faithful}, groups=groups)
    assert made.n == 3601
    wrong, right = of(made, "wrong"), of(made, "right")
    # Table 9 prints 0.43 for Knowledge-F1; the right way up it is 0.895.
    assert (wrong.area, right.area) == pytest.approx((0.434, 0.895), abs=1e-3)
    assert {"inverted", "one_class"} <= set(wrong.flags)
    assert right.flags == ["threshold_fitted_on_test"]
    # Tables 10 and 11 print P 0.38, R 0.61, F1 0.47 and 3600 / 1 for K-BertScore: the best that
    # any score upside down can do is to call everything hallucinated.
    shown = (wrong.precision, wrong.recall, wrong.f1)
    assert shown == pytest.approx((0.38, 0.61, 0.47), abs=0.005)
    assert wrong.predicted_negative <= 1 and wrong.f1 == pytest.approx(made.majority_f1)
