"""Tool calls of a conversation: OpenAI's messages, Anthropic's blocks, and what is neither."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.tool_calls import tells_error, tool_calls, tool_results

OPENAI = [
    {"role": "user", "content": "Do it."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "send", "arguments": '{"to": 1}'}},
            {"id": "b", "type": "custom", "custom": {"name": "shell", "input": "rm x"}},
        ],
    },
    {"role": "tool", "tool_call_id": "b", "content": "Error: no such file"},
    {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "sent"}]},
]
ANTHROPIC = [
    {"role": "user", "content": "Do it."},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "So."},
            {"type": "tool_use", "id": "a", "name": "send", "input": {"to": 1}},
            {"type": "tool_use", "id": "b", "name": "shell", "input": {"command": "rm x"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": "gone", "is_error": True},
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": [{"type": "text", "text": "sent"}],
            },
        ],
    },
]
LEGACY = [
    {
        "role": "assistant",
        "content": "",
        "function_call": {"name": "send", "arguments": '{"to": 1}'},
    },
    {"role": "function", "name": "send", "content": "sent"},
    {"role": "assistant", "content": "", "function_call": {"name": "shell", "arguments": "rm x"}},
    {"role": "function", "name": "shell", "content": "Error: x"},
]
RESPONSES = [
    {"type": "function_call", "call_id": "a", "name": "send", "arguments": '{"to": 1}'},
    {"type": "function_call_output", "call_id": "a", "output": "sent"},
    {"type": "function_call", "call_id": "b", "name": "shell", "arguments": "rm x"},
    {"type": "function_call_output", "call_id": "b", "output": '{"error": "x"}'},
]


@pytest.mark.parametrize("prompt", [OPENAI, ANTHROPIC, LEGACY, RESPONSES])
def test_calls_have_their_results_whatever_the_shape(prompt: list[dict[str, Any]]) -> None:
    send, shell = tool_calls(prompt)
    assert (send.name, send.result, send.failed) == ("send", "sent", False)
    assert send.arguments == '{"to": 1}'
    assert (shell.name, shell.failed) == ("shell", True)
    assert "rm x" in shell.arguments
    assert prompt[send.message].get("role", "assistant") == "assistant"
    assert {r.text for r in tool_results(prompt)} == {send.result, shell.result}


def test_a_call_without_a_result_is_open() -> None:
    send, shell = tool_calls(OPENAI[:3])
    assert (send.result, send.failed, shell.failed) == (None, None, True)


def test_a_result_belongs_to_the_first_open_call_of_its_id() -> None:
    call = OPENAI[1]
    first, _, second, _ = tool_calls([call, OPENAI[3], call])
    assert (first.result, second.result) == ("sent", None)


@pytest.mark.parametrize("prompt", [None, "I called send.", [], [{"role": "user", "content": "x"}]])
def test_no_conversation_has_no_calls(prompt: Any) -> None:
    assert tool_calls(prompt) == tool_results(prompt) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Error: smtp", True),
        ("  [ERROR] x", True),
        ("Traceback (most recent call last):\n", True),
        ("ValueError: bad", True),
        ("HTTP 404", True),
        ("HTTP/1.1 503 Unavailable", True),
        ("Permission denied", True),
        ('{"error": "x"}', True),
        ('{"success": false}', True),
        ('{"ok": false}', True),
        ('{"status": "failed"}', True),
        ('{"status": 500}', True),
        ('{"status_code": "404"}', True),
        ('{"isError": true}', True),
        ("", False),
        ("None", False),
        ("No errors were found.", False),
        ("HTTP/1.1 200 OK", False),
        ('{"error": null, "id": 7}', False),
        ('{"errors": [], "status": "ok"}', False),
        ('{"status": 200, "success": true}', False),
        ('{"items": [{"error": "of another"}]}', False),
        ("[1, 2]", False),
        ("{" * 5000, False),
    ],
)
def test_what_tells_of_an_error(text: str, error: bool) -> None:
    assert tells_error(text) is error


KEYS = ["role", "content", "tool_calls", "function", "name", "id", "type", "input", "arguments"]
KEYS += ["tool_call_id", "tool_use_id", "is_error", "function_call", "call_id", "output", "custom"]
VALUES = st.sampled_from(["assistant", "tool", "user", "tool_use", "tool_result", "function", "a"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6), max_size=4))
def test_of_any_messages_nothing_is_raised(prompt: list[dict[str, Any]]) -> None:
    for call in tool_calls(prompt):
        assert isinstance(call.name, str)
        assert isinstance(call.arguments, str)
        assert (call.result is None) == (call.failed is None)
        assert 0 <= call.message < len(prompt)
    for result in tool_results(prompt):
        assert isinstance(result.text, str)
