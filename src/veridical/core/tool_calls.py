"""Tool calls and their results in conversations (OpenAI or Anthropic format).

Conversations come from files and clients: parts in any other format are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from veridical.core.prompt_text import message_text

_LONGEST = 20_000  # maximum characters of a result that are searched for an error
#: Beginning of a result that reports an error.
_ERROR = re.compile(
    r"\W{0,20}(?:\[?(?:error|exception|failed|failure|fatal|denied|unauthorized|forbidden|timeout|"
    r"traceback|invalid|bad request|permission denied|access denied|"
    r"could not|couldn't|cannot|can't|unable to|no such|not found|command not found|"
    r"internal server error)\b|[a-z_.]{0,60}(?:error|exception)\b|"
    r"(?:http(?:/\d(?:\.\d)?)?|status(?: code)?:?)\s?[45]\d\d\b)",
    re.IGNORECASE,
)
_WRONG = ("error", "errors", "exception", "failed", "failure", "fail")
_FINE = ("success", "succeeded", "ok")


class ToolCall(NamedTuple):
    """A tool call by an assistant.

    Attributes:
        message: index of the message in the conversation.
        name: name of the tool.
        arguments: text as written by the model, or the JSON of an object.
        result: the returned text; None without a result.
        failed: True if the result reports an error; None without a result.
    """

    message: int
    name: str
    arguments: str
    result: str | None = None
    failed: bool | None = None


class ToolResult(NamedTuple):
    """The result of a tool call.

    Attributes:
        message: index of the message in the conversation.
        id: id of the call that it answers, if given.
        name: name of the tool, if given.
    """

    message: int
    id: str | None
    name: str | None
    text: str
    failed: bool


def tool_calls(prompt: str | Sequence[dict[str, Any]] | None) -> list[ToolCall]:
    """Return the tool calls of a conversation, in order, each with its result. A result without an
    id belongs to the first open call of its tool, or of any tool if it names no tool."""
    if prompt is None or isinstance(prompt, str):
        return []
    calls: list[ToolCall] = []
    open_by_id: dict[str | None, list[int]] = {}
    for place, message in enumerate(prompt):
        if not isinstance(message, dict):
            continue
        for id, name, arguments in _calls_of(message):
            open_by_id.setdefault(id, []).append(len(calls))
            calls.append(ToolCall(place, name, arguments))
        for result in _results_of(place, message):
            if result.id is not None:
                waiting = open_by_id.get(result.id, [])
            else:
                waiting = [i for i in open_by_id.get(None, ()) if calls[i].name == result.name]
                waiting = waiting or open_by_id.get(None, [])
            if waiting:
                at = waiting[0]
                open_by_id[result.id].remove(at)
                calls[at] = calls[at]._replace(result=result.text, failed=result.failed)
    return calls


def tool_results(prompt: str | Sequence[dict[str, Any]] | None) -> list[ToolResult]:
    """Return the tool results of a conversation, in order."""
    if prompt is None or isinstance(prompt, str):
        return []
    messages = ((i, m) for i, m in enumerate(prompt) if isinstance(m, dict))
    return [result for place, message in messages for result in _results_of(place, message)]


def _calls_of(message: dict[str, Any]) -> Iterator[tuple[str | None, str, str]]:
    """Yield id, name and arguments of the calls in a message."""
    for call in _objects(message.get("tool_calls")):
        said = call.get("function") or call.get("custom") or call
        if isinstance(said, dict) and isinstance(said.get("name"), str):
            arguments = said.get("arguments", said.get("args", said.get("input")))
            yield _id(call.get("id")), said["name"], _text(arguments)
    legacy = message.get("function_call")
    if isinstance(legacy, dict) and isinstance(legacy.get("name"), str):
        yield None, legacy["name"], _text(legacy.get("arguments"))
    if message.get("type") == "function_call" and isinstance(message.get("name"), str):
        yield _id(message.get("call_id")), message["name"], _text(message.get("arguments"))
    for block in _objects(message.get("content")):
        kind, name = block.get("type"), block.get("name")
        if isinstance(kind, str) and kind.endswith("tool_use") and isinstance(name, str):
            yield _id(block.get("id")), name, _text(block.get("input"))


def _results_of(place: int, message: dict[str, Any]) -> Iterator[ToolResult]:
    role = message.get("role")
    name = message.get("name") if isinstance(message.get("name"), str) else None
    if role in ("tool", "function"):
        text = message_text(message.get("content"))
        failed = _says_failed(message) or tells_error(text)
        yield ToolResult(place, _id(message.get("tool_call_id")), name, text, failed)
    if message.get("type") == "function_call_output":
        text = _text(message.get("output"))
        yield ToolResult(place, _id(message.get("call_id")), name, text, tells_error(text))
    for block in _objects(message.get("content")):
        kind = block.get("type")
        if isinstance(kind, str) and kind.endswith("tool_result"):
            content = block.get("content")
            text = message_text(content)
            failed = _says_failed(block) or tells_error(text)
            yield ToolResult(place, _id(block.get("tool_use_id")), None, text, failed)


def tells_error(text: str) -> bool:
    """Return True if a tool's result reports an error.

    The beginning decides or, for a JSON object, keys such as ``error``, ``success`` and ``status``.

    >>> tells_error('{"error": null, "id": 7}'), tells_error('{"status": 404}')
    (False, True)
    """
    text = text[:_LONGEST].strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return _object_failed(value)
    return _ERROR.match(text) is not None


def _object_failed(value: dict[str, Any]) -> bool:
    by_name = {key.lower(): v for key, v in value.items()}
    if any(by_name.get(name) for name in _WRONG):
        return True
    if any(name in by_name and by_name[name] in (False, 0, "false") for name in _FINE):
        return True
    for name in ("status", "status_code", "statuscode", "code", "http_status"):
        status = by_name.get(name)
        if isinstance(status, str):
            if status.isdecimal() and len(status) == 3:
                status = int(status)
            elif status.lower() in (*_WRONG, "denied", "rejected", "timeout"):
                return True
        if isinstance(status, int) and 400 <= status <= 599:
            return True
    return bool(by_name.get("iserror") or by_name.get("is_error"))


def _says_failed(message: dict[str, Any]) -> bool:
    flagged = message.get("is_error") or message.get("isError")
    return flagged is True or message.get("status") == "error"


def _objects(value: Any) -> list[dict[str, Any]]:
    return [x for x in value if isinstance(x, dict)] if isinstance(value, list) else []


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)[:_LONGEST]
