"""Columns of plain text, separated by two or more spaces."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Delimiter of such columns, as others have "|" or a tab.
GAP = "  "
_GAP = re.compile(r"(?<=[^\s.!?:;,]) {2,}(?=\S)")
_THOUSANDS = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])")
_WORD = re.compile(r"\S+")
_MIN_COLUMNS = 3
_MAX_LINE = 400  # characters


def groups_thousands(line: str) -> bool:
    """Return True if all commas of a line with letters are in numbers: "Total: 18,240".

    >>> groups_thousands("Total: 18,240"), groups_thousands("Heron,120"), groups_thousands("4,120")
    (True, False, False)
    """
    return "," not in _THOUSANDS.sub("", line) and any(map(str.isalpha, line))


def column_spans(line: str) -> list[tuple[int, int]]:
    """Return the spans of the cells of ``line``; [] if they are fewer than three.

    >>> column_spans("Line 1   06:10   daily")
    [(0, 6), (9, 14), (17, 22)]
    """
    if GAP not in line or len(line) > _MAX_LINE:
        return []
    start, end = len(line) - len(line.lstrip()), len(line.rstrip())
    gaps = [m.span() for m in _GAP.finditer(line, start, end)]
    starts, ends = [start, *(e for _, e in gaps)], [*(s for s, _ in gaps), end]
    spans = list(zip(starts, ends, strict=True))
    return spans if len(spans) >= _MIN_COLUMNS else []


def header_spans(line: str, rows: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    """Return the span of the words of ``line`` above each column of ``rows``; (0, 0) for none.

    >>> rows = [column_spans("12  Chair, grey   45.00")]
    >>> header_spans("Qty Article       Price", rows)
    [(0, 3), (4, 11), (18, 23)]
    """
    columns = [
        (min(s for s, _ in cells), max(e for _, e in cells)) for cells in zip(*rows, strict=True)
    ]
    found = [(0, 0)] * len(columns)
    for match in _WORD.finditer(line):
        start, end = match.span()
        reach = [min(end, e) - max(start, s) for s, e in columns]
        i = reach.index(max(reach))
        found[i] = (found[i][0] if found[i][1] else start, end)
    return found
