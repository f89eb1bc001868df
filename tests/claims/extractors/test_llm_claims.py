"""Four ways of asking a language model for the claims of a whole answer."""

from __future__ import annotations

import json

import pytest

from veridical.claims.extractors import EXTRACTORS, costs_of, find_extractor, prompts_of
from veridical.core.messages import LlmError
from veridical.core.records import Record
from veridical.core.registry import REGISTRY

RESPONSE = "Marie Curie was born in Warsaw in 1867. She won two Nobel Prizes."
RECORD = Record(response=RESPONSE)
BORN, WHEN = "Marie Curie was born in Warsaw.", "Marie Curie was born in 1867."
PRIZES = "Marie Curie won two Nobel Prizes."
NAMES = ["llm_zhang", "llm_farquhar", "llm_mohri", "llm_jiang"]


async def extract(chat, name, answer, record=RECORD):
    evidence = chat(record, answer)
    return await find_extractor(name)(record, evidence), evidence


def said(*claims) -> str:
    return json.dumps({"claims": list(claims)})


@pytest.mark.parametrize("name", NAMES)
async def test_claims_of_the_whole_response_in_one_call(chat, name):
    found, evidence = await extract(chat, name, said(PRIZES, BORN, WHEN, BORN))
    assert [c.text for c in found.claims] == [BORN, WHEN, PRIZES]
    assert [c.sentence for c in found.claims] == [0, 0, 1]
    assert found.claims[2].span(RESPONSE).text == "won two Nobel Prizes"
    assert found.left_out == (f'said twice: "{BORN}"',)
    ((request,),) = evidence.rounds
    assert RESPONSE in request.messages[-1]["content"]
    assert request.schema["required"] == ["claims"]


async def test_each_asks_in_its_own_words(chat):
    templates = [prompts_of(name) for name in NAMES]
    assert templates == [(f"claims_{name[4:]}",) for name in NAMES]
    texts = set()
    for name in NAMES:
        _, evidence = await extract(chat, name, said(BORN, PRIZES))
        texts.add(evidence.rounds[0][0].messages[-1]["content"])
        assert name in EXTRACTORS and costs_of(name) == {"llm"}
        (bound,) = REGISTRY.parse(f"claim_frequency(extractor={name})")
        assert bound.costs == {"nli", "llm"}
    assert len(texts) == len(NAMES)


@pytest.mark.parametrize("mark", ["- ", "* ", "### "])
async def test_a_list_of_lines_is_read(chat, mark):
    reply = f"{mark}{BORN}\n\n{mark}{PRIZES}\nThat is all."
    found, _ = await extract(chat, "llm_zhang", reply)
    assert [c.text for c in found.claims] == [BORN, PRIZES]
    assert found.left_out == ('not a claim: "That is all."',)


async def test_what_the_response_does_not_say_is_left_out(chat):
    found, _ = await extract(chat, "llm_mohri", said(BORN, PRIZES, "Pierre Curie was a physicist."))
    assert [c.text for c in found.claims] == [BORN, PRIZES]
    assert found.left_out[0].startswith("not in the response")
    with pytest.raises(LlmError, match="2 of 2 claims cannot be used"):
        await extract(chat, "llm_mohri", said("Tea is green.", "Marie Curie was born in 1868."))


async def test_a_sentence_passed_over_is_a_claim_itself(chat):
    found, _ = await extract(chat, "llm_jiang", said(PRIZES))
    assert [c.text for c in found.claims] == [RESPONSE[:39], PRIZES]
    with pytest.raises(LlmError, match="no claim was found"):
        await extract(chat, "llm_jiang", said())


async def test_a_response_that_declines_is_not_sent(chat):
    record = Record(response="I'm sorry, I don't know.")
    found, evidence = await extract(chat, "llm_farquhar", "", record)
    assert found.abstained and evidence.rounds == []
