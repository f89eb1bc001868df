from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meanings import now
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.pairwise_nli import entailment

TABLE = {
    ("y", "s"): (0.7, 0.2, 0.1),
    ("s", "y"): (0.3, 0.4, 0.3),
    ("y", "t"): (0.0, 0.2, 0.8),
    ("t", "y"): (0.1, 0.0, 0.9),
}


async def test_mean_over_samples_of_both_directions():
    record = Record(response="y", samples=["s", "t", "", "y"])
    evidence = FixedVerdicts(record, TABLE)
    found = await entailment(record, evidence)
    assert found.raw == pytest.approx((0.5 + 0.05 + 1) / 3)
    assert found.risk == pytest.approx(1 - found.raw)
    assert len(evidence.asked) == 1


@pytest.mark.parametrize("against", ["contexts", "reference"])
async def test_the_nearest_context_counts(against):
    record = Record(response="y", **{against: ["t", "s"]})
    found = await entailment(record, FixedVerdicts(record, TABLE), against=against)
    assert found.raw == pytest.approx(0.5)


async def test_a_model_without_contradiction_will_do():
    record = Record(response="y", samples=["s"])
    found = await entailment(record, FixedVerdicts(record, TABLE, contradicts=False))
    assert found.raw == pytest.approx(0.5)


async def test_not_applicable():
    record = Record(response="y", samples=[""])
    with pytest.raises(NotApplicable, match="no samples"):
        await entailment(record, FixedVerdicts(record))
    record = Record(response="", samples=["s"])
    with pytest.raises(NotApplicable, match="empty"):
        await entailment(record, FixedVerdicts(record))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.randoms())
def test_bounded_and_independent_of_the_order_of_samples(probabilities, random):
    table = {("y", f"s{i}"): (p, 1 - p, 0) for i, p in enumerate(probabilities)}
    samples = [f"s{i}" for i in range(len(probabilities))]

    def score():
        record = Record(response="y", samples=samples)
        return now(entailment(record, FixedVerdicts(record, table)))

    before = score()
    random.shuffle(samples)
    assert score().risk == pytest.approx(before.risk, abs=1e-12)
    assert 0 <= before.risk <= 1


def test_registered_as_a_confidence_by_nli():
    scorer = REGISTRY.get("entailment")
    assert (scorer.raw_is, scorer.cost, scorer.presets) == ("confidence", "nli", {"all", "auto"})
