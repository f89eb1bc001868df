"""Extraction of sources from a prompt, as in a RAG call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: Placeholder for the sources in a pattern.
PLACE = "{sources}"

_WORDS = (
    *("context", "contexts", "document", "documents", "doc", "docs", "source", "sources"),
    *("passage", "passages", "excerpt", "excerpts", "snippet", "snippets", "chunk", "chunks"),
    *("retrieved", "knowledge", "reference", "references", "evidence", "article", "articles"),
    *("kontext", "quelle", "quellen", "dokument", "dokumente"),
)
#: Elements of a list of sources: each is a separate source.
_ITEMS = frozenset(
    {"document", "doc", "passage", "excerpt", "snippet", "chunk", "result", "article", "item"}
)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,40})(\s[^<>]{0,300})?>")
_TITLE = re.compile(r"<(source|title|name|id)>([^<>]{1,200})</\1>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""\b(?:id|title|name|source|index)\s*=\s*["']?([^"'<>\s][^"'<>]{0,200})"""
)
_NAMED = rf"\b(?:{'|'.join(_WORDS)})\b"
_RULE = re.compile(r"[-=_*~]{3,}|```\w{0,20}")
#: A line that introduces sources: "Context:", "## Sources", "Use only the following documents:".
_HEADING = re.compile(
    rf"(?P<mark>\#{{1,6}} |\*\*|__)?(?P<said>[^:\n]{{0,120}}?{_NAMED}[^:\n]{{0,60}}?)"
    r"(?P<end>:\**|\*\*:?|__:?|(?<=below)\.)?",
    re.IGNORECASE,
)
#: A line that begins with sources: "Context: The Nile is ...".
_INLINE = re.compile(
    rf"(?:\*\*)?(?:the |retrieved |relevant )?(?:{'|'.join(_WORDS)})(?: \d{{1,3}})?:\**\s+(?=\S)",
    re.IGNORECASE,
)
#: A line that ends sources.
_OTHER = re.compile(
    r"(?:\#{1,6} |\*\*)?(?:(?:user(?:'s)?|my|the|final|helpful|original|current|your) )?"
    r"(?:question|query|answer|task|instructions?|request|response|input|output|history|"
    r"chat history|conversation|rules?|format|message|frage|antwort|aufgabe)\b[^\n:]{0,40}[:*]"
    r"|given (?:the|this) (?:context|above)|(?:now )?answer the (?:question|query)"
    r"|\[/?inst\]|human:|assistant:|user:",
    re.IGNORECASE,
)
#: The question of a one-line prompt: "Context: ... Question: ...".
_ASKED = re.compile(r"\s(?:user )?(?:question|query):\s", re.IGNORECASE)
_MOST_MESSAGE_CHARACTERS = 4_000_000


def prompt_sources(
    prompt: str | Sequence[Mapping[str, Any]], pattern: str | None = None
) -> list[dict[str, Any]]:
    """Return the sources in system and user messages, as a record's contexts.

    Sources are text between tags (``<context>``, ``<document id="a">``), or below a heading
    (``Context:``, ``## Sources``) up to the next one, such as ``Question:``.

    Args:
        prompt: a text, or chat messages.
        pattern: the text around the sources in an application's prompts, with the placeholder
            ``{sources}``; tags and headings are then ignored.
    """
    found: list[dict[str, Any]] = []
    for text in _texts(prompt):
        if pattern is not None:
            found += ({"text": t} for t in _between(text, pattern))
        else:
            found += list(_tagged(text)) or ({"text": t} for t in _headed(text))
    return found


def _texts(prompt: str | Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if isinstance(prompt, str):
        yield prompt[:_MOST_MESSAGE_CHARACTERS]
        return
    for message in prompt:
        if message.get("role") not in ("system", "developer", "user"):
            continue
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
        text = "\n\n".join(t for t in texts if isinstance(t, str))
        yield text[:_MOST_MESSAGE_CHARACTERS]


def _between(text: str, pattern: str) -> Iterator[str]:
    before, _, after = (part.strip() for part in pattern.partition(PLACE))
    at = 0
    while (begin := text.find(before, at)) >= 0:
        begin += len(before)
        end = text.find(after, begin) if after else len(text)
        if end < 0:
            return
        if text[begin:end].strip():
            yield text[begin:end].strip()
        if not before:
            return
        at = end


def _is_source(name: str) -> bool:
    words = re.split(r"[_-]", name.lower())
    return any(word in _WORDS for word in words) or "search" in words


def _tagged(text: str) -> Iterator[dict[str, Any]]:
    """Yield the text between source tags. An unclosed tag is ignored."""
    tags = [t for t in _TAG.finditer(text) if _is_source(t[2]) or t[2].lower() in _ITEMS]
    for first, last in _pairs(tags):
        opened, closed = tags[first], tags[last]
        inner = tags[first + 1 : last]
        items = [(a, b) for a, b in _pairs(inner) if inner[a][2].lower() in _ITEMS]
        if items and opened[2].lower() not in _ITEMS:
            for a, b in items:
                yield from _context(text, inner[a], inner[b])
        elif _is_source(opened[2]):
            yield from _context(text, opened, closed)


def _pairs(tags: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield the indices of opening and closing tags, outermost pairs only."""
    closing: dict[str, list[int]] = {}
    for i, tag in enumerate(tags):
        if tag[1]:
            closing.setdefault(tag[2].lower(), []).append(i)
    i = 0
    while i < len(tags):
        name = tags[i][2].lower()
        ends = closing.get(name, [])
        if tags[i][1] or not ends or ends[-1] < i:
            i += 1
            continue
        depth, j = 0, i
        while j < len(tags):
            if tags[j][2].lower() == name:
                depth += -1 if tags[j][1] else 1
                if depth == 0:
                    break
            j += 1
        if j == len(tags):  # more opened than closed: use the last closing tag
            j = ends[-1]
        yield i, j
        i = j + 1


def _context(text: str, opened: re.Match[str], closed: re.Match[str]) -> Iterator[dict[str, Any]]:
    inner = text[opened.end() : closed.start()]
    title = _TITLE.search(inner)
    named = _ATTRIBUTE.search(opened[3] or "")
    name = title[2].strip() if title else named[1].strip() if named else None
    if title:
        inner = inner[: title.start()] + inner[title.end() :]
    inner = _TAG.sub("\n", inner).strip()
    if inner:
        yield {"text": inner} if name is None else {"id": name, "text": inner}


def _headed(text: str) -> Iterator[str]:
    """Yield the texts below headings of sources."""
    lines = text.splitlines()
    block: list[str] | None = None
    ruled = False
    for line in lines:
        plain = line.strip()
        if block is not None:
            rule = _RULE.fullmatch(plain) is not None
            if rule and not "".join(block).strip():
                ruled = True
                continue
            if (rule and ruled) or _OTHER.match(plain):
                yield from _closed(block)
                block = None
        if block is None or _heading(plain):
            begun = _begun(plain)
            if begun is not None:
                if block is not None:
                    yield from _closed(block)
                block, ruled = [begun], False
            continue
        block.append(line)
    if block is not None:
        yield from _closed(block)


def _heading(line: str) -> bool:
    return line.startswith(("#", "**")) and _begun(line) is not None


def _begun(line: str) -> str | None:
    """Return the text after a heading in its line ("" if there is nothing else); None if the line
    is not a heading."""
    if len(line) <= 200:
        found = _HEADING.fullmatch(line)
        if found is not None and (found["end"] or (found["mark"] or "").startswith("#")):
            return ""
    inline = _INLINE.match(line)
    return None if inline is None else _ASKED.split(line[inline.end() :], 1)[0]


def _closed(block: Sequence[str]) -> Iterator[str]:
    """Yield the text of a block without a final question."""
    paragraphs = re.split(r"\n[ \t]*\n", "\n".join(block).strip())
    if len(paragraphs) > 1 and paragraphs[-1].rstrip().endswith("?"):
        paragraphs.pop()
    text = "\n\n".join(paragraphs).strip()
    if text:
        yield text
