from __future__ import annotations

import numpy as np
import pytest
from embedding_evidence import FixedEvidence, ModelEvidence

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.cosine import cosine

VECTORS = {"east": [1, 0], "north": [0, 1], "north-east": [1, 1], "west": [-1, 0]}


async def score(response, samples, **parameters):
    record = Record(response=response, samples=samples)
    return await cosine(record, FixedEvidence(record, VECTORS), **parameters)


async def test_mean_cosine_as_in_equation_13():
    found = await score("east", ["north", "north-east", "east"])
    assert found.raw == pytest.approx((0 + np.sqrt(0.5) + 1) / 3)
    assert found.risk == pytest.approx((1 - found.raw) / 2)


async def test_rescaled_form_is_the_mean_of_half_plus_half_cosine():
    samples = ["north", "north-east"]
    plain, rescaled = await score("east", samples), await score("east", samples, rescale=True)
    assert rescaled.raw == pytest.approx((0.5 + 0.5 + np.sqrt(0.5) / 2) / 2)
    assert rescaled.risk == plain.risk


@pytest.mark.parametrize("sample, risk", [("east", 0), ("north", 0.5), ("west", 1)])
async def test_risk_spans_the_whole_range(sample, risk):
    assert (await score("east", [sample])).risk == pytest.approx(risk, abs=1e-7)


async def test_one_request_and_other_things_to_compare_with():
    record = Record(response="east", contexts=["west", "north-east"], reference="east")
    evidence = FixedEvidence(record, VECTORS)
    assert (await cosine(record, evidence, against="contexts")).raw == pytest.approx(np.sqrt(0.5))
    assert (await cosine(record, evidence, against="reference")).raw == pytest.approx(1)
    assert evidence.asked == [("east", "west", "north-east"), ("east", "east")]
    with pytest.raises(NotApplicable, match="no samples"):
        await cosine(record, evidence)


async def test_a_blank_response_is_not_applicable():
    with pytest.raises(NotApplicable, match="empty"):
        await score(" \n", ["east"])


async def test_real_model_tells_agreement_from_disagreement(encoder):
    async def of(samples):
        record = Record(response="Paris is the capital of France.", samples=samples)
        return await cosine(record, ModelEvidence(record, encoder))

    same = await of(["The capital of France is Paris.", "Paris is the capital of France."])
    other = await of(["Bananas are rich in potassium.", "He scored twice in the final."])
    assert same.raw > 0.9 > 0.3 > other.raw
    assert same.risk < other.risk


def test_registered_as_a_confidence_with_embedding_cost():
    scorer = REGISTRY.get("cosine")
    assert (scorer.raw_is, scorer.cost, scorer.presets) == ("confidence", "embed", {"all"})
