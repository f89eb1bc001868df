"""Files in S3, read in place.

Of Parquet, only the row groups of a shard are read. Of line formats, everything from the beginning
to the shard's end is read: JSONL, CSV and TSV, gzipped or not.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from veridical.errors import UsageError
from veridical.files import s3
from veridical.io import formats
from veridical.io.files import FieldOf, text_rows
from veridical.io.formats import Cursor, Rows
from veridical.io.problems import RowProblem

#: Line formats.
LINES = ("jsonl", "csv", "tsv")
#: Part of an Arrow message that identifies the server, not the file, as the cause.
_SERVER = "AWS Error"
_BUFFER = 1 << 20  # bytes per request
_LOOK = 30.0  # seconds between two checks that the object is unchanged


def object_part(address: str, field_of: FieldOf, quotes: bool) -> ParquetObject | LinesObject:
    """Return the object at ``address``, with the format of its name's extension; Parquet without
    one.

    Args:
        field_of, quotes: for CSV, see :func:`veridical.io.formats.csv_rows`.

    Raises:
        UsageError: it does not exist, cannot be read, or has another format.
    """
    key = s3.parse(address).key
    format, compressed = _format_of(key) or ("parquet", False)
    if format == "parquet" and not compressed:
        return ParquetObject(address)
    if format not in LINES:
        raise UsageError(
            f"{address}: unsupported format in S3; convert it to Parquet, JSON Lines, CSV or TSV"
        )
    return LinesObject(address, format, compressed, field_of, quotes)


def _format_of(key: str) -> tuple[str, bool] | None:
    """Return format and gzip compression by a name's extension; None without one."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(key).suffixes]
    compressed = suffixes[-1:] == [".gz"]
    if compressed:
        suffixes.pop()
    format = formats.EXTENSIONS.get(suffixes[-1]) if suffixes else None
    return None if format is None and not compressed else (format or "gz", compressed)


class _Object:
    """An object that is read again at every iteration.

    After :meth:`digest`, an object that has changed stops the reading.

    Raises:
        UsageError: it does not exist, or cannot be read.
    """

    reiterable = True

    def __init__(self, address: str) -> None:
        self._address = s3.parse(address)
        self.name = str(self._address)
        self._store = s3.objects(self._address.bucket)
        self._tag: str | None = None
        self.size = self._look()[1]

    def digest(self) -> str:
        """Return a hash of the object's version tag and size.

        Raises:
            UsageError: it has changed since the first call.
        """
        if self._tag is None:
            self._tag, self.size = self._look()
        else:
            self._verify()
        text = f"{self._tag} {self.size}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _watched(self, rows: Rows) -> Rows:
        """Yield ``rows`` while the object stays the same.

        Raises:
            UsageError: it has changed, or the server stopped sending it.
        """
        looked = float("-inf")
        for number, row in rows:
            if (now := time.monotonic()) - looked > _LOOK:
                self._verify()
                looked = now
            if isinstance(row, RowProblem) and _SERVER in row.error:
                raise UsageError(f"{self.name}: {row.error}")  # not an error of the row
            yield number, row
        self._verify()

    def _verify(self) -> None:
        if self._tag is not None and self._look() != (self._tag, self.size):
            raise UsageError(f"{self.name}: the object has changed since it was first read")

    def _look(self) -> tuple[str, int]:
        """Return the current tag and size of the object."""
        try:
            with s3.plain_errors(self._address):
                about = self._store.head(self._address.key)
        except FileNotFoundError:
            raise UsageError(f"{self.name}: there is no such object") from None
        return str(about["e_tag"] or about["last_modified"]), int(about["size"])

    @property
    def _place(self) -> str:
        """Name of the object in Arrow."""
        return f"{self._address.bucket}/{self._address.key}"

    def _opened(self, open_it: Callable[[str], Any]) -> Any:
        try:
            return open_it(self._place)
        except OSError as e:
            raise UsageError(f"{self.name}: {e}") from None


class ParquetObject(_Object):
    """A Parquet object.

    Raises:
        UsageError: it does not exist, cannot be read, or is not a Parquet file.
    """

    format = "parquet"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._cursor: Cursor | None = None
        self.count()  # raises errors before a later reading

    def rows(self, cursor: Cursor) -> Rows:
        """Yield the rows of the object.

        Raises:
            UsageError: it cannot be read, or has changed since its digest.
        """
        self._cursor = cursor
        with self._open() as file:
            yield from self._watched(formats.parquet_rows(file, cursor, self.name, buffer=_BUFFER))

    def position(self) -> float:
        """Return the share read so far, 0 to 1."""
        return self._cursor.done / (self.count() or 1) if self._cursor else 0.0

    @cached_property
    def _row_count(self) -> int:
        with self._open() as file, formats.open_parquet(file, self.name) as parquet:
            return int(parquet.metadata.num_rows)

    def count(self) -> int:
        """Return the number of rows from the file's metadata."""
        return self._row_count

    def _open(self) -> Any:
        return self._opened(s3.filesystem().open_input_file)


class LinesObject(_Object):
    """An object of JSON lines, CSV or TSV, gzipped or not.

    Raises:
        UsageError: it does not exist, cannot be read, or its beginning violates its format.
    """

    def __init__(
        self, address: str, format: str, compressed: bool, field_of: FieldOf, quotes: bool
    ) -> None:
        super().__init__(address)
        self.format = format
        self._compressed = compressed
        self._field_of = field_of
        self._quotes = quotes
        self._raw: Any = None
        next(self.rows(Cursor()), None)  # raises errors before a later reading
        self._raw = None

    def rows(self, cursor: Cursor) -> Rows:
        """Yield the rows of the object.

        Raises:
            UsageError: it cannot be read, or has changed since its digest.
        """
        stream = s3.filesystem().open_input_stream
        with self._opened(
            lambda place: stream(place, compression=None, buffer_size=_BUFFER)
        ) as self._raw:
            read = text_rows(
                self._unpacked(), cursor, self.format, self.name, self._field_of, self._quotes
            )
            yield from self._watched(read)

    def _unpacked(self) -> BinaryIO:
        raw = io.BufferedReader(self._raw, _BUFFER)
        if not self._compressed:
            return raw
        return io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=raw)), _BUFFER)

    def position(self) -> float:
        """Return the share read so far, 0 to 1."""
        try:
            return self._raw.tell() / (self.size or 1) if self._raw is not None else 0.0
        except (ValueError, OSError):  # read to the end and closed
            return 1.0

    def count(self) -> int | None:
        """Return None: the number is known only after reading it all."""
        return None


def below(address: str) -> Iterator[str]:
    """Yield the readable objects below an address that ends in a slash, by name.

    Raises:
        UsageError: there are no such objects, or they have several formats.
    """
    prefix = s3.parse(address)
    with s3.plain_errors(prefix):
        keys = [
            entry["path"]
            for some in s3.objects(prefix.bucket).list(prefix.key or None)
            for entry in some
        ]
    found = {key: form[0] for key in sorted(keys) if (form := _format_of(key)) is not None}
    found = {key: format for key, format in found.items() if format in ("parquet", *LINES)}
    if not found:
        raise UsageError(f"{prefix}/: there are no Parquet, JSON Lines, CSV or TSV files")
    kinds = sorted(set(found.values()))
    if len(kinds) > 1:
        raise UsageError(
            f"{prefix}/: files have several formats ({', '.join(kinds)}); "
            "name the files of one format"
        )
    for key in found:
        yield f"{s3.SCHEME}{prefix.bucket}/{key}"
