from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meanings import logprobs, now, record_of
from nli_evidence import FixedVerdicts

from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.semantic_density import semantic_density

#: Kernels 1 - (c + n/2): 0.85, 0.3, 0
TABLE = {("y", "s"): (0.8, 0.1, 0.1), ("y", "t"): (0.2, 0.2, 0.6), ("y", "u"): (0.0, 0.0, 1.0)}


async def score(samples, fields=None, table=TABLE, **parameters):
    record = record_of("y", samples, **(fields or {}))
    evidence = FixedVerdicts(record, table)
    found = await semantic_density(record, evidence, **parameters)
    return found, evidence.asked


async def test_mean_kernel_of_the_samples_from_the_response():
    found, asked = await score(["s", "t", "", "u", "y"])
    assert found.raw == pytest.approx((0.85 + 0.3 + 0 + 1) / 4)
    assert found.risk == pytest.approx(1 - found.raw)
    assert asked == [[("y", "s"), ("y", "t"), ("y", "u"), ("y", "y")]]  # one direction


@pytest.mark.parametrize("length_normalize, power", [(True, 1 / 2), (False, 1)])
async def test_samples_count_by_their_probability(length_normalize, power):
    samples = [("s", [np.log(0.5), np.log(0.4)]), ("t", [np.log(0.1), np.log(0.2)])]
    found, _ = await score(samples, length_normalize=length_normalize)
    w = np.array([0.5 * 0.4, 0.1 * 0.2]) ** power
    assert found.raw == pytest.approx(np.average([0.85, 0.3], weights=w))
    alike, _ = await score(samples, weights="discrete")
    assert alike.raw == pytest.approx((0.85 + 0.3) / 2)


async def test_the_response_needs_no_log_probabilities_but_every_sample_does():
    found, _ = await score([("s", [-1]), "t"], {"logprobs": logprobs(-1)})
    assert found.raw == pytest.approx((0.85 + 0.3) / 2)
    with pytest.raises(NotApplicable, match="log-probabilities"):
        await score([("s", [-1]), "t"], weights="probability")


async def test_products_of_long_samples_do_not_underflow():
    samples = [("s", [-1.0] * 2000), ("t", [-1.0] * 2001)]
    found, _ = await score(samples, length_normalize=False)
    assert found.raw == pytest.approx(np.average([0.85, 0.3], weights=[1, np.exp(-1)]))
    with pytest.raises(NotApplicable, match="probability 0"):
        await score([("s", [-1e308, -1e308])])


async def test_prompts_before_both_texts_unless_there_is_none_or_they_are_unwanted():
    _, asked = await score(["s"], {"prompt": "Q"})
    assert asked == [[("Q\ny", "Q\ns")]]
    _, asked = await score(["s"], {"prompt": "Q"}, prompts=False)
    assert asked == [[("Q y", "Q s")]]  # short answers are read with their question
    _, asked = await score(["s"])
    assert asked == [[("y", "s")]]


async def test_unique_counts_equal_texts_once_by_the_most_probable():
    samples = [("s", [-3.0]), ("t", [-1.0]), ("s", [-2.0]), ("s", [-2.0])]
    found, _ = await score(samples, unique=True)
    expected = np.average([0.85, 0.3], weights=np.exp([-2.0, -1.0]))
    assert found.raw == pytest.approx(expected)
    every, _ = await score(samples)
    w = np.exp([-3.0, -1.0, -2.0, -2.0])
    assert every.raw == pytest.approx(np.average([0.85, 0.3, 0.85, 0.85], weights=w))


async def test_not_applicable():
    with pytest.raises(NotApplicable, match="no samples"):
        await score([""])
    record = record_of(" ", ["s"])
    with pytest.raises(NotApplicable, match="empty"):
        await semantic_density(record, FixedVerdicts(record))
    record = record_of("y", ["s"])
    with pytest.raises(NotApplicable, match="contradiction"):
        await semantic_density(record, FixedVerdicts(record, contradicts=False))


async def test_probabilities_rounded_to_a_sum_above_1_leave_the_range_no_gap():
    found, _ = await score(["s"], table={("y", "s"): (0.0, 0.000001, 1.0)})
    assert (found.raw, found.risk) == (0, 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(-400, 0)), min_size=1, max_size=6
    ),
    st.booleans(),
    st.randoms(),
)
def test_bounded_and_independent_of_the_order_of_samples(pairs, unique, random):
    table, samples = {}, []
    for i, (a, b, logprob) in enumerate(pairs):
        table["y", f"s{i}"] = (a, (1 - a) * b, (1 - a) * (1 - b))
        samples.append((f"s{i}", [logprob]))

    def score():
        record = record_of("y", samples)
        evidence = FixedVerdicts(record, table)
        return now(semantic_density(record, evidence, unique=unique))

    before = score()
    random.shuffle(samples)
    assert score().risk == pytest.approx(before.risk, abs=1e-9)
    assert 0 <= before.risk <= 1


def test_registered_as_a_confidence_by_nli():
    scorer = REGISTRY.get("semantic_density")
    assert (scorer.raw_is, scorer.cost, scorer.presets) == ("confidence", "nli", {"all"})
