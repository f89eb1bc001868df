"""Readers of logged conversations: OpenAI chat and responses, Anthropic messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from veridical.io.cells import written_list
from veridical.io.conversations import (
    Message,
    answer_of,
    contexts_of,
    documents_of,
    from_anthropic,
    from_chat,
    from_responses,
    said,
)
from veridical.io.lines import from_json
from veridical.io.problems import RowProblem
from veridical.text.display import named, shown

Row = dict[str, Any]

#: Record fields that a conversation row may have itself.
_OWN = ("reference", "label", "samples", "sentences", "unit_labels")
_REQUESTS = ("request", "body", "input")
_REPLIES = ("response", "completion", "output")
_SOURCES = ("documents", "contexts", "context")


def openai_chat(row: Row, index: int, *, system: bool = False) -> Iterable[Row]:
    """Read OpenAI chat completions and responses: ``messages`` or ``input``, answered in the row or
    by the last message.

    A row is the messages, or a request with its reply: ``choices`` or ``output`` in the row itself,
    or in ``request`` and ``response``. Further choices are samples.
    """
    request, reply = _pair(row)
    if "messages" not in request and ("input" in request or "instructions" in request):
        where = "input"
        messages = from_responses(request.get("instructions"), decoded(request.get("input")), where)
        extra: Row = {}
        if isinstance(reply, Mapping) and reply.get("output") is not None:
            output = from_responses(None, reply["output"], "output")
            messages, where = [*messages, *output], "output"
        elif isinstance(reply, str):
            messages.append({"role": "assistant", "content": reply})
    else:
        where = "messages"
        messages = from_chat(decoded(_need(request, row, "messages")), where)
        answers, extra = _choices(reply)
        messages += answers
    yield fields_of(messages, row, request, system, where, **extra)


def anthropic(row: Row, index: int, *, system: bool = False) -> Iterable[Row]:
    """Read Anthropic messages: ``messages``, answered by ``content`` of the row, by ``response``,
    or by the last message.

    ``tool_result`` and ``document`` blocks are contexts.
    """
    request, reply = _pair(row)
    messages = from_anthropic(
        decoded(request.get("system")), decoded(_need(request, row, "messages"))
    )
    if isinstance(reply, str):
        messages.append({"role": "assistant", "content": reply})
    elif isinstance(reply, Mapping) and reply.get("content") is not None:
        turn = {"role": "assistant", "content": reply["content"]}
        answer = from_anthropic(None, [turn], "response")
        messages += answer
    yield fields_of(messages, row, request, system)


def fields_of(
    messages: Sequence[Message],
    row: Mapping[str, Any],
    request: Mapping[str, Any],
    system: bool,
    where: str = "messages",
    **more: Any,
) -> Row:
    """Make the record fields of a conversation and the rest of its row."""
    prompt, response = answer_of(messages, where)
    fields: Row = {"id": row.get("id"), "prompt": prompt, "response": response, **more}
    sources: list[Any] = []
    for holder in (row,) if request is row else (row, request):
        for name in _SOURCES:
            sources += documents_of(decoded(holder.get(name)), name)
    fields["contexts"] = [*sources, *contexts_of(prompt, system=system)]
    for name in _OWN:
        if row.get(name) is not None:
            fields[name] = row[name]
    used = {"id", "messages", "choices", "system", "instructions", "content", "meta"}
    used.update((*_OWN, *_SOURCES, *_REQUESTS, *_REPLIES))
    meta = {k: v for k, v in row.items() if k not in used}
    own = row.get("meta")
    meta = {**meta, **own} if isinstance(own, dict) else meta
    fields["meta"] = {**meta, **_tools(messages, row, request)}
    return fields


def _tools(messages: Sequence[Message], row: Mapping[str, Any], request: Mapping[str, Any]) -> Row:
    """Return the tool definitions, and the tool calls of the answer itself."""
    tools = decoded(row.get("tools") or request.get("tools"))
    answer = next(m for m in reversed(messages) if m.get("role") == "assistant")
    found = {"tools": tools, "tool_calls": answer.get("tool_calls")}
    return {name: value for name, value in found.items() if value}


def decoded(value: Any) -> Any:
    """Decode a value that a log holds as JSON text; return any other value unaltered."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return from_json(value.encode("utf-8", "surrogatepass"), "")
        except RowProblem:
            written = written_list(value)
            return value if written is None or written.texts is None else written.texts
    return value


def _pair(row: Row) -> tuple[Mapping[str, Any], Any]:
    """Return request and reply of a row; the row itself if it contains them directly."""
    request: Mapping[str, Any] = row
    for name in ("request", "body"):
        inner = decoded(row.get(name))
        if isinstance(inner, Mapping) and ("messages" in inner or "input" in inner):
            request = inner
            break
    inner = decoded(row.get("input"))
    if request is row and "messages" not in row and isinstance(inner, Mapping):
        request = inner
    for name in _REPLIES:
        reply = decoded(row.get(name))
        if name == "output" and isinstance(reply, list):
            continue  # items of the responses API
        if isinstance(reply, Mapping) and isinstance(reply.get("body"), Mapping):
            reply = reply["body"]
        if isinstance(reply, (str, Mapping)):
            return request, reply
        if reply is not None:
            raise RowProblem(f"must be text or an object, got {shown(reply)}", name)
    return request, row


def _need(request: Mapping[str, Any], row: Row, name: str) -> Any:
    if request.get(name) is None:
        raise RowProblem(f"is missing; the row has {named(row) or 'no columns'}", name)
    return request[name]


def _choices(reply: Any) -> tuple[list[Message], Row]:
    """Return the answer of a chat API reply, with its log-probabilities and samples."""
    if isinstance(reply, str):
        return [{"role": "assistant", "content": reply}], {}
    choices = reply.get("choices")
    if choices is None:
        lone = {"role": "assistant", **reply}
        plain = lone["role"] == "assistant" and isinstance(lone.get("content"), (str, list))
        return ([lone] if plain and "messages" not in reply else []), {}
    if not isinstance(choices, list) or not choices:
        raise RowProblem(f"must be a list of answers, got {shown(choices)}", "choices")
    found = list(_messages(choices))
    extra: Row = {}
    if len(found) > 1:
        extra["samples"] = [said(m) for m in found[1:]]
    logprobs = choices[0].get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if isinstance(tokens, list) and tokens:
        extra["logprobs"] = tokens
    return found[:1], extra


def _messages(choices: Sequence[Any]) -> Iterator[Message]:
    for i, choice in enumerate(choices):
        where = f"choices[{i}]"
        if not isinstance(choice, dict):
            raise RowProblem(f"must be an object, got {shown(choice)}", where)
        message = choice.get("message")
        if message is None and isinstance(choice.get("text"), str):
            message = {"content": choice["text"]}
        if not isinstance(message, dict):
            raise RowProblem(f"must be an object, got {shown(message)}", f"{where}.message")
        yield from from_chat([{"role": "assistant", **message}], f"{where}.message")
