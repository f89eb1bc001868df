from __future__ import annotations

import asyncio

import pytest
from embedding_evidence import FixedEvidence
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.luq import luq, matched_unit

BORN = "He was born in London."
DIED = "He died there in 1912."
PARIS = "He died in Paris."
PAINTER = "He was a painter."
TABLE = {
    (PAINTER, BORN): (0.2, 0.6, 0.2),
    (PARIS, BORN): (0.0, 1.0, 0.0),
    (BORN, DIED): (0.1, 0.5, 0.4),
    (PAINTER, DIED): (0.0, 0.9, 0.1),
    (PARIS, DIED): (0.3, 0.0, 0.7),
}


async def score(samples, **parameters):
    record = Record(response=f"{BORN} {DIED}", samples=samples)
    evidence = FixedVerdicts(record, TABLE)
    return await matched_unit(record, evidence, **parameters), evidence


async def test_worked_by_hand():
    found, _ = await score([f"{PAINTER} {BORN}", f"{PARIS} {PAINTER}"], measure="entailment")
    # first sample: the same sentence, then 0.1 by BORN; second: 0.2 by PAINTER, 0.3 by PARIS
    assert [u.raw for u in found.units] == pytest.approx([(1 + 0.2) / 2, (0.1 + 0.3) / 2])
    assert [u.risk for u in found.units] == pytest.approx([0.4, 0.8])
    assert (found.raw, found.risk) == (pytest.approx(0.4), pytest.approx(0.6))
    least, _ = await score(
        [f"{PAINTER} {BORN}", f"{PARIS} {PAINTER}"], measure="entailment", aggregate="min"
    )
    assert least.raw == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("measure", "born", "died"),
    # of PARIS and PAINTER: e / (e + c) is 0.5 (nothing known) and 0.5; 0.3 and 0
    [("contrasted_entailment", 0.5, 0.3), ("noncontradiction", 1.0, 0.9)],
)
async def test_other_measures(measure, born, died):
    found, _ = await score([f"{PARIS} {PAINTER}"], measure=measure)
    assert [u.raw for u in found.units] == pytest.approx([born, died])


async def test_by_cosine_and_by_bertscore():
    record = Record(response=f"{BORN} {DIED}", samples=[f"{PARIS} {PAINTER}", BORN])
    vectors = {BORN: (1, 0), DIED: (0, 1), PARIS: (0.6, 0.8), PAINTER: (-1, 0)}
    found = await matched_unit(record, FixedEvidence(record, vectors), measure="cosine")
    # BORN: cosine 0.6 with PARIS, 1 with itself; DIED: 0.8 and 0
    expected = [(0.8 + 1) / 2, (0.9 + 0.5) / 2]
    assert [u.raw for u in found.units] == pytest.approx(expected, abs=1e-6)
    assert found.units[0].evidence[1].text == PARIS
    pairs = {(BORN, PARIS): (0.5, 1.0), (BORN, BORN): (1, 1), (DIED, PAINTER): (0.4, 0.4)}
    found = await matched_unit(record, FixedEvidence(record, pairs=pairs), measure="bert_score")
    assert [u.raw for u in found.units] == pytest.approx([(2 / 3 + 1) / 2, 0.4 / 2])
    for measure, costs in (("cosine", {"embed"}), ("bert_score", {"tokens"})):
        (bound,) = REGISTRY.parse(f"matched_unit(measure={measure})")
        assert bound.costs == costs
    (bound,) = REGISTRY.parse("matched_unit")
    assert bound.costs == {"nli"}


async def test_evidence_is_the_match_in_the_best_samples():
    samples = [f"{PARIS} {PAINTER}", f"{PAINTER}\n\n{BORN}", PARIS, PARIS]
    found, _ = await score(samples, measure="entailment")
    born, _ = found.units
    assert [(e.index, e.text) for e in born.evidence] == [(1, BORN), (0, PAINTER), (2, PARIS)]
    assert [e.probability for e in born.evidence] == pytest.approx([1, 0.2, 0])
    for item in born.evidence:
        assert samples[item.index][item.start : item.end] == item.text


async def test_every_sentence_is_sent_once_in_one_request():
    _, evidence = await score([f"{PARIS} {PAINTER}", f"{PAINTER} {PARIS}"])
    assert evidence.asked == [[(PARIS, BORN), (PAINTER, BORN), (PARIS, DIED), (PAINTER, DIED)]]


async def test_what_it_does_not_apply_to():
    for record in (
        Record(response=BORN),
        Record(response=" ", samples=[BORN]),
        Record(response=BORN, samples=[BORN], sentences=[[0, 0]]),
        Record(response=BORN, samples=[" "]),
    ):
        with pytest.raises(NotApplicable):
            await matched_unit(record, FixedVerdicts(record))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([BORN, DIED, PARIS, PAINTER]), min_size=1, max_size=5),
    st.sampled_from(["contrasted_entailment", "entailment", "noncontradiction"]),
    st.randoms(),
)
def test_order_and_samples_of_one_sentence(samples, measure, random):
    """Samples of one sentence match by the whole sample, as in luq."""
    record = Record(response=f"{BORN} {DIED}", samples=samples)
    found = asyncio.run(matched_unit(record, FixedVerdicts(record, TABLE), measure=measure))
    whole = asyncio.run(luq(record, FixedVerdicts(record, TABLE), measure=measure))
    assert [u.raw for u in found.units] == pytest.approx([u.raw for u in whole.units])
    random.shuffle(samples)
    record = Record(response=f"{BORN} {DIED}", samples=samples)
    again = asyncio.run(matched_unit(record, FixedVerdicts(record, TABLE), measure=measure))
    assert again.raw == pytest.approx(found.raw, abs=1e-12)
    assert 0 <= found.raw <= 1
