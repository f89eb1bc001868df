"""What chat servers answer, read strictly: forms in use, and hostile ones."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.messages import Reply
from veridical.llm.replies import read_replies
from veridical.llm.retries import AttemptError

# As in OpenAI's API reference, chat completions with logprobs.
CHAT: dict[str, Any] = {
    "id": "chatcmpl-123",
    "object": "chat.completion",
    "created": 1702685778,
    "model": "gpt-4o-mini",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello!", "refusal": None},
            "logprobs": {
                "content": [
                    {
                        "token": "Hello",
                        "logprob": -0.31725305,
                        "bytes": [72, 101, 108, 108, 111],
                        "top_logprobs": [
                            {"token": "Hello", "logprob": -0.31725305, "bytes": None},
                            {"token": "Hi", "logprob": -1.3190403, "bytes": [72, 105]},
                        ],
                    },
                    {"token": "!", "logprob": 0, "bytes": [33], "top_logprobs": []},
                ],
                "refusal": None,
            },
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


def read(wanted: int = 1, **choice: Any) -> Reply:
    body = copy.deepcopy(CHAT)
    body["choices"][0].update(choice)
    return read_replies(body, wanted)[0]


def test_chat_with_logprobs() -> None:
    reply = read()
    assert (reply.text, reply.finish_reason, reply.model) == ("Hello!", "stop", "gpt-4o-mini")
    assert (reply.usage.prompt, reply.usage.completion, reply.refusal) == (9, 2, None)
    assert reply.logprobs is not None
    assert [(t.token, t.logprob) for t in reply.logprobs] == [("Hello", -0.31725305), ("!", 0.0)]
    assert [(t.token, t.logprob) for t in reply.logprobs[0].top] == [
        ("Hello", -0.31725305),
        ("Hi", -1.3190403),
    ]


def test_the_form_of_the_old_completions() -> None:
    logprobs = {
        "tokens": ["Hel", "lo"],
        "token_logprobs": [-0.5, -0.25],
        "top_logprobs": [{"Hel": -0.5, "Hi": -1.0}, None],
        "text_offset": [0, 3],
    }
    body = {"choices": [{"index": 0, "text": "Hello", "logprobs": logprobs}]}
    (reply,) = read_replies(body, 1)
    assert reply.text == "Hello" and reply.finish_reason is None and reply.usage.prompt is None
    assert reply.logprobs is not None
    assert [t.logprob for t in reply.logprobs] == [-0.5, -0.25]
    assert [[a.token for a in t.top] for t in reply.logprobs] == [["Hel", "Hi"], []]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({"role": "assistant"}, ""),  # Gemini, when all tokens went into thinking
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "b"}]}, "b"),
        ({"content": "a", "reasoning_content": "because"}, "a"),
    ],
)
def test_forms_of_content(message: dict[str, Any], text: str) -> None:
    assert read(message=message).text == text


def test_a_refusal_is_kept() -> None:
    reply = read(message={"content": None, "refusal": "I cannot."})
    assert reply.text == "" and reply.refusal == "I cannot."


@pytest.mark.parametrize("logprobs", [None, {"content": None}, {"content": None, "refusal": []}])
def test_without_logprobs(logprobs: Any) -> None:
    assert read(logprobs=logprobs).logprobs is None


@pytest.mark.parametrize(
    "choice",
    [
        {"message": None},
        {"message": "Hello"},
        {"message": {"content": 5}},
        {"message": {"content": ["Hello"]}},
        {"message": {"content": [{"type": "text", "text": 1}]}},
        {"message": {"content": "lone \ud83d surrogate"}},
        {"message": {"content": "NUL \x00"}},
        {"message": {"content": "x", "refusal": {}}},
        {"finish_reason": ["stop"]},
        {"finish_reason": "s" * 1000},
        {"finish_reason": "\ud83d"},
        {"index": -1},
        {"index": "0"},
        {"index": True},
        {"logprobs": []},
        {"logprobs": {"content": "no"}},
        {"logprobs": {"content": [{"token": "a"}]}},
        {"logprobs": {"content": [{"logprob": -1.0}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": "-1"}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": True}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": 0.5}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": 1e999}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": -(10**400)}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": 10**400}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": math.nan}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": [-1.0]}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": [[-1.0]]}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": -1, "top_logprobs": [[[-1]]]}]}},
        {"logprobs": {"tokens": ["a"], "token_logprobs": [-(10**400)]}},
        {"logprobs": {"tokens": ["a"], "token_logprobs": [[-1.0]]}},
        {"logprobs": {"tokens": [["a"]], "token_logprobs": [-1.0]}},
        {"logprobs": {"tokens": ["a"], "token_logprobs": [-1], "top_logprobs": [{"b": 10**400}]}},
        {"logprobs": {"tokens": ["a"], "token_logprobs": [-1], "top_logprobs": [{"b": [-1]}]}},
        {"logprobs": {"content": [{"token": "\ud83d", "logprob": -1.0}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": -1.0, "top_logprobs": 3}]}},
        {"logprobs": {"content": [{"token": "a", "logprob": -1, "top_logprobs": [{}]}]}},
        {"logprobs": {"tokens": ["a"], "token_logprobs": []}},
        {"logprobs": {"tokens": ["a"], "token_logprobs": [None]}},
        {"logprobs": {"tokens": ["a"], "token_logprobs": [-1.0], "top_logprobs": []}},
        {"logprobs": {"tokens": ["a"], "token_logprobs": [-1.0], "top_logprobs": [[1]]}},
        {"logprobs": {"tokens": [1], "token_logprobs": [-1.0]}},
    ],
)
def test_what_is_not_as_it_should_be_is_malformed(choice: dict[str, Any]) -> None:
    with pytest.raises(AttemptError) as e:
        read(**choice)
    assert e.value.trouble == "malformed" and e.value.possibly_paid == 1


@pytest.mark.parametrize("choices", [None, [], {}, "x", [None], ["x"], [[]]])
def test_without_choices(choices: Any) -> None:
    with pytest.raises(AttemptError):
        read_replies({"choices": choices}, 1)


@pytest.mark.parametrize(
    "usage",
    [None, 5, [], {}, {"prompt_tokens": -1}, {"prompt_tokens": "9"}, {"prompt_tokens": 1e3}],
)
def test_usage_that_cannot_be_read_is_unknown(usage: Any) -> None:
    (reply,) = read_replies({**CHAT, "usage": usage}, 1)
    assert reply.usage.prompt is None and reply.usage.completion is None


@given(prompt=st.integers(0, 10**6), completion=st.integers(0, 10**6), n=st.integers(1, 9))
def test_shares_of_usage_add_up(prompt: int, completion: int, n: int) -> None:
    choices = [{**CHAT["choices"][0], "index": i} for i in range(n)]
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    replies = read_replies({"choices": choices, "usage": usage}, n)
    assert sum(r.usage.prompt or 0 for r in replies) == prompt
    assert sum(r.usage.completion or 0 for r in replies) == completion


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below: list[tuple[Any, ...]] = []
    if isinstance(value, dict):
        below = [p for k, v in value.items() for p in _places(v, (*path, k))]
    elif isinstance(value, list):
        below = [p for i, v in enumerate(value) for p in _places(v, (*path, i))]
    return [path, *below] if path else below


@pytest.mark.parametrize(
    ("details", "cached"),
    [
        ({"cached_tokens": 7}, 7),
        ({"cached_tokens": 0}, 0),
        ({"cached_tokens": 10}, None),  # of 9
        ({"cached_tokens": "7"}, None),
        ({}, None),
        ([7], None),
        (None, None),
    ],
)
def test_tokens_that_were_not_read_again(details: Any, cached: int | None) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": details}
    (reply,) = read_replies({**CHAT, "usage": usage}, 1)
    assert (reply.usage.prompt, reply.usage.cached) == (9, cached)


def test_they_are_shared_out_among_answers() -> None:
    usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 8}}
    choices = [{"index": i, "message": {"content": "x"}} for i in range(4)]
    found = [r.usage for r in read_replies({"choices": choices, "usage": usage}, 4)]
    assert [u.prompt for u in found] == [3, 2, 2, 2] and [u.cached for u in found] == [2, 2, 2, 2]


@settings(max_examples=300, deadline=None)
@given(path=st.sampled_from(_places(CHAT)), value=JSON, data=st.data())
def test_anything_anywhere_gives_replies_or_malformed(
    path: tuple[Any, ...], value: Any, data: st.DataObject
) -> None:
    body = copy.deepcopy(CHAT)
    inner: Any = body
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    try:
        replies = read_replies(body, 1)
    except AttemptError as e:
        assert e.trouble == "malformed"
    else:
        for reply in replies:
            json.dumps([reply.text, reply.finish_reason, reply.model]).encode()
