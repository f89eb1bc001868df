"""Validation of tool call arguments against JSON schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from veridical.core.tool_calls import ToolCall

_MAX_DEPTH = 8
_MAX_VALUES = 200
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class SchemaFlaw(NamedTuple):
    """A schema violation of a call.

    ``argument`` is a path such as ``guests[0].name``; empty for the call itself.
    """

    argument: str
    label: str
    why: str


class ArgumentValue(NamedTuple):
    """A value of a call, with its path and its status in the schema.

    Attributes:
        chosen: True if the schema lists it, or it is the schema's default.
    """

    argument: str
    value: str | int | float
    required: bool
    chosen: bool


class CheckedCall(NamedTuple):
    """The schema violations of a call, and the values to find in the conversation."""

    flaws: list[SchemaFlaw]
    values: list[ArgumentValue]


def tool_schemas(tools: Any) -> dict[str, dict[str, Any]] | None:
    """Return the parameter schema of each tool by name; None if no tools are given.

    OpenAI's, Anthropic's and MCP's forms are supported: the schema is ``parameters`` or
    ``input_schema``, in the tool or in its ``function``.
    """
    if isinstance(tools, str):
        try:
            tools = json.loads(tools)
        except (ValueError, RecursionError):
            return None
    if not isinstance(tools, list):
        return None
    found = {}
    for tool in tools:
        said = tool.get("function", tool) if isinstance(tool, dict) else None
        if isinstance(said, dict) and isinstance(said.get("name"), str):
            keys = ("parameters", "input_schema", "inputSchema")
            schema: dict[str, Any] = next(
                (said[k] for k in keys if isinstance(said.get(k), dict)), {}
            )
            found[said["name"]] = schema
    return found or None


def checked(call: ToolCall, schemas: Mapping[str, dict[str, Any]] | None) -> CheckedCall:
    """Check a call against its tool's schema; without schemas, only that it can be parsed."""
    if schemas is not None and call.name not in schemas:
        known = ", ".join(sorted(schemas)[:10])
        return CheckedCall(
            [SchemaFlaw("", "unknown_tool", f"no tool {call.name!r}; available: {known}")], []
        )
    try:
        arguments = json.loads(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return CheckedCall(
            [SchemaFlaw("", "invalid_arguments", "the arguments are not a JSON object")], []
        )
    schema = {} if schemas is None else schemas[call.name]
    made = CheckedCall([], [])
    for flaw_or_value in _walk(arguments, schema, "", True, False, 0):
        if isinstance(flaw_or_value, SchemaFlaw):
            made.flaws.append(flaw_or_value)
        elif len(made.values) < _MAX_VALUES:
            made.values.append(flaw_or_value)
    return made


def _walk(
    value: Any, schema: Mapping[str, Any], path: str, required: bool, chosen: bool, depth: int
) -> Iterator[SchemaFlaw | ArgumentValue]:
    if depth > _MAX_DEPTH:
        return
    if (flaw := _wrong_type(value, schema, path)) is not None:
        yield flaw
        return
    choices = schema.get("enum")
    if "const" in schema:
        choices = [schema["const"]]
    if isinstance(choices, list):
        chosen = True
        if value not in choices:
            yield SchemaFlaw(path, "wrong_enum", f"{value!r} is not one of {choices[:10]!r}")
            return
    chosen = chosen or ("default" in schema and schema["default"] == value)
    if isinstance(value, dict):
        yield from _walk_object(value, schema, path, required, depth)
    elif isinstance(value, list):
        items = schema.get("items")
        inner = items if isinstance(items, dict) else {}
        for i, item in enumerate(value):
            yield from _walk(item, inner, f"{path}[{i}]", required, chosen, depth + 1)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield ArgumentValue(path, value, required, chosen)


def _walk_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], path: str, required: bool, depth: int
) -> Iterator[SchemaFlaw | ArgumentValue]:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    listed = schema.get("required")
    needed = [n for n in listed if isinstance(n, str)] if isinstance(listed, list) else []
    before = f"{path}." if path else ""
    for name in needed:
        if name not in value:
            yield SchemaFlaw(f"{before}{name}", "missing_argument", "the schema requires it")
    extra = schema.get("additionalProperties", not known)
    for name, inner in value.items():
        place = f"{before}{name}"
        if name in known:
            of = known[name] if isinstance(known[name], dict) else {}
        elif extra is False:
            yield SchemaFlaw(place, "extra_argument", "the schema does not define it")
            continue
        else:
            of = extra if isinstance(extra, dict) else {}
        yield from _walk(inner, of, place, required and name in needed, False, depth + 1)


def _wrong_type(value: Any, schema: Mapping[str, Any], path: str) -> SchemaFlaw | None:
    """Return a flaw if a value matches no type in the schema."""
    options = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(options, list):
        flaws = [_wrong_type(value, o, path) for o in options if isinstance(o, dict)]
        return flaws[0] if flaws and all(flaws) else None
    wanted = schema.get("type")
    names = wanted if isinstance(wanted, list) else [wanted]
    types = [t for name in names if isinstance(name, str) for t in _TYPES.get(name, (object,))]
    if not types:
        return None
    whole = isinstance(value, float) and value.is_integer() and int in types
    if isinstance(value, bool):
        right = bool in types or object in types
    else:
        right = isinstance(value, tuple(types)) or whole
    if right:
        return None
    return SchemaFlaw(
        path, "wrong_type", f"{_shown(value)} is not of type {' or '.join(map(str, names))}"
    )


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:79] + "…"
