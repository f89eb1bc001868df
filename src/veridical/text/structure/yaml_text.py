"""Subset of YAML used by answers and configuration, with value places.

Supported are mappings and lists by indentation, plain and quoted values, block values and flow
lists. Anchors, tags and references are not resolved.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from veridical.text.structure.json_text import find_json
from veridical.text.structure.nodes import MAX_DEPTH, Node, scalar_kind

_KEY = re.compile(
    r"(?P<key>\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'"
    r"|[^\s\"'\[\]{}#&*!|>%@`,:-][^:#\n]{0,80}?)[ \t]*:(?=\s|$)"
)
_ITEM = re.compile(r"-(?:[ \t]+|$)")
_COMMENT = re.compile(r"\s#[^\n]*$")
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?$")
_FLOW_ITEM = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[^,\[\]{}\"'\n]+")


class _Line(NamedTuple):
    indent: int
    start: int
    end: int


class _Broken(Exception):
    """The text is not of this form."""


def read_yaml(text: str, start: int = 0, stop: int | None = None) -> Node | None:
    """Parse ``text[start:stop]`` as a mapping or list; None if it is neither."""
    stop = len(text) if stop is None else stop
    lines = _lines(text, start, stop)
    if not lines:
        return None
    reader = _Reader(text, lines, start)
    try:
        node = reader.block(lines[0].indent, 0)
    except _Broken:
        return None
    return node if reader.at == len(lines) and not node.is_leaf else None


def _lines(text: str, start: int, stop: int) -> list[_Line]:
    lines = []
    at = start
    for raw in text[start:stop].split("\n"):
        bare = raw.strip()
        if bare and bare[0] != "#" and bare not in ("---", "..."):
            indent = len(raw) - len(raw.lstrip(" "))
            lines.append(_Line(indent, at + indent, at + len(raw.rstrip())))
        at += len(raw) + 1
    return lines


class _Reader:
    def __init__(self, text: str, lines: list[_Line], start: int) -> None:
        self._text = text
        self._lines = lines
        self._start = start
        self.at = 0

    def block(self, indent: int, depth: int) -> Node:
        """Parse the mapping or list whose lines begin at ``indent``."""
        if depth > MAX_DEPTH:
            raise _Broken
        first = self._lines[self.at]
        if _ITEM.match(self._text, first.start, first.end):
            return self._list(indent, depth)
        return self._mapping(indent, depth)

    def _list(self, indent: int, depth: int) -> Node:
        node = Node("array", self._lines[self.at].start, 0)
        while (line := self._line()) is not None and line.indent == indent:
            mark = _ITEM.match(self._text, line.start, line.end)
            if mark is None:
                break
            inner = mark.end()
            if inner >= line.end:
                self.at += 1
                node.children.append(("", self._nested(indent, depth, line.end)))
            elif _KEY.match(self._text, inner, line.end) or _ITEM.match(
                self._text, inner, line.end
            ):
                deeper = indent + inner - line.start
                self._lines[self.at] = _Line(deeper, inner, line.end)
                node.children.append(("", self.block(deeper, depth + 1)))
            else:
                self.at += 1
                node.children.append(("", self._value(inner, line, indent)))
        node.end = node.children[-1][1].end
        return node

    def _mapping(self, indent: int, depth: int) -> Node:
        node = Node("object", self._lines[self.at].start, 0)
        while (line := self._line()) is not None and line.indent == indent:
            key = _KEY.match(self._text, line.start, line.end)
            if key is None:
                if node.children and _ITEM.match(self._text, line.start, line.end):
                    break
                raise _Broken
            name = _unquoted(key["key"])
            inner = key.end()
            while inner < line.end and self._text[inner] in " \t":
                inner += 1
            comment = _COMMENT.search(self._text[inner - 1 : line.end])
            empty = inner >= line.end or self._text[inner] == "#"
            self.at += 1
            if empty:
                child = self._nested(indent, depth, line.end)
            else:
                end = line.end if comment is None else inner - 1 + comment.start()
                child = self._value(inner, _Line(line.indent, line.start, end), indent)
            node.children.append((name, child))
        if line is not None and line.indent > indent:
            raise _Broken
        if not node.children:
            raise _Broken
        node.end = node.children[-1][1].end
        return node

    def _line(self) -> _Line | None:
        return self._lines[self.at] if self.at < len(self._lines) else None

    def _nested(self, indent: int, depth: int, end: int) -> Node:
        """Parse the content below a name or an item without a value."""
        line = self._line()
        if line is not None and line.indent > indent:
            return self.block(line.indent, depth + 1)
        if line is not None and line.indent == indent:
            here = self._lines[self.at - 1]
            below = _ITEM.match(self._text, line.start, line.end)
            if below and not _ITEM.match(self._text, here.start, here.end):
                return self.block(indent, depth + 1)
        return Node("null", end, end)

    def _value(self, start: int, line: _Line, indent: int) -> Node:
        text = self._text
        raw = text[start : line.end].rstrip()
        end = start + len(raw)
        if _BLOCK.fullmatch(raw):
            return self._block_value(indent, end)
        if raw[0] == '"':
            if len(raw) < 2 or raw[-1] != '"':
                raise _Broken
            return Node("text", start + 1, end - 1, _unquoted(raw))
        if raw[0] == "'" and len(raw) > 1 and raw[-1] == "'":
            return Node("text", start + 1, end - 1, raw[1:-1].replace("''", "'"))
        if raw[0] in "[{":
            found = find_json(text, start, end)
            if len(found) == 1 and (found[0].start, found[0].end) == (start, end):
                return found[0].node
            if raw[0] == "[" and raw[-1] == "]":
                return self._flow(start, end)
            raise _Broken
        # a plain value continues in lines with more indentation
        while (more := self._line()) is not None and more.indent > indent:
            if _KEY.match(text, more.start, more.end) or _ITEM.match(text, more.start, more.end):
                raise _Broken
            end = more.end
            self.at += 1
        value = " ".join(text[start:end].split())
        return Node(scalar_kind(value), start, end, value)

    def _block_value(self, indent: int, end: int) -> Node:
        first = self._line()
        if first is None or first.indent <= indent:
            return Node("null", end, end)
        last = first
        while (line := self._line()) is not None and line.indent > indent:
            last = line
            self.at += 1
        value = "\n".join(x.strip() for x in self._text[first.start : last.end].split("\n"))
        return Node("text", first.start, last.end, value)

    def _flow(self, start: int, end: int) -> Node:
        node = Node("array", start, end)
        for m in _FLOW_ITEM.finditer(self._text, start + 1, end - 1):
            raw = m[0]
            bare = raw.strip()
            if bare:
                begin = m.start() + raw.index(bare)
                quoted = bare[0] in "\"'" and len(bare) > 1
                value = _unquoted(bare) if quoted else bare
                kind = "text" if quoted else scalar_kind(bare)
                node.children.append(
                    ("", Node(kind, begin + quoted, begin + len(bare) - quoted, value))
                )
        return node


def _unquoted(raw: str) -> str:
    if raw[:1] == '"' and raw[-1:] == '"' and len(raw) > 1:
        try:
            return str(json.loads(raw, strict=False))
        except ValueError:
            return raw[1:-1]
    if raw[:1] == "'" and raw[-1:] == "'" and len(raw) > 1:
        return raw[1:-1].replace("''", "'")
    return raw
