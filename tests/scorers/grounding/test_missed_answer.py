"""Answers that say that the sources do not tell, although one does."""

from __future__ import annotations

import numpy as np
import pytest
from growing import MOST, growth
from hostile_texts import repeated
from nli_evidence import FixedVerdicts

import veridical
from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding._missed_answer import (
    NAMES,
    candidates_of,
    missed_answer,
    probabilities,
)
from veridical.text.asked import asked

FERRY = (
    "The ferry to Orno leaves at 8:15 and 17:40. A ticket costs 12 euros for adults. Bicycles "
    "travel free. In winter the café on board is closed."
)
SILENT = "The text does not say."


class Given(FixedVerdicts):
    """Embeddings by the first words that a text shares with a table; counts what is asked."""

    def __init__(self, record: Record, near: str = "") -> None:
        super().__init__(record, default=(0.9, 0.1, 0.0))
        self.near = near
        self.embedded: list[str] = []

    async def embed(self, texts):
        self.embedded += texts
        rest = texts[1:]
        rows = [(1.0, 0.0), *((1.0, 0.0) if self.near in t else (0.0, 1.0) for t in rest)]
        return np.array(rows, np.float32)


def record(question: str | None, response: str = SILENT, *contexts: str) -> Record:
    return Record(prompt=question, response=response, contexts=list(contexts or (FERRY,)))


async def test_the_nearest_sentence_is_the_evidence() -> None:
    asking = record("What does a ticket cost?", SILENT, "Dogs are welcome.", FERRY)
    evidence = Given(asking, near="costs 12")
    found = await missed_answer(asking, evidence)
    assert found is not None and found.probability > 0.9
    assert (found.source.index, found.text) == (1, "A ticket costs 12 euros for adults.")
    assert FERRY[found.start : found.end] == found.text
    assert len(evidence.asked) == 1 and len(evidence.asked[0]) == 3


@pytest.mark.parametrize(
    "question, response",
    [
        (None, SILENT),
        ("What is it?", SILENT),
        ("What does a ticket cost?", "It costs 12 euros."),
        ("What does a ticket cost?", "Happy to help!"),
    ],
)
async def test_without_a_question_or_an_abstention_nothing_is_asked(question, response) -> None:
    asking = record(question, response)
    evidence = Given(asking)
    assert await missed_answer(asking, evidence) is None
    assert not evidence.embedded and not evidence.asked


async def test_blank_sources_and_unread_scripts_are_not_missed() -> None:
    blank = record("What does a ticket cost?", SILENT, " \n ")
    assert await missed_answer(blank, Given(blank)) is None

    class Unread(Given):
        async def embed(self, texts):
            raise NotApplicable("the model does not read it")

    asking = record("What does a ticket cost?")
    assert await missed_answer(asking, Unread(asking)) is None


async def test_long_sources_cost_no_more() -> None:
    text = "The harbour of Orno is old. " * 3000 + FERRY
    asking = record("What does a ticket cost?", SILENT, text)
    evidence = Given(asking, near="costs 12")
    found = await missed_answer(asking, evidence)
    assert found is not None and found.text == "A ticket costs 12 euros for adults."
    assert len(evidence.embedded) <= 50 and len(evidence.asked[0]) == 3


def test_candidates_take_linear_time() -> None:
    question = asked("What does a ticket cost?")
    assert question is not None

    def found(text: str) -> object:
        return candidates_of(record("x", SILENT, text).against("contexts"), question)

    assert growth(found, repeated("A ticket to Orno. ")) < MOST


def test_each_feature_but_the_kind_speaks_for_an_answer() -> None:
    low = np.zeros((1, len(NAMES)))
    for place, name in enumerate(NAMES[:4]):
        high = low.copy()
        high[0, place] = 1.0
        assert probabilities(high)[0] > probabilities(low)[0], name


@pytest.mark.parametrize(
    "question, response, reason, evidence",
    [
        (
            "When does the ferry to Orno leave?",
            "The context does not say when the ferry leaves.",
            "missed_answer",
            "The ferry to Orno leaves at 8:15 and 17:40.",
        ),
        (
            "How much is a ticket for an adult?",
            "Unfortunately, I couldn't find the price in the documents.",
            "missed_answer",
            "A ticket costs 12 euros for adults.",
        ),
        (
            "Can I take my bicycle?",
            "Der Text sagt nicht, ob Fahrräder erlaubt sind.",
            "missed_answer",
            "Bicycles travel free.",
        ),
        ("Who is the captain?", "The context does not name the captain.", "no_statement", None),
        ("How do I change my password?", "I'm not able to find that.", "no_statement", None),
        ("Is there a discount for groups?", "That isn't mentioned.", "no_statement", None),
    ],
)
def test_the_embedded_models_tell_a_missed_answer(question, response, reason, evidence) -> None:
    given = {"question": question, "response": response, "contexts": [FERRY]}
    result = veridical.check_one(**given)
    assert (result.verdict, result.reason) == ("unchecked", reason)
    given_raw = [s for s in result.scores.values() if isinstance(s.raw, dict)]
    (score,) = (s for s in given_raw if "abstained" in s.raw)
    assert score.raw["abstained"] is True
    if evidence is None:
        assert result.risk == 0 and not score.units and "missed_answer" not in score.raw
        return
    assert result.risk is not None and result.risk >= 0.5
    assert score.raw["missed_answer"] == {"probability": result.risk}
    (unit,) = score.units
    assert (unit.level, unit.text, unit.evidence[0].text) == ("response", response, evidence)


@pytest.mark.parametrize(
    "response",
    [
        "I'm happy to share that bicycles cost 30 euros.",
        "The text gives no price for bicycles, so they cost 30 euros.",
        "As a language model I cannot book, but the ferry leaves at 23:55.",
    ],
)
def test_what_stands_beside_a_courtesy_or_refusal_is_judged(response: str) -> None:
    result = veridical.check_one(
        question="What about bicycles?", response=response, contexts=[FERRY]
    )
    assert result.verdict in ("contradicted", "unsupported", "unclear")
