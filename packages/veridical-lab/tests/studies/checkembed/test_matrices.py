"""Matrices and the figures made of values, against worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu
from scipy.stats import spearmanr

from veridical.scorers.grounding.sacre_bleu import bleu_matrix
from veridical_lab.studies.checkembed.matrices import comet_style, summarised
from veridical_lab.studies.checkembed.measuring import (
    level_separations,
    pair_separations,
    summaries_of,
    trends_of,
)
from veridical_lab.studies.checkembed.result import Value


def value(number: float, level: int = 0, topic: str = "a", kind: str = "scientific") -> Value:
    study = "pairs" if ", " in kind else "errors"
    return Value(study=study, kind=kind, topic=topic, level=level, draw=0, scorer="s", value=number)


def test_bleu_of_all_pairs_is_the_librarys() -> None:
    texts = ["The cat sat on the mat today.", "The cat sat on a mat.", "Dogs bark."]
    matrix = bleu_matrix(texts)
    for i, a in enumerate(texts):
        for j, b in enumerate(texts):
            expected = sacrebleu.sentence_bleu(a, [b], use_effective_order=True).score / 100
            assert matrix[i, j] == pytest.approx(expected, abs=1e-9)


def test_comet_style_is_the_harmonic_mean_of_distances() -> None:
    # unit vectors: hypothesis and reference 60 degrees apart, the source at 90 to both
    cosine = np.array([[1, 0.5, 0.0], [0.5, 1, 0.0], [0.0, 0.0, 1]])
    a, b = 1.0, math.sqrt(2)  # distances of 60 and of 90 degrees
    expected = 1 / (1 + 2 * a * b / (a + b))
    matrix = comet_style(cosine, 2)
    assert matrix.tolist() == [[1, pytest.approx(expected)], [pytest.approx(expected), 1]]


def test_a_matrix_is_summarised_without_its_ground_truth() -> None:
    values = np.array([[1, 0.8, 0.1], [0.6, 1, 0.3], [0.1, 0.3, 1]])
    made = summarised("bert_score", values, True)
    assert (made.mean, made.std) == (pytest.approx(0.7), pytest.approx(0.1))
    assert made.frobenius == pytest.approx(math.sqrt((0.64 + 0.36) / 2))
    assert made.truth_mean == pytest.approx(0.2)
    shifted = summarised("checkembed", values, True)  # the published norm of cosines
    assert shifted.frobenius == pytest.approx(math.sqrt((1.8**2 + 1.6**2) / 8))
    assert summarised("bleu", values, False).truth_mean is None


def test_similar_pairs_told_from_different_ones() -> None:
    values = [value(x, kind="similar, generic") for x in (0.9, 0.7)]
    values += [value(x, kind="different, generic", topic="a / b") for x in (0.8, 0.1)]
    (made,) = pair_separations(values)
    assert made.auroc == 0.75  # three of four pairs are in the right order
    assert made.overlap == 0.5  # .7 and .8 lie in [.7, .8]
    assert (made.n_similar, made.n_different) == (2, 2)


def test_errors_and_the_fewest_from_which_all_are_apart() -> None:
    values = [value(0.9), value(0.8), value(0.85, 1), value(0.7, 1), value(0.5, 2), value(0.3, 3)]
    (trend,) = trends_of(values, "errors")
    expected = spearmanr([v.level for v in values], [v.value for v in values]).statistic
    assert trend.apart_from == 2 and trend.spearman == pytest.approx(expected)
    first, *_ = level_separations(values, "errors")
    assert (first.level, first.auroc) == (1, 0.75)
    falls_and_rises = [value(0.9), value(0.1, 1), value(0.95, 2)]
    assert trends_of(falls_and_rises, "errors")[0].apart_from is None


def test_intervals_are_over_topics() -> None:
    of_one = summaries_of([value(0.5), value(0.6)])[0]
    assert of_one.ci_low is None and of_one.std == pytest.approx(0.05)
    of_two = summaries_of([value(0.5), value(0.6, topic="b")])[0]
    assert of_two.ci_low == pytest.approx(0.5) and of_two.ci_high == pytest.approx(0.6)
