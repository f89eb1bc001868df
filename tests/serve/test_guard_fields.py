"""Content beside the checked text of a held answer: a test for each row of docs/guard.md."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flights import flight, sent
from guarding import STREAMS, chat_stream, chunk, delivered, messages_stream, sse, whole_of

from veridical.serve.guard.app import APIS
from veridical.serve.guard.fields import KINDS, NAMES, plain
from veridical.serve.guard.sse import Events, UnreadableEvent

#: Text of the model that no sentence of the answer has.
SECRET = "The secret is out"
ANSWER = "It rains."
CALL = {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": SECRET}}

#: Fields of a delta (streamed) and of a message (whole), with the kind that passes them.
CHAT: dict[str, tuple[str, dict[str, Any]]] = {
    "reasoning_content": ("reasoning", {"reasoning_content": SECRET}),
    "reasoning": ("reasoning", {"reasoning": SECRET}),
    "reasoning_details": ("reasoning", {"reasoning_details": [{"text": SECRET}]}),
    "thinking_blocks": ("reasoning", {"thinking_blocks": [{"thinking": SECRET}]}),
    "tool_calls": ("tool_calls", {"tool_calls": [CALL]}),
    "function_call": ("tool_calls", {"function_call": {"name": "f", "arguments": SECRET}}),
    "audio": ("audio", {"audio": {"id": "a", "transcript": SECRET, "data": "UklG"}}),
    "annotations": ("annotations", {"annotations": [{"url_citation": {"title": SECRET}}]}),
    "unknown": ("other", {"aside": SECRET}),
}


def at_choice(streamed: bool, extra: dict[str, Any]) -> dict[str, Any]:
    found = chunk({"content": ""}) if streamed else whole_of("chat/completions", ANSWER)
    found["choices"][0].update(extra)
    return found


@pytest.mark.parametrize("name", CHAT)
def test_fields_of_a_chat_message(name: str) -> None:
    kind, fields = CHAT[name]
    data = sse(
        chunk({"role": "assistant", **fields}),
        chunk({"content": ANSWER}),
        chunk({}, "stop"),
        "[DONE]",
    )
    reply = whole_of("chat/completions", ANSWER)
    reply["choices"][0]["message"].update(fields)
    _check("chat/completions", kind, data, reply)


@pytest.mark.parametrize("where", ["choice", "reply"])
def test_fields_of_a_chat_choice_and_of_the_reply(where: str) -> None:
    if where == "choice":
        event, reply = at_choice(True, {"aside": SECRET}), at_choice(False, {"aside": SECRET})
    else:
        event = {**chunk({"content": ""}), "aside": SECRET}
        reply = {**whole_of("chat/completions", ANSWER), "aside": SECRET}
    data = sse(event, chunk({"content": ANSWER}), chunk({}, "stop"), "[DONE]")
    _check("chat/completions", "other", data, reply)


@pytest.mark.parametrize("path", ["chat/completions", "completions"])
def test_names_and_reasons_are_no_place_for_text(path: str) -> None:
    for field in ("id", "model", "system_fingerprint", "usage"):
        value: Any = {"note": SECRET} if field == "usage" else SECRET
        event = {**json.loads(chat_stream(ANSWER).split(b"data: ")[2]), field: value}
        reply = {**whole_of(path, ANSWER), field: value}
        assert SECRET.encode() not in sent(flight(), [sse(event, chunk({}, "stop"), "[DONE]")])
        assert SECRET not in json.dumps(APIS[f"/v1/{path}"].cleaned(reply, ())[0])
    reply = whole_of(path, ANSWER)
    reply["choices"][0]["finish_reason"] = SECRET
    assert SECRET not in json.dumps(APIS[f"/v1/{path}"].cleaned(reply, ())[0])
    out = sent(flight(), [sse(chunk({"content": ANSWER}), chunk({}, SECRET), "[DONE]")])
    assert SECRET.encode() not in out and b'"finish_reason": "stop"' in out


def test_a_refusal_is_checked() -> None:
    out = sent(flight(), [sse(chunk({"refusal": "I cannot."}), chunk({}, "stop"), "[DONE]")])
    assert b'"refusal": "I cannot."' in out
    made = flight()
    out = sent(made, [sse(chunk({"refusal": "I cannot. BAD."}), chunk({}, "stop"), "[DONE]")])
    assert b"BAD" not in out and b"I cannot." in out and made.document()["decision"] == "reject"
    reply = whole_of("chat/completions", ANSWER)
    reply["choices"][0]["message"]["refusal"] = "BAD."
    api = APIS["/v1/chat/completions"]
    texts = api.texts(api.cleaned(reply, ())[0])
    assert {c: t.text for c, t in texts.items()} == {(0,): ANSWER, (0, 1): "BAD."}


def test_content_of_parts() -> None:
    parts = [
        {"type": "text", "text": "It rains. "},
        {"type": "thinking", "thinking": SECRET},
        {"type": "text", "text": "BAD."},
        {"type": "image_url", "image_url": {"url": SECRET}},
    ]
    out = sent(flight(), [sse(chunk({"content": parts}), chunk({}, "stop"), "[DONE]")])
    assert delivered("chat/completions", out) == "It rains." and SECRET.encode() not in out
    reply = whole_of("chat/completions", ANSWER)
    reply["choices"][0]["message"]["content"] = parts
    api = APIS["/v1/chat/completions"]
    made, out_kinds = api.cleaned(reply, KINDS)
    assert made["choices"][0]["message"]["content"] == "It rains. BAD."
    assert out_kinds == ["reasoning", "other"]
    assert api.texts(reply)[(0,)].text == "It rains. BAD."


def test_log_probabilities_that_do_not_spell_the_text() -> None:
    reply = whole_of("chat/completions", ANSWER)
    entry = {"token": SECRET, "logprob": -0.1, "top_logprobs": []}
    reply["choices"][0]["logprobs"] = {"content": [entry]}
    api = APIS["/v1/chat/completions"]
    made, _ = api.cleaned(reply, ())
    api.spelled(made)
    assert made["choices"][0]["logprobs"] is None
    reply["choices"][0]["logprobs"] = {"content": [{**entry, "token": ANSWER}]}
    made, _ = api.cleaned(reply, ())
    api.spelled(made)
    assert made["choices"][0]["logprobs"]["content"][0]["token"] == ANSWER


@pytest.mark.parametrize("path", STREAMS)
def test_comments_keep_the_connection_alive_without_their_text(path: str) -> None:
    data = f": {SECRET}\n\n".encode() + STREAMS[path](ANSWER)
    inside = STREAMS[path](ANSWER).replace(b"data: {", f": {SECRET}\ndata: {{".encode())
    for stream in (data, inside):
        out = sent(flight(path, passed=KINDS), [stream])
        assert SECRET.encode() not in out and delivered(path, out) == ANSWER
    assert sent(flight(path), [data]).startswith(b":\n\n")


@pytest.mark.parametrize("path", ["chat/completions", "messages", "responses"])
def test_of_an_error_only_what_says_why_passes(path: str) -> None:
    error = {"message": "slow down", "code": "rate", "failed_generation": SECRET}
    event: dict[str, Any] = {"error": error}
    if path != "chat/completions":
        event["type"] = "error"
    out = sent(flight(path), [sse(event)])
    assert b"slow down" in out and b'"rate"' in out and SECRET.encode() not in out


#: Items of the responses API, and events of them, with the kind that passes them.
ITEMS: dict[str, tuple[str, dict[str, Any], str]] = {
    "reasoning": (
        "reasoning",
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": SECRET}]},
        "response.reasoning_summary_text.delta",
    ),
    "function_call": (
        "tool_calls",
        {"type": "function_call", "name": "f", "arguments": SECRET},
        "response.function_call_arguments.delta",
    ),
    "mcp_call": ("tool_calls", {"type": "mcp_call", "arguments": SECRET}, "response.mcp_call.done"),
    "unknown": ("other", {"type": "poem", "verses": SECRET}, "response.poem.delta"),
}


def numbered(events: list[dict[str, Any]]) -> bytes:
    return sse(*({**e, "sequence_number": i} for i, e in enumerate(events)))


def response_events(item: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """An answer whose first item is another one than its message."""
    events = [json.loads(e.data or "") for e in Events().feed(STREAMS["responses"](ANSWER))]
    for event in events:
        if "output_index" in event:
            event["output_index"] = 1
    events[-1]["response"]["output"].insert(0, item)
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    delta = {"type": kind, "output_index": 0, "delta": SECRET}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    return [events[0], added, delta, done, *events[1:]]


@pytest.mark.parametrize("name", ITEMS)
def test_items_of_the_responses_api(name: str) -> None:
    kind, item, event = ITEMS[name]
    reply = whole_of("responses", ANSWER)
    reply["output"].insert(0, item)
    data = numbered(response_events(item, event))
    _check("responses", kind, data, reply)
    out = sent(flight("responses"), [data])
    placed = [e.object for e in Events().feed(out) if "output_index" in e.object]
    assert {e["output_index"] for e in placed} == {0}  # what is left out is not counted
    (last,) = [e.object for e in Events().feed(out) if "response.completed" in e.raw.decode()]
    assert [i["type"] for i in last["response"]["output"]] == ["message"]


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        ("other", {"type": "response.aside", "text": SECRET}),
        ("audio", {"type": "response.audio.transcript.delta", "delta": SECRET}),
        (
            "annotations",
            {
                "type": "response.output_text.annotation.added",
                "output_index": 0,
                "annotation": {"title": SECRET},
            },
        ),
    ],
)
def test_events_of_the_responses_api(kind: str, event: dict[str, Any]) -> None:
    events = [json.loads(e.data or "") for e in Events().feed(STREAMS["responses"](ANSWER))]
    data = numbered([*events[:4], event, *events[4:]])
    _check("responses", kind, data, None)


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("other", {"type": "aside", "text": SECRET}),
        ("audio", {"type": "output_audio", "transcript": SECRET}),
        ("reasoning", {"type": "reasoning_text", "text": SECRET}),
    ],
)
def test_parts_of_a_message_of_the_responses_api(kind: str, part: dict[str, Any]) -> None:
    reply = whole_of("responses", ANSWER)
    reply["output"][0]["content"].insert(0, part)
    events = [json.loads(e.data or "") for e in Events().feed(STREAMS["responses"](ANSWER))]
    for event in events:
        if "content_index" in event:
            event["content_index"] = 1
        item = event.get("item", {"content": []})
        if item["content"]:
            item["content"].insert(0, part)
    events[-1]["response"]["output"][0]["content"].insert(0, part)
    _check("responses", kind, numbered(events), reply)


def test_a_refusal_of_the_responses_api_is_checked() -> None:
    data = STREAMS["responses"]("I cannot. BAD.")
    data = data.replace(b"output_text", b"refusal").replace(b'"text": ', b'"refusal": ')
    out = sent(flight("responses"), [data])
    assert b"BAD" not in out and b"I cannot." in out
    reply = json.loads(json.dumps(whole_of("responses", "x")).replace("output_text", "refusal"))
    reply["output"][0]["content"][0] = {"type": "refusal", "refusal": "BAD."}
    assert APIS["/v1/responses"].texts(reply)[(0, 0)].text == "BAD."


def test_what_the_response_repeats_of_the_request_has_no_text() -> None:
    reply = {**whole_of("responses", ANSWER), "instructions": SECRET, "metadata": {"a": SECRET}}
    assert SECRET not in json.dumps(APIS["/v1/responses"].cleaned(reply, KINDS)[0])


#: Blocks of Anthropic's API with an event of each, and the kind that passes them.
BLOCKS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "thinking": (
        "reasoning",
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": SECRET},
    ),
    "redacted_thinking": (
        "reasoning",
        {"type": "redacted_thinking", "data": SECRET},
        {"type": "signature_delta", "signature": SECRET},
    ),
    "tool_use": (
        "tool_calls",
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        {"type": "input_json_delta", "partial_json": SECRET},
    ),
    "unknown": ("other", {"type": "poem", "text": SECRET}, {"type": "poem_delta", "text": SECRET}),
}


def with_block(block: dict[str, Any], delta: dict[str, Any]) -> bytes:
    events = [json.loads(e.data or "") for e in Events().feed(messages_stream(ANSWER))]
    for event in events:
        if "index" in event:
            event["index"] = 1
    mine = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
    ]
    return sse(events[0], *mine, *events[1:])


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_of_the_messages_api(name: str) -> None:
    kind, block, delta = BLOCKS[name]
    data = with_block(block, delta)
    reply = whole_of("messages", ANSWER)
    said = {k: v for k, v in delta.items() if k != "type"}
    reply["content"].insert(0, {**block, **said})
    _check("messages", kind, data, reply)
    out = sent(flight("messages"), [data])
    indexes = {e.object["index"] for e in Events().feed(out) if "index" in e.object}
    assert indexes == {0}


def test_citations_of_the_messages_api() -> None:
    citation = {"type": "citations_delta", "citation": {"cited_text": SECRET}}
    events = [json.loads(e.data or "") for e in Events().feed(messages_stream(ANSWER))]
    cited = {"type": "content_block_delta", "index": 0, "delta": citation}
    reply = whole_of("messages", ANSWER)
    reply["content"][0]["citations"] = [{"cited_text": SECRET}]
    _check("messages", "annotations", sse(*events[:4], cited, *events[4:]), reply)


def test_events_of_the_messages_api() -> None:
    events = [json.loads(e.data or "") for e in Events().feed(messages_stream(ANSWER))]
    _check(
        "messages", "other", sse(events[0], {"type": "aside", "text": SECRET}, *events[1:]), None
    )
    events[0]["message"]["content"] = [{"type": "text", "text": SECRET}]
    events[-2]["delta"]["stop_sequence"] = SECRET
    assert SECRET.encode() not in sent(flight("messages", passed=KINDS), [sse(*events)])


def test_a_stop_sequence_of_the_request_is_reported() -> None:
    events = [json.loads(e.data or "") for e in Events().feed(messages_stream(ANSWER))]
    ended = {"stop_reason": "stop_sequence", "stop_sequence": "\n## End"}
    events[-2]["delta"] = ended
    reply = {**whole_of("messages", ANSWER), **ended}
    api = APIS["/v1/messages"]
    for asked, told in ((["\n## End"], "\n## End"), (["x"], None), ([], None)):
        body = {"stop_sequences": asked}
        assert api.stops(body) == asked
        out = Events().feed(sent(flight("messages", stops=api.stops(body)), [sse(*events)]))
        (delta,) = [e.object["delta"] for e in out if e.object.get("type") == "message_delta"]
        made = api.cleaned(reply, (), stops=api.stops(body))[0]
        for end in (delta, made):
            assert end["stop_reason"] == "stop_sequence" and end["stop_sequence"] == told
    assert api.stops({"stop_sequences": "x"}) == api.stops({"stop_sequences": [1]}) == []


@pytest.mark.parametrize(
    ("path", "reason", "held"),
    [("chat/completions", "tool_calls", "content_filter"), ("messages", "tool_use", "refusal")],
)
def test_an_answer_whose_calls_are_left_out_says_so(path: str, reason: str, held: str) -> None:
    if path == "messages":
        _, block, delta = BLOCKS["tool_use"]
        data = with_block(block, delta).replace(b"end_turn", reason.encode())
        reply = {**whole_of(path, ANSWER), "stop_reason": reason}
        reply["content"].append(block)
    else:
        data = sse(chunk({"tool_calls": [CALL]}), chunk({}, reason), "[DONE]")
        reply = whole_of(path, ANSWER)
        reply["choices"][0].update(finish_reason=reason)
        reply["choices"][0]["message"]["tool_calls"] = [CALL]
    assert f'"{held}"'.encode() in sent(flight(path), [data])
    assert f'"{reason}"'.encode() in sent(flight(path, passed=["tool_calls"]), [data])
    api = APIS[f"/v1/{path}"]
    assert f'"{held}"' in json.dumps(api.cleaned(reply, ())[0])
    assert f'"{reason}"' in json.dumps(api.cleaned(reply, ["tool_calls"])[0])


def test_more_answers_than_were_asked_for_cannot_be_read() -> None:
    events = [chunk({"content": ANSWER}, index=i) for i in range(3)]
    assert delivered("chat/completions", sent(flight(answers=3, alone=False), [sse(*events)]))
    for stream in (sse(*events[2:]), sse({**events[0], "choices": [{}] * 3})):
        out = sent(flight(answers=2, alone=False), [stream])
        assert b"3 choices, but 2 were requested" in out and ANSWER.encode() not in out
    with pytest.raises(UnreadableEvent, match="3 choices, but 2 were requested"):
        APIS["/v1/chat/completions"].cleaned({"choices": [{}] * 3}, (), 2)


def test_plain_values_are_numbers_and_names() -> None:
    value = {"a": 1, "b": "gpt-4.1", "c": "two words", "d": [{"e": "x y"}, None], "f g": 1}
    assert plain(value) == {"a": 1, "b": "gpt-4.1", "d": [{}, None]}
    deep: Any = "x"
    for _ in range(1000):
        deep = [deep]
    assert "x" not in json.dumps(plain(deep))


def _check(path: str, kind: Any, data: bytes, reply: dict[str, Any] | None) -> None:
    """Content with the secret is left out and named, and passes where its kind is named."""
    for mode in ("hold", "buffer"):
        held = flight(path, mode, passed=[k for k in KINDS if k != kind])
        out = sent(held, [data])
        assert SECRET.encode() not in out and delivered(path, out) == ANSWER
        assert f"withheld: {NAMES[kind]}" in held.document()["notes"]
        passing = flight(path, mode, passed=[kind])
        out = sent(passing, [data])
        assert SECRET.encode() in out and delivered(path, out).startswith(ANSWER[:0])
        assert kind == "other" or f"not checked: {NAMES[kind]}" in passing.document()["notes"]
    assert SECRET.encode() in sent(flight(path, "annotate"), [data])
    if reply is None:
        return
    api = APIS[f"/v1/{path}"]
    made, out_kinds = api.cleaned(reply, [k for k in KINDS if k != kind])
    assert SECRET not in json.dumps(made) and kind in out_kinds
    assert ANSWER in json.dumps(made)
    made, out_kinds = api.cleaned(reply, [kind])
    assert SECRET in json.dumps(made) and kind not in out_kinds
