from __future__ import annotations

import json

import pytest
from embedding_evidence import FixedEvidence

from veridical.core.messages import Reply
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
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


WRITTEN = ["Where is Rome?", "What is green?", "In which country is Rome?"]
ASKED = VECTORS | {"What is green?": (0, 1), "In which country is Rome?": (3, 4)}


async def by_llm(reply, response="In Italy.", **options):
    class Both(FixedEvidence):
        async def chat(self, requests, llm=None):
            self.rounds.append((llm, list(requests)))
            return [reply if isinstance(reply, Reply) else Reply(reply, "stop")]

    record = Record(response=response, prompt=QUESTION)
    evidence = Both(record, ASKED)
    evidence.rounds = []
    return await answer_relevancy(record, evidence, by="llm", **options), evidence


async def test_questions_written_back_from_the_answer():
    found, evidence = await by_llm(json.dumps({"questions": WRITTEN}), llm="judge")
    assert found.raw == pytest.approx((1 + 0 + 0.6) / 3)  # the mean cosine with the question
    assert found.risk == pytest.approx((1 - found.raw) / 2)
    assert found.units == ()
    ((who, (call,)),) = evidence.rounds
    text = call.messages[-1]["content"]
    assert who == "judge" and "Write 3 different questions" in text and "In Italy." in text
    assert QUESTION not in text  # else it would be written back


async def test_one_question_and_blank_ones():
    reply = json.dumps({"questions": [" ", WRITTEN[1], WRITTEN[0]]})
    assert (await by_llm(reply, questions=1))[0].raw == pytest.approx(0)
    with pytest.raises(NotApplicable, match="no question"):
        await by_llm('{"questions": ["?", ""]}')


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        ("Where is Rome?", "malformed"),
        ('{"questions": [1]}', "malformed"),
        (Reply('{"questions": [', "length"), "length"),
        (Reply("", "stop"), "empty"),
    ],
)
async def test_a_reply_that_is_no_question_fails_the_score(reply, trouble):
    found, _ = await by_llm(reply)
    assert (found.status, found.risk, found.raw["trouble"]) == ("failed", None, trouble)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("questions=5", "remove questions=5"),
        ("llm=x", "remove llm=x"),
        ("by=llm, aggregate=mean", "remove aggregate=mean"),
    ],
)
def test_parameters_that_do_not_go_together(call, why):
    (bound,) = REGISTRY.parse(f"answer_relevancy({call})")
    with pytest.raises(UsageError, match=why):
        bound.check()


def test_without_an_llm_it_is_the_scorer_it_was():
    (plain,) = REGISTRY.parse("answer_relevancy")
    assert plain.costs == {"embed"} and plain.prompts == ()
    (asking,) = REGISTRY.parse("answer_relevancy(by=llm, llm=x)")
    assert asking.costs == {"embed", "llm"} and asking.models("llm") == ("x",)
