"""Table cells and JSON leaves with row and header words."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

from veridical.text.columns import GAP, column_spans, groups_thousands, header_spans

_MAX_COLUMNS = 64
_MAX_ROW_WORDS = 300  # characters of a row's labels
_LINE = re.compile(r"[^\n]*")
_NUMERIC = re.compile(r"[\s$€£¥+-]*[\d.,:/%\s-]*\d[\d.,:/%\s-]*[^\W\d_]{0,3}\s*")
_RULE = re.compile(r"[\s|:+=-]+")
_TAG_CELL = re.compile(r"<t([hd])\b[^>]{0,200}>", re.I)
_TAG_ROW = re.compile(r"<tr\b[^>]{0,200}>", re.I)
_TAG = re.compile(r"<[^<>]{0,200}>")
_JSON_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+')
_KEY_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\-./]")


#: Generic keys of objects, without information about their leaves.
_CONTAINERS = frozenset(
    [
        "attributes",
        "data",
        "meta",
        "items",
        "results",
        "result",
        "properties",
        "values",
        "fields",
        "object",
        "objects",
        "list",
        "entries",
        "details",
        "info",
        "response",
        "records",
        "rows",
        "payload",
        "body",
    ]
)


class Cell(NamedTuple):
    """A cell or leaf at ``[start:end]``, with row or object labels and header or path.

    ``name`` is the first label of its row, if that is in another cell.
    """

    start: int
    end: int
    row: str
    header: str
    table: int = 0
    line: int = 0
    column: int = 0
    name: str = ""


def cells_of(text: str) -> tuple[Cell, ...]:
    """Return the cells of all tables and JSON objects of ``text``, in order."""
    stripped = text.lstrip()
    if stripped[:1] in "{[" and '":' in text.replace(" ", "")[:4000] + text[:4000]:
        return tuple(_json(text))
    if "<t" in text and _TAG_ROW.search(text):
        return tuple(_html(text))
    if '{"' in text and '":' in text:
        return tuple(_json(text))
    if any(mark in text for mark in ("|", "\t", ",", ";", GAP)):
        return tuple(_lines(text))
    return ()


def _lines(text: str) -> list[Cell]:
    """Return cells of delimited lines: a header and at least one row of as many columns."""
    cells: list[Cell] = []
    block: list[tuple[int, list[tuple[int, int]]]] = []
    mark = ""
    tables = 0
    at = 0
    for raw in [*text.split("\n"), ""]:
        here = _delimiter(raw)
        if block and (here != mark or not raw.strip()):
            cells += _table(text, block, mark, tables)
            tables += 1
            block = []
        if here:
            mark = here
            if not (here == "|" and _RULE.fullmatch(raw)):
                block.append((at, _split(raw, here)))
        at += len(raw) + 1
    return cells


def _delimiter(line: str) -> str:
    if line.count("|") >= 2 or (line.count("|") == 1 and line.strip().startswith("|")):
        return "|"
    if "\t" in line:
        return "\t"
    if column_spans(line):
        return GAP
    if len(line) < 2_000 and line.count(";") >= 1 and not line.rstrip().endswith((".", "!", "?")):
        return ";"
    if (
        len(line) < 2_000
        and "," in line
        and not line.rstrip().endswith((".", "!", "?", ":"))
        and ". " not in line
        and not groups_thousands(line)
    ):
        return ","
    return ""


def _split(line: str, mark: str) -> list[tuple[int, int]]:
    """Return the spans of the cells of a line."""
    if mark == GAP:
        return column_spans(line)
    spans: list[tuple[int, int]] = []
    start = 0
    quoted = False
    for i, char in enumerate(line):
        if char == '"' and mark in ",;":
            quoted = not quoted
        elif char == mark and not quoted:
            spans.append((start, i))
            start = i + 1
            if len(spans) >= _MAX_COLUMNS:
                break
    spans.append((start, len(line)))
    if mark == "|":
        if spans and not line[spans[0][0] : spans[0][1]].strip():
            spans = spans[1:]
        if spans and not line[spans[-1][0] : spans[-1][1]].strip():
            spans = spans[:-1]
    return spans


def _table(
    text: str, block: list[tuple[int, list[tuple[int, int]]]], mark: str, table: int
) -> list[Cell]:
    if len(block) < 2:
        return []
    offset, header = block[0]
    width = len(header)
    if mark in ",;":
        if width < 2 or any(len(spans) != width for _, spans in block):
            return []
        if (
            width == 2
            and len(block) < 3
            and any(len(text[offset + s : offset + e].split()) > 3 for s, e in header)
        ):
            return []
    if mark == GAP:
        if any(len(spans) != len(block[1][1]) for _, spans in block[1:]):
            return []
        heading = text[offset : offset + header[-1][1]]
        header = header_spans(heading, [spans for _, spans in block[1:]])
        width = len(header)
    headers = [text[offset + s : offset + e].strip(' "') for s, e in header]
    if sum(1 for h in headers if _NUMERIC.fullmatch(h)) > width / 2:
        headers = [""] * width
        rows = block
    else:
        rows = block[1:]
    cells: list[Cell] = []
    for line, (at, spans) in enumerate(rows):
        texts = [text[at + s : at + e].strip(' "') for s, e in spans]
        labels = [i for i, t in enumerate(texts) if t and not _NUMERIC.fullmatch(t)]
        if not labels and texts:
            labels = [0]
        names = {i: _named(texts[i], headers[i] if i < len(headers) else "") for i in labels}
        row = " ".join(names.values())[:_MAX_ROW_WORDS]
        first = names[labels[0]] if labels else ""
        for i, (s, e) in enumerate(spans):
            head = headers[i] if i < len(headers) else ""
            own = " ".join(n for j, n in names.items() if j != i)[:_MAX_ROW_WORDS]
            name = first if labels and i != labels[0] else ""
            words = own if i in labels else row
            cells.append(Cell(at + s, at + e, words, head, table, line, i, name))
    return cells


def _named(name: str, header: str) -> str:
    """Return a row's name, with its header if it is one letter or digit: "Plan A"."""
    return f"{header} {name}" if len(name) == 1 and (name.isupper() or name.isdigit()) else name


def _html(text: str) -> list[Cell]:
    cells: list[Cell] = []
    starts = [m.end() for m in _TAG_ROW.finditer(text)]
    headers: list[str] = []
    table = 0
    for line, (start, stop) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True)):
        tags = list(_TAG_CELL.finditer(text, start, stop))[:_MAX_COLUMNS]
        if not tags:
            continue
        spans = [
            (t.end(), n.start() if n else stop)
            for t, n in zip(tags, [*tags[1:], None], strict=True)
        ]
        texts = [html.unescape(_TAG.sub(" ", text[s:e])).strip() for s, e in spans]
        if all(t[1].lower() == "h" for t in tags):
            headers = texts
            table += 1
            continue
        labels = [i for i, t in enumerate(texts) if t and not _NUMERIC.fullmatch(t)] or [0]
        names = [_named(texts[i], headers[i] if i < len(headers) else "") for i in labels]
        row = " ".join(names)[:_MAX_ROW_WORDS]
        for i, (s, e) in enumerate(spans):
            name = headers[i] if i < len(headers) else ""
            cells.append(Cell(s, e, "" if i in labels else row, name, table, line, i))
    return cells


def _json(text: str) -> list[Cell]:
    """Return leaves with their object's strings as row and the keys above them as header."""
    cells: list[Cell] = []
    # per open object or array: its key, strings and places of its leaves
    stack: list[tuple[str, list[str], list[int]]] = [("", [], [])]
    key = ""
    pending = ""
    for match in _JSON_TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            if len(stack) < 100:
                stack.append((key, [], []))
            key = ""
        elif token in "}]":
            if len(stack) > 1:
                name, strings, leaves = stack.pop()
                labels = " ".join(strings)[:_MAX_ROW_WORDS]
                above = " ".join(s for _, up, _ in stack[-2:] for s in up[:4])[:_MAX_ROW_WORDS]
                for i in leaves:
                    cell = cells[i]
                    words = "" if name.lower() in _CONTAINERS else _spaced(name)
                    first = strings[0] if token == "}" and strings else ""
                    cells[i] = cell._replace(row=f"{above} {labels} {words}".strip(), name=first)
                # an object of attributes passes its names to its parent
                if len(stack) > 1 and strings and token == "}" and name:
                    stack[-1][1].extend(strings[:2])
            key = ""
        elif token == ":":
            key = pending
        elif token == ",":
            key = ""
        elif token[0] == '"' and re.compile(r"\s*:").match(text, match.end()):
            pending = token[1:-1]
        else:
            words = _spaced(key)
            value = token.strip('"')
            stack[-1][2].append(len(cells))
            cells.append(Cell(match.start(), match.end(), "", words))
            if token[0] == '"' and not _NUMERIC.fullmatch(value) and len(value) < 80:
                stack[-1][1].append(_named(value, words))
    return sorted(cells)


def _spaced(key: str) -> str:
    """Split a key into words: "perUnitPrice" and "per_unit_price" alike, and "plan_a" as "plan
    A".
    """
    words = _KEY_WORDS.sub(" ", key).split()
    return " ".join(w.upper() if len(w) == 1 else w for w in words)
