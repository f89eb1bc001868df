"""Tables in Markdown, HTML and delimited text, with cell places."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from veridical.text.columns import GAP, column_spans, groups_thousands, header_spans

MAX_COLUMNS = 256

_RULE = re.compile(r"[ \t]*\|?(?:[ \t]*:?-{1,200}:?[ \t]*\|)*[ \t]*:?-{1,200}:?[ \t]*\|?[ \t]*")
_BORDER = re.compile(r"[ \t+|=:-]+")
_TAG = re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|th|td|caption)\b[^<>]{0,500}>", re.IGNORECASE)
_ANY_TAG = re.compile(r"<[^<>]{0,500}>")
_BREAK = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)
_DECORATION = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_SENTENCE_END = (".", "!", "?", "。", ":", "：")
_MOST_HEADER_WORDS = 6


class TableCell(NamedTuple):
    """A cell at ``[start:end]``, with its undecorated text."""

    start: int
    end: int
    text: str


class TextTable(NamedTuple):
    """A table at ``[start:end]``; ``header`` is empty without one."""

    form: Literal["markdown", "html", "delimited"]
    start: int
    end: int
    header: tuple[TableCell, ...]
    rows: tuple[tuple[TableCell, ...], ...]


def find_html_tables(text: str) -> list[TextTable]:
    """Return the HTML tables of ``text``; an unclosed one ends with the text."""
    found: list[TextTable] = []
    if "<t" not in text and "<T" not in text:
        return found
    rows: list[tuple[bool, tuple[TableCell, ...]]] = []
    cells: list[TableCell] = []
    heads = 0
    opened = cell = -1
    head_cell = False

    def end_cell(end: int) -> None:
        nonlocal cell, heads
        if cell >= 0 and len(cells) < MAX_COLUMNS:
            cells.append(_html_cell(text, cell, end))
            heads += head_cell
        cell = -1

    def end_row(end: int) -> None:
        nonlocal cells, heads
        end_cell(end)
        if cells:
            rows.append((heads == len(cells), tuple(cells)))
        cells, heads = [], 0

    for tag in _TAG.finditer(text):
        name, closing = tag[2].lower(), bool(tag[1])
        if name == "table":
            if opened >= 0:
                end_row(tag.start())
                found += _table_of_rows("html", opened, tag.end() if closing else tag.start(), rows)
            rows, cells, heads = [], [], 0
            opened = -1 if closing else tag.start()
        elif opened < 0:
            continue
        elif name in ("td", "th"):
            end_cell(tag.start())
            if not closing:
                cell, head_cell = tag.end(), name == "th"
        else:
            end_row(tag.start())
    if opened >= 0:
        end_row(len(text))
        found += _table_of_rows("html", opened, len(text), rows)
    return found


def _html_cell(text: str, start: int, end: int) -> TableCell:
    raw = text[start:end]
    bare = raw.strip()
    start += raw.index(bare) if bare else 0
    value = _ANY_TAG.sub("", _BREAK.sub(", ", bare)) if "<" in bare else bare
    return TableCell(start, start + len(bare), " ".join(html.unescape(value).split()))


def _table_of_rows(
    form: Literal["html"], start: int, end: int, rows: list[tuple[bool, tuple[TableCell, ...]]]
) -> Iterator[TextTable]:
    if not rows:
        return
    headed = rows[0][0] or (len(rows) > 1 and _names_columns([c for _, c in rows]))
    header = rows[0][1] if headed else ()
    body = tuple(cells for _, cells in rows[1 if headed else 0 :])
    if body:
        yield TextTable(form, start, end, header, body)


def find_line_tables(text: str, start: int = 0, stop: int | None = None) -> list[TextTable]:
    """Return the Markdown and delimited tables in the lines of ``text[start:stop]``."""
    stop = len(text) if stop is None else stop
    found: list[TextTable] = []
    block: list[tuple[int, int]] = []
    mark = ""
    at = start
    for raw in (*text[start:stop].split("\n"), ""):
        line = (at, min(at + len(raw), stop))
        at += len(raw) + 1
        here = _delimiter(text, line)
        if block and here != mark:
            found += _line_table(text, block, mark)
            block = []
        if here:
            mark = here
            block.append(line)
    return found


def _delimiter(text: str, line: tuple[int, int]) -> str:
    raw = text[line[0] : line[1]]
    bare = raw.strip()
    if not bare:
        return ""
    if "|" in bare and (bare[0] == "|" or bare.count("|") > 1 or " | " in bare):
        return "|"
    if "\t" in bare:
        return "\t"
    if column_spans(bare):
        return GAP
    if bare.endswith(_SENTENCE_END) or len(bare) > 4000:
        return ""
    if ";" in bare:
        return ";"
    return "," if "," in bare and not groups_thousands(bare) else ""


def _line_table(text: str, lines: list[tuple[int, int]], mark: str) -> Iterator[TextTable]:
    if mark == "|":
        yield from _pipe_table(text, lines)
        return
    if len(lines) < 2:
        return
    if mark == GAP:
        yield from _column_table(text, lines)
        return
    rows = [_split(text, line, mark) for line in lines]
    width = len(rows[0])
    if width < 2 or width > MAX_COLUMNS:
        return
    fitting = 0
    for row in rows:
        if len(row) != width:
            break
        fitting += 1
    rows = rows[:fitting]
    if fitting < 2 or (fitting < len(lines) and fitting < 3):
        return
    if mark == "," and not _is_csv(text, rows, width):
        return
    headed = _names_columns(rows)
    if not headed and mark in ",;":
        return
    header, body = (rows[0], rows[1:]) if headed else ((), rows)
    yield TextTable("delimited", lines[0][0], lines[fitting - 1][1], header, tuple(body))


def _column_table(text: str, lines: list[tuple[int, int]]) -> Iterator[TextTable]:
    """Yield the table of lines with columns of spaces, if all rows have as many."""
    spans = [column_spans(text[s:e]) for s, e in lines[1:]]
    if any(len(row) != len(spans[0]) for row in spans):
        return
    spans.insert(0, header_spans(text[slice(*lines[0])], spans))
    rows = [
        tuple(_cell(text, start + a, start + b, GAP) for a, b in row)
        for (start, _), row in zip(lines, spans, strict=True)
    ]
    if _names_columns(rows):
        yield TextTable("delimited", lines[0][0], lines[-1][1], rows[0], tuple(rows[1:]))


def _is_csv(text: str, rows: list[tuple[TableCell, ...]], width: int) -> bool:
    """Return True if lines with commas are rows, as no space follows most commas."""
    if width == 2 and len(rows) < 3 and any(len(c.text.split()) > 3 for r in rows for c in r):
        return False
    gaps = spaced = 0
    for row in rows:
        for before, after in pairwise(row):
            gaps += 1
            spaced += text[before.end : after.start].endswith(" ")
    return spaced * 2 < gaps or (width > 2 and len(rows) > 2 and spaced == gaps)


def _names_columns(rows: list[tuple[TableCell, ...]]) -> bool:
    """Return True if the first row is a header: distinct names without figures."""
    names = [c.text for c in rows[0]]
    if any(len(n.split()) > _MOST_HEADER_WORDS or n.endswith(_SENTENCE_END) for n in names):
        return False
    filled = [n for n in names if n]
    if not filled or len(set(filled)) < len(filled):
        return False
    return not any(n[:1].isdigit() and not any(map(str.isalpha, n)) and len(n) != 4 for n in filled)


def _pipe_table(text: str, lines: list[tuple[int, int]]) -> Iterator[TextTable]:
    rule = next(
        (i for i, (s, e) in enumerate(lines) if i and _is_rule(text[s:e])),
        None,
    )
    first = max(0, rule - 1) if rule is not None else 0
    kept = [
        x for i, x in enumerate(lines) if i >= first and not _BORDER.fullmatch(text[x[0] : x[1]])
    ]
    if len(kept) < 2:
        return
    rows = [_split(text, line, "|") for line in kept]
    if rule is None:
        same = len(rows[0]) > 1 and all(len(r) == len(rows[0]) for r in rows)
        edged = all(text[s:e].strip().startswith("|") for s, e in kept)
        if not same or not (edged or len(rows) > 2):
            return
    headed = rule is not None or _names_columns(rows)
    header, body = (rows[0], rows[1:]) if headed else ((), rows)
    yield TextTable("markdown", kept[0][0], lines[-1][1], header, tuple(body))


def _is_rule(line: str) -> bool:
    return "-" in line and len(line) < 4000 and _RULE.fullmatch(line) is not None


def _split(text: str, line: tuple[int, int], mark: str) -> tuple[TableCell, ...]:
    """Return the stripped cells of a line, without the marks at its edges."""
    start, stop = line
    raw = text[start:stop].rstrip()
    places: list[tuple[int, int]] = []
    at = 0
    quoted = code = False
    for i, char in enumerate(raw):
        if char == '"' and mark != "|":
            quoted = not quoted
        elif char == "`" and mark == "|":
            code = not code and "`" in raw[i + 1 : i + 200]
        elif char == mark and not quoted and not code and (i == 0 or raw[i - 1] != "\\"):
            places.append((at, i))
            at = i + 1
    places.append((at, len(raw)))
    if mark == "|":
        if not raw[places[0][0] : places[0][1]].strip():
            places = places[1:]
        if len(places) > 1 and not raw[places[-1][0] : places[-1][1]].strip():
            places = places[:-1]
    return tuple(_cell(text, start + a, start + b, mark) for a, b in places[:MAX_COLUMNS])


def _cell(text: str, start: int, end: int, mark: str) -> TableCell:
    raw = text[start:end]
    bare = raw.strip()
    start += raw.index(bare) if bare else 0
    value = bare
    if mark != "|" and len(bare) > 1 and bare[0] == bare[-1] == '"':
        start += 1
        bare = bare[1:-1]
        value = bare.replace('""', '"')
    elif mark == "|":
        value = undecorated(html.unescape(_BREAK.sub(", ", bare)).replace("\\|", "|"))
    return TableCell(start, start + len(bare), value)


def undecorated(text: str) -> str:
    """Remove marks of emphasis and inline code from ``text``.

    >>> undecorated("**Free** `x_1` *now*")
    'Free x_1 now'
    """
    return _DECORATION.sub("", text).strip() if any(c in text for c in "*_`") else text
