"""Reader of LangChain and LangSmith traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from veridical.io.chat_readers import decoded, fields_of
from veridical.io.conversations import Message, from_chat
from veridical.io.problems import RowProblem
from veridical.text.display import named, shown

Row = dict[str, Any]

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "function",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
}


def langchain(row: Row, index: int, *, system: bool = False) -> Iterable[Row]:
    """Read LangChain messages (``messages_to_dict`` or ``dumps``), or LangSmith runs with
    ``inputs`` and ``outputs``.

    Tool calls of the answer, and the tools of ``extra.invocation_params``, are kept.
    """
    inputs, outputs = decoded(row.get("inputs")), decoded(row.get("outputs"))
    messages = [*_messages_in(row), *_messages_in(inputs)]
    answers = list(_messages_in(outputs))
    if answers and messages == answers[: len(messages)]:
        messages = []  # an agent's output includes its input
    if not messages and not answers:
        raise RowProblem(f"has no messages; the row has {named(row) or 'no columns'}", "messages")
    extra = decoded(row.get("extra"))
    params = extra.get("invocation_params") if isinstance(extra, Mapping) else None
    tools = row.get("tools") or (params.get("tools") if isinstance(params, Mapping) else None)
    found = from_chat([*messages, *answers])
    kept = {k: v for k, v in row.items() if k not in ("inputs", "outputs", "extra", "tools")}
    yield fields_of(found, {**kept, "tools": tools}, kept, system)


def _messages_in(value: Any) -> Iterator[Message]:
    """Yield the messages in a run's inputs or outputs, or in a row."""
    value = decoded(value)
    if not isinstance(value, Mapping):
        return
    listed = decoded(value.get("messages"))
    if isinstance(listed, list):
        inner = listed[0] if len(listed) == 1 and isinstance(listed[0], list) else listed
        yield from (_message(m) for m in inner)
    elif value.get("generations") is not None:
        generations = decoded(value["generations"])
        while isinstance(generations, list) and generations:
            generations = generations[0]
        if isinstance(generations, Mapping) and generations.get("message") is not None:
            yield _message(generations["message"])
        elif isinstance(generations, Mapping) and isinstance(generations.get("text"), str):
            yield {"role": "assistant", "content": generations["text"]}
    elif isinstance(value.get("output"), Mapping):
        yield _message(value["output"])


def _message(value: Any) -> Message:
    """Convert a LangChain message in any of its serialised forms to a chat message."""
    if not isinstance(value, Mapping):
        raise RowProblem(f"must be a message (an object), got {shown(value)}", "messages")
    body: Mapping[str, Any] = value
    kind = value.get("type")
    path = value.get("id")
    if isinstance(value.get("kwargs"), Mapping) and isinstance(path, list) and path:
        kind, body = path[-1], value["kwargs"]
    elif isinstance(value.get("data"), Mapping):
        body = value["data"]
    if isinstance(body.get("role"), str):
        return dict(body)
    given = _ROLES.get(str(kind), _ROLES.get(str(body.get("type"))))
    if given is None:
        raise RowProblem(f"must be a LangChain message, not the type {shown(kind)}", "messages")
    message: Message = {"role": given, "content": body.get("content")}
    calls = body.get("tool_calls")
    if isinstance(calls, list) and calls:
        message["tool_calls"] = [_call(c) for c in calls if isinstance(c, Mapping)]
    for name in ("tool_call_id", "name", "status"):
        if isinstance(body.get(name), str):
            message[name] = body[name]
    return message


def _call(call: Mapping[str, Any]) -> Row:
    function = {"name": call.get("name"), "arguments": call.get("args")}
    return {"id": call.get("id"), "type": "function", "function": function}
