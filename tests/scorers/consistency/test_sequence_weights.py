from __future__ import annotations

import numpy as np
import pytest
from meanings import logprobs, record_of

from veridical.errors import NotApplicable
from veridical.scorers.consistency._sequence_weights import log_weights

LONG = logprobs(*[-1.0] * 3000)


def test_products_and_geometric_means_relative_to_the_largest():
    record = record_of("a", [("b", [-1, -2]), ("c", [-0.5])], logprobs=logprobs(-1, -1, -1))
    by_sum = log_weights(record, "auto", False, response=True)
    assert by_sum.tolist() == [-2.5, -2.5, 0]
    by_mean = log_weights(record, "probability", True, response=True)
    assert by_mean.tolist() == [-0.5, -1, 0]
    assert log_weights(record, "auto", True, response=False).tolist() == [-1, 0]
    assert log_weights(record, "discrete", True, response=True).tolist() == [0, 0, 0]


def test_long_answers_do_not_underflow():
    record = record_of("a", [("b", [-1.0] * 2999)], logprobs=LONG)
    assert np.exp(log_weights(record, "auto", False, response=True)).tolist() == [np.exp(-1), 1]


@pytest.mark.parametrize(
    "samples, own",
    [([("b", [-1]), "c"], logprobs(-1)), ([("b", [-1])], None), ([("b", [])], logprobs(-1))],
)
def test_without_some_log_probabilities_all_count_alike_or_none_is_applicable(samples, own):
    record = record_of("a", samples, logprobs=own)
    assert not log_weights(record, "auto", True, response=True).any()
    with pytest.raises(NotApplicable, match="no log-probabilities"):
        log_weights(record, "probability", True, response=True)


def test_samples_without_text_have_no_place():
    record = record_of("a", ["", ("b", [-1]), ("c", [-3])])
    assert log_weights(record, "probability", True, response=False).tolist() == [0, -2]


def test_answers_that_are_all_impossible_are_not_applicable():
    record = record_of("a", [("b", [-1e308, -1e308])])
    with pytest.raises(NotApplicable, match="probability 0"):
        log_weights(record, "auto", True, response=False)
