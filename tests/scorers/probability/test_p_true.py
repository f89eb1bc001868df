from __future__ import annotations

import numpy as np
import pytest
from llm_evidence import FixedReplies

from veridical.core.messages import Reply
from veridical.core.records import Record, TokenLogprob
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.probability.p_true import p_true

RECORD = Record(prompt="Capital of France?", response="Paris")


def reply(word: str, top: dict[str, float]) -> Reply:
    alternatives = [{"token": t, "logprob": np.log(p)} for t, p in top.items()]
    first = {"token": word, "logprob": np.log(top.get(word, 0.5)), "top": alternatives}
    return Reply(word, "stop", logprobs=(TokenLogprob.model_validate(first),))


async def score(answer, record=RECORD, **parameters):
    evidence = FixedReplies(record, lambda request, llm: answer)
    return await p_true(record, evidence, **parameters), evidence


async def test_probability_of_true_among_true_and_false():
    found, _ = await score(reply("True", {"True": 0.6, "False": 0.2, "Perhaps": 0.1}))
    assert (found.raw, found.risk) == pytest.approx((0.75, 0.25))
    found, _ = await score(reply("False", {"False": 0.6, "True": 0.3}))
    assert found.raw == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("word", "top", "raw"),
    [
        ("True", {"True": 0.9}, 0.9),
        ("False", {"False": 0.135}, 1 - 0.135),
        # alternatives, and none of them the other answer
        ("True", {"True": 0.9, "The": 0.05, "It": 0.01}, 0.9),
        ("False", {"False": 0.135, "The": 0.1}, 1 - 0.135),
        ("False", {"False": 0.5, " false": 0.2, "The": 0.1}, 0.3),
    ],
)
async def test_of_one_answer_alone_the_known_probability_counts_as_in_uqlm(word, top, raw):
    found, _ = await score(reply(word, top))
    assert (found.raw, found.risk) == pytest.approx((raw, 1 - raw))


async def test_a_written_token_without_any_alternatives_counts_too():
    for word, p, raw in (("True", 0.9, 0.9), ("False", 0.135, 0.865)):
        token = TokenLogprob(token=word, logprob=float(np.log(p)))
        found, _ = await score(Reply(word, "stop", logprobs=(token,)))
        assert (found.raw, found.risk) == pytest.approx((raw, 1 - raw))


async def test_a_model_that_tells_tokens_is_asked_for_one():
    evidence = FixedReplies(RECORD, lambda request, llm: reply("True", {"True": 0.8, "False": 0.2}))
    evidence.tells_tokens = lambda llm=None: True
    assert (await p_true(RECORD, evidence)).raw == pytest.approx(0.8)
    ((_, (request,)),) = evidence.asked
    assert request.max_tokens == 1 and request.cut


async def test_spellings_count_together():
    tops = {"True": 0.3, " true": 0.2, "TRUE": 0.1, "False": 0.2}
    found, _ = await score(reply("True", tops))
    assert found.raw == pytest.approx(0.6 / 0.8)


@pytest.mark.parametrize(("said", "raw"), [("True", 1), ("false.", 0), (" FALSE\n", 0)])
async def test_the_text_decides_where_there_are_no_probabilities(said, raw):
    found, _ = await score(said)
    assert (found.raw, found.risk) == (raw, 1 - raw)


@pytest.mark.parametrize("said", ["Perhaps", "It depends.", "True or False?", "Truthful"])
async def test_an_answer_that_is_neither_fails_and_is_kept(said):
    found, _ = await score(said)
    assert (found.status, found.risk) == ("failed", None)
    assert found.raw["text"] == said


async def test_cut_refused_and_empty_answers_fail():
    for bad in (Reply("Tr", "length"), Reply("", "stop"), Reply("", "stop", refusal="No.")):
        found, _ = await score(bad)
        assert found.status == "failed"


async def test_one_call_asks_for_the_alternatives_and_shows_the_question():
    _, evidence = await score("True", llm="judge")
    ((llm, (request,)),) = evidence.asked
    assert llm == "judge" and request.temperature == 0 and request.logprobs
    said = "\n".join(m["content"] for m in request.messages)
    assert "Capital of France?" in said and "Paris" in said and "possible answers" not in said


async def test_samples_are_listed_once_each():
    record = RECORD.model_copy(
        update={"samples": Record(response="x", samples=["Rome", "Paris", "Rome"]).samples}
    )
    _, evidence = await score("True", record, fences=False)
    ((_, (request,)),) = evidence.asked
    assert "Here are some possible answers:\nParis\nRome\n" in request.messages[-1]["content"]
    for listed, parameters in ((record, {"show_samples": False}), (RECORD, {})):
        _, evidence = await score("True", listed, **parameters)
        ((_, (request,)),) = evidence.asked
        assert "possible answers" not in request.messages[-1]["content"]


async def test_not_applicable():
    with pytest.raises(NotApplicable, match="no prompt"):
        await score("True", Record(response="Paris"))
    with pytest.raises(NotApplicable, match="empty"):
        await score("True", Record(prompt="Q", response=" "))


def test_registered_as_a_confidence_by_a_call():
    scorer = REGISTRY.get("p_true")
    assert (scorer.raw_is, scorer.cost) == ("confidence", "llm")
