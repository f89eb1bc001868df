"""Parsing of JSON, YAML, XML, tables and named lines in texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from veridical.text.memo import kept
from veridical.text.structure.nodes import Node
from veridical.text.structure.pairs import find_pairs
from veridical.text.structure.parts import Block, BlockKind, Row, Structured
from veridical.text.structure.rows import rows_of_pairs, rows_of_table, rows_of_tree
from veridical.text.structure.tables import find_html_tables, find_line_tables

#: Maximum characters parsed; the rest of a longer text is prose.
MAX_CHARACTERS = 2_000_000

_FENCE = re.compile(r"[ \t]{0,8}(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[^\s`]*)[^\n]*")
_DATA = {
    "json": "json", "jsonl": "json", "json5": "json", "ndjson": "json", "yaml": "yaml",
    "yml": "yaml", "xml": "xml", "csv": "table", "tsv": "table", "markdown": "", "md": "",
    "html": "", "ini": "pairs", "toml": "pairs", "properties": "pairs", "conf": "pairs",
    "": "", "text": "", "txt": "", "plaintext": "", "output": "",
}  # fmt: skip
_YAML_NAME = re.compile(r"(?:[ ]*-)*[ ]*[a-z][\w-]*:(?:[ \n]|$)")
_NAMED_LINE = re.compile(r"^[ \t]*(?:-[ \t]+)?([^\s:#][^:\n]{0,80}):(?=\s|$)", re.MULTILINE)


class _Region(NamedTuple):
    """A stretch of a text: a fence's content, or text between fences."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    language: str | None


def read_structure(text: str) -> Structured | None:
    """Return the structured parts of ``text``; None if it is only prose.

    >>> found = read_structure('Here: {"total": 120.5}')
    >>> [(leaf.path, leaf.value, leaf.start, leaf.end) for leaf in found.leaves]
    [('total', '120.5', 16, 21)]
    """
    return _read(text) if any(c in text for c in "{[<|\t,;:=…") or "..." in text else None


@kept
def _read(text: str) -> Structured | None:
    read = text[:MAX_CHARACTERS]
    blocks: list[Block] = []
    for region in _regions(read):
        if region.language is None:
            blocks += _plain(read, region.inner_start, region.inner_end)
        else:
            kind = _DATA.get(region.language.lower().strip("{}."))
            if kind is None:
                continue
            found = _fenced(read, region.inner_start, region.inner_end, kind)
            if len(found) == 1:  # the fence is not prose
                found = [found[0]._replace(start=region.start, end=region.end)]
            blocks += found
    blocks = [b for b in blocks if b.rows]
    if not blocks:
        return None
    at = 0
    whole = True
    for block in blocks:
        whole = whole and not any(map(str.isalnum, text[at : block.start]))
        at = block.end
    return Structured(tuple(blocks), whole and not any(map(str.isalnum, text[at:])))


def _regions(text: str) -> Iterator[_Region]:
    """Yield fences and the text between them; an unclosed fence ends with the text."""
    if "```" not in text and "~~~" not in text:
        yield _Region(0, len(text), 0, len(text), None)
        return
    at = before = 0
    fence = language = ""
    opened = inner = 0
    for line in text.split("\n"):
        end = at + len(line)
        found = _FENCE.match(line)
        if found and not fence:
            if at > before:
                yield _Region(before, at, before, at, None)
            fence, language, opened, inner = found["fence"], found["language"], at, end + 1
        elif found and found["fence"].startswith(fence) and not line.strip(" \t\r" + fence[0]):
            yield _Region(opened, end, min(inner, at), at, language)
            fence, before = "", end
        at = end + 1
    if fence:
        yield _Region(opened, len(text), min(inner, len(text)), len(text), language)
    elif before < len(text):
        yield _Region(before, len(text), before, len(text), None)


def _fenced(text: str, start: int, end: int, kind: str) -> list[Block]:
    if kind == "yaml":
        return _yaml(text, start, end, start)
    if kind == "pairs":
        return _pair_blocks(text, start, end)
    return _plain(text, start, end)


def _yaml(text: str, start: int, end: int, shown_start: int) -> list[Block]:
    from veridical.text.structure.yaml_text import read_yaml

    node = read_yaml(text, start, end)
    return [] if node is None else [_tree("yaml", node, shown_start, end)]


def _tree(kind: BlockKind, node: Node, start: int, end: int) -> Block:
    return Block(kind, start, end, _in_order(rows_of_tree(node)))


def _in_order(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda r: r.start))


def _plain(text: str, start: int, end: int) -> list[Block]:
    """Return the blocks of a stretch without fences."""
    bare_start = start + len(text[start:end]) - len(text[start:end].lstrip())
    if bare_start >= end:
        return []
    if text[bare_start] == "<":
        from veridical.text.structure.xml_text import find_xml

        xml = find_xml(text, start, end)
        if xml is not None:
            rest = _plain(text, xml.end, end) if text[xml.end : end].strip() else []
            return [_tree("xml", xml.node, xml.start, xml.end), *rest]
    blocks: list[Block] = []
    if "{" in text[start:end] or "[" in text[start:end]:
        from veridical.text.structure.json_text import find_json

        for found in find_json(text, start, end):
            alone = not text[start : found.start].strip() and not text[found.end : end].strip()
            if alone or _tells(found.node):
                blocks.append(_tree("json", found.node, found.start, found.end))
    if not blocks and _is_yaml(text, bare_start, end):
        yaml = _yaml(text, start, end, bare_start)
        if yaml:
            return yaml
    piece = text[start:end]
    if "<t" in piece or "<T" in piece:
        for table in find_html_tables(piece):
            moved = _moved(rows_of_table(table), start)
            blocks.append(Block("table", table.start + start, table.end + start, moved))
    blocks = _apart(blocks)
    for gap_start, gap_end in _gaps(blocks, start, end):
        tables = find_line_tables(text, gap_start, gap_end)
        blocks += [Block("table", t.start, t.end, rows_of_table(t)) for t in tables]
    blocks = _apart(blocks)
    for gap_start, gap_end in _gaps(blocks, start, end):
        blocks += _pair_blocks(text, gap_start, gap_end)
    return sorted(blocks, key=lambda b: b.start)


def _tells(node: Node) -> bool:
    """Return True if JSON within prose is data, not a citation or placeholder."""
    if node.kind == "object":
        return bool(node.children)
    return any(child.kind == "object" for _, child in node.children)


def _is_yaml(text: str, start: int, end: int) -> bool:
    """Return True if an unfenced text is configuration.

    Its names are single lower-case words, and there are several lines.
    """
    if _YAML_NAME.match(text, start, end) is None:
        return False
    names = [m[1] for m in _NAMED_LINE.finditer(text, start, end)]
    return len(names) > 1 and all(" " not in n and n[:1] != n[:1].upper() for n in names)


def _pair_blocks(text: str, start: int, end: int) -> list[Block]:
    blocks = []
    for run in find_pairs(text, start, end):
        rows = rows_of_pairs(run)
        blocks.append(Block("pairs", rows[0].start, max(r.end for r in rows), rows))
    return blocks


def _moved(rows: tuple[Row, ...], by: int) -> tuple[Row, ...]:
    return tuple(
        Row(
            row.start + by,
            row.end + by,
            row.text,
            tuple(x._replace(start=x.start + by, end=x.end + by) for x in row.leaves),
        )
        for row in rows
    )


def _apart(blocks: list[Block]) -> list[Block]:
    """Return the blocks in order, without those that begin within another."""
    kept_blocks: list[Block] = []
    for block in sorted(blocks, key=lambda b: (b.start, -b.end)):
        if not kept_blocks or block.start >= kept_blocks[-1].end:
            kept_blocks.append(block)
    return kept_blocks


def _gaps(blocks: list[Block], start: int, end: int) -> list[tuple[int, int]]:
    gaps = []
    at = start
    for block in blocks:
        if block.start > at:
            gaps.append((at, block.start))
        at = max(at, block.end)
    if at < end:
        gaps.append((at, end))
    return gaps
