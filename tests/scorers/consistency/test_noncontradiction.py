from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meanings import now
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.pairwise_nli import noncontradiction

TABLE = {
    ("y", "s"): (0.7, 0.2, 0.1),
    ("s", "y"): (0.3, 0.4, 0.3),
    ("y", "t"): (0.0, 0.2, 0.8),
    ("t", "y"): (0.0, 0.0, 1.0),
}


async def test_mean_over_samples_of_both_directions():
    # equations 5 and 6: p_s = (0.1 + 0.3)/2, p_t = (0.8 + 1)/2, p_y = 0
    record = Record(response="y", samples=["s", "t", "", "y", "s"])
    evidence = FixedVerdicts(record, TABLE)
    found = await noncontradiction(record, evidence)
    assert found.raw == pytest.approx((0.8 + 0.1 + 1 + 0.8) / 4)
    assert found.risk == pytest.approx(1 - found.raw)
    assert len(evidence.asked) == 1


async def test_plain_texts_are_judged_as_they_are():
    record = Record(prompt="Who won?", response="y", samples=["s", "t"])
    evidence = FixedVerdicts(record, TABLE)
    found = await noncontradiction(record, evidence, texts="plain")
    assert set(evidence.asked[0]) == set(TABLE)
    assert found.raw == pytest.approx((0.8 + 0.1) / 2)
    await noncontradiction(record, stated := FixedVerdicts(record, TABLE))
    assert not set(stated.asked[0]) & set(TABLE)  # "y" is an answer to the question there


@pytest.mark.parametrize("against", ["contexts", "reference"])
async def test_the_context_that_contradicts_least_counts(against):
    record = Record(response="y", **{against: ["t", "s"]})
    found = await noncontradiction(record, FixedVerdicts(record, TABLE), against=against)
    assert found.raw == pytest.approx(0.8)


async def test_not_applicable():
    record = Record(response="y", samples=["s"])
    with pytest.raises(NotApplicable, match="contradiction"):
        await noncontradiction(record, FixedVerdicts(record, contradicts=False))
    with pytest.raises(NotApplicable, match="no contexts"):
        await noncontradiction(record, FixedVerdicts(record), against="contexts")
    record = Record(response="\n", samples=["s"])
    with pytest.raises(NotApplicable, match="empty"):
        await noncontradiction(record, FixedVerdicts(record))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6), st.randoms())
def test_bounded_and_independent_of_the_order_of_samples(contradictions, random):
    table = {}
    for i, (there, back) in enumerate(contradictions):
        table["y", f"s{i}"] = (1 - there, 0, there)
        table[f"s{i}", "y"] = (1 - back, 0, back)
    samples = [f"s{i}" for i in range(len(contradictions))]

    def score():
        record = Record(response="y", samples=samples)
        return now(noncontradiction(record, FixedVerdicts(record, table)))

    before = score()
    random.shuffle(samples)
    assert score().risk == pytest.approx(before.risk, abs=1e-12)
    assert 0 <= before.risk <= 1


def test_registered_as_a_confidence_by_nli():
    scorer = REGISTRY.get("noncontradiction")
    assert (scorer.raw_is, scorer.cost, scorer.presets) == ("confidence", "nli", {"all"})
