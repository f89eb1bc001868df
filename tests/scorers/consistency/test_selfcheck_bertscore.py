from __future__ import annotations

import numpy as np
import pytest
from embedding_evidence import FixedEvidence, ModelEvidence

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.consistency.selfcheck_bertscore import selfcheck_bertscore

BORN = "He was born in London."
DIED = "He died there in 1912."
OTHER = "She wrote nine long novels."


def symmetric(values):
    return {pair: (v, v) for pair, v in values.items()}


PAIRS = symmetric(
    {
        (BORN, BORN): 1.0,
        (BORN, DIED): 0.6,
        (BORN, OTHER): 0.3,
        (DIED, BORN): 0.6,
        (DIED, DIED): 1.0,
        (DIED, OTHER): 0.2,
        (BORN, "Yes."): 0.99,
    }
)


async def score(response, samples, pairs=PAIRS, **parameters):
    record = Record(response=response, samples=samples)
    return await selfcheck_bertscore(record, FixedEvidence(record, pairs=pairs), **parameters)


async def test_equation_1_worked_by_hand():
    found = await score(f"{BORN} {DIED}", [f"{OTHER} {BORN}", OTHER])
    born, died = 1 - (1.0 + 0.3) / 2, 1 - (0.6 + 0.2) / 2
    assert [u.raw for u in found.units] == pytest.approx([born, died])
    assert [u.risk for u in found.units] == pytest.approx([born, died])
    assert found.raw == pytest.approx((born + died) / 2)
    assert found.risk == pytest.approx(found.raw)
    assert [u.text for u in found.units] == [BORN, DIED]


async def test_evidence_is_the_best_sentence_of_the_nearest_samples():
    samples = [f"{DIED} {BORN}", OTHER, f"  {DIED}", OTHER, OTHER]
    (unit,) = (await score(BORN, samples)).units
    assert [(e.kind, e.index, e.text) for e in unit.evidence] == [
        ("sample", 0, BORN),
        ("sample", 2, DIED),
        ("sample", 1, OTHER),
    ]
    assert [e.probability for e in unit.evidence] == pytest.approx([1, 0.6, 0.3])
    for item in unit.evidence:
        assert samples[item.index][item.start : item.end] == item.text


async def test_short_sample_sentences_are_left_out_unless_there_is_no_other():
    # "Yes." would be the best match, but has two words.
    assert (await score(BORN, [f"Yes. {DIED}"])).raw == pytest.approx(0.4)
    assert (await score(BORN, ["Yes."])).raw == pytest.approx(0.01)
    assert (await score(BORN, ["   ", BORN])).raw == pytest.approx(0)  # a blank one is none


async def test_every_sentence_is_sent_once_in_one_request():
    record = Record(response=f"{BORN} {DIED}", samples=[f"{OTHER} {BORN}", f"{BORN} {OTHER}"])
    evidence = FixedEvidence(record, pairs=PAIRS)
    await selfcheck_bertscore(record, evidence)
    assert evidence.asked == [((BORN, DIED), (OTHER, BORN), None)]


async def test_baseline_as_published():
    plain = await score(f"{BORN} {DIED}", [f"{OTHER} {BORN}", OTHER])
    spread = await score(f"{BORN} {DIED}", [f"{OTHER} {BORN}", OTHER], baseline=0.2)
    for a, b in zip(plain.units, spread.units, strict=True):
        # 1 - mean((f - b) / (1 - b)) = (1 - mean(f)) / (1 - b)
        assert b.raw == pytest.approx(a.raw / 0.8)
        assert b.risk == pytest.approx(a.risk) == pytest.approx(0.8 * b.raw)
    assert spread.raw == pytest.approx(plain.raw / 0.8)
    with pytest.raises(ValueError, match="baseline"):
        await score(BORN, [BORN], baseline=1.0)


async def test_given_sentences_contexts_and_reference():
    text = f"{BORN} {DIED}"
    record = Record(
        response=text,
        sentences=[[0, len(text)]],
        contexts=[{"id": 1, "text": OTHER}, DIED],
        reference=BORN,
    )
    evidence = FixedEvidence(
        record, pairs=symmetric({(text, OTHER): 0.25, (text, DIED): 0.1, (text, BORN): 0.75})
    )
    found = await selfcheck_bertscore(record, evidence, against="contexts")
    assert found.raw == pytest.approx(0.75)  # of contexts the best, not the mean
    assert (found.units[0].start, found.units[0].end) == (0, len(text))
    assert found.units[0].evidence[0].context == 0
    assert (await selfcheck_bertscore(record, evidence, against="reference")).raw == pytest.approx(
        0.25
    )


async def test_what_it_does_not_apply_to():
    for record in (Record(response=BORN), Record(response=" ", samples=[BORN])):
        with pytest.raises(NotApplicable):
            await selfcheck_bertscore(record, FixedEvidence(record))
    record = Record(response=BORN, samples=[BORN], sentences=[[0, 0]])
    with pytest.raises(NotApplicable, match="no sentences"):
        await selfcheck_bertscore(record, FixedEvidence(record))


async def test_real_model_finds_the_invented_sentence(encoder):
    record = Record(
        response="Marie Curie was born in Warsaw. She owned a chain of seafood restaurants.",
        samples=[
            "Marie Curie was born in Warsaw in 1867. She won two Nobel Prizes.",
            "Curie, a physicist, was born in the city of Warsaw. She discovered radium.",
        ],
    )
    found = await selfcheck_bertscore(record, ModelEvidence(record, encoder))
    told, invented = found.units
    assert invented.risk > told.risk + 0.1
    assert "Warsaw" in told.evidence[0].text
    assert found.risk == pytest.approx(np.mean([told.risk, invented.risk]))
