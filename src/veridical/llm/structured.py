"""Strict parsing of JSON written by a model."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from veridical.core.messages import LlmError

_FENCE = "```"
_OPENED = re.compile(rf"{_FENCE}[A-Za-z]*[ \t]*\r?\n")
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def read_json(text: str, schema: dict[str, Any]) -> Any:
    """Return the one JSON value that is the whole of ``text``, or of its one code fence.

    Surrounding words, duplicate keys, NaN and infinities are refused, and nothing is repaired: one
    of two possible readings may be an attacker's.

    Args:
        schema: JSON schema of the value: ``type``, ``enum``, ``minimum``, ``maximum``,
            ``properties``, ``required``, ``additionalProperties: false``, ``items``, ``minItems``
            and ``maxItems`` are checked. 3.0 is an integer.

    Raises:
        LlmError: ``malformed``: it is not such a value; its ``text`` is the answer.
    """
    try:
        value = json.loads(
            _unfenced(text.strip()),
            object_pairs_hook=_unique,
            parse_constant=_not_a_number,
        )
        _check(value, schema, "the answer")
    except RecursionError:
        raise _malformed("nested too deeply", text) from None
    except ValueError as e:
        raise _malformed(str(e), text) from None
    return value


def _unfenced(body: str) -> str:
    """Return the content of the code fence that is the whole of ``body``, else ``body``."""
    opened = _OPENED.match(body)
    if opened is None or not body.endswith(_FENCE, opened.end()):
        return body
    inside = body[opened.end() : -len(_FENCE)].rstrip(" \t")
    return inside.removesuffix("\n").removesuffix("\r")


def _malformed(why: str, text: str) -> LlmError:
    return LlmError("malformed", f"the answer is not valid JSON for the schema: {why}", text=text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("duplicate key")
    return fields


def _not_a_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _check(value: Any, schema: dict[str, Any], where: str) -> None:
    kind = schema.get("type")
    if kind is not None and not _is(value, kind):
        raise ValueError(f"{where} must be of type {kind}")
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"{where} must be one of {', '.join(map(str, schema['enum']))}")
    if "minimum" in schema and value < schema["minimum"]:
        raise ValueError(f"{where} must not be under {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        raise ValueError(f"{where} must not be over {schema['maximum']}")
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        missing = [k for k in schema.get("required", ()) if k not in value]
        extra = [k for k in value if k not in fields]
        if missing:
            raise ValueError(f"{where} lacks {', '.join(missing)}")
        if extra and schema.get("additionalProperties") is False:
            raise ValueError(f"{where} has unexpected keys: {', '.join(extra)[:100]}")
        for key, item in value.items():
            _check(item, fields.get(key, {}), key)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            raise ValueError(f"{where} has {len(value)} items")
        for i, item in enumerate(value):
            _check(item, schema.get("items", {}), f"{where}[{i}]")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])
