"""FActScore and FacTool against worked examples."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from llm_evidence import FixedReplies

from veridical.core.messages import LlmError, Reply
from veridical.core.records import Record, TokenLogprob, TopToken
from veridical.core.registry import REGISTRY
from veridical.core.verdicts import Verdicts
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.grounding.factool import factool
from veridical.scorers.grounding.factscore import factscore, length_penalty

RECORD = Record(
    prompt="Tell me about Ada.",
    response="Ada was English. Ada was born in 1815 and sang.",
    contexts=["Ada was English.", "She was born in 1815."],
)
FACTS = {"English": ["Ada was English."], "1815": ["Ada was born in 1815.", "Ada sang."]}
TRUE = {"Ada was English.": "True", "Ada was born in 1815.": "True", "Ada sang.": "False"}


def quoted(text: str, name: str) -> str:
    """What stands in the last fence of that name."""
    return text.rsplit(f"<{name}-", 1)[1].split("\n")[1]


def answer(request, llm):
    text = request.messages[-1]["content"]
    if '"facts"' in text:
        sentence = quoted(text, "sentence")
        return json.dumps({"facts": next(f for word, f in FACTS.items() if word in sentence)})
    if "<fact-" in text:
        return json.dumps({"output": TRUE[quoted(text, "fact")]})
    if '"claims"' in text:
        return json.dumps({"claims": [{"claim": c} for c in TRUE]})
    verdict = TRUE[quoted(text, "claim")]
    return json.dumps({"explanation": "It says so.", "factuality": verdict})


@pytest.mark.parametrize(
    ("facts", "gamma", "expected"),
    [
        (11, 10, 1),
        (10, 10, 1),
        (5, 10, math.exp(-1)),
        (1, 10, math.exp(-9)),
        (4, 5, math.exp(-0.25)),
        (1, 0, 1),
    ],
)
def test_the_released_programs_penalty(facts, gamma, expected):
    """1 if there are more than gamma facts, else exp(1 - gamma / n)."""
    assert length_penalty(facts, gamma) == pytest.approx(expected)


async def test_factscore_is_the_share_of_supported_facts():
    evidence = FixedReplies(RECORD, answer)
    score = await factscore(RECORD, evidence)
    assert score.raw["precision"] == score.raw["score"] == pytest.approx(2 / 3)
    assert score.risk == pytest.approx(1 / 3)
    assert (score.raw["facts"], score.raw["supported"], score.raw["left_out"]) == (3, 2, [])
    assert [(u.level, u.raw, u.risk, u.label) for u in score.units] == [
        ("claim", 1, 0, "supported"),
        ("claim", 1, 0, "supported"),
        ("claim", 0, 1, "unsupported"),
    ]
    assert [c["text"] for c in score.raw["claims"]] == list(TRUE)
    for unit in score.units:
        assert RECORD.response[unit.start : unit.end] == unit.text
    second = score.units[1].evidence[0]
    assert (second.kind, second.index, second.text) == ("context", 1, "She was born in 1815.")
    assert second.probability == 1
    penalised = await factscore(RECORD, FixedReplies(RECORD, answer), gamma=10)
    assert penalised.raw["penalty"] == pytest.approx(math.exp(1 - 10 / 3))
    assert penalised.risk == pytest.approx(1 - 2 / 3 * math.exp(1 - 10 / 3))


async def test_factscores_question_is_about_the_topic():
    for record, about in (
        (RECORD, "Tell me about Ada."),
        (RECORD.model_copy(update={"meta": {"topic": "Ada Lovelace"}}), "Ada Lovelace"),
        (RECORD.model_copy(update={"prompt": None}), None),
    ):
        evidence = FixedReplies(record, answer)
        await factscore(record, evidence)
        text = evidence.asked[1][1][0].messages[-1]["content"]
        if about is None:
            assert text.startswith("Answer the question based on the given context.")
        else:
            assert text.startswith("Answer the question about <topic-")
            assert quoted(text, "topic") == about
        assert "Text: Ada was English.\n\nText: She was born in 1815." in text
        assert text.index("Text: Ada") < text.index("<fact-")


async def test_token_probabilities_decide_as_published():
    """is_supported = P(True) > P(False)."""

    def weighed(request, llm):
        said = answer(request, llm)
        if "<fact-" not in request.messages[-1]["content"]:
            return said
        shares = {"True": 0.35, "False": 0.4}
        tops = tuple(TopToken(token=t, logprob=math.log(p)) for t, p in shares.items())
        tokens = (
            TokenLogprob(token='{"output": "', logprob=0.0),
            TokenLogprob(token="True", logprob=math.log(0.35), top=tops),
            TokenLogprob(token='"}', logprob=0.0),
        )
        return Reply('{"output": "True"}', "stop", tokens)

    score = await factscore(RECORD, FixedReplies(RECORD, weighed))
    assert score.raw["precision"] == 0
    assert [u.risk for u in score.units] == pytest.approx([0.4 / 0.75] * 3)


async def test_factool_is_the_share_of_factual_claims():
    evidence = FixedReplies(RECORD, answer)
    score = await factool(RECORD, evidence)
    assert score.raw["precision"] == pytest.approx(2 / 3)
    assert score.risk == pytest.approx(1 / 3)
    assert score.raw["factual"] is False
    assert [c["why"] for c in score.raw["claims"]] == ["It says so."] * 3
    first = evidence.asked[1][1][0]
    text = first.messages[-1]["content"]
    assert '["Ada was English.", "She was born in 1815."]' in text
    assert text.index("[evidences]") < text.index("[text]")
    assert first.schema["required"] == ["explanation", "factuality"]
    assert len(evidence.asked[0][1]) == 1  # claims of the whole response in one call


class Both(FixedReplies):
    """An LLM that finds claims, and an NLI model that entails what the passage says."""

    async def nli(self, pairs, model=None):
        self.model = model
        rows = [
            (0.9, 0.1, 0.0) if h in p or ("1815" in p and "1815" in h) else (0.2, 0.7, 0.1)
            for p, h in pairs
        ]
        return Verdicts(np.array(rows).reshape(-1, 3), True)


@pytest.mark.parametrize("method", [factscore, factool])
async def test_by_an_nli_model(method):
    evidence = Both(RECORD, answer)
    score = await method(RECORD, evidence, checker="nli", nli="roberta")
    assert evidence.model == "roberta"
    assert len(evidence.asked) == 1  # the claims alone are the LLM's
    assert score.raw["precision"] == pytest.approx(2 / 3)
    assert [u.risk for u in score.units] == pytest.approx([0.1, 0.1, 0.8])
    offline = Both(RECORD, answer)
    score = await method(RECORD, offline, extractor="sentences", checker="nli")
    assert offline.asked == [] and score.raw["precision"] == 1


@pytest.mark.parametrize("method", [factscore, factool])
async def test_sources(method):
    gold = RECORD.model_copy(update={"contexts": (), "reference": ("Ada was English.",)})
    score = await method(gold, FixedReplies(gold, answer))
    assert score.units[0].evidence[0].kind == "reference"
    both = RECORD.model_copy(update={"reference": ("Ada was English.",)})
    score = await method(both, FixedReplies(both, answer), against="reference")
    assert score.units[0].evidence[0].kind == "reference"
    with pytest.raises(NotApplicable, match="no contexts or reference"):
        bare = Record(response="Ada was English.")
        await method(bare, FixedReplies(bare, answer))


@pytest.mark.parametrize("method", [factscore, factool])
async def test_no_claims_and_no_verdicts(method):
    declined = Record(prompt="Who?", response="I'm sorry, I don't know.", contexts=["Ada."])
    with pytest.raises(NotApplicable, match="declines"):
        await method(declined, FixedReplies(declined, answer))
    chatty = Record(prompt="Hi", response="hello there, how are you?", contexts=["Ada."])
    with pytest.raises(NotApplicable, match="no claim"):
        await method(chatty, FixedReplies(chatty, "none"))

    def unsure(request, llm):
        said = answer(request, llm)
        asks = '"facts"' in request.messages[-1]["content"] or '"claims"' in said
        return said if asks else "It is hard to say."

    with pytest.raises(LlmError, match="no clear verdict"):
        await method(RECORD, FixedReplies(RECORD, unsure))


@pytest.mark.parametrize(
    "text",
    [
        "factscore(gamma=-1)",
        "factscore(gamma=1001)",
        "factscore(top=0)",
        "factool(top=0)",
        "factool(nli=x)",
        "factscore(extractor=words)",
    ],
)
def test_parameters_that_cannot_be(text):
    with pytest.raises(UsageError):
        REGISTRY.parse(text)[0].costs  # noqa: B018


def test_costs():
    costs = {
        "factscore": {"llm"},
        "factscore(checker=nli)": {"llm", "nli"},
        "factscore(checker=nli,extractor=clauses)": {"nli"},
        "factscore(extractor=clauses)": {"llm"},
        "factool": {"llm"},
        "factool(checker=nli)": {"llm", "nli"},
        "factool(checker=nli,extractor=clauses)": {"nli"},
    }
    for text, expected in costs.items():
        assert REGISTRY.parse(text)[0].costs == expected
