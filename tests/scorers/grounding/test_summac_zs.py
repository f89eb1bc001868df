from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.summac_zs import summac_zs

BORN = "He was born in London."
DIED = "He died there in 1912."
CITY = "The painter was born in London."
PARIS = "He died in Paris in 1910."
OTHER = "Nobody knows his house."
TABLE = {
    (CITY, BORN): (0.9, 0.1, 0.0),
    (PARIS, BORN): (0.0, 0.7, 0.3),
    (OTHER, BORN): (0.1, 0.9, 0.0),
    (CITY, DIED): (0.2, 0.7, 0.1),
    (PARIS, DIED): (0.0, 0.2, 0.8),
    (OTHER, DIED): (0.3, 0.7, 0.0),
}


async def score(table=TABLE, contradicts=True, response=f"{BORN} {DIED}", **fields):
    names = ("samples", "contexts", "reference", "prompt")
    record = Record(response=response, **{k: fields.pop(k) for k in names if k in fields})
    evidence = FixedVerdicts(record, table, contradicts=contradicts)
    return await summac_zs(record, evidence, **fields), evidence


async def test_contexts_together_are_the_document():
    contexts = [f"{CITY} {PARIS}", OTHER]
    found, evidence = await score(contexts=contexts)
    assert [u.raw for u in found.units] == pytest.approx([0.9 - 0.3, 0.3 - 0.8])
    assert [u.risk for u in found.units] == pytest.approx([0.2, 0.75])
    assert [u.label for u in found.units] == ["entailment", "contradiction"]
    assert found.raw == pytest.approx((0.6 - 0.5) / 2)
    assert found.risk == pytest.approx((1 - found.raw) / 2)
    (born,), (died,) = (u.evidence for u in found.units)
    assert (born.context, born.text, born.probability) == (0, CITY, pytest.approx(0.9))
    assert (died.context, died.text, died.probability) == (0, PARIS, pytest.approx(0.8))
    assert contexts[0][died.start : died.end] == PARIS
    assert evidence.asked == [[(p, s) for s in (BORN, DIED) for p in (CITY, PARIS, OTHER)]]


async def test_a_short_answer_is_judged_with_its_question():
    table = {(CITY, BORN): (0.9, 0.1, 0.0)}
    found, _ = await score(table, response="London", prompt="Where was he born?", contexts=[CITY])
    (unit,) = found.units
    assert (unit.text, unit.raw) == ("London", pytest.approx(0.9))


async def test_without_contradiction():
    for contradicts in (True, False):
        found, _ = await score(
            contexts=[f"{CITY} {PARIS}", OTHER], contradiction=False, contradicts=contradicts
        )
        assert [u.raw for u in found.units] == pytest.approx([0.9, 0.3])
        assert found.risk == pytest.approx(1 - found.raw) == pytest.approx(0.4)
        assert [u.evidence[0].text for u in found.units] == [CITY, OTHER]
        assert [u.label for u in found.units] == [None, None]
    with pytest.raises(NotApplicable, match="contradiction"):
        await score(contexts=[CITY], contradicts=False)


async def test_mean_over_samples_and_the_best_reference():
    texts = [CITY, f"{PARIS} {OTHER}"]
    found, _ = await score(samples=texts, against="samples")
    born, died = (0.9 + (0.1 - 0.3)) / 2, (0.1 + (0.3 - 0.8)) / 2
    assert [u.raw for u in found.units] == pytest.approx([born, died])
    assert [(e.kind, e.index, e.text) for e in found.units[0].evidence] == [
        ("sample", 0, CITY),
        ("sample", 1, PARIS),
    ]
    found, _ = await score(reference=texts, against="reference")
    assert [u.raw for u in found.units] == pytest.approx([0.9, 0.1])
    assert [(e.kind, e.text) for e in found.units[1].evidence] == [("reference", CITY)]


async def test_granularity():
    two = f"{CITY} {PARIS}"
    context = f"\n {two}\n \n{OTHER}  \n"
    table = {
        (two, BORN): (0.8, 0.2, 0.0),
        (OTHER, BORN): (0.0, 1.0, 0.0),
        (context, BORN): (0.7, 0.3, 0.0),
    }
    found, evidence = await score(table, response=BORN, contexts=[context], granularity="paragraph")
    assert evidence.asked == [[(two, BORN), (OTHER, BORN)]]
    assert found.raw == pytest.approx(0.8)
    (item,) = found.units[0].evidence
    assert item.text == two == context[item.start : item.end]
    found, evidence = await score(table, response=BORN, contexts=[context], granularity="document")
    assert evidence.asked == [[(context, BORN)]]
    assert found.raw == pytest.approx(0.7)
    # without a blank line, lines are paragraphs
    _, evidence = await score(
        response=BORN, contexts=[f"{CITY}\n{PARIS}\n"], granularity="paragraph"
    )
    assert evidence.asked == [[(CITY, BORN), (PARIS, BORN)]]


@pytest.mark.parametrize("granularity", ["sentence", "paragraph", "document"])
async def test_a_blank_context_is_not_judged(granularity):
    found, evidence = await score(response=BORN, contexts=[" \n ", CITY], granularity=granularity)
    assert evidence.asked == [[(CITY, BORN)]]
    assert [e.index for e in found.units[0].evidence] == [1]
    with pytest.raises(NotApplicable, match="no contexts"):
        await score(response=BORN, contexts=[" \n "], granularity=granularity)


async def test_what_it_does_not_apply_to():
    for record in (
        Record(response=BORN, samples=[BORN]),
        Record(response=" ", contexts=[BORN]),
        Record(response=BORN, contexts=[BORN], sentences=[[0, 0]]),
    ):
        with pytest.raises(NotApplicable):
            await summac_zs(record, FixedVerdicts(record))


def test_the_package_formula_on_random_matrices():
    @settings(max_examples=40, deadline=None)
    @given(
        st.integers(1, 4),
        st.integers(1, 3),
        st.integers(0, 10**6),
        st.booleans(),
        st.randoms(),
    )
    def check(documents, sentences, seed, contradiction, random):
        image = np.random.default_rng(seed).dirichlet([1, 1, 1], (documents, sentences))
        pieces = [f"Piece {i}." for i in range(documents)]
        units = [f"Unit {j}." for j in range(sentences)]
        table = {
            (p, u): tuple(image[i, j]) for i, p in enumerate(pieces) for j, u in enumerate(units)
        }
        expected = image[..., 0].max(0) - contradiction * image[..., 2].max(0)
        random.shuffle(pieces)
        found, _ = asyncio.run(
            score(table, response=" ".join(units), contexts=pieces, contradiction=contradiction)
        )
        assert found.raw == pytest.approx(expected.mean(), abs=1e-12)
        assert -1 <= found.raw <= 1 and 0 <= found.risk <= 1

    check()
