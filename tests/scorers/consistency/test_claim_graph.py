from __future__ import annotations

import numpy as np
import pytest
from nli_evidence import FixedVerdicts

from veridical.core.messages import Reply
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.consistency._centrality import CENTRALITIES
from veridical.scorers.consistency.claim_samples import claim_graph

BORN, DIED, PAINTED = "He was born in London.", "He died there in 1912.", "He was a painter."
BORN_TOO = "London is where he was born."
RESPONSE = f"{BORN} {DIED}"
SAMPLES = [f"{BORN_TOO} {PAINTED}", PAINTED]
RECORD = Record(response=RESPONSE, samples=SAMPLES)
YES, NO = (0.9, 0.1, 0.0), (0.1, 0.8, 0.1)
TABLE = {
    (RESPONSE, BORN): YES,
    (SAMPLES[0], BORN): (0.8, 0.2, 0.0),
    (RESPONSE, DIED): YES,
    (SAMPLES[0], PAINTED): YES,
    (BORN, BORN_TOO): YES,  # one claim: each entails the other
    (BORN_TOO, BORN): YES,
}


async def score(record=RECORD, **parameters):
    evidence = FixedVerdicts(record, TABLE, default=NO)
    found = await claim_graph(record, evidence, extractor="sentences", **parameters)
    return found, evidence


@pytest.mark.parametrize("name", sorted(CENTRALITIES))
async def test_the_graph_of_merged_claims_and_answers(name):
    found, _ = await score(centrality=name)
    # rows: BORN with BORN_TOO, DIED, PAINTED; columns: the response and the two samples
    table = [[0.9, 0.8, 0], [0.9, 0, 0], [0, 0.9, 1]]
    born, died, _ = CENTRALITIES[name](np.array(table))
    assert [u.text for u in found.units] == [BORN, DIED]
    assert [u.level for u in found.units] == ["claim", "claim"]
    assert [u.raw for u in found.units] == pytest.approx([born, died])
    assert found.raw == pytest.approx((born + died) / 2)
    assert found.risk == pytest.approx(1 - found.raw)
    assert found.units[0].risk < found.units[1].risk


async def test_degree_by_hand_and_the_threshold():
    found, _ = await score(centrality="degree")
    assert [u.raw for u in found.units] == pytest.approx([2 / 3, 1 / 3])
    found, _ = await score(centrality="degree", threshold=0.85, aggregate="min")
    assert [u.raw for u in found.units] == pytest.approx([1 / 3, 1 / 3])
    assert found.raw == pytest.approx(1 / 3)


async def test_evidence_is_of_the_samples_that_support_it_least():
    found, evidence = await score()
    assert len(evidence.asked) == 2  # support, then merging
    item = found.units[0].evidence[0]
    assert (item.kind, item.index, item.probability) == ("sample", 1, 0.1)


async def test_samples_without_claims_are_answers_still():
    refusals = ["I'm sorry, I can't help with that.", "I cannot answer that."]
    record = Record(response=BORN, samples=refusals)
    found, _ = await score(record, centrality="degree")
    assert found.raw == pytest.approx(1 / 3)  # the response alone states it
    blank = Record(response=BORN, samples=[refusals[0], "  "])
    found, _ = await score(blank, centrality="degree")
    assert found.raw == pytest.approx(1 / 2)  # a blank sample is no answer
    same = Record(response=BORN, samples=[BORN, BORN])
    assert (await score(same, centrality="degree"))[0].raw == pytest.approx(1)


async def test_what_it_needs():
    with pytest.raises(NotApplicable, match="samples"):
        await score(Record(response=BORN))
    (bound,) = REGISTRY.parse("claim_graph")
    assert bound.costs == {"nli"}
    for call, why in (("extractor=given", "claims of the samples"), ("llm=x", "calls no LLM")):
        (bound,) = REGISTRY.parse(f"claim_graph({call})")
        with pytest.raises(UsageError, match=why):
            assert bound.costs


async def test_merged_by_an_llm():
    class Both(FixedVerdicts):
        async def chat(self, requests, llm=None):
            self.rounds = [*getattr(self, "rounds", []), list(requests)]
            # the first sample's claims: the first is BORN in other words, the second is new
            return [Reply('{"same": [1, 0]}', "stop") for _ in requests]

    evidence = Both(RECORD, TABLE, default=NO)
    found = await claim_graph(
        RECORD, evidence, extractor="sentences", merge="llm", centrality="degree"
    )
    assert [u.raw for u in found.units] == pytest.approx([2 / 3, 1 / 3])
    assert len(evidence.asked) == 1  # support alone: no NLI is asked about merging
    assert [len(r) for r in evidence.rounds] == [1]  # the second sample says nothing new
    (bound,) = REGISTRY.parse("claim_graph(merge=llm, llm=x)")
    assert bound.costs == {"nli", "llm"}
    assert bound.models("llm") == ("x",)


def test_merging_by_entailment_is_the_score_it_was():
    (bound,) = REGISTRY.parse("claim_graph")
    (named,) = REGISTRY.parse("claim_graph(merge=nli)")
    assert bound.identity == named.identity
    assert named.key == "claim_graph"
