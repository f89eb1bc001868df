from __future__ import annotations

import json
import math

import pytest
from nli_evidence import FixedVerdicts

from veridical.core.messages import LlmError, Reply
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.claim_qa import claim_qa

BORN, DIED = "Ada Lovelace was born in London.", "She died in 1852."
RECORD = Record(prompt="Who was Ada?", response=f"{BORN} {DIED}")
WHERE, WHICH, WHEN = "Where was Ada born?", "Which city was Ada born in?", "When did Ada die?"
LONDON, BATH, UNKNOWN = "Ada was born in London.", "Ada was born in Bath.", "I don't know."
LATER, EARLY = "Ada died in 1852.", "Ada died in 1843."
TABLE = {
    (LONDON, BORN): (0.8, 0.2, 0.0),
    (BATH, BORN): (0.1, 0.1, 0.8),
    (UNKNOWN, BORN): (0.0, 0.9, 0.1),
    (LATER, DIED): (0.6, 0.2, 0.2),
    (EARLY, DIED): (0.2, 0.2, 0.6),
}
ANSWERS = {WHERE: [LONDON, BATH], WHICH: [LONDON, UNKNOWN], WHEN: [LATER, EARLY]}


class Conversation(FixedVerdicts):
    """A model that writes ``written`` about a claim, and ``answered`` to a question."""

    def __init__(self, written=None, answered=ANSWERS, record=RECORD, table=TABLE):
        super().__init__(record, table)
        self.written = written or {BORN: [WHERE, WHICH], DIED: [WHEN]}
        self.answered = answered
        self.rounds = []

    async def chat(self, requests, llm=None):
        self.rounds.append((llm, list(requests)))
        return [self.reply(r) for r in requests]

    def reply(self, request):
        text = request.messages[-1]["content"]
        if request.schema is None:
            question = next(q for q in self.answered if q in text)
            said = self.answered[question][request.ordinal]
        else:
            said = self.written[BORN if BORN in text.split("Claim:")[1] else DIED]
            said = json.dumps({"questions": said}) if isinstance(said, list) else said
        return said if isinstance(said, Reply) else Reply(said, "stop")


async def score(evidence=None, **parameters):
    evidence = evidence or Conversation()
    parameters = {"extractor": "sentences", "answers": 2, **parameters}
    return await claim_qa(evidence.record, evidence, **parameters), evidence


async def test_answers_that_support_the_claim():
    found, _ = await score()
    where = (0.8 / 0.8 + 0.1 / 0.9) / 2  # e / (e + c) of each answer
    which = (0.8 / 0.8 + 0) / 2  # who does not know supports nothing
    when = (0.6 / 0.8 + 0.2 / 0.8) / 2
    born = (where + which) / 2
    assert [u.raw for u in found.units] == pytest.approx([born, when])
    assert [u.risk for u in found.units] == pytest.approx([1 - born, 1 - when])
    assert [(u.level, u.text) for u in found.units] == [("claim", BORN), ("claim", DIED)]
    assert found.raw["consistency"] == pytest.approx((born + when) / 2)
    assert found.risk == pytest.approx(1 - (born + when) / 2)
    rows = found.raw["questions"]
    assert [(r["claim"], r["question"], r["answers"]) for r in rows] == [
        (0, WHERE, [LONDON, BATH]),
        (0, WHICH, [LONDON, UNKNOWN]),
        (1, WHEN, [LATER, EARLY]),
    ]
    assert [r["consistency"] for r in rows] == pytest.approx([where, which, when])
    least, _ = await score(aggregate="min", llm="x")
    assert least.raw["consistency"] == pytest.approx(min(born, when))


async def test_what_is_asked():
    _, evidence = await score(questions=3, temperature=0.7, llm="judge")
    (who, writing), (again, answering) = evidence.rounds
    assert (who, again) == ("judge", "judge")
    assert len(writing) == 2 and len(answering) == 6
    text = writing[0].messages[-1]["content"]
    assert "Write 3 questions" in text and RECORD.response in text and BORN in text
    assert writing[0].temperature == 0
    questions = writing[0].schema["properties"]["questions"]
    assert (questions["minItems"], questions["maxItems"]) == (3, 3)
    assert [r.ordinal for r in answering] == [0, 1] * 3
    assert {r.temperature for r in answering} == {0.7}
    # who answers sees the question and neither claim nor response
    assert all(BORN not in r.messages[-1]["content"] for r in answering)
    assert len(evidence.asked) == 1  # NLI, all pairs at once


@pytest.mark.parametrize(
    ("measure", "values"), [("entailment", [0.45, 0.4]), ("noncontradiction", [0.6, 0.6])]
)
async def test_other_measures(measure, values):
    found, _ = await score(Conversation({BORN: [WHERE], DIED: [WHEN]}), measure=measure)
    assert [u.raw for u in found.units] == pytest.approx(values)


async def test_semantic_entropy_of_the_claim_and_its_answers():
    table = {(LONDON, BORN): (0.9, 0.1, 0), (BORN, LONDON): (0.9, 0.1, 0)}
    evidence = Conversation({BORN: [WHERE], DIED: [WHEN]}, table=table)
    found, _ = await score(evidence, measure="semantic_entropy")
    # {BORN, LONDON}, {BATH}: entropy of (2/3, 1/3) in shares of log 3; three that differ: log 3
    spread = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)) / math.log(3)
    assert [u.raw for u in found.units] == pytest.approx([1 - spread, 0.0])
    alike = Conversation({BORN: [WHERE], DIED: [WHEN]}, {WHERE: [BORN] * 2, WHEN: [DIED] * 2})
    assert (await score(alike, measure="semantic_entropy"))[0].raw["consistency"] == 1.0


async def test_short_answers_are_read_with_their_question():
    evidence = Conversation(
        {BORN: [WHERE], DIED: [WHEN]}, {WHERE: ["London."] * 2, WHEN: [DIED] * 2}
    )
    await score(evidence)
    premises = [premise for premise, _ in evidence.asked[0]]
    assert premises[0] != "London." and "London" in premises[0] and "Ada" in premises[0]


async def test_questions_that_give_the_answer_away_are_left_out():
    away = "Was Ada Lovelace born in London?"
    evidence = Conversation({BORN: [away, WHERE], DIED: ["Is it so that she died in 1852?"]})
    found, _ = await score(evidence)
    assert [r["question"] for r in found.raw["questions"]] == [WHERE]
    assert [(u.risk, u.label) for u in found.units][1] == (None, "no question")
    with pytest.raises(NotApplicable, match="no question could be written"):
        await score(Conversation({BORN: [away], DIED: ["", "  "]}))


async def test_replies_that_are_no_questions():
    found, _ = await score(Conversation({BORN: "Where?", DIED: [WHEN]}))
    assert [u.risk is None for u in found.units] == [True, False]
    assert found.raw["consistency"] == pytest.approx(0.5)
    unread = Reply('{"questions": ["Wh', "length")
    found, _ = await score(Conversation({BORN: unread, DIED: '{"questions": "x"}'}))
    assert (found.status, found.risk, found.raw["trouble"]) == ("failed", None, "length")
    blank = {**ANSWERS, WHEN: [LATER, " "]}
    found, _ = await score(Conversation(answered=blank))
    assert (found.status, found.raw["trouble"]) == ("failed", "empty")


async def test_a_long_answer_is_read_as_far_as_it_goes():
    cut = {**ANSWERS, WHEN: [LATER, Reply(EARLY, "length")]}
    found, _ = await score(Conversation(answered=cut))
    assert found.units[1].raw == pytest.approx(0.5)


async def test_a_call_without_a_reply_fails_the_score():
    class Broken(Conversation):
        def reply(self, request):
            raise LlmError("connection", "nobody answered")

    found, _ = await score(Broken())
    assert (found.status, found.raw["trouble"]) == ("failed", "connection")


async def test_what_it_needs():
    for text, why in (("", "empty"), ("I'm sorry, I can't help with that.", "declines")):
        with pytest.raises(NotApplicable, match=why):
            await score(Conversation(record=Record(response=text)))
    (bound,) = REGISTRY.parse("claim_qa(llm=x)")
    assert bound.costs == {"nli", "llm"} and bound.needs == set()
    assert bound.models("llm") == ("x",)
    assert {p.partition("@")[0] for p in REGISTRY.parse("claim_qa")[0].prompts} == {
        "claim_questions",
        "claim_answer",
    }
