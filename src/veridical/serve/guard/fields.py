"""Unchecked fields of replies, and those allowed in a held answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, get_args

#: Kinds of content that is not checked. A held answer contains those that ``--pass-unchecked``
#: names.
Kind = Literal["reasoning", "tool_calls", "audio", "annotations", "other"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: Names of the kinds in records and messages.
NAMES: dict[str, str] = {
    "reasoning": "reasoning",
    "tool_calls": "tool calls",
    "audio": "audio",
    "annotations": "annotations",
    "other": "other fields",
}
#: Fields of an upstream's error that are passed on; others may repeat text of the model.
_OF_ERROR = ("message", "type", "param", "code", "status")
_MOST_MESSAGE_CHARACTERS = 2000
_TOKEN = re.compile(r"[A-Za-z0-9_.:/@+=-]{0,128}")
_MOST_DEPTH = 8


def is_plain(value: Any) -> bool:
    """Return True if a value is a number, a truth value, null, or a name without spaces."""
    if isinstance(value, str):
        return _TOKEN.fullmatch(value) is not None
    return value is None or isinstance(value, (bool, int, float))


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value without its texts: of objects and lists, what is plain in them."""
    if depth > _MOST_DEPTH:
        return None
    if isinstance(value, Mapping):
        return {
            k: plain(v, depth + 1)
            for k, v in value.items()
            if is_plain(k) and (is_plain(v) or isinstance(v, (Mapping, list)))
        }
    if isinstance(value, list):
        return [plain(v, depth + 1) for v in value if is_plain(v) or isinstance(v, (Mapping, list))]
    return value if is_plain(value) else None


def plain_fields(found: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of these names, without texts."""
    kept = {k: found[k] for k in names if k in found}
    return {k: plain(v) for k, v in kept.items() if is_plain(v) or isinstance(v, (Mapping, list))}


def filled(value: Any) -> bool:
    """Return True if a field is not empty."""
    return value not in (None, "", [], {})


def others(found: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the non-empty fields without a known name."""
    return {k: v for k, v in found.items() if k not in known and filled(v)}


def error_fields(error: Any) -> dict[str, Any]:
    """Return the fields of an upstream's error that are passed on."""
    if isinstance(error, str):
        return {"message": error[:_MOST_MESSAGE_CHARACTERS]}
    if not isinstance(error, Mapping):
        return {"message": "the upstream reported an error"}
    found = {k: error[k] for k in _OF_ERROR if k in error}
    message = found.get("message")
    made = plain_fields(found, _OF_ERROR)
    if isinstance(message, str):
        made["message"] = message[:_MOST_MESSAGE_CHARACTERS]
    return made
