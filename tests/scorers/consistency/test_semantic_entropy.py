from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meanings import SAME, logprobs, now, record_of, table_of
from nli_evidence import FixedVerdicts
from scipy.stats import entropy

from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.semantic_entropy import semantic_entropy

MEANINGS = {"Paris": 1, "It is Paris": 1, "Rome": 2, "Oslo": 3}


async def score(response, samples, fields=None, table=None, **parameters):
    record = record_of(response, samples, **(fields or {}))
    evidence = FixedVerdicts(record, table or table_of(MEANINGS))
    found = await semantic_entropy(record, evidence, **parameters)
    return found


async def test_discrete_entropy_of_shares_of_meanings():
    # meanings {Paris, It is Paris, Paris}, {Rome}, {Oslo}: 3/5, 1/5, 1/5
    found = await score("Paris", ["Rome", "It is Paris", "Oslo", "", "Paris"])
    assert found.raw == pytest.approx(entropy([3, 1, 1]))
    assert found.risk == pytest.approx(1 - np.exp(-found.raw))


@pytest.mark.parametrize("k", [1, 2, 3])
async def test_risk_of_equally_likely_meanings(k):
    answers = ["Paris", "Rome", "Oslo"][:k] * 2
    found = await score(answers[0], answers[1:])
    assert found.raw == pytest.approx(np.log(k), abs=1e-12)
    assert found.risk == pytest.approx(1 - 1 / k, abs=1e-12)


async def test_probabilities_of_meanings_where_all_answers_have_them():
    samples = [("Rome", [-1, -3]), ("It is Paris", [-0.5, -0.5, -2])]
    own = {"logprobs": logprobs(-0.2)}
    found = await score("Paris", samples, own)
    assert found.raw == pytest.approx(entropy([np.exp(-0.2) + np.exp(-1), np.exp(-2)]))
    product = await score("Paris", samples, own, length_normalize=False)
    assert product.raw == pytest.approx(entropy([np.exp(-0.2) + np.exp(-3), np.exp(-4)]))
    asked = await score("Paris", samples, own, weights="probability")
    assert asked == found
    alike = await score("Paris", samples, own, weights="discrete")
    assert alike.raw == pytest.approx(entropy([2, 1]))


async def test_discrete_where_an_answer_has_no_log_probabilities():
    own = {"logprobs": logprobs(-0.2)}
    assert (await score("Paris", [("Rome", [-4]), "Oslo"], own)).raw == pytest.approx(np.log(3))
    assert (await score("Paris", [("Rome", [-4])])).raw == pytest.approx(np.log(2))
    with pytest.raises(NotApplicable, match="log-probabilities"):
        await score("Paris", [("Rome", [-4])], weights="probability")


async def test_products_of_long_answers_do_not_underflow():
    own = {"logprobs": logprobs(*[-1.0] * 2000)}
    found = await score("Paris", [("Rome", [-1.0] * 2001)], own, length_normalize=False)
    assert found.raw == pytest.approx(entropy([1, np.exp(-1)]))


async def test_clusters_by_mutual_entailment_or_by_either_direction():
    table = {("Paris", "Rome"): SAME}
    assert (await score("Paris", ["Rome"], table=table)).raw == pytest.approx(np.log(2))
    assert (await score("Paris", ["Rome"], table=table, cluster="either")).raw == 0


async def test_prompts_make_sense_of_short_answers():
    table = table_of({"Where?\nParis": 1, "Where?\nThere": 1})
    found = await score("Paris", ["There"], {"prompt": "Where?"}, table, prompts=True)
    assert found.raw == 0
    assert (await score("Paris", ["There"], {"prompt": "Where?"}, table)).raw > 0


async def test_a_model_without_contradiction_will_do():
    record = record_of("Paris", ["It is Paris"])
    evidence = FixedVerdicts(record, table_of(MEANINGS), contradicts=False)
    assert (await semantic_entropy(record, evidence)).raw == 0


async def test_not_applicable():
    with pytest.raises(NotApplicable, match="no samples"):
        await score("Paris", [""])
    with pytest.raises(NotApplicable, match="empty"):
        await score("", ["Paris"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(-50, 0)), min_size=2, max_size=8),
    st.sampled_from(["auto", "discrete"]),
    st.randoms(),
)
def test_bounded_and_independent_of_the_order_of_answers(answers, weights, random):
    meanings = {f"a{i}": meaning for i, (meaning, _) in enumerate(answers)}
    order = list(enumerate(answers))

    def risk():
        (i, (_, own)), *rest = order
        samples = [(f"a{j}", [p]) for j, (_, p) in rest]
        record = record_of(f"a{i}", samples, logprobs=logprobs(own))
        evidence = FixedVerdicts(record, table_of(meanings))
        return now(semantic_entropy(record, evidence, weights=weights)).risk

    before = risk()
    random.shuffle(order)
    assert risk() == pytest.approx(before, abs=1e-12)
    assert 0 <= before < 1


def test_registered_as_a_risk_by_nli():
    scorer = REGISTRY.get("semantic_entropy")
    assert (scorer.raw_is, scorer.cost, scorer.presets) == ("risk", "nli", {"all"})
    assert scorer.needs == {"samples"}
