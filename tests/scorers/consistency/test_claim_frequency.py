from __future__ import annotations

import pytest
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.consistency.claim_frequency import claim_frequency
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
    with pytest.raises(UsageError, match="asks no llm"):
        assert bound.costs
