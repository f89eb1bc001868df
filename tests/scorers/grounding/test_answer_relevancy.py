from __future__ import annotations

import pytest
from embedding_evidence import FixedEvidence

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.answer_relevancy import answer_relevancy

QUESTION = "Where is Rome?"
VECTORS = {QUESTION: (1, 0), "In Italy.": (1, 0), "Tea is green.": (0, 1)}
VECTORS["In Italy. Tea is green."] = (1, 1)


async def score(response, prompt=QUESTION, **options):
    record = Record(response=response, prompt=prompt)
    return await answer_relevancy(record, FixedEvidence(record, VECTORS), **options)


@pytest.mark.parametrize(("aggregate", "cosine"), [("max", 1.0), ("mean", 0.5), ("whole", 2**-0.5)])
async def test_cosine_with_the_question(aggregate, cosine):
    found = await score("In Italy. Tea is green.", aggregate=aggregate)
    assert found.raw == pytest.approx(cosine)
    assert found.risk == pytest.approx((1 - cosine) / 2)
    assert [u.risk for u in found.units] == pytest.approx([0.0, 0.5])


async def test_of_a_conversation_the_last_question_counts():
    messages = [
        {"role": "user", "content": "Tea?"},
        {"role": "assistant", "content": "Green."},
        {"role": "user", "content": QUESTION},
    ]
    assert (await score("In Italy.", messages)).risk == 0.0


@pytest.mark.parametrize(
    ("response", "prompt", "why"),
    [
        ("In Italy.", None, "no prompt"),
        ("In Italy.", " ", "no prompt"),
        ("In Italy.", [{"role": "system", "content": "Be kind."}], "no prompt"),
        ("", QUESTION, "empty"),
        ("I don't know.", QUESTION, "declines"),
    ],
)
async def test_where_it_does_not_apply(response, prompt, why):
    with pytest.raises(NotApplicable, match=why):
        await score(response, prompt)
