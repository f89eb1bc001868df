"""Rows that are prompts to be answered by a model."""

from __future__ import annotations

from typing import Any

from veridical.core.records import Record
from veridical.io.problems import RowProblem
from veridical.text.display import shown

_ROLES = ("system", "developer", "user", "assistant", "tool")
_IMAGE_SCHEMES = ("data:image/", "http://", "https://")


class Unanswered(Record):
    """A record whose response is still to be sampled; until then it is empty."""

    response: str = ""


def messages_of(prompt: Any, system: str | None = None) -> tuple[dict[str, Any], ...]:
    """Return ``prompt`` (text or chat messages) as the conversation for a chat model.

    Args:
        system: system message to put first, unless there is one.

    Raises:
        RowProblem: there is nothing to answer, or a message is invalid. Images must be data URLs
            or web addresses: a row must not send away a file of this machine.
    """
    if prompt is None:
        raise RowProblem("is missing: there is nothing to ask", "prompt")
    if isinstance(prompt, str):
        if not prompt.strip():
            raise RowProblem("is blank: there is nothing to ask", "prompt")
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    else:
        messages = [_message(m, f"prompt[{i}]") for i, m in enumerate(prompt)]
        if not messages:
            raise RowProblem("is an empty list: there is nothing to ask", "prompt")
    has_system = any(m["role"] in ("system", "developer") for m in messages)
    if system is not None and not has_system:
        messages.insert(0, {"role": "system", "content": system})
    return tuple(messages)


def _message(message: Any, where: str) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise RowProblem(f"must be a chat message (an object), got {shown(message)}", where)
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        raise RowProblem(f"must be one of {', '.join(_ROLES)}, got {shown(role)}", f"{where}.role")
    if isinstance(content, str):
        return message
    if not isinstance(content, list) or not content:
        what = f"must be text or a list of parts, got {shown(content)}"
        raise RowProblem(what, f"{where}.content")
    for i, part in enumerate(content):
        _check_part(part, f"{where}.content[{i}]")
    return message


def _check_part(part: Any, where: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return
    image = part.get("image_url") if kind == "image_url" else None
    url = image.get("url") if isinstance(image, dict) else None
    if isinstance(url, str):
        if url.lower().startswith(_IMAGE_SCHEMES):
            return
        raise RowProblem(
            f"must be a data:image/... URL or a web address, got {shown(url)}",
            f"{where}.image_url.url",
        )
    raise RowProblem(
        'must be {"type": "text", "text": ...} or {"type": "image_url", "image_url": '
        f'{{"url": ...}}}}, got {shown(part)}',
        where,
    )
