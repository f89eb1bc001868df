from __future__ import annotations

import math

import pytest
from meanings import table_of
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.consistency.semantic_entropy import cluster_probability, representative

MEANINGS = {"Lyon": 1, "Paris": 2, "It is Paris": 2, "Paris it is": 2, "Rome": 3}


async def score(response, samples, **parameters):
    record = Record(response=response, samples=samples)
    return await cluster_probability(
        record, FixedVerdicts(record, table_of(MEANINGS)), **parameters
    )


async def test_shares_by_hand():
    found = await score("Lyon", ["Paris", "It is Paris", "Rome", "Lyon"])
    assert found.raw["shares"] == [0.4, 0.4, 0.2]
    assert found.raw["confidence"] == 0.4 and found.risk == pytest.approx(0.6)
    assert found.raw["best"] == 0  # of equally probable meanings the first
    found = await score("Lyon", ["Paris", "", {"image": "i"}, "It is Paris", "Rome"])
    assert found.raw["shares"] == [0.25, 0.5, 0.25]
    assert found.raw["best"] == 4  # the longest of its meaning; samples without text count


async def test_the_text_that_most_have_stands_for_the_meaning():
    found = await score("Lyon", ["It is Paris", "Paris", "Paris it is", "Paris"])
    assert found.raw["best"] == 2
    assert representative([1, 2, 3, 4], ["x", "aa", "b", "b", "aa"]) == 1
    assert representative([1, 2], ["x", "a", "bb"]) == 2
    assert representative([1, 2], ["x", "aa", "bb"]) == 1


async def test_by_probability():
    def told(text, p):
        return {"text": text, "logprobs": [{"token": text, "logprob": math.log(p)}]}

    record = Record(
        response="Lyon",
        logprobs=[{"token": "Lyon", "logprob": math.log(0.6)}],
        samples=[told("Paris", 0.1), told("It is Paris", 0.1)],
    )
    evidence = FixedVerdicts(record, table_of(MEANINGS))
    found = await cluster_probability(record, evidence)
    assert found.raw["shares"] == pytest.approx([0.75, 0.25]) and found.raw["best"] == 0
    found = await cluster_probability(record, evidence, weights="discrete")
    assert found.raw["shares"] == pytest.approx([1 / 3, 2 / 3], abs=1e-8)
    assert found.raw["best"] == 2


async def test_not_applicable():
    for response, samples in (("Paris", [""]), (" ", ["Paris"])):
        with pytest.raises(NotApplicable):
            await score(response, samples)
