"""Row counts of files, without parsing."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, cast

_GZIP = b"\x1f\x8b"
_LARGE = 1 << 30  # bytes; the count of larger files is estimated from their beginning


def count_rows(path: str, format: str) -> int | None:
    """Count the rows of a JSONL, CSV or TSV file, compressed or not; estimate a file over 1 GB from
    its first GB. Blank lines do not count.

    Returns:
        None for other formats and unreadable files.
    """
    if format not in ("jsonl", "csv", "tsv"):
        return None
    try:
        with Path(path).open("rb") as raw:
            compressed = raw.read(2) == _GZIP
            raw.seek(0)
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw
            first = file.read(1)
            while first.isspace():
                first = file.read(1)
            if format == "jsonl" and first == b"[":  # one array, not one row per line
                return None
            file.seek(0)
            size = None if compressed else raw.seek(0, io.SEEK_END)
            file.seek(0)
            rows, read = _count(file, quoted=format != "jsonl")
    except (OSError, EOFError):
        return None
    if size is not None and 0 < read < size:
        rows = round(rows * size / read)
    return rows if format == "jsonl" else max(0, rows - 1)  # the header


def _count(lines: Iterable[bytes], *, quoted: bool) -> tuple[int, int]:
    """Count rows and bytes of the first lines. A ``quoted`` row ends where all quotes are
    closed."""
    rows = read = 0
    inside = False
    for line in lines:
        if quoted and line.count(b'"') % 2:
            inside = not inside
        rows += not inside and bool(line.strip())
        read += len(line)
        if read >= _LARGE:
            break
    return rows + inside, read
