"""JSON parser that keeps the place of each value."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from veridical.text.structure.nodes import MAX_DEPTH, Node

_TOKEN = re.compile(
    r'\s*(?P<token>"(?:[^"\\\n]|\\.)*"|[{}\[\],:]|-?\d[\d.eE+-]*|true|false|null|NaN|-?Infinity)',
)
_OPENING = re.compile(r'\{\s*(?="|\})|\[(?=\s*(?:["{\[\]]|-?\d|true\b|false\b|null\b))')
_SPACE = re.compile(r"\s*")
_ENDS = {"{": "}", "[": "]"}


class JsonText(NamedTuple):
    """A JSON value; ``end`` is the end of its text."""

    node: Node
    start: int
    end: int


class _Broken(Exception):
    """The text is not JSON from ``at`` on."""

    def __init__(self, at: int) -> None:
        self.at = at


def find_json(text: str, start: int = 0, stop: int | None = None) -> list[JsonText]:
    """Return the JSON objects and arrays in ``text[start:stop]``, in order.

    A comma before a closing bracket is ignored. A truncated object at the end of the text counts as
    far as it goes.
    """
    stop = len(text) if stop is None else stop
    found: list[JsonText] = []
    at = start
    while (opening := _OPENING.search(text, at, stop)) is not None:
        place = opening.start()
        try:
            node, end = _value(text, place, stop)
        except _Broken as broken:
            at = max(broken.at, place + 1)
            continue
        found.append(JsonText(node, place, end))
        at = end
    return found


def _value(text: str, at: int, stop: int) -> tuple[Node, int]:
    """Parse the object or array at ``at`` without recursion; return it and its end."""
    root: Node | None = None
    open_nodes: list[Node] = []
    name = ""
    state = "value"  # expected next: value, first, name, colon, next
    while True:
        token = _TOKEN.match(text, at, stop)
        if token is None:
            cut = not text[at:stop].strip() or _cut_string(text, at, stop)
            if root is not None and cut and root.kind == "object" and root.children:
                rest = text[at:stop].strip()
                if rest and state == "value":  # a string truncated by the end of the text
                    begin = text.index(rest, at) + 1
                    name = name if open_nodes[-1].kind == "object" else ""
                    cut_node = Node("text", begin, begin + len(rest) - 1, rest[1:])
                    open_nodes[-1].children.append((name, cut_node))
                for node in open_nodes:
                    node.end = stop
                return root, stop
            raise _Broken(_SPACE.match(text, at).end() if at < stop else stop)  # type: ignore[union-attr]
        mark, begin, at = token["token"], token.start("token"), token.end()
        top = open_nodes[-1] if open_nodes else None
        if mark in "}]":
            closes = top is not None and _ENDS["{" if top.kind == "object" else "["] == mark
            if not closes or state in ("colon",) or (state == "value" and top.kind == "object"):  # type: ignore[union-attr]
                raise _Broken(begin)
            done = open_nodes.pop()
            done.end = at
            if not open_nodes:
                return done, at
            state = "next"
        elif state == "next":
            if mark != ",":
                raise _Broken(begin)
            state = "name" if top is not None and top.kind == "object" else "value"
        elif state in ("name", "first") and top is not None and top.kind == "object":
            if mark[0] != '"':
                raise _Broken(begin)
            name = _unescaped(mark)
            state = "colon"
        elif state == "colon":
            if mark != ":":
                raise _Broken(begin)
            state = "value"
        elif mark in ",:":
            raise _Broken(begin)
        else:
            node = _node(mark, begin, at)
            if top is not None:
                top.children.append((name if top.kind == "object" else "", node))
            else:
                root = node
            if mark in "{[":
                if len(open_nodes) == MAX_DEPTH:
                    raise _Broken(begin)
                open_nodes.append(node)
                state = "first" if mark == "{" else "value"
            else:
                state = "next"


def _cut_string(text: str, at: int, stop: int) -> bool:
    """Return True if the text ends within a string."""
    rest = text[at:stop].lstrip()
    return rest.startswith('"') and "\n" not in rest


def _node(mark: str, start: int, end: int) -> Node:
    if mark == "{":
        return Node("object", start, end)
    if mark == "[":
        return Node("array", start, end)
    if mark[0] == '"':
        return Node("text", start + 1, end - 1, _unescaped(mark))
    if mark in ("true", "false"):
        return Node("boolean", start, end, mark)
    if mark in ("null", "NaN"):
        return Node("null", start, end, mark)
    return Node("number", start, end, mark)


def _unescaped(string: str) -> str:
    if "\\" not in string:
        return string[1:-1]
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return string[1:-1]
