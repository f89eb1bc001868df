from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meanings import logprobs, now, record_of, table_of
from nli_evidence import FixedVerdicts
from scipy.stats import entropy

from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.semantic_entropy import semantic_negentropy

MEANINGS = {"Paris": 1, "It is Paris": 1, "Rome": 2, "Oslo": 3, "Bern": 4, "Rabat": 5, "Lima": 6}


async def score(response, samples, fields=None, **parameters):
    record = record_of(response, samples, **(fields or {}))
    evidence = FixedVerdicts(record, table_of(MEANINGS))
    return await semantic_negentropy(record, evidence, **parameters)


async def test_entropy_as_a_share_of_the_largest():
    found = await score("Paris", ["Rome", "It is Paris", "Oslo"])
    assert found.raw == pytest.approx(1 - entropy([2, 1, 1]) / np.log(4))
    assert found.risk == pytest.approx(1 - found.raw)


async def test_the_papers_form_may_be_negative():
    # six distinct answers, m = 5: 1 - log 6 / log 5
    samples = ["Rome", "Oslo", "Bern", "Rabat", "Lima"]
    paper = await score("Paris", samples, form="paper")
    assert paper.raw == pytest.approx(-0.113, abs=5e-4)
    assert paper.risk == pytest.approx((1 - paper.raw) * np.log(2) / np.log(3))
    normalized = await score("Paris", samples)
    assert (normalized.raw, normalized.risk) == (pytest.approx(0, abs=1e-12), pytest.approx(1))


async def test_the_papers_form_at_its_extremes():
    worst = await score("Paris", ["Rome", "Oslo"], form="paper")
    assert worst.raw == pytest.approx(1 - np.log(3) / np.log(2))
    assert worst.risk == pytest.approx(1)
    best = await score("Paris", ["Paris", "It is Paris"], form="paper")
    assert (best.raw, best.risk) == (1, 0)
    with pytest.raises(NotApplicable, match="single sample"):
        await score("Paris", ["Rome"], form="paper")
    assert (await score("Paris", ["Rome"])).risk == pytest.approx(1)


async def test_discrete_unless_asked_for_probabilities():
    samples, own = [("Rome", [-3.0])], {"logprobs": logprobs(-0.1)}
    assert (await score("Paris", samples, own)).raw == pytest.approx(0, abs=1e-12)
    by = await score("Paris", samples, own, weights="probability")
    assert by.raw == pytest.approx(1 - entropy([np.exp(-0.1), np.exp(-3)]) / np.log(2))


async def test_not_applicable():
    with pytest.raises(NotApplicable, match="no samples"):
        await score("Paris", [""])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=3, max_size=9),
    st.sampled_from(["normalized", "paper"]),
    st.randoms(),
)
def test_bounded_and_independent_of_the_order_of_answers(of, form, random):
    meanings = {f"a{i}": meaning for i, meaning in enumerate(of)}
    order = list(meanings)

    def found():
        record = record_of(order[0], order[1:])
        evidence = FixedVerdicts(record, table_of(meanings))
        return now(semantic_negentropy(record, evidence, form=form))

    before = found()
    random.shuffle(order)
    assert found().raw == pytest.approx(before.raw, abs=1e-12)
    assert 0 <= before.risk <= 1
    assert before.raw <= 1


def test_registered_as_a_confidence_by_nli():
    scorer = REGISTRY.get("semantic_negentropy")
    assert (scorer.raw_is, scorer.cost, scorer.presets) == ("confidence", "nli", {"all"})
