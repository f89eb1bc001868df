"""Files and byte streams: opening, format detection, hashing, copying."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from veridical.core.records import Record
from veridical.errors import UsageError
from veridical.io import formats
from veridical.io.counting import count_rows
from veridical.io.formats import Cursor, Rows
from veridical.io.lines import BOM, BROKEN_STREAM, LONGEST_LINE
from veridical.io.problems import RowProblem
from veridical.text.display import display, reason

FieldOf = Callable[[str], "str | None"]
_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 20
_BUFFER = 1 << 18
_CHECKED = 16  # rows yielded between checks of the file


def text_rows(
    stream: BinaryIO,
    cursor: Cursor,
    format: str,
    name: str,
    field_of: FieldOf,
    quotes: bool,
    whole: bool = False,
) -> Rows:
    """Return the rows of a stream in one of the text formats."""
    if format == "jsonl":
        return formats.jsonl_rows(stream, cursor)
    if format == "json":
        return formats.json_rows(stream, cursor, name, whole=whole)
    if format == "spool":
        return spooled_rows(stream, cursor)
    tab = format == "tsv"
    return formats.csv_rows(
        stream,
        cursor,
        name,
        delimiter="\t" if tab else ",",
        quotes=quotes or not tab,
        field_of=field_of,
    )


class FilePart:
    """A regular file, read again at every iteration.

    After :meth:`digest`, the content must match the hash: a file that has changed stops the
    reading.

    Args:
        folder: folder in or below which rows may name images; None for a copy of another input.
    """

    reiterable = True

    def __init__(
        self,
        path: str,
        format: str,
        *,
        name: str,
        compressed: bool = False,
        field_of: FieldOf,
        quotes: bool = True,
        whole: bool = False,
        folder: Path | None = None,
    ) -> None:
        self.path = path
        self.folder = folder
        self.format = format
        self.name = name
        self._compressed = compressed
        self._field_of = field_of
        self._quotes = quotes
        self._whole = whole
        self._raw: io.FileIO | None = None
        self._cursor: Cursor | None = None
        self._hash: str | None = None
        self._stamp: tuple[int, ...] | None = None  # file status at the time of the hash

    @property
    def size(self) -> int:
        """Size in bytes; after hashing, that of the hashed content."""
        return Path(self.path).stat().st_size if self._stamp is None else self._stamp[2]

    def rows(self, cursor: Cursor) -> Rows:
        """Yield the rows of the file.

        Raises:
            UsageError: the file cannot be read, or has changed since it was hashed.
        """
        self._cursor = cursor
        rows = self._rows(cursor)
        while True:
            some: list[tuple[int | None, Any]] = []
            error = None
            try:
                for row in islice(rows, _CHECKED):
                    some.append(row)
            except UsageError as e:  # possibly because the file was truncated
                error = e
            self._verify()
            yield from some
            if error is not None:
                raise error
            if len(some) < _CHECKED:
                return

    def _rows(self, cursor: Cursor) -> Rows:
        if self.format == "parquet":
            yield from formats.parquet_rows(self.path, cursor, self.name)
            return
        with open_raw(self.path, self.name) as self._raw:
            stream = buffered(self._raw, self._compressed)
            yield from text_rows(
                stream,
                cursor,
                self.format,
                self.name,
                self._field_of,
                self._quotes,
                self._whole,
            )

    def check(self) -> None:
        """Read the beginning, to raise errors before a later reading.

        Raises:
            UsageError: no header, not JSON, not Parquet and the like.
        """
        next(self.rows(Cursor()), None)
        self._raw = self._cursor = None

    @cached_property
    def _row_count(self) -> int:
        with formats.open_parquet(self.path, self.name) as file:
            return int(file.metadata.num_rows)

    def count(self) -> int | None:
        """Count the rows without parsing; see :func:`~veridical.io.counting.count_rows`."""
        if self.format == "parquet":
            return self._row_count
        return count_rows(self.path, self.format)

    def position(self) -> float:
        """Return the share read so far, 0 to 1."""
        if self.format == "parquet":
            return self._cursor.done / (self._row_count or 1) if self._cursor else 0.0
        try:
            return self._raw.tell() / (self.size or 1) if self._raw else 0.0
        except (ValueError, OSError):  # read to the end and closed
            return 1.0

    def digest(self) -> str:
        """Return the hash of the file's bytes.

        Raises:
            UsageError: the file is being written.
        """
        if self._hash is None:
            stamp = self._look()
            self._hash, self._stamp = self._read_hash(), stamp
        self._verify()
        return self._hash

    def _verify(self) -> None:
        """Check that the file has not changed since it was hashed.

        Raises:
            UsageError: it has changed.
        """
        if self._hash is None or (stamp := self._look()) == self._stamp:
            return
        if stamp is None or self._read_hash() != self._hash:
            raise UsageError(
                f"{self.name}: the file has changed since it was first read; existing scores are "
                "kept. Restore the file, or run the same command again to score its new content"
            )
        self._stamp = stamp  # touched or copied, with the same content

    def _look(self) -> tuple[int, ...] | None:
        """Return file properties that change with its content; None if the file is missing."""
        try:
            status = Path(self.path).stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def _read_hash(self) -> str:
        h = hashlib.blake2b(digest_size=16)
        with open_raw(self.path, self.name) as raw:
            while block := raw.read(_BLOCK):
                h.update(block)
        return h.hexdigest()


class StreamPart:
    """A stream such as standard input or a pipe, which can be read once."""

    reiterable = False
    size = None

    def __init__(
        self,
        stream: io.BufferedReader,
        *,
        name: str,
        field_of: FieldOf,
        quotes: bool,
        whole: bool = False,
    ) -> None:
        self._stream = stream
        self.name = name
        self._field_of = field_of
        self._quotes = quotes
        self._whole = whole
        self._told: tuple[str, bool] | None = None

    @property
    def format(self) -> str:
        return self._tell()[0]

    def _tell(self) -> tuple[str, bool]:
        """Detect the format and gzip compression from buffered bytes."""
        if self._told is None:
            head = self._stream.peek(_BUFFER)
            compressed = head.startswith(_GZIP)
            if compressed:
                head = _head_of_gzip(head)
            # an empty pipe is a file without rows
            format = formats.sniff(head, self.name) if head else "jsonl"
            self._told = format, compressed
        return self._told

    def rows(self, cursor: Cursor) -> Rows:
        format, compressed = self._tell()
        if format == "parquet":
            raise UsageError(f"{self.name}: Parquet cannot be read from a pipe; name the file")
        stream = self._stream
        if compressed:
            stream = io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=stream)), _BUFFER)
        yield from text_rows(
            stream, cursor, format, self.name, self._field_of, self._quotes, self._whole
        )

    def position(self) -> float | None:
        return None

    def count(self) -> int | None:
        return None

    def digest(self) -> str:
        raise UsageError(f"{self.name} can be read only once")

    def copy_to(self, path: str) -> FilePart:
        """Copy the unread rest to a file, which is then read instead."""
        format, compressed = self._tell()
        with _new(path) as out:
            while block := self._stream.read(_BLOCK):
                out.write(block)
        return FilePart(
            path,
            format,
            name=self.name,
            compressed=compressed,
            field_of=self._field_of,
            quotes=self._quotes,
            whole=self._whole,
        )


def _new(path: str) -> BinaryIO:
    """Create a file that only its owner may read: a copy of an input."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def open_raw(path: str, name: str) -> io.FileIO:
    try:
        return io.FileIO(path, "rb")
    except OSError as e:
        raise UsageError(f"{name}: {reason(e)}") from None


def buffered(raw: io.RawIOBase, compressed: bool) -> BinaryIO:
    if not compressed:
        return io.BufferedReader(raw, _BUFFER)
    stream = io.BufferedReader(raw, _BUFFER // 4)
    return io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=stream)), _BUFFER)


def _head_of_gzip(data: bytes) -> bytes:
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(data)).read1(_BUFFER)
    except BROKEN_STREAM:
        return b""


def open_stdin(field_of: FieldOf, quotes: bool, whole: bool = False) -> StreamPart:
    if sys.stdin is None:
        raise UsageError("<stdin>: standard input is closed")
    stream = sys.stdin.buffer
    if not isinstance(stream, io.BufferedReader):
        stream = io.BufferedReader(cast(Any, stream), _BUFFER)
    return StreamPart(stream, name="<stdin>", field_of=field_of, quotes=quotes, whole=whole)


def open_path(
    path: str | os.PathLike[str], field_of: FieldOf, quotes: bool, whole: bool = False
) -> FilePart | StreamPart:
    """Open the file at ``path``: detect its format, and read its beginning to check it.

    Raises:
        UsageError: it does not exist, is a folder, cannot be read, or has an unknown format.
    """
    place = os.fspath(path)
    name = display(place)
    try:
        mode = Path(place).stat().st_mode
    except (OSError, ValueError) as e:
        raise UsageError(f"{name}: {reason(e)}") from None
    if stat.S_ISDIR(mode):
        raise UsageError(f"{name} is a folder; name its files, for example {name}/*.jsonl")
    if not stat.S_ISREG(mode):
        raw = open_raw(place, name)
        return StreamPart(
            io.BufferedReader(raw, _BUFFER),
            name=name,
            field_of=field_of,
            quotes=quotes,
            whole=whole,
        )
    format, compressed = _format_of(place, name)
    part = FilePart(
        place,
        format,
        name=name,
        compressed=compressed,
        field_of=field_of,
        quotes=quotes,
        whole=whole,
        folder=Path(place).parent,
    )
    part.check()
    return part


def raw_rows(path: Path) -> Iterator[tuple[int | None, dict[str, Any] | RowProblem]]:
    """Yield line and unaltered row of each row of a file.

    Raises:
        UsageError: the file cannot be read.
    """
    for line, row in open_path(path, lambda column: None, True).rows(Cursor()):
        assert row is not None  # nothing is skipped
        yield line, row


def _format_of(path: str, name: str) -> tuple[str, bool]:
    suffixes = [s.lower() for s in Path(path).suffixes]
    compressed = suffixes[-1:] == [".gz"]
    if compressed:
        suffixes.pop()
    format = formats.EXTENSIONS.get(suffixes[-1]) if suffixes else None
    with open_raw(path, name) as raw:
        compressed = compressed or (format is None and raw.read(2) == _GZIP)
        raw.seek(0)
        stream = buffered(raw, compressed)
        try:
            head = stream.readline(LONGEST_LINE) + stream.read(_BUFFER)
        except BROKEN_STREAM as e:
            raise UsageError(f"{name}: cannot be read: {reason(e)}") from None
    start = head.removeprefix(BOM).lstrip()
    if format == "jsonl" and start.startswith(b"[") and formats.begins_json_list(start):
        with open_raw(path, name) as raw, suppress(UsageError):  # of invalid lines
            formats.json_list(buffered(raw, compressed), name)
            format = "json"
    elif format == "json":
        format = formats.json_or_jsonl(start) if start.startswith(b"{") else "json"
    if format is None:
        format = formats.sniff(head, name)
    if compressed and format == "parquet":
        raise UsageError(f"{name}: a gzipped Parquet file cannot be read; unzip it")
    return format, compressed


def spool_rows(rows: Iterable[tuple[Any, Any]], path: str, name: str) -> FilePart:
    """Write rows from memory as JSON lines for :func:`spooled_rows`.

    Each line is an object with one of ``row``, ``record`` or ``error``, because a generator may
    yield all three.
    """
    import pydantic_core

    with _new(path) as out:
        for _, row in rows:
            item: dict[str, Any] = {"row": row}
            if isinstance(row, Record):
                item = {"record": row.model_dump(by_alias=True)}
            elif isinstance(row, RowProblem):
                item = {"error": row.error, "field": row.field}
            try:
                line = pydantic_core.to_json(item, inf_nan_mode="constants")
            except ValueError as e:
                line = json.dumps(
                    {"error": f"cannot be stored: {reason(e)}", "field": None}
                ).encode()
            out.write(line + b"\n")
    return FilePart(path, "spool", name=name, field_of=str)


def spooled_rows(stream: BinaryIO, cursor: Cursor) -> Iterator[tuple[None, Any]]:
    """Read rows written by :func:`spool_rows`."""
    import pydantic_core

    for line in stream:
        if cursor.skips():
            yield None, None
            continue
        item = pydantic_core.from_json(line, cache_strings="keys")
        if "record" in item:
            yield None, Record.model_validate(item["record"])
        elif "error" in item:
            yield None, RowProblem(item["error"], item["field"])
        else:
            yield None, item["row"]
