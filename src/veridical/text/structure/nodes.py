"""Trees of values with places, for JSON, YAML and XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

NodeKind = Literal["object", "array", "text", "number", "boolean", "null"]

#: Maximum levels of nesting; deeper text does not count as structured.
MAX_DEPTH = 64

_PLAIN_NAME = re.compile(r"[^\W\d][\w-]*")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
TRUE = frozenset(["true", "yes", "✓", "✔", "✅"])
_BOOLEANS = TRUE | {"false", "no", "✗", "✘", "❌"}
_NULLS = frozenset(["", "null", "~", "nil", "nan", "undefined", "n/a", "-", "–", "—"])


@dataclass(slots=True)
class Node:
    """A value at ``[start:end]``; for a string, the text between its quotes.

    Attributes:
        value: the text of a leaf, unescaped.
        children: (name, node) of an object, ("", node) of an array.
    """

    kind: NodeKind
    start: int
    end: int
    value: str = ""
    children: list[tuple[str, Node]] = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        """Return True if it is a single value."""
        return self.kind not in ("object", "array")


def scalar_kind(text: str) -> NodeKind:
    """Return the kind of an unquoted value.

    >>> [scalar_kind(x) for x in ("-1.5", "true", "~", "10 am")]
    ['number', 'boolean', 'null', 'text']
    """
    bare = text.strip()
    if bare.lower() in _NULLS:
        return "null"
    if bare.lower() in _BOOLEANS:
        return "boolean"
    return "number" if _NUMBER.fullmatch(bare) else "text"


def join_name(path: str, name: str) -> str:
    """Return the path of a value by its name within the value at ``path``.

    >>> join_name("invoice", "total"), join_name("", "a.b"), join_name("x", "")
    ('invoice.total', '["a.b"]', 'x[""]')
    """
    if _PLAIN_NAME.fullmatch(name):
        return f"{path}.{name}" if path else name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{path}["{escaped}"]'


def leaves_of(
    node: Node, path: str = "", names: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...], Node]]:
    """Yield path, names from the outermost, and node of each leaf, in order."""
    if node.is_leaf:
        yield path, names, node
        return
    for i, (name, child) in enumerate(node.children):
        if node.kind == "array":
            yield from leaves_of(child, f"{path}[{i}]", names)
        else:
            yield from leaves_of(child, join_name(path, name), (*names, name))


def words_set(words: str) -> frozenset[str]:
    """Return the words of a table."""
    return frozenset(words.split())
