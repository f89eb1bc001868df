from __future__ import annotations

import json

import pytest
from nli_evidence import FixedVerdicts

from veridical.core.messages import Reply
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.consistency.claim_samples import claim_frequency
from veridical.scorers.consistency.luq import luq

BORN, DIED = "He was born in London.", "He died there in 1912."
FIRST, SECOND = "He was born in London in 1850.", "He died in Paris."
RECORD = Record(response=f"{BORN} {DIED}", samples=[FIRST, SECOND])
TABLE = {
    (FIRST, BORN): (0.8, 0.1, 0.1),
    (SECOND, BORN): (0.4, 0.6, 0.0),
    (FIRST, DIED): (0.5, 0.2, 0.3),
    (SECOND, DIED): (0.6, 0.0, 0.4),
}


async def score(record=RECORD, **parameters):
    evidence = FixedVerdicts(record, TABLE)
    return await claim_frequency(record, evidence, **parameters), evidence


async def test_share_of_the_samples_that_entail_a_claim():
    found, evidence = await score()
    assert [u.text for u in found.units] == [BORN, DIED]
    assert [u.level for u in found.units] == ["claim", "claim"]
    assert [u.raw for u in found.units] == [0.5, 1.0]
    assert [u.risk for u in found.units] == [0.5, 0.0]
    assert (found.raw, found.risk) == (0.75, 0.25)
    assert evidence.asked == [[(FIRST, BORN), (SECOND, BORN), (FIRST, DIED), (SECOND, DIED)]]
    item = found.units[0].evidence[0]  # of the sample that supports it least
    assert (item.kind, item.index, item.text, item.probability) == ("sample", 1, SECOND, 0.4)


async def test_by_probability_and_the_rarest_claim():
    found, _ = await score(count="entailment")
    assert [u.raw for u in found.units] == pytest.approx([0.6, 0.55])
    assert (await score(aggregate="min"))[0].raw == 0.5


async def test_counted_by_luqs_measure_it_is_luq_of_the_claims():
    found, evidence = await score(count="contrasted_entailment", extractor="sentences")
    by_luq = await luq(RECORD, evidence)
    assert [u.raw for u in found.units] == pytest.approx([u.raw for u in by_luq.units])
    assert found.raw == pytest.approx(by_luq.raw)


async def test_claims_of_the_record():
    fields = {"claims": ["He died there in 1912."]}
    given = Record(response=RECORD.response, samples=[FIRST], meta=fields)
    found, _ = await score(given, extractor="given")
    (unit,) = found.units
    assert unit.text in DIED and unit.raw == found.raw == 1.0


async def test_what_it_needs():
    with pytest.raises(NotApplicable, match="samples"):
        await score(Record(response=BORN))
    with pytest.raises(NotApplicable, match="declines"):
        await score(Record(response="I'm sorry, I can't help with that.", samples=["a"]))
    (bound,) = REGISTRY.parse("claim_frequency")
    assert bound.costs == {"nli"}
    (bound,) = REGISTRY.parse("claim_frequency(extractor=llm_atomic)")
    assert bound.costs == {"nli", "llm"}
    (bound,) = REGISTRY.parse("claim_frequency(llm=x)")
    with pytest.raises(UsageError, match="calls no LLM"):
        assert bound.costs


BORN_TOO = "London is where he was born."
MERGED = Record(response=f"{BORN} {DIED}", samples=[BORN_TOO, f"{FIRST} {DIED}"])
YES = (0.9, 0.1, 0.0)
SAME = {(BORN, BORN_TOO): YES, (BORN_TOO, BORN): YES, (FIRST, BORN): YES}
SAME |= {(MERGED.samples[1].text, text): YES for text in (BORN, DIED)}


async def merged_score(reply="", **parameters):
    class Both(FixedVerdicts):
        async def chat(self, requests, llm=None):
            self.rounds.append(list(requests))
            return [Reply(reply, "stop") for _ in requests]

    evidence = Both(MERGED, SAME)
    evidence.rounds = []
    found = await claim_frequency(MERGED, evidence, extractor="sentences", **parameters)
    return found, evidence


async def test_share_of_the_samples_that_make_a_merged_claim():
    found, evidence = await merged_score(merge="nli")
    # FIRST says more than BORN, which does not entail it: only by whole samples does it count
    assert [u.raw for u in found.units] == [0.5, 0.5]
    assert (found.raw, found.risk) == (0.5, 0.5)
    assert len(evidence.asked) == 1 and evidence.rounds == []
    items = [(e.index, e.probability) for e in found.units[0].evidence]
    assert items == [(1, 0.0), (0, 1.0)]
    assert (await merged_score())[0].raw == 0.75


async def test_merged_by_an_llm_it_asks_no_nli():
    found, evidence = await merged_score('{"same": [1]}', merge="llm")
    # the first sample's claim is BORN; FIRST has a number that BORN lacks, DIED stands already
    assert [u.raw for u in found.units] == [0.5, 0.5]
    assert evidence.asked == [] and len(evidence.rounds) == 2
    (bound,) = REGISTRY.parse("claim_frequency(merge=llm, llm=x)")
    assert bound.costs == {"llm"} and bound.models("llm") == ("x",)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("merge=nli, extractor=given", "another extractor than given"),
        ("merge=llm, count=entailment", "remove count=entailment"),
        ("merge=nli, llm=x", "calls no LLM"),
    ],
)
def test_what_does_not_go_with_merging(call, why):
    (bound,) = REGISTRY.parse(f"claim_frequency({call})")
    with pytest.raises(UsageError, match=why):
        assert bound.costs


async def test_the_claims_of_an_llm_counted_by_luqs_measure():
    """LUQ-atomic: claims that a language model lists, by whole samples."""

    class Both(FixedVerdicts):
        async def chat(self, requests, llm=None):
            return [Reply(json.dumps({"claims": [BORN, DIED]}), "stop") for _ in requests]

    found = await claim_frequency(
        RECORD, Both(RECORD, TABLE), extractor="llm_zhang", count="contrasted_entailment"
    )
    born = (0.8 / 0.9 + 0.4 / 0.4) / 2  # e / (e + c), mean over samples
    died = (0.5 / 0.8 + 0.6 / 1.0) / 2
    assert [u.raw for u in found.units] == pytest.approx([born, died])
    assert found.raw == pytest.approx((born + died) / 2)
