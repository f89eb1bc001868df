"""g_eval and gpt_score, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from llm_evidence import FixedReplies

from veridical.core.messages import LlmError, Reply
from veridical.core.records import Record, TokenLogprob
from veridical.core.tokens import TokenProbabilities
from veridical.errors import ModelError, NotApplicable, UsageError
from veridical.scorers.judges.g_eval import g_eval
from veridical.scorers.judges.gpt_score import gpt_score

RECORD = Record(prompt="q", response="A summary.", contexts=("A long text.",))


async def test_the_sum_of_scores_by_their_probability():
    def answer(request, llm):
        top = [{"token": t, "logprob": math.log(p)} for t, p in (("5", 0.3), ("1", 0.1))]
        token = {"token": "4", "logprob": math.log(0.5), "top": top}
        return Reply("4", "stop", (TokenLogprob.model_validate(token),))

    evidence = FixedReplies(RECORD, answer)
    score = await g_eval(RECORD, evidence)
    assert score.raw["value"] == pytest.approx((0.5 * 4 + 0.3 * 5 + 0.1 * 1) / 0.9)  # 4.0
    assert score.risk == pytest.approx(0.25)
    assert len(evidence.asked) == 1
    assert "Evaluation Form (scores ONLY)" in evidence.asked[0][1][0].messages[-1]["content"]


async def test_without_probabilities_the_mean_of_draws_counts():
    def answer(request, llm):
        if request.temperature == 0:
            return "4"
        return {0: "5", 1: "4", 2: "It is good", 3: "3"}[request.ordinal]

    evidence = FixedReplies(RECORD, answer)
    score = await g_eval(RECORD, evidence, draws=4)
    assert score.raw["value"] == 4 and score.raw["how"] == "draws"
    assert score.raw["counts"] == {"3": 1, "4": 1, "5": 1} and score.raw["unclear"] == 1
    assert [r.ordinal for r in evidence.asked[1][1]] == [0, 1, 2, 3]
    assert {r.temperature for r in evidence.asked[1][1]} == {1.0}


async def test_mostly_unclear_draws_fail():
    score = await g_eval(RECORD, FixedReplies(RECORD, "It is good"), draws=3)
    assert score.status == "failed" and score.raw["text"] == "It is good"


async def test_criteria_of_ones_own_get_steps_first():
    def answer(request, llm):
        text = request.messages[-1]["content"]
        return "1. Look.\n2. Judge {answer}." if "Write the steps" in text else "2"

    evidence = FixedReplies(RECORD, answer)
    score = await g_eval(RECORD, evidence, criteria="Kindness - is it kind?", draws=1)
    assert score.raw["value"] == 2 and score.risk == 0.75
    form = evidence.asked[1][1][0].messages[-1]["content"]
    assert "Kindness - is it kind?" in form and "1. Look.\n2. Judge {answer}." in form
    steps = evidence.asked[0][1][0].messages
    assert "A summary." not in steps[-1]["content"]  # the same for every record
    lost = FixedReplies(RECORD, lambda r, llm: LlmError("server", "503"))
    assert (await g_eval(RECORD, lost, criteria="x")).raw["trouble"] == "server"


def reading(*logprobs: float) -> TokenProbabilities:
    n = len(logprobs)
    return TokenProbabilities(np.arange(n), np.arange(n) + 1, np.array(logprobs))


BEFORE = "Generate a summary with consistent facts for the following text: A long text.\n\nTl;dr"


async def test_gpt_score_is_the_mean_log_probability():
    evidence = FixedReplies(RECORD, readings={(BEFORE, "A summary."): reading(-1.0, -3.0)})
    score = await gpt_score(RECORD, evidence, proxy="m")
    assert score.raw == -2
    assert score.risk == pytest.approx(1 - math.exp(-2))
    asked = (
        "Answer the question based on the conversation between a human and AI.\nQuestion: Is the "
        "response of AI correct to conversations? (a) Yes. (b) No.\nConversation:\nUser: q\n"
        "AI: A summary.\nAnswer:"
    )
    evidence = FixedReplies(RECORD, readings={(asked, " Yes."): reading(-0.5)})
    score = await gpt_score(RECORD, evidence, proxy="m", template="gpt_score_correct_reply")
    assert score.raw == -0.5


async def test_gpt_score_without_what_it_needs():
    with pytest.raises(NotApplicable, match="no proxy"):
        await gpt_score(RECORD, FixedReplies(RECORD))
    with pytest.raises(NotApplicable, match="no contexts"):
        await gpt_score(Record(response="x"), FixedReplies(RECORD), proxy="m")
    with pytest.raises(UsageError, match="a user message and an assistant message"):
        await gpt_score(RECORD, FixedReplies(RECORD), proxy="m", template="likert")
    evidence = FixedReplies(RECORD, readings={(BEFORE, "A summary."): reading()})
    with pytest.raises(ModelError, match="no tokens"):
        await gpt_score(RECORD, evidence, proxy="m")


async def test_too_little_to_tell_does_not_drown_the_mean():
    evidence = FixedReplies(RECORD, readings={(BEFORE, "A summary."): reading(-9999.0, 1e-5)})
    score = await gpt_score(RECORD, evidence, proxy="m")
    assert score.raw == pytest.approx(math.log(2.0**-149) / 2)


async def test_probabilities_without_alternatives_tell_no_spread_so_answers_are_drawn():
    def answer(request, llm):
        said = "4" if request.temperature == 0 else "2"
        return Reply(said, "stop", (TokenLogprob(token=said, logprob=-0.5),))

    evidence = FixedReplies(RECORD, answer)
    score = await g_eval(RECORD, evidence, draws=2)
    assert score.raw["how"] == "draws" and score.raw["value"] == 2
    assert len(evidence.asked) == 2
