"""The file of decisions in a run directory, and result lines with what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

#: What came of each record, by row: the newest command's.
DECISIONS = "decisions.jsonl"
_UNDECIDED = b',"decision":null,"scores":'


def decided(lines: Iterator[tuple[int, bytes]], run: Path) -> Iterator[tuple[int, bytes]]:
    """``lines`` (row, result line), in row order, with what the file in the folder ``run`` says of
    each; as they are where there is none."""
    try:
        file = (run / DECISIONS).open("rb")
    except FileNotFoundError:
        yield from lines
        return
    with file:
        told = _told(file)
        row, fields = next(told, (-1, b""))
        for at, line in lines:
            while 0 <= row < at:
                row, fields = next(told, (-1, b""))
            if row == at:
                # the first place of these characters: within a text their quotes are escaped
                line = line.replace(_UNDECIDED, b"," + fields + b',"scores":', 1)
            yield at, line


def _told(file: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Row, and the fields of it as JSON text."""
    head = b'{"row":'
    for line in file:
        row, _, fields = line.removeprefix(head).partition(b",")
        yield int(row), fields.rstrip(b"\n")[:-1]
