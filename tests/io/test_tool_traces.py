"""Tool definitions and calls in logs of OpenAI, Anthropic, OpenTelemetry and LangChain."""

from __future__ import annotations

import json
from typing import Any

import pytest

import veridical
from veridical.core.records import Record
from veridical.io.source import open_source

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
}
USER = {"role": "user", "content": "What is the weather in Paris?"}


def otel(**attributes: Any) -> dict[str, Any]:
    return {"name": "chat", "spanId": "a", "attributes": attributes}


OTEL_IN = [{"role": "user", "parts": [{"type": "text", "content": USER["content"]}]}]
OTEL_CALL = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Rome"}}
OTEL_OUT = [{"role": "assistant", "parts": [OTEL_CALL]}]
LC_CALL = {"name": "weather", "args": {"city": "Rome"}, "id": "c1", "type": "tool_call"}
LC_PATH = ["langchain", "schema", "messages"]

ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai": (
        "openai-chat",
        {
            "request": {"messages": [USER], "tools": [TOOL]},
            "response": {
                "choices": [
                    {"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}
                ]
            },
        },
    ),
    "anthropic": (
        "anthropic",
        {
            "messages": [USER],
            "tools": [{"name": "weather", "input_schema": SCHEMA}],
            "content": [
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Rome"}},
            ],
        },
    ),
    "otel": (
        "otel",
        otel(
            **{
                "gen_ai.input.messages": json.dumps(OTEL_IN),
                "gen_ai.output.messages": json.dumps(OTEL_OUT),
                "gen_ai.tool.definitions": json.dumps([TOOL]),
            }
        ),
    ),
    "openinference": (
        "otel",
        otel(
            **{
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": USER["content"],
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": (
                    '{"city": "Rome"}'
                ),
                "llm.tools.0.tool.json_schema": json.dumps(TOOL),
            }
        ),
    ),
    "openllmetry": (
        "otel",
        otel(
            **{
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": USER["content"],
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.tool_calls.0.name": "weather",
                "gen_ai.completion.0.tool_calls.0.arguments": '{"city": "Rome"}',
                "llm.request.functions.0.name": "weather",
                "llm.request.functions.0.parameters": json.dumps(SCHEMA),
            }
        ),
    ),
    "langchain dicts": (
        "langchain",
        {
            "messages": [
                {"type": "human", "data": {"content": USER["content"]}},
                {"type": "ai", "data": {"content": "", "tool_calls": [LC_CALL]}},
            ],
            "tools": [TOOL],
        },
    ),
    "langsmith run": (
        "langchain",
        {
            "id": "run1",
            "run_type": "llm",
            "inputs": {
                "messages": [
                    [
                        {
                            "lc": 1,
                            "type": "constructor",
                            "id": [*LC_PATH, "HumanMessage"],
                            "kwargs": {"content": USER["content"], "type": "human"},
                        }
                    ]
                ]
            },
            "outputs": {
                "generations": [
                    [
                        {
                            "text": "",
                            "message": {
                                "lc": 1,
                                "type": "constructor",
                                "id": [*LC_PATH, "AIMessage"],
                                "kwargs": {"content": "", "tool_calls": [LC_CALL], "type": "ai"},
                            },
                        }
                    ]
                ]
            },
            "extra": {"invocation_params": {"tools": [TOOL]}},
        },
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_definitions_and_the_answers_own_calls_are_kept(name: str) -> None:
    reader, row = ROWS[name]
    (record,) = open_source([row], reader=reader).rows()
    assert isinstance(record, Record)
    (result,) = veridical.check([record], "tool_calls", store=None, nli="mini")
    found = result.scores["tool_calls"]
    assert found.status == "scored", found.reason
    assert isinstance(found.raw, dict)
    (finding,) = found.raw["findings"]
    assert (finding["name"], finding["argument"], finding["label"], finding["risk"]) == (
        "weather",
        "city",
        "unstated",
        1.0,
    )


def test_an_agents_output_that_holds_its_input() -> None:
    human = {"type": "human", "content": "What is the weather in Rome?"}
    calls = {"type": "ai", "content": "", "tool_calls": [LC_CALL]}
    tool = {"type": "tool", "content": "20 degrees", "tool_call_id": "c1", "name": "weather"}
    last = {"type": "ai", "content": "It is 20 degrees."}
    row = {"inputs": {"messages": [human]}, "outputs": {"messages": [human, calls, tool, last]}}
    (record,) = open_source([row], reader="langchain").rows()
    assert isinstance(record, Record)
    assert record.response == "It is 20 degrees." and isinstance(record.prompt, list)
    assert [m["role"] for m in record.prompt] == ["user", "assistant", "tool"]
    assert [(c.id, c.text) for c in record.contexts] == [("weather", "20 degrees")]


def test_messages_that_langchain_itself_wrote() -> None:
    core = pytest.importorskip("langchain_core.messages")
    load = pytest.importorskip("langchain_core.load")
    calls = [{"name": "weather", "args": {"city": "Rome"}, "id": "c1"}]
    messages = [
        core.SystemMessage("Use the tools."),
        core.HumanMessage("What is the weather in Rome?"),
        core.AIMessage(content="", tool_calls=calls),
        core.ToolMessage("20 degrees", tool_call_id="c1", name="weather"),
        core.AIMessage("It is 20 degrees."),
    ]
    for written in (core.messages_to_dict(messages), [load.dumpd(m) for m in messages]):
        row = json.loads(json.dumps({"messages": written, "tools": [TOOL]}))
        (record,) = open_source([row], reader="langchain").rows()
        assert isinstance(record, Record)
        assert record.response == "It is 20 degrees." and isinstance(record.prompt, list)
        assert [(c.id, c.text) for c in record.contexts] == [("weather", "20 degrees")]
        (result,) = veridical.check([record], "tool_calls", store=None, nli="mini")
        raw = result.scores["tool_calls"].raw
        assert isinstance(raw, dict)
        assert [f["label"] for f in raw["findings"]] == ["stated"]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"inputs": {}}, "messages"),
        ({"messages": [7]}, "messages"),
        ({"messages": [{"type": "robot", "data": {}}]}, "messages"),
        ({"messages": [{"type": "human", "data": {"content": "x"}}]}, "messages"),
    ],
)
def test_what_is_no_trace(row: dict[str, Any], field: str) -> None:
    (error,) = open_source([row], reader="langchain").rows()
    assert not isinstance(error, Record) and error.field == field
