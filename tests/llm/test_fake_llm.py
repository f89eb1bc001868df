"""Scripted answers, and the pretended ones of the dry run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from veridical.core.messages import ChatRequest, LlmError, Reply, Usage, user
from veridical.errors import UsageError
from veridical.llm.fake import FakeLlm
from veridical.llm.pretend import instance, pretend


async def said(llm: FakeLlm, question: str, *ordinals: int) -> list[str]:
    outcomes = await llm.chat(ChatRequest(user(question)), ordinals or (0,))
    return [o.text if isinstance(o, Reply) else o.trouble for o in outcomes]


async def test_the_first_part_that_the_conversation_contains_answers() -> None:
    llm = FakeLlm({"capital": "Paris", "river": "Seine"})
    assert await said(llm, "The capital on the river?") == ["Paris"]
    assert await said(llm, "Which river?") == ["Seine"]
    assert await said(llm, "Why?") == ["malformed"]
    assert sum(llm.asked.values()) == 3


async def test_a_function_tells_samples_apart_and_may_fail() -> None:
    def script(request: ChatRequest) -> Reply | LlmError | str:
        return LlmError("timeout", "late") if request.ordinal == 1 else f"draw {request.ordinal}"

    assert await said(FakeLlm(script), "Why?", 0, 1, 2) == ["draw 0", "timeout", "draw 2"]


async def test_a_file_holds_rules(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    token = {"token": "Paris", "logprob": -0.1, "top": [{"token": "Lyon", "logprob": -3}]}
    rules = [
        {"contains": "capital", "text": ["Paris", "Lyon"], "logprobs": [token]},
        {"text": "No.", "finish_reason": "length"},
    ]
    path.write_text(json.dumps(rules))
    llm = FakeLlm.read(path)
    assert await said(llm, "The capital?", 0, 1, 2) == ["Paris", "Lyon", "Paris"]
    (reply,) = await llm.chat(ChatRequest(user("capital")))
    assert isinstance(reply, Reply) and reply.logprobs is not None
    assert reply.logprobs[0].top[0].token == "Lyon"
    (cut,) = await llm.chat(ChatRequest(user("Why?")))
    assert isinstance(cut, Reply)
    with pytest.raises(LlmError, match="cut"):
        cut.whole()


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[3]", '[{"texts": "a"}]', '[{"text": []}]', '[{"text": 3}]', "[" * 100_000],
)
def test_a_file_that_is_no_script_is_a_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(UsageError, match="not a script"):
        FakeLlm.read(tmp_path / "s.json")


def test_a_file_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a script"):
        FakeLlm.read(tmp_path / "none.json")


SCHEMAS: list[dict[str, Any]] = [
    {"enum": ["yes", "no"]},
    {"const": 7},
    {"type": "integer", "minimum": 1, "maximum": 5},
    {"type": "number", "maximum": -2},
    {"type": "boolean"},
    {"type": "null"},
    {"type": "string", "minLength": 3},
    {"type": ["string", "null"]},
    {"anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 2}, {"type": "null"}]},
    {
        "type": "object",
        "properties": {
            "score": {"type": "integer", "minimum": 0},
            "parts": {"type": "array", "items": {"enum": ["a"]}},
        },
        "required": ["score", "parts"],
        "additionalProperties": False,
    },
    {},
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_pretended_reply_keeps_to_the_schema(schema: dict[str, Any]) -> None:
    jsonschema.validate(instance(schema), schema)
    reply = pretend(ChatRequest(user("?"), schema=schema), Usage(1, 1))
    jsonschema.validate(json.loads(reply.whole()), schema)


def test_pretended_texts_of_other_conversations_are_others() -> None:
    """What is then asked about them is not one call but several."""
    schema = {"type": "array", "items": {"type": "string"}, "minItems": 2}
    said = [pretend(ChatRequest(user(q), schema=schema), Usage(1, 1)).text for q in ("a", "b", "a")]
    assert said[0] == said[2] != said[1]
    assert len({text for one in said for text in json.loads(one)}) == 4


def test_a_schema_without_a_bottom_ends() -> None:
    deep: dict[str, Any] = {"type": "object"}
    deep["properties"] = {"more": deep}
    assert "more" in instance(deep)
