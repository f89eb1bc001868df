"""Where the records of a run come from: files, standard input, rows or frames in memory."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from veridical.errors import RowError, UsageError
from veridical.io.columns import Columns
from veridical.io.files import FilePart, StreamPart, open_path, open_stdin, spool_rows
from veridical.io.formats import Cursor
from veridical.io.memory import MemoryPart, frame_part
from veridical.io.problems import RowProblem, cut, shown, visible
from veridical.io.readers import Reader, find_reader
from veridical.records import Record

if TYPE_CHECKING:
    from pathlib import Path

Item = Record | RowError


class Part(Protocol):
    """One input among several."""

    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def reiterable(self) -> bool: ...
    @property
    def size(self) -> int | None: ...
    def rows(self, cursor: Cursor) -> Iterator[tuple[int | None, Any]]: ...
    def position(self) -> float | None: ...
    def digest(self) -> str: ...


class Source:
    """A sequence of records, numbered over all inputs from 0.

    Attributes:
        reiterable: whether it can be read again; if not (standard input, a generator), see
            :meth:`spool`.
        read: rows that a reader may well take at once.
    """

    read = 64

    def __init__(self, parts: list[Part], columns: Columns, reader: Reader | None) -> None:
        self._parts = parts
        self._columns = columns
        self._reader = reader
        self._reading = 0
        self._begun = False
        self._digests: list[str] | None = None

    @property
    def reiterable(self) -> bool:
        return all(p.reiterable for p in self._parts)

    def rows(self, start: int = 0) -> Iterator[Item]:
        """Records and row errors in input order, from ordinal ``start`` on.

        A bad row takes an ordinal like any other. Blank lines are not rows.

        Raises:
            UsageError: a one-shot source is read a second time, or a file cannot be read.
        """
        self._begin()
        return self._rows(start)

    def _begin(self) -> None:
        if self._begun and not self.reiterable:
            raise UsageError("this input can be read only once; spool() it to a file first")
        self._begun = True

    def _rows(self, start: int) -> Iterator[Item]:
        ordinal = 0  # of records: what the outside counts
        index = 0  # of rows: one may hold several records
        # A reader may make several records of a row, so its rows cannot be skipped unread.
        cursor = Cursor(skip=0 if self._reader else start)
        for number, part in enumerate(self._parts):
            self._reading = number
            cursor.done = 0
            for line, row in part.rows(cursor):
                if row is None:
                    ordinal += 1
                elif self._reader is None or not isinstance(row, dict):
                    if ordinal >= start:
                        yield self._item(row, None, ordinal, part.name, line)
                    ordinal += 1
                else:
                    for made in self._reader.read(row, index):
                        if ordinal >= start:
                            yield self._item(made, row, ordinal, part.name, line)
                        ordinal += 1
                index += 1
        self._reading = len(self._parts)

    def _item(
        self, row: Any, original: dict[str, Any] | None, ordinal: int, file: str, line: int | None
    ) -> Item:
        if isinstance(row, Record):
            identity = ordinal if row.id is None else row.id
            return row.model_copy(update={"row": ordinal, "id": identity})
        problem = row
        if not isinstance(row, RowProblem):
            try:
                return self._columns.record(row, ordinal, original)
            except RowProblem as e:
                problem = e
        field = None if problem.field is None else cut(problem.field)
        return RowError(row=ordinal, file=file, line=line, field=field, error=problem.error)

    def fingerprint(self) -> str:
        """Hash of the content of all inputs, the mapping and the reader; names do not count.

        Raises:
            UsageError: the source is one-shot.
        """
        content = [[p.format, d] for p, d in zip(self._parts, self._hashes(), strict=True)]
        told = [content, self._columns.mapping, self._reader.name if self._reader else None]
        text = json.dumps(told, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def describe(self) -> list[dict[str, Any]]:
        """Path, bytes, format and hash of every input, for a manifest.

        Raises:
            UsageError: the source is one-shot.
        """
        return [
            {"path": p.name, "bytes": p.size, "format": p.format, "hash": d}
            for p, d in zip(self._parts, self._hashes(), strict=True)
        ]

    def _hashes(self) -> list[str]:
        if not self.reiterable:
            raise UsageError("this input can be read only once; spool() it to a file first")
        if self._digests is None:
            self._digests = [p.digest() for p in self._parts]
        return self._digests

    def fraction(self) -> float | None:
        """How much of the input the latest reading has passed, 0 to 1; None when unknown."""
        sizes = [1 if len(self._parts) == 1 else p.size for p in self._parts]
        if any(s is None for s in sizes):
            return None
        if self._reading >= len(self._parts):
            return 1.0
        position = self._parts[self._reading].position() if self._begun else 0.0
        if position is None:
            return None
        weights = [s or 0 for s in sizes]
        passed = sum(weights[: self._reading]) + position * weights[self._reading]
        return passed / (sum(weights) or 1)

    def spool(self, path: str | os.PathLike[str]) -> Source:
        """Copy what can be read only once to ``path`` and return a source that can be read again.

        Standard input is copied as it is, bad lines and all. Rows of a generator are written as
        JSON lines. The other inputs stay where they are. Nothing is held in memory.

        Raises:
            UsageError: the input was already read, or ``path`` cannot be written.
        """
        self._begin()
        parts: list[Part] = []
        for i, part in enumerate(self._parts):
            if part.reiterable:
                parts.append(part)
                continue
            taken = f"{os.fspath(path)}.{i}" if len(self._parts) > 1 else os.fspath(path)
            try:
                if isinstance(part, StreamPart):
                    parts.append(part.copy_to(taken))
                else:
                    parts.append(spool_rows(part.rows(Cursor()), taken, part.name))
            except OSError as e:
                raise UsageError(f"cannot copy the input to {taken}: {e.strerror}") from None
        return Source(parts, self._columns, self._reader)

    def move(self, path: str | os.PathLike[str]) -> None:
        """Move the one file that :meth:`spool` made to ``path`` and go on reading it there."""
        (part,) = self._parts
        assert isinstance(part, FilePart)
        shutil.move(part.path, path)
        part.path = os.fspath(path)


def open_source(
    inputs: Any,
    *,
    mapping: Mapping[str, str] | None = None,
    reader: str | None = None,
    prompts: bool = False,
) -> Source:
    """The records of ``inputs``.

    Args:
        inputs: a path, several paths, ``-`` for standard input; a list or other iterable of dicts
            or records; or a pandas, polars or pyarrow table. Files are JSONL, JSON (one list),
            CSV, TSV or Parquet by extension, else by content; text formats may be gzipped.
        mapping: record field -> column or dotted path, instead of the aliases.
        reader: name of a published shape, see :mod:`veridical.io.readers`.
        prompts: rows may lack the response; see :class:`~veridical.io.columns.Columns`.

    Raises:
        UsageError: nothing to read, a file that is not there or not readable, an unknown field or
            reader.
    """
    columns = Columns(mapping, prompts=prompts)
    shape = find_reader(reader) if reader is not None else None
    if isinstance(inputs, (str, os.PathLike)):
        return Source(_file_parts([inputs], columns, shape), columns, shape)
    frame = frame_part(inputs)
    if frame is not None:
        return Source([frame], columns, shape)
    if isinstance(inputs, (dict, Record, bytes)) or not isinstance(inputs, Iterable):
        kind = visible(type(inputs).__name__)
        raise UsageError(f"cannot read records from one {kind}: give a path or a list of rows")
    rest = iter(inputs)
    try:
        first = next(rest)
    except StopIteration:
        raise UsageError("there is no input: give a file, '-' or some rows") from None
    if isinstance(first, (str, os.PathLike)):
        paths = [first, *rest]
        wrong = next((p for p in paths if not isinstance(p, (str, os.PathLike))), None)
        if wrong is not None:
            raise UsageError(f"paths and rows cannot be mixed: found {shown(wrong)}")
        return Source(_file_parts(paths, columns, shape), columns, shape)
    rows = inputs if rest is not inputs else chain([first], rest)
    return Source([MemoryPart(rows)], columns, shape)


def _file_parts(
    paths: list[str | Path | os.PathLike[str]], columns: Columns, reader: Reader | None
) -> list[Part]:
    if sum(p == "-" for p in paths) > 1:
        raise UsageError("standard input ('-') can be given only once")
    field_of = columns.field_of if reader is None else _no_field
    quotes = reader is None or reader.quotes
    parts: list[Part] = []
    for path in paths:
        if path == "-":
            parts.append(open_stdin(field_of, quotes))
        else:
            parts.append(open_path(path, field_of, quotes))
    return parts


def _no_field(column: str) -> str | None:
    """A named reader gets the cells of a CSV file as they are."""
    return None
