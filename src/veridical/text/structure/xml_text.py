"""XML parser that keeps the place of each value.

Only entities of single characters are resolved, and declarations are ignored.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple

from veridical.text.structure.nodes import MAX_DEPTH, Node, scalar_kind, words_set

_NAME = r"[A-Za-z_][\w.:-]{0,100}"
_TOKEN = re.compile(
    rf"<!--|<!\[CDATA\[|<\?|<!|</(?P<close>{_NAME})\s*>|<(?P<open>{_NAME})(?P<attributes>[^<>]{{0,2000}})>"
)
_ATTRIBUTE = re.compile(rf"({_NAME})\s{{0,9}}=\s{{0,9}}(?:\"([^\"<]*)\"|'([^'<]*)')")
_ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>", "<!": ">"}
_ROOT = re.compile(rf"<(?:\?xml\b|{_NAME}[\s>/])")
#: HTML elements, which mark up prose.
_HTML = words_set(
    "a abbr address article aside b big blockquote body br button caption center cite code dd "
    "details div dl dt em figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i img "
    "input label li main mark nav ol option p pre s script section small span strike strong style "
    "sub summary sup table tbody td tfoot th thead time title tr tt u ul"
)


class XmlText(NamedTuple):
    """An XML document; ``end`` is the end of its text."""

    node: Node
    start: int
    end: int


class _Open:
    """An element that is still open."""

    __slots__ = ("inner", "name", "node", "parts")

    def __init__(self, name: str, start: int, inner: int) -> None:
        self.name = name
        self.inner = inner
        self.node = Node("object", start, inner)
        self.parts = 0


def find_xml(text: str, start: int = 0, stop: int | None = None) -> XmlText | None:
    """Parse the XML document at the start of ``text[start:stop]``, or return None.

    Repeated elements become arrays. HTML elements are prose.
    """
    stop = len(text) if stop is None else stop
    first = re.compile(r"\s*").match(text, start, stop)
    begin = first.end() if first else start
    if _ROOT.match(text, begin, stop) is None:
        return None
    stack: list[_Open] = []
    at = begin
    while (token := _TOKEN.search(text, at, stop)) is not None:
        if not stack and text[at : token.start()].strip():
            return None
        at = token.end()
        if token["close"]:
            if not stack or stack[-1].name != token["close"]:
                return None
            element = stack.pop()
            node = _closed(text, element, token.start())
            if not stack:
                named = Node("object", begin, at, "", [(element.name, node)])
                return XmlText(named, begin, at)
            stack[-1].node.children.append((element.name, node))
        elif token["open"]:
            if token["open"].lower() in _HTML or len(stack) == MAX_DEPTH:
                return None
            attributes = token["attributes"]
            element = _Open(token["open"], token.start(), at)
            for m in _ATTRIBUTE.finditer(attributes.rstrip("/")):
                if m[1].startswith("xmlns"):
                    continue
                group = 2 if m[2] is not None else 3
                place = token.start("attributes")
                leaf = _leaf(text, place + m.start(group), place + m.end(group))
                element.node.children.append((m[1], leaf))
            element.parts = len(element.node.children)
            if not attributes.endswith("/"):
                stack.append(element)
            elif stack:
                node = element.node if element.parts else Node("null", at, at)
                node.end = at
                stack[-1].node.children.append((element.name, node))
            else:
                return XmlText(element.node, begin, at) if element.parts else None
        else:
            end = text.find(_ENDS[token[0]], at, stop)
            if end < 0:
                return None
            at = end + len(_ENDS[token[0]])
    return None


def _closed(text: str, element: _Open, end: int) -> Node:
    node = element.node
    if len(node.children) == element.parts:
        leaf = _leaf(text, element.inner, end)
        if not element.parts:
            return leaf
        if leaf.kind != "null":
            node.children.append(("value", leaf))
    node.end = end
    return _grouped(node)


def _grouped(node: Node) -> Node:
    """Merge repeated children of the node into arrays."""
    by_name: dict[str, list[Node]] = {}
    for name, child in node.children:
        by_name.setdefault(name, []).append(child)
    if len(by_name) < len(node.children):
        node.children = [
            (name, group[0] if len(group) == 1 else _array(group))
            for name, group in by_name.items()
        ]
    return node


def _array(group: list[Node]) -> Node:
    return Node("array", group[0].start, group[-1].end, "", [("", child) for child in group])


def _leaf(text: str, start: int, end: int) -> Node:
    raw = text[start:end]
    if "<![CDATA[" in raw:
        opening = raw.index("<![CDATA[")
        closing = raw.find("]]>", opening)
        if closing >= 0 and not (raw[:opening] + raw[closing + 3 :]).strip():
            start, end = start + opening + 9, start + closing
            inner = text[start:end]
            return Node(scalar_kind(inner), start, end, inner)
    bare = raw.strip()
    begin = start + (raw.index(bare) if bare else 0)
    value = html.unescape(bare)
    return Node(scalar_kind(value), begin, begin + len(bare), value)
