"""Turns of a conversation: each by what was known before it."""

from __future__ import annotations

import json

import pytest
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.nli_grounding import nli_grounding
from veridical.scorers.grounding.turns import turns

YES, NO = (0.9, 0.1, 0.0), (0.1, 0.8, 0.1)
LEFT, ARRIVED = "Order 17 left on Monday.", "Order 17 arrived on Sunday."
MONDAY, SUNDAY = "Your order left on Monday.", "Your order arrived on Sunday."


def said(role, content):
    return {"role": role, "content": content}


TALK = [
    said("user", "Where is my order?"),
    said("tool", LEFT),
    said("assistant", MONDAY),
    said("user", "And now?"),
    said("tool", ARRIVED),
]
TABLE = {(LEFT, MONDAY): YES, (ARRIVED, SUNDAY): YES, (ARRIVED, MONDAY): NO, (LEFT, SUNDAY): NO}


async def score(response=SUNDAY, prompt=TALK, contexts=(), table=None, **options):
    record = Record(response=response, prompt=prompt, contexts=contexts)
    evidence = FixedVerdicts(record, TABLE if table is None else table)
    found = await turns(record, evidence, **options)
    json.dumps(found.raw)
    return found, evidence


async def test_each_turn_is_judged_by_what_was_known_before_it():
    found, evidence = await score()
    # what entails the last turn surely is found first
    assert evidence.asked == [[(LEFT, MONDAY), (ARRIVED, SUNDAY)]]
    first, last = found.raw["turns"]
    assert (first["message"], last["message"]) == (2, None)
    assert [first["risk"], last["risk"]] == pytest.approx([0.1, 0.1])
    (item,) = first["sentences"][0]["evidence"]
    assert item == {"message": 1, "start": 0, "end": len(LEFT), "text": LEFT}
    assert found.risk == found.raw["risk"] == pytest.approx(0.1)


async def test_what_a_tool_says_later_is_no_ground():
    early = [TALK[0], said("assistant", MONDAY), said("tool", LEFT)]
    for contexts in ((), (LEFT,)):  # readers put results among the contexts
        found, evidence = await score(MONDAY, early, contexts)
        first, last = found.raw["turns"]
        assert (first["risk"], first["why"]) == (None, "no_source")
        assert last["risk"] == pytest.approx(0.1)
        assert evidence.asked == [[(LEFT, MONDAY)]]


async def test_parts_of_a_result_are_contexts_from_then_on():
    """As readers of logged conversations make them: a context for each part of a tool's message."""
    parts = [{"type": "text", "text": ARRIVED}, {"type": "text", "text": LEFT}]
    talk = [said("user", "Where?"), said("assistant", MONDAY), said("tool", parts)]
    found, _ = await score(MONDAY, talk, [ARRIVED, LEFT])
    assert [t["why"] for t in found.raw["turns"]] == ["no_source", None]
    (item,) = found.units[0].evidence
    assert (item.context, item.text) == (1, LEFT)


async def test_contexts_ground_every_turn_and_are_the_units_evidence():
    found, _ = await score(contexts=["Other.", LEFT, ARRIVED])
    (unit,) = found.units
    (item,) = unit.evidence
    assert (item.kind, item.index, item.context, item.text) == ("context", 2, 2, ARRIVED)
    first, last = found.raw["turns"]
    assert first["sentences"][0]["evidence"][0]["context"] == 1
    assert last["sentences"][0]["evidence"][0]["context"] == 2


async def test_the_worst_turn_makes_the_risk():
    wrong = [*TALK[:2], said("assistant", "It is lost."), *TALK[3:]]
    found, _ = await score(prompt=wrong)
    first, last = found.raw["turns"]
    assert (first["risk"], last["risk"]) == (pytest.approx(0.9), pytest.approx(0.1))
    assert (found.risk, found.raw["mean"]) == (pytest.approx(0.9), pytest.approx(0.5))
    (unit,) = found.units  # of the response, which is well founded
    assert unit.risk == pytest.approx(0.1)


async def test_a_turn_is_judged_as_nli_grounding_judges_a_response():
    record = Record(response=SUNDAY, prompt=TALK, contexts=[LEFT, ARRIVED])
    alone = await nli_grounding(record, FixedVerdicts(record, TABLE))
    found, _ = await score(contexts=[LEFT, ARRIVED])
    assert [u.model_dump() for u in found.units] == [u.model_dump() for u in alone.units]


async def test_questions_and_refusals_state_nothing():
    talk = [TALK[1], said("assistant", "I don't know."), said("user", "Please.")]
    found, _ = await score(f"{SUNDAY} Anything else?", [*talk, TALK[4]])
    assert [t["why"] for t in found.raw["turns"]] == ["no_statement", None]
    assert [u.label for u in found.units] == ["entailment", "no_statement"]
    assert found.units[1].risk is None


async def test_users_may_be_sources():
    talk = [said("user", LEFT), said("assistant", MONDAY), said("user", "Yes.")]
    found, _ = await score(MONDAY, talk, users=True)
    assert [t["risk"] for t in found.raw["turns"]] == pytest.approx([0.1, 0.1])
    with pytest.raises(NotApplicable, match="source"):
        await score(MONDAY, talk)


async def test_anthropics_blocks():
    result = {
        "type": "tool_result",
        "tool_use_id": "a",
        "content": [{"type": "text", "text": LEFT}],
    }
    use = {"type": "tool_use", "id": "a", "name": "order", "input": {}}
    talk = [
        said("user", "Where?"),
        said("assistant", [use]),
        said("user", [result]),
        said("assistant", [{"type": "text", "text": MONDAY}]),
        said("user", "And now?"),
    ]
    found, _ = await score(MONDAY, talk)
    assert [t["message"] for t in found.raw["turns"]] == [3, None]
    assert found.risk == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("prompt", "response", "why"),
    [
        ("Where?", SUNDAY, "no earlier turn and no tool result"),
        (None, SUNDAY, "no earlier turn and no tool result"),
        ([said("user", "Where?")], SUNDAY, "no earlier turn and no tool result"),
        (TALK[:2], " ", "no turn makes a statement"),
        (TALK[:2], "I don't know.", "no turn makes a statement"),
    ],
)
async def test_where_it_does_not_apply(prompt, response, why):
    with pytest.raises(NotApplicable, match=why):
        await score(response, prompt)
