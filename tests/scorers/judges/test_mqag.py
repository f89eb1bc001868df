"""MQAG's arithmetic by worked examples and by public libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import cityblock
from scipy.stats import entropy

from veridical.errors import UsageError
from veridical.scorers.judges._mqag import (
    Question,
    bayes,
    counting,
    hellinger,
    kl_divergence,
    total_variation,
)

P = np.array([0.7, 0.2, 0.1, 0.0])
Q = np.array([0.1, 0.5, 0.2, 0.2])


@pytest.mark.parametrize(
    ("matches", "mismatches", "expected"),
    [(0, 0, 0.5), (4, 0, 0.0), (0, 3, 1.0), (3, 1, 0.25), (6, 14, 0.7)],
)
def test_counting_is_the_share_of_other_answers(matches, mismatches, expected) -> None:
    assert counting(matches, mismatches) == expected


@pytest.mark.parametrize(
    ("matches", "mismatches", "expected"),
    [
        # beta 0.8 makes both gammas 0.8 / 0.2 = 4
        (0, 0, 0.5),
        (1, 0, 1 / 5),  # 1 / (4 + 1)
        (0, 1, 4 / 5),
        (1, 1, 0.5),
        (3, 1, 4 / 68),  # 4 / (64 + 4)
        (2, 4, 256 / 272),  # 256 / (16 + 256)
        (0.5, 1.5, 8 / 10),  # soft counts: 4^1.5 = 8, 4^0.5 = 2
    ],
)
def test_bayes_by_hand(matches, mismatches, expected) -> None:
    assert bayes(matches, mismatches, 0.8, 0.8) == pytest.approx(expected, abs=1e-12)


def test_unequal_betas_by_bayes_theorem_itself() -> None:
    """Equations 16 to 18, before anything is simplified."""
    beta1, beta2, matches, mismatches = 0.7, 0.9, 3, 2
    if_false = (1 - beta1) ** matches * beta1**mismatches
    if_true = beta2**matches * (1 - beta2) ** mismatches
    expected = if_false / (if_false + if_true)
    assert bayes(matches, mismatches, beta1, beta2) == pytest.approx(expected, abs=1e-12)


def test_many_samples_do_not_overflow() -> None:
    assert bayes(0, 10_000, 0.8, 0.8) == 1.0
    assert bayes(10_000, 0, 0.8, 0.8) == 0.0
    assert bayes(10_000, 10_000, 0.8, 0.8) == pytest.approx(0.5)


@pytest.mark.parametrize("betas", [(1.0, 0.8), (0.8, 1.0), (0.0, 0.8), (0.8, -1), (math.nan, 0.8)])
def test_betas_are_probabilities(betas) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        bayes(1, 1, *betas)


def test_distances_agree_with_scipy() -> None:
    assert kl_divergence(Q, P) == pytest.approx(entropy(Q + 1e-12, P + 1e-12))
    assert total_variation(P, Q) == pytest.approx(cityblock(P, Q) / 2)
    assert hellinger(P, Q) == pytest.approx(math.sqrt(1 - np.sqrt(P * Q).sum()))  # Bhattacharyya


def test_distances_of_the_same_and_of_what_has_nothing_in_common() -> None:
    one, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for distance in (kl_divergence, hellinger, total_variation):
        assert distance(P, P) == 0
    assert hellinger(one, other) == total_variation(one, other) == 1
    assert kl_divergence(one, other) == pytest.approx(12 * math.log(10), rel=1e-6)


def test_options_are_cleaned_without_losing_their_order() -> None:
    made = Question.of(" Who? ", ["Ann", " ", "Bob ", "Ann", "Cy", "Di", "Ed"])
    assert made == Question("Who?", ("Ann", "Bob", "Cy", "Di"))


@pytest.mark.parametrize(
    ("text", "options"),
    [("", ["a", "b"]), ("Who?", []), ("Who?", ["a"]), ("Who?", ["a", "a ", ""])],
)
def test_what_leaves_nothing_to_choose_is_no_question(text, options) -> None:
    assert Question.of(text, options) is None
