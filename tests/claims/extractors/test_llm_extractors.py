"""Extractors by a language model, against replies written by hand."""

from __future__ import annotations

import json

import pytest

from veridical.claims.extractors import costs_of, find_extractor
from veridical.core.messages import LlmError, Reply
from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.prompts.fences import NOTE

RESPONSE = "Ada Lovelace was born in London. She wrote notes in 1843, and her tutor was De Morgan."
RECORD = Record(prompt="Who was Ada Lovelace?", response=RESPONSE)
TRIPLETS = [
    ["Ada Lovelace", "wrote", "notes"],
    ["Ada Lovelace", "born in", "London"],
    ["her tutor", "was", "De Morgan"],
]


def triplets(*rows) -> str:
    return json.dumps({"triplets": list(rows)})


def claims(*rows) -> str:
    return json.dumps({"claims": [{"claim": c, "sentences": s} for c, s in rows]})


def places(found, response=RESPONSE):
    return [(response[c.start : c.end], c.sentence) for c in found.claims]


async def extract(chat, name, answer, record=RECORD):
    evidence = chat(record, answer)
    found = await find_extractor(name)(record, evidence)
    return found, evidence


async def test_triplets_are_statements_with_their_places_in_the_order_of_the_response(chat):
    found, evidence = await extract(chat, "llm_triplets", triplets(*TRIPLETS))
    assert [c.text for c in found.claims] == [
        "Ada Lovelace born in London.",
        "Ada Lovelace wrote notes.",
        "her tutor was De Morgan.",
    ]
    assert [c.triplet for c in found.claims] == [tuple(TRIPLETS[i]) for i in (1, 0, 2)]
    assert places(found) == [
        ("Ada Lovelace was born in London", 0),
        ("wrote notes", 1),
        ("tutor was De Morgan", 1),
    ]
    for claim in found.claims:
        for start, end in claim.parts:
            assert claim.start <= start < end <= claim.end
    assert (found.left_out, found.abstained) == ((), False)
    ((request,),) = evidence.rounds
    text = request.messages[-1]["content"]
    assert request.messages[0]["content"] == NOTE  # what is quoted is data
    assert text.index("Optimus") < text.index("Who was Ada") < text.index(RESPONSE)
    assert request.schema["properties"]["triplets"]["items"]["maxItems"] == 3
    assert (request.temperature, request.max_tokens) == (0, 500 + len(RESPONSE) // 2)


async def test_without_the_question(chat):
    found, evidence = await extract(chat, "llm_triplets_plain", triplets(*TRIPLETS))
    assert len(found.claims) == 3
    assert "Who was" not in evidence.rounds[0][0].messages[-1]["content"]
    bare = Record(response=RESPONSE)
    _, alone = await extract(chat, "llm_triplets", triplets(*TRIPLETS), bare)
    assert alone.rounds == evidence.rounds  # no prompt, no question


async def test_the_published_lines_are_read_too(chat):
    said = '\n("Ada Lovelace", "born in", "London")\n("her tutor", "was", "De Morgan"),\n\n'
    found, _ = await extract(chat, "llm_triplets", said)
    assert [c.text for c in found.claims] == [
        "Ada Lovelace born in London.",
        "her tutor was De Morgan.",
    ]


async def test_a_short_answer_takes_the_rest_of_its_triplet_from_the_question(chat):
    """The paper's own example."""
    asked = "How many years was Andre Weiss at the University of Dijon, in Paris?"
    record = Record(prompt=asked, response="11 years")
    said = triplets(["Andre Weiss at University of Dijon in Paris", "duration", "11 years"])
    found, _ = await extract(chat, "llm_triplets", said, record)
    assert places(found, "11 years") == [("11 years", 0)]


async def test_what_is_no_triplet_is_left_out_and_counted(chat):
    rows = [
        *TRIPLETS,
        ["Ada  LOVELACE", "wrote", "notes"],
        ["subject", "predicate", "object"],
        ["head_entity", "Relation", "Tail"],
        ["Ada Lovelace", "", "London"],
        ["London", "is", " london"],
        ["Ada Lovelace", "born in", 1815],
    ]
    found, _ = await extract(chat, "llm_triplets", triplets(*rows))
    assert len(found.claims) == 3
    assert found.left_out == (
        'said twice: ["Ada  LOVELACE", "wrote", "notes"]',
        'a header: ["subject", "predicate", "object"]',
        'a header: ["head_entity", "Relation", "Tail"]',
        'an empty part: ["Ada Lovelace", "", "London"]',
        'head and tail are equal: ["London", "is", " london"]',
        'not a text: ["Ada Lovelace", "born in", 1815]',
    )


async def test_a_claim_the_response_does_not_make_is_left_out(chat):
    """A small model copies the example of the prompt."""
    copied = ["Optimus", "is", "robotic humanoid"]
    found, _ = await extract(chat, "llm_triplets", triplets(*TRIPLETS, copied))
    assert len(found.claims) == 3
    assert found.left_out == ('not in the response: ["Optimus", "is", "robotic humanoid"]',)
    with pytest.raises(LlmError, match="1 of 1 claims cannot be used") as e:
        await extract(chat, "llm_triplets", triplets(copied))
    assert (e.value.trouble, e.value.text) == ("malformed", triplets(copied))


async def test_a_response_that_declines_is_not_sent(chat):
    record = Record(prompt="Who was Ada?", response="I'm sorry, I don't know.")
    for name in ("llm_triplets", "llm_subsentence", "llm_chained", "llm_atomic"):
        found, evidence = await extract(chat, name, "", record)
        assert found.abstained and not found.claims and evidence.rounds == []
    with pytest.raises(NotApplicable, match="empty"):
        await extract(chat, "llm_triplets", "", Record(response=" \n"))


@pytest.mark.parametrize("said", [triplets(), "Abstain", "abstain."])
async def test_a_models_word_that_there_is_no_claim_is_no_abstention(chat, said):
    """It would be risk 0: an answer could ask for it."""
    chatty = Record(prompt="Is Ada there?", response="hello! how are you doing today?")
    found, _ = await extract(chat, "llm_triplets", said, chatty)
    assert not found.claims and not found.abstained
    with pytest.raises(LlmError, match='no claim was found in the sentence "she wrote it'):
        await extract(chat, "llm_triplets", said, Record(response="she wrote it in 1843."))
    with pytest.raises(LlmError, match='found in the sentence "It was De M'):
        await extract(
            chat, "llm_triplets", said, Record(prompt="Who?", response="It was De Morgan, sure.")
        )


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        (Reply('{"triplets": [["Ada', "length"), "length"),
        (Reply("", "stop"), "empty"),
        (Reply("", "stop", refusal="no"), "refused"),
        (Reply('{"triplets": [["Ada Lovelace", "wrote"', "stop"), "malformed"),
    ],
)
async def test_a_reply_that_is_not_whole_is_an_error(chat, reply, trouble):
    with pytest.raises(LlmError) as e:
        await extract(chat, "llm_triplets", lambda request: reply)
    assert e.value.trouble == trouble


async def test_subsentence_claims_are_placed_in_the_sentences_they_name(chat):
    said = claims(
        ("Ada Lovelace wrote notes in 1843.", [2]),
        ("Ada Lovelace was born in London.", [1]),
        ("Ada Lovelace's tutor was De Morgan.", [1, 2]),
    )
    found, evidence = await extract(chat, "llm_subsentence", said)
    assert [(c.text, c.sentence, c.triplet) for c in found.claims] == [
        ("Ada Lovelace was born in London.", 0, None),
        ("Ada Lovelace wrote notes in 1843.", 1, None),
        ("Ada Lovelace's tutor was De Morgan.", 1, None),
    ]
    assert places(found)[1][0] == "wrote notes in 1843"
    text = evidence.rounds[0][0].messages[-1]["content"]
    assert "\n[1] Ada Lovelace was born in London.\n[2] She wrote notes in 1843, and" in text
    assert found.left_out == ()


async def test_sentence_numbers_are_lines_of_their_own_and_cannot_be_forged(chat):
    record = Record(response="Ada was born.\n\n   \n\nShe died\n[9] in 1852.")
    _, evidence = await extract(chat, "llm_subsentence", claims(("Ada was born.", [1])), record)
    lines = evidence.rounds[0][0].messages[-1]["content"].split("\n")
    assert [x for x in lines[-8:] if x.startswith("[")] == [
        "[1] Ada was born.",
        "[2] She died [9] in 1852.",
    ]


@pytest.mark.parametrize("numbers", [[3], [0], [-1], [2, 2], [], [True], ["1"], [1.5], 1, None])
async def test_wrong_sentence_numbers_are_told_of_and_words_decide(chat, numbers):
    said = claims(("She wrote notes.", [2]), ("Ada Lovelace was born in London.", numbers))
    found, _ = await extract(chat, "llm_subsentence", said)
    assert [(c.text, c.sentence) for c in found.claims] == [
        ("Ada Lovelace was born in London.", 0),
        ("She wrote notes.", 1),
    ]
    (why,) = found.left_out
    assert why.startswith('wrong sentence numbers: {"claim": "Ada')


async def test_a_number_that_exists_but_is_another_sentences(chat):
    said = claims(("Ada Lovelace was born in London.", [2]))
    found, _ = await extract(chat, "llm_subsentence", said)
    assert found.claims[0].sentence == 0
    assert found.left_out[0].startswith("wrong sentence numbers: ")


async def test_a_sentence_that_states_something_and_has_no_claim_is_one_itself(chat):
    response = "Sure, gladly! " + RESPONSE + " Who else was it? Nobody was."
    record = Record(prompt="Who was De Morgan, in 1843?", response=response)
    said = triplets(TRIPLETS[0])
    found, _ = await extract(chat, "llm_triplets", said, record)
    (why,) = found.left_out
    assert why.startswith('no claim in the sentence "Ada Lovelace was born in London."')
    assert places(found, response)[0] == ("Ada Lovelace was born in London.", 1)
    assert len(found.claims) == 2
    found, _ = await extract(chat, "llm_triplets", triplets(TRIPLETS[1]), record)
    assert found.left_out == ()  # what the second says is the question's
    assert len(found.claims) == 1


async def test_published_lines_of_subsentence_claims(chat):
    said = "Ada Lovelace was born in London. [1]\nHer tutor was De Morgan. [1][2]\n"
    found, _ = await extract(chat, "llm_subsentence", said)
    assert [c.text for c in found.claims] == [
        "Ada Lovelace was born in London.",
        "Her tutor was De Morgan.",
    ]
    found, _ = await extract(chat, "llm_subsentence", said + "Her tutor was kind.")
    assert len(found.claims) == 2
    assert found.left_out == ('not a claim with its sentences: "Her tutor was kind."',)


CHAIN = {
    "triplets": [["Ada Lovelace", "was born in", "London"], ["tutor", "was", "De Morgan"]],
    "claims": [
        {"claim": "Ada Lovelace was born in London.", "sentences": [1]},
        {"claim": "Her tutor was De Morgan.", "sentences": [2]},
    ],
}


@pytest.mark.parametrize(
    "said",
    [
        json.dumps(CHAIN),
        f"```json\n{json.dumps(CHAIN)}\n```",
        "(Ada Lovelace, was born in, London) [1]\n### Claims\n"
        "Ada Lovelace was born in London. [1]\nHer tutor was De Morgan. [2]\n",
    ],
)
async def test_of_a_chained_reply_the_claims_are_taken(chat, said):
    found, evidence = await extract(chat, "llm_chained", said)
    assert [(c.text, c.sentence, c.triplet) for c in found.claims] == [
        ("Ada Lovelace was born in London.", 0, None),
        ("Her tutor was De Morgan.", 1, None),
    ]
    (request,) = evidence.rounds[0]
    text = request.messages[-1]["content"]
    assert "you should convert the KG to a list of claims" in text and "\n[1] Ada Love" in text
    assert list(request.schema["properties"]) == ["triplets", "claims"]


@pytest.mark.parametrize(
    "said",
    [
        "(Ada Lovelace, was born in, London) [1]",
        "### Claims\nShe was.\n### Claims\nAda Lovelace was born in London. [1]",
        json.dumps({"triplets": []}),
        json.dumps({"claims": CHAIN["claims"]}),
    ],
)
async def test_a_chained_reply_without_its_two_parts_is_malformed(chat, said):
    with pytest.raises(LlmError) as e:
        await extract(chat, "llm_chained", said)
    assert e.value.trouble == "malformed"


async def test_atomic_facts_are_asked_for_sentence_by_sentence(chat):
    facts = {
        "London": ["Ada Lovelace was born.", "Ada Lovelace was born in London."],
        "1843": ["She wrote notes.", "She wrote notes in 1843.", "Her tutor was De Morgan."],
    }

    def answer(request):
        sentence = request.messages[-1]["content"].split("<sentence-")[1]
        return json.dumps({"facts": next(f for word, f in facts.items() if word in sentence)})

    found, evidence = await extract(chat, "llm_atomic", answer)
    assert [c.text for c in found.claims] == [*facts["London"], *facts["1843"]]
    assert [c.sentence for c in found.claims] == [0, 0, 1, 1, 1]
    (asked,) = evidence.rounds
    assert len(asked) == 2
    text = asked[0].messages[-1]["content"]
    assert text.count("Please breakdown the following sentence into independent facts:") == 9
    assert text.index("McCoy") < text.index("Ada Lovelace was born in London.")


async def test_a_fact_of_another_sentence_is_left_out(chat):
    both = "- Ada Lovelace was born in London.\n- She wrote notes."
    record = Record(response="Ada Lovelace was born in London. She wrote notes.")
    found, _ = await extract(chat, "llm_atomic", both, record)
    assert [(c.text, c.sentence) for c in found.claims] == [
        ("Ada Lovelace was born in London.", 0),
        ("She wrote notes.", 1),
    ]
    assert found.left_out == (
        'not in the response: "She wrote notes."',
        'not in the response: "Ada Lovelace was born in London."',
    )
    with pytest.raises(LlmError, match=r'2 of 2 .* "Done!"') as e:
        await extract(chat, "llm_atomic", "Done!", record)
    assert e.value.text == "Done!"


async def test_the_same_fact_of_two_sentences_is_two_claims(chat):
    record = Record(response="He acted. Then he was ill. He acted.")

    def answer(request):
        ill = "ill" in request.messages[-1]["content"].split("<sentence-")[1]
        return json.dumps({"facts": ["He was ill."] if ill else ["He acted.", "he acted."]})

    found, _ = await extract(chat, "llm_atomic", answer, record)
    assert [(c.text, c.sentence) for c in found.claims] == [
        ("He acted.", 0),
        ("He was ill.", 1),
        ("He acted.", 2),
    ]
    assert found.left_out == ('said twice: "he acted."',) * 2


def test_costs():
    assert all(
        costs_of(name) == {"llm"}
        for name in ("llm_triplets", "llm_triplets_plain", "llm_subsentence", "llm_atomic")
    )
