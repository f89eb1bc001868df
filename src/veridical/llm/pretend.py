"""Placeholder replies of the right form, for dry runs."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from veridical.core.messages import ChatRequest, Reply, Usage

_DEEPEST = 16


def pretend(request: ChatRequest, usage: Usage) -> Reply:
    """Return a reply that ``request``'s schema allows.

    Without a schema: a verdict if one is requested, else a word. Different conversations yield
    different texts, so that requests about them are counted separately.
    """
    text = request.verdict or "Yes."
    if request.schema is not None:
        asked = hashlib.blake2b(repr(request.messages).encode(), digest_size=2).hexdigest()
        text = json.dumps(instance(request.schema, place=asked, verdict=request.verdict))
    return Reply(text, "stop", usage=usage)


def instance(
    schema: dict[str, Any], depth: int = 0, place: str = "", verdict: str | None = None
) -> Any:
    """Return a small value that a plain JSON schema allows (no ``$ref``, no conditions).

    Texts in an array end in their position, so that no two are alike. ``verdict`` is chosen
    where it is allowed.
    """
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return verdict if verdict in schema["enum"] else schema["enum"][0]
    for word in ("anyOf", "oneOf"):
        if schema.get(word) and depth < _DEEPEST:
            return instance(schema[word][0], depth + 1, place, verdict)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind == "object" and depth < _DEEPEST:
        properties = schema.get("properties", {})
        return {
            name: instance(part, depth + 1, place, verdict) for name, part in properties.items()
        }
    if kind == "array" and depth < _DEEPEST:
        items = schema.get("items") or {}
        count = schema.get("minItems", 1)
        return [instance(items, depth + 1, f"{place}{i}", verdict) for i in range(count)]
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("maximum", 0))
    plain: dict[Any, Any] = {"boolean": True, "null": None, "object": {}, "array": []}
    return plain.get(kind, "x" * max(1, schema.get("minLength", 1)) + place)
