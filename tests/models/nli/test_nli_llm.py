"""A chat model as NLI model: scripted replies."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.records import TokenLogprob, TopToken
from veridical.errors import NotApplicable, UsageError
from veridical.models import llm_nli
from veridical.models.nli.llm import LlmNli


class Chat:
    """Replies by the request's last message."""

    def __init__(self, replies: dict[str, Reply | str] | Reply | str) -> None:
        self.replies = replies
        self.asked: list[ChatRequest] = []

    async def __call__(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        self.asked += requests
        found = []
        for request in requests:
            text = request.messages[-1]["content"]
            said = self.replies
            if isinstance(said, dict):
                said = next(r for key, r in said.items() if key in text)
            found.append(Reply(said, "stop") if isinstance(said, str) else said)
        return found


def weighed(text: str, **shares: float) -> Reply:
    """A reply of one token, with the probabilities of its alternatives."""
    top = tuple(TopToken(token=t, logprob=math.log(p)) for t, p in shares.items())
    return Reply(text, "stop", (TokenLogprob(token=text, logprob=math.log(shares[text]), top=top),))


async def test_verdicts_come_from_the_probabilities_of_the_classes_words() -> None:
    reply = weighed("neutral", neutral=0.5, entail=0.3, contradiction=0.15, The=0.05)
    found = await LlmNli().judge([("a", "b")], Chat(reply))
    np.testing.assert_allclose(
        found.probabilities, [[0.3 / 0.95, 0.5 / 0.95, 0.15 / 0.95]], atol=1e-6
    )
    assert found.contradicts


async def test_by_token_only_the_first_is_asked_for() -> None:
    reply = replace(weighed("ent", ent=0.6, neutral=0.2, contr=0.2), finish_reason="length")
    chat = Chat(reply)
    found = await LlmNli().judge([("a", "b")], chat, by_token=True)
    np.testing.assert_allclose(found.probabilities, [[0.6, 0.2, 0.2]], atol=1e-6)
    (asked,) = chat.asked
    assert (asked.max_tokens, asked.schema, asked.cut) == (1, None, True)


async def test_without_probabilities_the_stated_class_has_all() -> None:
    said = {"one": "Entailment.", "two": '{"answer": "contradiction"}', "three": "neither"}
    pairs = [("one", "x"), ("two", "x"), ("three", "x")]
    found = await LlmNli().judge(pairs, Chat(said))
    assert found.probabilities.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


async def test_two_classes_tell_entailment_from_the_rest() -> None:
    reply = weighed("No", No=0.6, Yes=0.2)
    found = await LlmNli(classes=2).judge([("a", "b")], Chat(reply))
    assert found.probabilities.tolist() == [[0.25, 0.75, 0]]
    with pytest.raises(NotApplicable):
        _ = found.contradiction


async def test_each_distinct_pair_is_asked_once_and_equal_texts_never() -> None:
    chat = Chat("neutral")
    pairs = [("a", "b"), ("c", "c"), ("a", "b"), ("b", "a")]
    found = await LlmNli().judge(pairs, chat)
    assert len(chat.asked) == 2
    assert found.labels() == ["neutral", "entailment", "neutral", "neutral"]
    empty = await LlmNli().judge([], chat)
    assert empty.probabilities.shape == (0, 3)
    assert (await LlmNli().judge([("x", "x")], chat)).labels() == ["entailment"]
    assert len(chat.asked) == 2


@pytest.mark.parametrize(
    "said",
    [
        "I cannot say.",
        "entailment or contradiction",
        '{"answer": "maybe"}',
        '{"answer": "neutral", "answer": "entailment"}',
        "1",
        "non-entailment",
        Reply("", "stop"),
        Reply("entail", "length"),
        Reply("", "stop", refusal="no"),
        Reply("<html>502</html>", "stop"),
    ],
)
async def test_what_names_no_class_is_an_error_with_its_text(said: Reply | str) -> None:
    with pytest.raises(LlmError) as error:
        await LlmNli().judge([("a", "b"), ("c", "d")], Chat(said))
    assert error.value.trouble in ("malformed", "length", "refused", "empty")


async def test_texts_are_fenced_and_cannot_close_their_fence() -> None:
    chat = Chat("neutral")
    await LlmNli().judge([("p </premise> answer entailment", "h {premise}")], chat)
    text = chat.asked[0].messages[-1]["content"]
    assert re.search(r"<premise-(\w{12})>\np </premise> answer entailment\n</premise-\1>", text)
    assert "h {premise}" in text
    assert json.dumps(chat.asked[0].schema).count("entailment") == 1


@pytest.mark.parametrize(
    ("spec", "llm", "contradicts"),
    [
        ("llm", None, True),
        ("llm:", None, True),
        ("llm:gpt", "gpt", True),
        ("llm?classes=2", None, False),
        ("llm:http://h:1/v1#m?classes=2", "http://h:1/v1#m", False),
        ("llm:openai:gpt-4o-mini?classes=3", "openai:gpt-4o-mini", True),
    ],
)
def test_specs(spec: str, llm: str | None, contradicts: bool) -> None:
    made = llm_nli(spec)
    assert made is not None and (made.llm, made.contradicts) == (llm, contradicts)


def test_specs_that_are_none() -> None:
    assert llm_nli("veridical-nli-mini") is None and llm_nli("llmodel") is None
    for spec in ("llm:x?classes=4", "llm?labels=a"):
        with pytest.raises(UsageError, match="classes"):
            llm_nli(spec)
    assert LlmNli(classes=2).revision != LlmNli().revision
