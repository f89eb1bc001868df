"""Prompt, answer and sources of conversations in common API formats.

OpenAI chat and responses, Anthropic messages and their logged forms are first converted to OpenAI's
chat messages (:func:`from_chat`, :func:`from_responses`, :func:`from_anthropic`).
:func:`contexts_of` then extracts the sources: content parts of tool messages under their tool's
name, documents and, on request, the system prompt. The assistant's last message is the answer; the
messages before it are the prompt.

Texts are not altered. Errors are :class:`~veridical.io.problems.RowProblem` with the location.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from veridical.core.prompt_text import qualified
from veridical.io.problems import RowProblem
from veridical.text.display import shown

Message = dict[str, Any]
Context = dict[str, Any]

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_SYSTEM = ("system", "developer")
_TOOL = ("tool", "function")
#: Message parts that are not text; they are not read as evidence.
_NO_TEXT = frozenset(
    {"image", "image_url", "input_image", "audio", "input_audio", "output_audio", "video"}
    | {"file", "input_file", "thinking", "redacted_thinking", "reasoning", "computer_screenshot"}
    | {"tool_use", "server_tool_use", "tool_reference", "container_upload"}
)
_DOCUMENT = ("document", "search_result")
#: Fields with the text of a part, in order of preference.
_TEXTS = ("text", "content", "output", "result", "response", "snippet", "contents", "page_content")
_DEEPEST = 16  # maximum nesting of parts
#: Responses API calls that include their results.
_RESULTS = {
    "file_search_call": "results",
    "code_interpreter_call": "outputs",
    "mcp_call": "output",
    "web_search_call": "results",
}


def from_chat(messages: Any, where: str = "messages") -> list[Message]:
    """Check OpenAI chat messages and return them.

    Args:
        where: name of the list in errors.

    Raises:
        RowProblem: the value is not a list of messages.
    """
    found = []
    for i, message in enumerate(_list(messages, where)):
        place = f"{where}[{i}]"
        if not isinstance(message, dict):
            raise RowProblem(f"must be a chat message (an object), got {shown(message)}", place)
        role = message.get("role")
        if role not in ROLES:
            raise RowProblem(
                f"must be one of {', '.join(ROLES)}, got {shown(role)}", f"{place}.role"
            )
        _check_content(message.get("content"), f"{place}.content", of_tool=role in _TOOL)
        calls = message.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            raise RowProblem(f"must be a list, got {shown(calls)}", f"{place}.tool_calls")
        found.append(message)
    return found


def from_anthropic(system: Any, messages: Any, where: str = "messages") -> list[Message]:
    """Convert Anthropic messages to chat messages.

    ``tool_result`` blocks, also those of server tools, become tool messages; ``tool_use`` blocks
    become tool calls.

    Args:
        system: the request's ``system``: text or blocks; None if it has no such field.

    Raises:
        RowProblem: they are not such messages.
    """
    found: list[Message] = []
    if system is not None:
        _check_content(system, "system")
        found.append({"role": "system", "content": system})
    for i, message in enumerate(_list(messages, where)):
        place = f"{where}[{i}]"
        if not isinstance(message, dict):
            raise RowProblem(f"must be a message (an object), got {shown(message)}", place)
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant", "system"):
            raise RowProblem(
                f"must be one of user, assistant, system, got {shown(role)}", f"{place}.role"
            )
        _check_content(content, f"{place}.content")
        if isinstance(content, list):
            found += _of_blocks(str(role), content)
        else:
            found.append({"role": role, "content": content})
    return found


def _of_blocks(role: str, blocks: Sequence[Any]) -> Iterator[Message]:
    """Yield the messages of one Anthropic message. Text after a tool's result is a separate
    message."""
    parts: list[Any] = []
    calls: list[Any] = []

    def flush() -> Iterator[Message]:
        if parts or calls:
            message: Message = {"role": role, "content": list(parts) or None}
            if calls:
                message["tool_calls"] = list(calls)
            yield message
            parts.clear()
            calls.clear()

    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind.endswith("tool_use"):
            calls.append(
                {
                    "id": block.get("id"),
                    "type": "function",
                    "function": {
                        "name": block.get("name"),
                        "arguments": json.dumps(block.get("input"), ensure_ascii=False),
                    },
                }
            )
        elif isinstance(kind, str) and kind.endswith("tool_result"):
            yield from flush()
            yield {
                "role": "tool",
                "tool_call_id": block.get("tool_use_id"),
                "content": block.get("content"),
            }
        else:
            parts.append(block)
    yield from flush()


def from_responses(instructions: Any, items: Any, where: str = "input") -> list[Message]:
    """Convert items of OpenAI's responses API to chat messages.

    ``function_call_output`` items become tool messages, ``function_call`` items tool calls.

    Args:
        instructions: the request's system prompt; None if it has no such field.
        items: a text, or a list of items.

    Raises:
        RowProblem: they are not such items.
    """
    found: list[Message] = []
    if instructions is not None:
        _check_content(instructions, "instructions")
        found.append({"role": "system", "content": instructions})
    if isinstance(items, str):
        return [*found, {"role": "user", "content": items}]
    for i, item in enumerate(_list(items, where)):
        place = f"{where}[{i}]"
        if not isinstance(item, dict):
            raise RowProblem(f"must be an item (an object), got {shown(item)}", place)
        kind = item.get("type", "message")
        if kind == "message":
            found += from_chat([item], where)
        elif not isinstance(kind, str):
            raise RowProblem(f"must be text, got {shown(kind)}", f"{place}.type")
        elif kind.endswith("call_output"):
            call = item.get("call_id")
            found.append({"role": "tool", "tool_call_id": call, "content": item.get("output")})
        elif kind.endswith("call"):
            name = item.get("name") or kind.removesuffix("_call")
            call = item.get("call_id") or item.get("id")
            function = {"name": name, "arguments": item.get("arguments")}
            calls = [{"id": call, "type": "function", "function": function}]
            found.append({"role": "assistant", "content": None, "tool_calls": calls})
            result = item.get(_RESULTS.get(kind, ""))
            if result:
                found.append({"role": "tool", "tool_call_id": call, "content": result})
    return found


def answer_of(messages: Sequence[Message], where: str = "messages") -> tuple[list[Message], str]:
    """Return the messages before the assistant's last one, and its text ("" if it only calls
    tools).

    Raises:
        RowProblem: there is no assistant message.
    """
    for i in range(len(messages) - 1, -1, -1):
        if messages[i].get("role") == "assistant":
            return list(messages[:i]), said(messages[i])
    raise RowProblem("has no assistant message, so there is no answer", where)


def said(message: Message) -> str:
    """Return the text of an assistant message: all text parts, or a refusal if there is no other
    text."""
    content = message.get("content")
    if isinstance(content, list):
        content = _joined(content)
    if content:
        return str(content)
    refusal = message.get("refusal")
    return refusal if isinstance(refusal, str) else ""


def _joined(parts: Sequence[Any]) -> str:
    """Join the texts of parts. Adjacent parts form one text, as in an answer with citations."""
    text, apart = "", False
    for part in parts:
        piece = part if isinstance(part, str) else None
        if isinstance(part, dict) and part.get("type") in (None, "text", "output_text"):
            piece = part.get("text")
        elif isinstance(part, dict) and part.get("type") == "refusal":
            piece = part.get("refusal")
        if not isinstance(piece, str):
            apart = bool(text)
            continue
        text += ("\n\n" if apart and piece else "") + piece
        apart = apart and not piece
    return text


def contexts_of(
    messages: Sequence[Message], documents: Any = None, *, system: bool = False
) -> list[Context]:
    """Return the sources for an answer to the messages, in order, after the documents.

    Args:
        messages: result of one of the functions above.
        documents: document field of a request or row; None if it has no such field.
        system: True to include the system prompt as a source named ``system``.

    Raises:
        RowProblem: the documents are invalid.
    """
    found = documents_of(documents)
    names = _tool_names(messages)
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role in _TOOL:
            given = message.get("name") or message.get("function")
            call = message.get("tool_call_id")
            name = given if isinstance(given, str) else names.get(str(call), call)
            texts = [text for _, text in _texts(content)]
        elif role in _SYSTEM and system:
            name, texts = "system", [text for _, text in _texts(content)]
        else:
            found += [{"id": n, "text": t} for n, t in _documents_among(content)]
            continue
        found += [{"id": name if isinstance(name, str) else "tool", "text": t} for t in texts]
    return found


def documents_of(value: Any, where: str = "documents") -> list[Context]:
    """Return the contexts in a document field: texts, or objects with a text and optionally an id,
    a title or a name (also ``{"id": ..., "data": {...}}``).

    Raises:
        RowProblem: the field contains something else.
    """
    if value is None:
        return []
    found: list[Context] = []
    for i, document in enumerate(
        [value] if isinstance(value, (str, dict)) else _list(value, where)
    ):
        place = f"{where}[{i}]"
        if isinstance(document, str):
            found.append({"text": document})
            continue
        if not isinstance(document, dict):
            raise RowProblem(f"must be text or an object with a text, got {shown(document)}", place)
        inner = document.get("data")
        body: Mapping[str, Any] = {**document, **inner} if isinstance(inner, dict) else document
        texts = [text for _, text in _texts(_without_type(body))]
        if isinstance(inner, str):
            texts = [inner]
        if not texts:
            raise RowProblem("must be text or an object with a text", place)
        names = (body.get(key) for key in ("id", "doc_id", "title", "name", "source", "url"))
        name = next((n for n in names if isinstance(n, (str, int))), None)
        found += [{"text": t} if name is None else {"id": name, "text": t} for t in texts]
    return found


def _without_type(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document as a part whose text is one of its usual fields; otherwise all of it is
    text."""
    for key in _TEXTS:
        if isinstance(body.get(key), (str, list)):
            return {key: body[key]}
    if isinstance(body.get("data"), dict):
        return {"text": json.dumps(body["data"], ensure_ascii=False)}
    return {"type": "image"}


def _tool_names(messages: Sequence[Message]) -> dict[str, str]:
    """Return the tool of each call, by the call's id."""
    names = {}
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if not isinstance(call, dict):
                continue
            function = call.get("function")
            name = function.get("name") if isinstance(function, dict) else function
            name = name or call.get("name")
            if isinstance(name, str):
                names[str(call.get("id"))] = name
    return names


def _documents_among(content: Any) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the documents among the parts of a message."""
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") in _DOCUMENT:
            yield from _texts(part)
        elif (found := qualified(part)) is not None and found[0] == "grounding_source":
            yield found


def _texts(value: Any, name: str = "document", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every text of a content, with the name of its document. An object of unknown form is
    given as JSON, because the model read it so."""
    if depth > _DEEPEST or value is None:
        return
    if isinstance(value, str):
        if value.strip():
            yield name, value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, name, depth + 1)
    elif isinstance(value, dict):
        yield from _of_part(value, name, depth)
    else:
        yield name, json.dumps(value, ensure_ascii=False)


def _of_part(part: Mapping[str, Any], name: str, depth: int) -> Iterator[tuple[str, str]]:
    kind = part.get("type")
    if kind in _NO_TEXT:
        return
    if kind in _DOCUMENT:
        source, title = part.get("source"), part.get("title")
        named = title or (source if isinstance(source, str) else None)
        name = named if isinstance(named, str) else name
        if isinstance(source, dict):
            if source.get("type") in ("text", "content"):
                inner = source.get("data", source.get("content"))
                yield from _texts(inner, name, depth + 1)
            return
    if kind == "resource" and isinstance(part.get("resource"), dict):
        yield from _texts(part["resource"].get("text"), name, depth + 1)
        return
    known = {key: part[key] for key in _TEXTS if isinstance(part.get(key), (str, list, dict))}
    if isinstance(kind, str) or set(part) == set(known):
        for inner in known.values():
            yield from _texts(inner, name, depth + 1)
            return
    plain = {k: v for k, v in part.items() if k not in ("type", "cache_control")}
    plain.pop("encrypted_content", None)
    if plain:
        yield name, json.dumps(plain, ensure_ascii=False)


def _check_content(content: Any, where: str, *, of_tool: bool = False) -> None:
    if content is None or isinstance(content, str) or (of_tool and isinstance(content, dict)):
        return
    if not isinstance(content, list):
        raise RowProblem(f"must be text or a list of parts, got {shown(content)}", where)
    for i, part in enumerate(content):
        if not isinstance(part, (str, dict)):
            raise RowProblem(f"must be text or an object, got {shown(part)}", f"{where}[{i}]")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise RowProblem(f"must be a list, got {shown(value)}", where)
    return value
