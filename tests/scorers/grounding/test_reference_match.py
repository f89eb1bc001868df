from __future__ import annotations

import math

import pytest
from nli_evidence import FixedVerdicts

import veridical
from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.reference_match import reference_match

PLANET = "What is the largest planet in the Solar System?"
JUPITER = "Jupiter is the largest planet in the Solar System."
GIANT = "That would be the gas giant with the great red spot, more massive than all the others."
SATURN = "Saturn is the largest planet in the Solar System."


async def match(response, reference, table=None, prompt=PLANET, **options):
    record = Record(prompt=prompt, response=response, reference=reference)
    evidence = FixedVerdicts(record, table, **options)
    return await reference_match(record, evidence), evidence


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


async def test_a_number_decides_without_a_model():
    question = "What is the square root of 81?"
    for response in ("9", "It is nine.", "The square root of 81 is 9."):
        score, evidence = await match(response, "9", prompt=question)
        assert (score.risk, evidence.asked) == (pytest.approx(sigmoid(-3)), [])
        assert score.units[0].label == "entailment"
    score, evidence = await match("The square root of 81 is 3.", "9", prompt=question)
    assert (score.risk, evidence.asked) == (pytest.approx(sigmoid(3)), [])
    (unit,) = score.units
    assert (unit.label, unit.risk) == ("contradiction", score.risk)
    (item,) = unit.evidence
    assert (item.kind, item.index, item.text) == ("reference", 0, "9")


async def test_of_a_working_the_last_sentence_is_judged():
    score, _ = await match("She has 3 eggs. She buys 4. A: 7", "8", prompt="How many eggs?")
    first, second, last = score.units
    assert (first.label, second.label, last.label) == ("neutral", "neutral", "contradiction")
    score, _ = await match("She has 3 eggs. She buys 4. A: 7", "7", prompt="How many eggs?")
    assert [u.label for u in score.units] == [None, None, "entailment"]
    assert {u.risk for u in score.units} == {score.risk}


async def test_a_paraphrase_in_either_direction():
    table = {(GIANT, JUPITER): (0.9, 0.1, 0.0), (JUPITER, GIANT): (0.1, 0.7, 0.2)}
    score, evidence = await match(GIANT, JUPITER, table)
    assert score.risk == pytest.approx(sigmoid(2 * (0.1 - 0.9)))
    (unit,) = score.units
    assert (unit.label, unit.evidence[0].text) == ("entailment", JUPITER)
    assert sum(unit.probabilities.values()) == pytest.approx(1)
    assert evidence.asked == [[(GIANT, JUPITER), (JUPITER, GIANT)]]


async def test_the_reference_with_words_exchanged():
    table = {(SATURN, JUPITER): (0.6, 0.2, 0.2), (JUPITER, SATURN): (0.2, 0.4, 0.4)}
    score, _ = await match(SATURN, JUPITER, table)
    assert score.risk == pytest.approx(sigmoid(2 * (0.3 - 0.2) + 1.5))
    assert score.units[0].label == "contradiction"


async def test_a_short_answer_is_looked_up_and_judged():
    table = {}
    score, evidence = await match("Jupiter", JUPITER, table, default=(0.5, 0.3, 0.2))
    assert score.risk == pytest.approx(sigmoid(0.69 - 2.83 - 1.42 * 0.5))
    assert "Jupiter" in evidence.asked[0][0][0]
    score, evidence = await match("Not Jupiter.", "Jupiter")
    assert (score.risk, evidence.asked) == (pytest.approx(sigmoid(2)), [])
    assert score.units[0].label == "contradiction"


async def test_the_best_reference_counts():
    score, _ = await match("Saturn", ["Jupiter", "Saturn", " "], default=(0.0, 0.5, 0.5))
    assert score.risk == pytest.approx(sigmoid(-3.0))
    assert score.units[0].evidence[0].index == 1


async def test_another_sentence_that_exchanges_words():
    response = f"{JUPITER} {SATURN}"
    score, _ = await match(response, JUPITER, default=(0.2, 0.6, 0.2))
    right, wrong = score.units
    assert right.label == "entailment"
    assert (wrong.label, wrong.risk) == ("contradiction", score.risk)
    assert right.risk < 0.5 < wrong.risk


async def test_what_does_not_apply_and_chats():
    with pytest.raises(NotApplicable):
        await match(" ", "9")
    with pytest.raises(NotApplicable, match="reference"):
        await match("9", [" "])
    chat = [{"role": "system", "content": "81"}, {"role": "user", "content": PLANET}]
    score, evidence = await match("Jupiter", "Jupiter", prompt=chat)
    assert score.risk < 0.2
    score, evidence = await match("Jupiter", JUPITER, prompt="word " * 400)
    assert evidence.asked[0][0] == ("Jupiter", JUPITER)


def test_with_the_embedded_model():
    rows = [
        {"prompt": "Who wrote Frankenstein?", "reference": "It was written by Mary Shelley."},
        {
            "prompt": "Where does the Danube end?",
            "reference": "It ends in Romania, in the Black Sea.",
        },
    ]
    answers = [("Mary Shelley", "Percy Shelley"), ("In the Black Sea.", "In the Caspian Sea")]
    records = [{**r, "response": a} for r, pair in zip(rows, answers, strict=True) for a in pair]
    risks = [r.risk for r in veridical.check(records, "reference_match", store=None)]
    assert risks[0] < 0.5 < risks[1]
    assert risks[2] < 0.5 < risks[3]
