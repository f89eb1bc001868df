"""Sources of records: files, standard input, rows or frames in memory."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from veridical.core.records import Record
from veridical.errors import RowError, UsageError, mapping_named
from veridical.files.s3 import is_address
from veridical.io.columns import Columns, has_path, no_column
from veridical.io.files import FilePart, StreamPart, open_path, open_stdin, spool_rows
from veridical.io.formats import Cursor
from veridical.io.memory import MemoryPart, frame_part
from veridical.io.objects import below, object_part
from veridical.io.problems import RowProblem
from veridical.io.readers import Reader, find_reader
from veridical.io.row_shapes import table_rows
from veridical.text.display import cut, shown, visible

if TYPE_CHECKING:
    from pathlib import Path

    from veridical.io.unused import UnusedColumn

Item = Record | RowError

_ONLY_ONCE = "this input can be read only once; spool() it to a file first"
_NAMED_COLUMNS = 100  # maximum columns in a message, to find a misspelt one
_LOOKED_AT_PARTS = 16  # inputs whose columns are inspected


class RowPlace(NamedTuple):
    """Location of a row: ``line`` (from 1; None without lines) of the input ``file``."""

    row: int
    file: str
    line: int | None


class InputPart(Protocol):
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
    def count(self) -> int | None: ...
    def digest(self) -> str: ...


class InputSource:
    """A sequence of records, numbered over all inputs from 0.

    Attributes:
        reiterable: True if it can be read again; if not (standard input, a generator), see
            :meth:`spool`.
        read: number of rows that a reader should take at once.
    """

    read = 64

    def __init__(self, parts: list[InputPart], columns: Columns, reader: Reader | None) -> None:
        self._parts = parts
        self._columns = columns
        self._reader = reader
        self._reading = 0
        self._begun = False
        self._digests: list[str] | None = None
        self._spooled: dict[int, FilePart] = {}  # by index among the parts

    @property
    def reiterable(self) -> bool:
        return all(p.reiterable for p in self._parts)

    def rows(self, start: int = 0) -> Iterator[Item]:
        """Return records and row errors in input order, from ordinal ``start``.

        A bad row has an ordinal like any other. Blank lines are not rows.

        Raises:
            UsageError: a one-shot source is read a second time, or a file cannot be read.
        """
        self._begin()
        return (item for item, *_ in self._walk(start))

    @property
    def given(self) -> InputSource:
        """The innermost input, if this source wraps others."""
        return self

    @property
    def frame(self) -> Any:
        """The data frame of the rows, as narwhals, if each row is a record; else None."""
        part = self._parts[0]
        whole = len(self._parts) == 1 and self._reader is None and isinstance(part, MemoryPart)
        return part.frame if whole and isinstance(part, MemoryPart) else None

    def originals(self) -> Iterator[dict[str, Any]]:
        """Yield the original row of each record and row error, with the columns of the input; empty
        if it was not an object."""
        self._begin()
        for _, row, *_ in self._walk(0):
            if isinstance(row, Record):
                row = row.model_dump(by_alias=True, exclude={"row"}, exclude_defaults=True)
            yield dict(row) if isinstance(row, dict) else {}

    def places(self) -> Iterator[RowPlace]:
        """Return the location of each record and row error, in order."""
        self._begin()
        return (RowPlace(item.row, file, line) for item, _, file, line in self._walk(0))

    def _begin(self) -> None:
        if self._begun and not self.reiterable:
            raise UsageError(_ONLY_ONCE)
        self._begun = True

    def _walk(self, start: int) -> Iterator[tuple[Item, Any, str, int | None]]:
        """Yield items with their rows, inputs and lines."""
        ordinal = 0  # of records: the public numbering
        index = 0  # of rows: one may contain several records
        # a reader may make several records of a row, so its rows cannot be skipped unread
        cursor = Cursor(skip=0 if self._reader else start)
        for number, part in enumerate(self._parts):
            self._reading = number
            cursor.done = 0
            rows = part.count() if cursor.skip and part.format == "parquet" else None
            if rows is not None and rows <= cursor.skip:
                cursor.skip -= rows
                ordinal += rows
                index += rows
                continue
            for line, row in part.rows(cursor):
                if row is None:
                    ordinal += 1
                elif self._reader is None or not isinstance(row, dict):
                    if ordinal >= start:
                        item = self._item(row, None, ordinal, part, line)
                        yield item, row, part.name, line
                    ordinal += 1
                else:
                    for made in self._reader.read(row, index):
                        if ordinal >= start:
                            item = self._item(made, row, ordinal, part, line)
                            yield item, row, part.name, line
                        ordinal += 1
                index += 1
        self._reading = len(self._parts)

    def _item(
        self,
        row: Any,
        original: dict[str, Any] | None,
        ordinal: int,
        part: InputPart,
        line: int | None,
    ) -> Item:
        if isinstance(row, Record):
            identity = ordinal if row.id is None else row.id
            return row.model_copy(update={"row": ordinal, "id": identity})
        problem = row
        if not isinstance(row, RowProblem):
            try:
                folder = part.folder if isinstance(part, FilePart) else None
                return self._columns.record(row, ordinal, original, folder)
            except RowProblem as e:
                problem = e
        field = None if problem.field is None else cut(problem.field)
        return RowError(row=ordinal, file=part.name, line=line, field=field, error=problem.error)

    def fingerprint(self) -> str:
        """Return a hash of the content of all inputs, the mapping and the reader; names do not
        count.

        Raises:
            UsageError: the source is one-shot.
        """
        content = [[p.format, d] for p, d in zip(self._parts, self._hashes(), strict=True)]
        identity = [content, self._columns.mapping, self._reader.name if self._reader else None]
        text = json.dumps(identity, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def describe(self) -> list[dict[str, Any]]:
        """Return path, size in bytes, format and hash of every input, for a manifest.

        Raises:
            UsageError: the source is one-shot.
        """
        return [
            {"path": p.name, "bytes": p.size, "format": p.format, "hash": d}
            for p, d in zip(self._parts, self._hashes(), strict=True)
        ]

    def _hashes(self) -> list[str]:
        if not self.reiterable:
            raise UsageError(_ONLY_ONCE)
        if self._digests is None:
            self._digests = [p.digest() for p in self._parts]
        return self._digests

    def verify(self) -> None:
        """Check that no input has changed since its fingerprint.

        Raises:
            UsageError: an input has changed, or the source is one-shot.
        """
        for part in self._parts:
            part.digest()

    def check_mapping(self) -> None:
        """Check, before any model runs, that every mapped column exists in at least one row.

        Raises:
            UsageError: a column is missing, or a file cannot be read; the message names the
                columns.
        """
        missing = dict(self._columns.mapping)
        seen: dict[str, None] = {}
        for part in self._parts if missing else ():
            for _, row in copy.copy(part).rows(Cursor()):
                if not isinstance(row, dict):
                    continue
                missing = {f: path for f, path in missing.items() if not has_path(row, path)}
                if not missing:
                    return
                seen.update(dict.fromkeys(islice(row, _NAMED_COLUMNS - len(seen))))
        if missing and seen:
            field, path = next(iter(missing.items()))
            raise UsageError(f"{mapping_named(field, path)}: {no_column(path, list(seen))}")

    def warnings(self) -> list[str]:
        """Return warnings about the rows read so far, one line each."""
        return self._columns.warnings()

    def unused_columns(self) -> list[UnusedColumn]:
        """Return the columns that feed no field, with the likeliest meaning of each, by the first
        rows of the first inputs (see :func:`veridical.io.unused.unused_columns`). A named reader
        has no unused columns.

        Raises:
            UsageError: the source is one-shot, or a file can no longer be read.
        """
        from veridical.io.unused import LOOKED_AT, unused_columns

        if not self.reiterable:
            raise UsageError(_ONLY_ONCE)
        if self._reader is not None:
            return []
        columns: dict[str, UnusedColumn] = {}
        for part in self._parts[:_LOOKED_AT_PARTS]:
            # a copy, so that the read position of the part itself does not change
            rows = copy.copy(part).rows(Cursor())
            some = (row for _, row in islice(rows, LOOKED_AT) if isinstance(row, dict))
            for unused in unused_columns(some, self._columns):
                columns.setdefault(unused.column, unused)
        return sorted(columns.values(), key=lambda unused: unused.meaning is None)

    def count(self) -> int | None:
        """Count the rows without parsing; estimated for files over 1 GB. Return None if unknown:
        for one-shot inputs, JSON arrays and named readers."""
        if self._reader is not None or not self.reiterable:
            return None
        counts = [part.count() for part in self._parts]
        known = [n for n in counts if n is not None]
        return sum(known) if len(known) == len(counts) else None

    def count_all(self) -> int:
        """Count the rows that :meth:`rows` yields, bad rows included, reading the input if
        necessary.

        Raises:
            UsageError: the input cannot be read.
        """
        if self._reader is not None:
            return sum(1 for _ in self.rows())
        return sum(
            cast(int, part.count())
            if part.format == "parquet"
            else sum(1 for _ in copy.copy(part).rows(Cursor(skip=sys.maxsize)))
            for part in self._parts
        )

    def fraction(self) -> float | None:
        """Return the share of the input read in the latest pass, 0 to 1; None if unknown."""
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

    def spool(self, path: str | os.PathLike[str]) -> InputSource:
        """Copy one-shot inputs to ``path`` and return a source that can be read again.

        Standard input is copied unaltered, with bad lines. Rows of a generator are written as JSON
        lines. Other inputs are not copied. Nothing is held in memory.

        Raises:
            UsageError: the input was already read, or ``path`` cannot be written.
        """
        self._begin()
        parts: list[InputPart] = []
        copied: dict[int, FilePart] = {}
        for i, part in enumerate(self._parts):
            if part.reiterable:
                parts.append(part)
                continue
            taken = spooled_path(path, i, len(self._parts))
            try:
                copied[i] = (
                    part.copy_to(taken)
                    if isinstance(part, StreamPart)
                    else spool_rows(part.rows(Cursor()), taken, part.name)
                )
                parts.append(copied[i])
            except OSError as e:
                raise UsageError(f"cannot copy the input to {taken}: {e.strerror}") from None
        source = InputSource(parts, self._columns, self._reader)
        source._spooled = copied
        return source

    def move(self, path: str | os.PathLike[str]) -> None:
        """Move the files of :meth:`spool` to ``path`` and read them there from now on."""
        for i, part in self._spooled.items():
            place = spooled_path(path, i, len(self._parts))
            shutil.move(part.path, place)
            part.path = place


class SourceSlice(InputSource):
    """Rows ``start`` to ``stop`` (exclusive) of another source, numbered as there."""

    def __init__(self, whole: InputSource, start: int, stop: int) -> None:
        super().__init__(whole._parts, whole._columns, whole._reader)
        self._whole = whole
        self._start = start
        self._stop = stop

    def rows(self, start: int = 0) -> Iterator[Item]:
        """Return the items of the whole source, from the slice's first row."""
        for item in super().rows(max(start, self._start)):
            if item.row >= self._stop:
                return
            yield item

    def fingerprint(self) -> str:
        """Return the fingerprint of the whole source and of the slice."""
        return f"{self._whole.fingerprint()}:{self._start}-{self._stop}"

    def _hashes(self) -> list[str]:
        return self._whole._hashes()

    def count(self) -> int | None:
        """Return the number of rows of the slice."""
        return self._stop - self._start


def spooled_path(path: str | os.PathLike[str], i: int, n: int) -> str:
    """Return the path to which :meth:`InputSource.spool` copies the ``i``-th of ``n`` inputs."""
    return os.fspath(path) if n == 1 else f"{os.fspath(path)}.{i}"


def open_source(
    inputs: Any,
    *,
    mapping: Mapping[str, str] | None = None,
    reader: str | None = None,
    prompts: bool = False,
) -> InputSource:
    """Open the records of ``inputs``.

    Args:
        inputs: a path, several paths, or ``-`` for standard input. Or a list or other iterable of
            dicts or records, a dict of equally long lists (columns), or a pandas, polars or
            pyarrow table. Files are JSONL, JSON (one list), CSV, TSV or Parquet by extension,
            else by content; text formats may be gzipped. ``s3://BUCKET/NAME`` is an object
            (Parquet, JSONL, CSV, TSV), ``s3://BUCKET/PREFIX/`` all objects below it.
        mapping: record field -> column or dotted path, instead of the aliases.
        reader: name of a published format, see :mod:`veridical.io.readers`.
        prompts: rows may lack the response; see :class:`~veridical.io.columns.Columns`.

    Raises:
        UsageError: there is no input, a file is missing or unreadable, a table has no answer
            column, or a field or reader is unknown.
    """
    columns = Columns(mapping, prompts=prompts)
    shape = find_reader(reader) if reader is not None else None
    if isinstance(inputs, (str, os.PathLike)):
        inputs = [inputs]
    frame = frame_part(inputs)
    if frame is not None:
        if shape is None and frame.columns is not None:
            columns.check_answers(frame.columns)
        return InputSource([frame], columns, shape)
    if isinstance(inputs, dict) and shape is None:
        rows = table_rows(inputs, columns.field_of, prompts=prompts)
        if rows is not None:
            return InputSource([MemoryPart(rows)], columns, shape)
    if isinstance(inputs, (dict, Record)):
        inputs = [inputs]
    if isinstance(inputs, bytes) or not isinstance(inputs, Iterable):
        kind = visible(type(inputs).__name__)
        raise UsageError(
            f"cannot read records from {kind}: pass a path, a dict, a list of dicts or a data frame"
        )
    items = iter(inputs)
    try:
        first = next(items)
    except StopIteration:
        raise UsageError("there is no input; name a file, '-' or pass rows") from None
    if isinstance(first, (str, os.PathLike)):
        paths = [first, *items]
        wrong = next((p for p in paths if not isinstance(p, (str, os.PathLike))), None)
        if wrong is not None:
            raise UsageError(f"paths and rows cannot be mixed; found {shown(wrong)}")
        return InputSource(_file_parts(paths, columns, shape), columns, shape)
    whole = inputs if items is not inputs else chain([first], items)
    return InputSource([MemoryPart(whole)], columns, shape)


def _file_parts(
    paths: list[str | Path | os.PathLike[str]], columns: Columns, reader: Reader | None
) -> list[InputPart]:
    if sum(p == "-" for p in paths) > 1:
        raise UsageError("standard input ('-') can be named only once")
    field_of = columns.field_of if reader is None else _no_field
    quotes = reader is None or reader.quotes
    whole = reader is not None and reader.whole
    parts: list[InputPart] = []
    for path in paths:
        if path == "-":
            parts.append(open_stdin(field_of, quotes, whole))
        elif isinstance(path, str) and is_address(path):
            addresses = below(path) if path.endswith("/") else [path]
            parts += [object_part(address, field_of, quotes) for address in addresses]
        else:
            parts.append(open_path(path, field_of, quotes, whole))
    return parts


def _no_field(column: str) -> str | None:
    """Return None: a named reader gets the cells of a CSV file unaltered."""
    return None
