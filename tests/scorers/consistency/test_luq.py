from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.consistency.luq import luq

BORN = "He was born in London."
DIED = "He died there in 1912."
FIRST = "He was born in London in 1850. He was a painter."
SECOND = "He died in Paris."
TABLE = {
    (FIRST, BORN): (0.8, 0.0, 0.2),
    (SECOND, BORN): (0.1, 0.9, 0.0),
    (FIRST, DIED): (0.0, 1.0, 0.0),
    (SECOND, DIED): (0.2, 0.0, 0.8),
}


async def score(table=TABLE, contradicts=True, **parameters):
    record = Record(response=f"{BORN} {DIED}", samples=[FIRST, SECOND])
    return await luq(record, FixedVerdicts(record, table, contradicts=contradicts), **parameters)


@pytest.mark.parametrize(
    ("measure", "born", "died"),
    [
        # e / (e + c): 0.8 and 1; nothing known (0.5) and 0.2
        ("contrasted_entailment", (0.8 + 1) / 2, (0.5 + 0.2) / 2),
        ("entailment", (0.8 + 0.1) / 2, (0 + 0.2) / 2),
        ("noncontradiction", (0.8 + 1) / 2, (1 + 0.2) / 2),
    ],
)
async def test_worked_by_hand(measure, born, died):
    found = await score(measure=measure)
    assert [u.raw for u in found.units] == pytest.approx([born, died])
    assert [u.risk for u in found.units] == pytest.approx([1 - born, 1 - died])
    assert [u.text for u in found.units] == [BORN, DIED]
    assert found.raw == pytest.approx((born + died) / 2)
    assert found.risk == pytest.approx(1 - found.raw)
    least = await score(measure=measure, aggregate="min")
    assert least.raw == pytest.approx(min(born, died))
    assert least.units == found.units


async def test_evidence_is_of_the_least_supporting_samples_first():
    born, died = (await score()).units
    assert [(e.index, e.text) for e in born.evidence] == [
        (0, "He was born in London in 1850."),
        (1, SECOND),
    ]
    assert [e.probability for e in born.evidence] == pytest.approx([0.8, 1.0])
    assert (died.evidence[0].index, died.evidence[0].text) == (1, SECOND)
    for item in (*born.evidence, *died.evidence):
        assert (FIRST, SECOND)[item.index][item.start : item.end] == item.text


async def test_one_request_of_samples_as_premises():
    record = Record(response=f"{BORN} {DIED}", samples=[FIRST, SECOND, {"image": "a.png"}])
    evidence = FixedVerdicts(record)
    await luq(record, evidence)
    assert evidence.asked == [[(FIRST, BORN), (SECOND, BORN), (FIRST, DIED), (SECOND, DIED)]]


async def test_a_model_without_contradiction_has_entailment_alone():
    assert (await score(contradicts=False, measure="entailment")).status == "scored"
    for measure in ("contrasted_entailment", "noncontradiction"):
        with pytest.raises(NotApplicable, match="contradiction"):
            await score(contradicts=False, measure=measure)


async def test_a_blank_sample_is_no_sample():
    record = Record(response=BORN, samples=["  "])
    with pytest.raises(NotApplicable, match="no samples"):
        await luq(record, FixedVerdicts(record))


async def test_what_it_does_not_apply_to():
    for record in (Record(response=BORN), Record(response=" ", samples=[BORN])):
        with pytest.raises(NotApplicable):
            await luq(record, FixedVerdicts(record))
    record = Record(response=BORN, samples=[BORN], sentences=[[0, 0]])
    with pytest.raises(NotApplicable, match="no sentences"):
        await luq(record, FixedVerdicts(record))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 9)] * 3).filter(any), min_size=2, max_size=5),
    st.sampled_from(["contrasted_entailment", "entailment", "noncontradiction"]),
    st.randoms(),
)
def test_range_and_order(parts, measure, random):
    rows = [tuple(np.array(p) / sum(p)) for p in parts]
    samples = [f"Sample {i}." for i in range(len(rows))]
    table = {(s, BORN): row for s, row in zip(samples, rows, strict=True)}

    def run(samples):
        record = Record(response=BORN, samples=samples)
        return asyncio.run(luq(record, FixedVerdicts(record, table), measure=measure))

    found = run(samples)
    random.shuffle(samples)
    assert run(samples).raw == pytest.approx(found.raw, abs=1e-12)
    assert 0 <= found.raw <= 1 and found.risk == pytest.approx(1 - found.raw)
