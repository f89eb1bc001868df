"""Conversations as records: what becomes a context, and what is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.io import open_source
from veridical.io.conversations import contexts_of, from_anthropic, from_chat, from_responses
from veridical.io.problems import RowProblem
from veridical.io.readers import READERS, find_reader

CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    ],
}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Weather in Oslo?"},
    CALL,
    {
        "role": "tool",
        "tool_call_id": "c1",
        "content": [{"type": "text", "text": "21 degrees."}, {"type": "text", "text": "Windy."}],
    },
]
ANSWER = {"role": "assistant", "content": "It is 21 degrees."}


def one(row: dict[str, Any], reader: str) -> Record:
    (item,) = open_source([row], reader=reader).rows()
    assert isinstance(item, Record), item
    return item


def pairs(record: Record) -> list[tuple[Any, str]]:
    return [(c.id, c.text) for c in record.contexts]


def test_every_part_of_a_tool_message_is_a_context_with_its_tools_name() -> None:
    record = one({"messages": [*CHAT, ANSWER], "user_id": 7}, "openai-chat")
    assert pairs(record) == [("weather", "21 degrees."), ("weather", "Windy.")]
    assert record.response == "It is 21 degrees."
    assert record.prompt == CHAT  # the assistant's tool calls stay in it
    assert record.meta == {"user_id": 7}


def test_documents_and_the_system_prompt_on_request() -> None:
    row = {
        "messages": [*CHAT[:2], ANSWER],
        "documents": ["a", {"title": "T", "text": "b"}, {"id": "d3", "data": {"text": "c"}}],
    }
    assert pairs(one(row, "openai-chat")) == [(None, "a"), ("T", "b"), ("d3", "c")]
    with_system = one(row, "openai-chat(system=true)")
    assert pairs(with_system)[-1] == ("system", "Be short.")
    assert pairs(one(row, "openai-chat(system=false)")) == pairs(one(row, "openai-chat"))


def test_a_logged_completion_gives_log_probabilities_and_samples() -> None:
    tokens = [{"token": "Yes", "logprob": -0.1, "top_logprobs": []}]
    choices = [
        {"index": 0, "message": {"content": "Yes"}, "logprobs": {"content": tokens}},
        {"index": 1, "message": {"role": "assistant", "content": "No"}},
    ]
    record = one({"request": {"messages": CHAT}, "response": {"choices": choices}}, "openai-chat")
    assert record.response == "Yes" and record.sample_texts == ["No"]
    assert record.logprobs is not None and record.logprobs[0].logprob == -0.1
    assert [c.id for c in record.contexts] == ["weather", "weather"]


def test_items_of_the_responses_api() -> None:
    row = {
        "instructions": "Be short.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Who?"}]},
            {"type": "function_call", "name": "lookup", "call_id": "f", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "f",
                "output": [
                    {"type": "input_text", "text": "Ada."},
                    {"type": "input_text", "text": "1815."},
                ],
            },
            {"type": "file_search_call", "id": "s", "results": [{"text": "A page.", "score": 1}]},
        ],
        "output": [
            {"type": "reasoning", "summary": []},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Ada, 1815."}],
            },
        ],
    }
    record = one(row, "openai-chat")
    assert record.response == "Ada, 1815."
    assert pairs(record)[:2] == [("lookup", "Ada."), ("lookup", "1815.")]
    assert "A page." in pairs(record)[2][1] and pairs(record)[2][0] == "file_search"


def test_anthropic_blocks() -> None:
    row = {
        "system": [{"type": "text", "text": "Be short."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "document",
                        "title": "Report",
                        "source": {
                            "type": "text",
                            "media_type": "text/plain",
                            "data": "Sales rose.",
                        },
                    },
                    {"type": "text", "text": "What happened?"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"},
                    {"type": "tool_use", "id": "t", "name": "db", "input": {"q": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "content": [
                            {"type": "text", "text": "By 4%."},
                            {"type": "image", "source": {"type": "base64", "data": "AAAA"}},
                            {"type": "text", "text": "In May."},
                        ],
                    }
                ],
            },
        ],
        "response": {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Sales rose "},
                {"type": "text", "text": "by 4%."},
            ],
        },
    }
    record = one(row, "anthropic")
    assert pairs(record) == [("Report", "Sales rose."), ("db", "By 4%."), ("db", "In May.")]
    assert record.response == "Sales rose by 4%."
    assert isinstance(record.prompt, list)
    assert record.prompt[2]["tool_calls"][0]["function"]["name"] == "db"
    assert pairs(one(row, "anthropic(system=true)"))[0] == ("system", "Be short.")


def test_opentelemetry_spans(tmp_path: Path) -> None:
    asked = [
        {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c", "name": "weather", "arguments": {}}],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c", "response": "rainy, 57 F"}],
        },
    ]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "It rains."}]}]
    attributes = [
        {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(asked)}},
        {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps(said)}},
        {"key": "gen_ai.response.model", "value": {"stringValue": "m"}},
    ]
    spans = [
        {"spanId": "s1", "name": "chat m", "attributes": attributes},
        {"spanId": "s2", "name": "http", "attributes": []},
        {"spanId": "s3", "attributes": "nonsense"},
    ]
    export = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(export, indent=1), "utf-8")
    record, error = open_source(path, reader="otel").rows()
    assert isinstance(record, Record) and isinstance(error, RowError)
    assert (record.id, record.response) == ("s1", "It rains.")
    assert pairs(record) == [("weather", "rainy, 57 F")]
    assert record.meta == {"span": "chat m", "model": "m"}
    assert error.field == "resourceSpans[0].scopeSpans[0].spans[2].attributes"


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "Weather?",
            "gen_ai.prompt.1.role": "tool",
            "gen_ai.prompt.1.tool_call_id": "weather",
            "gen_ai.prompt.1.content": "rainy",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "It rains.",
        },
        {
            "llm.input_messages.0.message.role": "tool",
            "llm.input_messages.0.message.name": "weather",
            "llm.input_messages.0.message.content": "rainy",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "It rains.",
        },
    ],
)
def test_numbered_attributes_of_spans(attributes: dict[str, str]) -> None:
    record = one({"name": "chat", "attributes": attributes}, "otel")
    assert record.response == "It rains." and pairs(record) == [("weather", "rainy")]


def test_events_of_spans() -> None:
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "Weather?"}},
        {"name": "gen_ai.tool.message", "attributes": {"id": "weather", "content": "rainy"}},
        {"name": "gen_ai.choice", "attributes": {"message": '{"content": "It rains."}'}},
    ]
    record = one({"name": "chat", "events": events}, "otel")
    assert record.response == "It rains." and pairs(record) == [("weather", "rainy")]


def test_langfuse_traces_and_observations() -> None:
    trace = {
        "id": "t1",
        "name": "agent",
        "input": {"messages": [{"role": "user", "content": "Who?"}]},
        "output": "Ada.",
        "observations": [
            {"type": "TOOL", "name": "lookup", "output": "Ada Lovelace", "startTime": "2"},
            {
                "type": "RETRIEVER",
                "name": "wiki",
                "output": [{"page_content": "A page."}],
                "startTime": "1",
            },
            {
                "type": "GENERATION",
                "startTime": "3",
                "input": [
                    {"role": "tool", "name": "db", "content": [{"type": "text", "text": "1815"}]}
                ],
                "output": {"role": "assistant", "content": "Ada."},
            },
        ],
    }
    record = one(trace, "langfuse")
    assert record.response == "Ada." and record.meta["name"] == "agent"
    assert pairs(record) == [("wiki", "A page."), ("lookup", "Ada Lovelace"), ("db", "1815")]
    generation = {
        "id": "g",
        "type": "GENERATION",
        "input": json.dumps(CHAT),
        "output": '{"role": "assistant", "content": "It is 21 degrees."}',
    }
    record = one(generation, "langfuse")
    assert [c.id for c in record.contexts] == ["weather", "weather"]
    assert list(open_source([{"id": "s", "type": "SPAN"}], reader="langfuse").rows()) == []


def test_inspect_logs(tmp_path: Path) -> None:
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "Weather?",
        "target": "21 degrees",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c", "function": "weather", "arguments": {}}],
            },
            {"role": "tool", "tool_call_id": "c", "function": "weather", "content": "21 degrees"},
            {
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "reasoning": "x"},
                    {"type": "text", "text": "21."},
                ],
            },
        ],
        "output": {"completion": "21."},
    }
    log = {
        "version": 2,
        "status": "success",
        "eval": {"task": "t"},
        "reductions": [{"scorer": "x", "samples": []}],
        "samples": [sample, {"id": 2, "input": "q", "output": {}}],
    }
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log, indent=2), "utf-8")
    record, error = open_source(path, reader="inspect").rows()
    assert isinstance(record, Record) and isinstance(error, RowError)
    assert record.response == "21." and record.reference == ("21 degrees",)
    assert pairs(record) == [("weather", "21 degrees")]
    assert error.field == "samples[1].output"


def test_promptfoo_results(tmp_path: Path) -> None:
    result = {
        "id": "r1",
        "prompt": {"raw": json.dumps([{"role": "user", "content": "Weather?"}]), "label": "p"},
        "vars": {"context": ["21 degrees."], "city": "Oslo"},
        "response": {"output": "It is 21 degrees."},
        "success": True,
        "score": 1,
    }
    failed = {"prompt": {"raw": "x"}, "response": {"error": "API error"}, "vars": {}}
    export = {
        "evalId": "e",
        "results": {"version": 3, "prompts": [{"raw": "x"}], "results": [result, failed]},
        "config": {},
    }
    path = tmp_path / "out.json"
    path.write_text(json.dumps(export, indent=2), "utf-8")
    record, error = open_source(path, reader="promptfoo").rows()
    assert isinstance(record, Record) and isinstance(error, RowError)
    assert record.response == "It is 21 degrees." and record.prompt == [
        {"role": "user", "content": "Weather?"}
    ]
    assert pairs(record) == [(None, "21 degrees.")] and record.meta["vars"]["city"] == "Oslo"
    assert error.field == "results.results[1].response" and "API error" in error.error
    assert one(result, "promptfoo").id == "r1"


@pytest.mark.parametrize(
    ("reader", "row", "field"),
    [
        ("openai-chat", {"messages": "x"}, "messages"),
        ("openai-chat", {"messages": ["x"]}, "messages[0]"),
        ("openai-chat", {"messages": [{"role": "boss", "content": ""}]}, "messages[0].role"),
        ("openai-chat", {"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
        ("openai-chat", {"messages": [{"role": "user", "content": "q"}]}, "messages"),
        ("openai-chat", {"messages": [*CHAT, ANSWER], "documents": [3]}, "documents[0]"),
        ("openai-chat", {"messages": CHAT, "choices": []}, "choices"),
        ("openai-chat", {"messages": CHAT, "choices": [{"message": 3}]}, "choices[0].message"),
        ("openai-chat", {"input": [3]}, "input[0]"),
        ("openai-chat", {"no": 1}, "messages"),
        ("anthropic", {"messages": [{"role": "tool", "content": ""}]}, "messages[0].role"),
        ("anthropic", {"messages": [ANSWER], "system": 3}, "system"),
        ("otel", {"attributes": 3}, "attributes"),
        ("langfuse", {"input": "q", "output": None}, "output"),
        ("langfuse", {"input": "q", "output": "a", "observations": [3]}, "observations[0]"),
        ("inspect", {"eval": {}, "samples": 3}, "samples"),
        ("inspect", {"samples": [3]}, "samples[0]"),
        ("promptfoo", {"results": 3}, "results"),
        ("promptfoo", {"nothing": 3}, "results"),
    ],
)
def test_errors_name_the_field(reader: str, row: dict[str, Any], field: str) -> None:
    (item,) = open_source([row], reader=reader).rows()
    assert isinstance(item, RowError) and item.field == field


def test_options_of_readers() -> None:
    assert find_reader("otel(system=true)").name == "otel(system=true)"
    for wrong in ("otel(sytem=true)", "wikibio(system=true)", "otel(system=1", "otell"):
        with pytest.raises(UsageError):
            find_reader(wrong)


FACT = "The temperature in Oslo is 21 degrees Celsius and the sky is clear."
SAID = "The temperature in Oslo is 21 degrees Celsius."
GROUNDED: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "messages": [
            *CHAT[:3],
            # the fact is in the second part: taking the first alone would flag the answer
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": [{"type": "text", "text": "ok"}, {"type": "text", "text": FACT}],
            },
            {"role": "assistant", "content": SAID},
        ]
    },
    "anthropic": {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": FACT}],
            },
            {"role": "assistant", "content": SAID},
        ]
    },
    "otel": {
        "attributes": {
            "gen_ai.input.messages": [
                {"role": "tool", "parts": [{"type": "tool_call_response", "response": FACT}]}
            ],
            "gen_ai.output.messages": [
                {"role": "assistant", "parts": [{"type": "text", "content": SAID}]}
            ],
        }
    },
    "langfuse": {
        "input": "Weather?",
        "output": SAID,
        "observations": [{"type": "TOOL", "name": "weather", "output": FACT}],
    },
    "inspect": {
        "messages": [
            {"role": "tool", "function": "weather", "content": FACT},
            {"role": "assistant", "content": SAID},
        ]
    },
    "promptfoo": {
        "prompt": {"raw": "Weather?"},
        "vars": {"context": FACT},
        "response": {"output": SAID},
    },
}


@pytest.mark.parametrize("reader", GROUNDED)
def test_a_grounded_answer_of_an_agent_is_supported(reader: str) -> None:
    import veridical

    (result,) = veridical.check(
        [GROUNDED[reader]], "nli_grounding", reader=reader, store=None, progress=False
    )
    assert result.verdict == "supported", result.explain()


KEYS = [
    *("role", "content", "type", "text", "messages", "tool_calls", "function", "name", "id"),
    *("output", "input", "choices", "message", "attributes", "events", "samples", "results"),
    *("response", "prompt", "observations", "parts", "source", "documents", "key", "value"),
    *("vars", "spans", "resourceSpans", "system"),
]
WORDS = st.sampled_from(["user", "assistant", "tool", "text", "tool_result", "document", "[1]", ""])
JSON = st.recursive(
    st.none() | st.integers(0, 2) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)
SLOW = settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=150)


@SLOW
@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4))
def test_whatever_a_row_holds_it_is_a_record_or_an_error(row: dict[str, Any]) -> None:
    for name in ("openai-chat", "anthropic", "otel", "langfuse", "inspect", "promptfoo"):
        for item in open_source([row], reader=f"{name}(system=true)").rows():
            assert isinstance(item, (Record, RowError))


@SLOW
@given(st.lists(st.dictionaries(st.sampled_from([*KEYS[:3], "output"]), JSON), max_size=3))
def test_whatever_messages_hold(messages: list[dict[str, Any]]) -> None:
    for read in (from_chat, lambda m: from_anthropic(None, m), lambda m: from_responses(None, m)):
        try:
            found = contexts_of(read(messages), system=True)
        except RowProblem:
            continue
        assert all(isinstance(c["text"], str) and c["text"].strip() for c in found)


def test_each_reader_says_what_it_reads() -> None:
    assert all(reader.summary for reader in READERS.values())


@pytest.mark.parametrize(
    "block",
    [
        {"type": "grounding_source", "text": "It is 57 m tall."},
        {
            "guardContent": {
                "text": {"text": "It is 57 m tall.", "qualifiers": ["grounding_source"]}
            }
        },
    ],
    ids=["litellm", "bedrock"],
)
def test_grounding_sources_are_contexts(block: dict[str, Any]) -> None:
    query = {"type": "query", "text": "How tall?"}
    messages = from_chat([{"role": "user", "content": [block, query]}])
    assert contexts_of(messages) == [{"id": "grounding_source", "text": "It is 57 m tall."}]
