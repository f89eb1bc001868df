"""Parquet files in S3, read in place: of a shard, only the row groups that it is in."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from veridical.errors import UsageError
from veridical.files import s3
from veridical.io import formats
from veridical.io.formats import Cursor, Rows
from veridical.io.problems import RowProblem

#: What a message of Arrow says where the server, and not the file, is the cause.
_SERVER = "AWS Error"
_BUFFER = 1 << 20  # bytes of a request
_LOOK = 30.0  # seconds between two looks whether the object is still the same


class ObjectPart:
    """One Parquet object, read anew at every iteration. From its :meth:`digest` on, what is read
    is what was there then: an object that has changed stops the reading.

    Raises:
        UsageError: it is not there, may not be read, or is no Parquet file.
    """

    reiterable = True
    format = "parquet"

    def __init__(self, address: str) -> None:
        self._address = s3.parse(address)
        self.name = str(self._address)
        suffix = PurePosixPath(self._address.key).suffix.lower()
        if formats.EXTENSIONS.get(suffix, "parquet") != "parquet" or suffix == ".gz":
            raise UsageError(f"{self.name}: of S3 only Parquet is read: convert it")
        self._store = s3.objects(self._address.bucket)
        self._tag: str | None = None
        self._cursor: Cursor | None = None
        self.size = self._look()[1]
        self.count()  # finds now what would stop a later reading

    def rows(self, cursor: Cursor) -> Rows:
        """Rows of the object.

        Raises:
            UsageError: it cannot be read, or has changed since its digest was asked for.
        """
        self._cursor = cursor
        looked = float("-inf")
        with self._open() as file:
            for number, row in formats.parquet_rows(file, cursor, self.name, buffer=_BUFFER):
                if (now := time.monotonic()) - looked > _LOOK:
                    self._verify()
                    looked = now
                if isinstance(row, RowProblem) and _SERVER in row.error:
                    raise UsageError(f"{self.name}: {row.error}")  # not the fault of the row
                yield number, row
        self._verify()

    def position(self) -> float:
        """The part read so far, from 0 to 1."""
        return self._cursor.done / (self.count() or 1) if self._cursor else 0.0

    @cached_property
    def _row_count(self) -> int:
        with self._open() as file, formats.open_parquet(file, self.name) as parquet:
            return int(parquet.metadata.num_rows)

    def count(self) -> int:
        """Rows, by the file's own account."""
        return self._row_count

    def digest(self) -> str:
        """Hash of what the server calls this version of the object, and of its size.

        Raises:
            UsageError: it has changed since this was first asked.
        """
        if self._tag is None:
            self._tag, self.size = self._look()
        else:
            self._verify()
        text = f"{self._tag} {self.size}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _verify(self) -> None:
        if self._tag is not None and self._look() != (self._tag, self.size):
            raise UsageError(f"{self.name}: the object has changed since it was read first")

    def _look(self) -> tuple[str, int]:
        """Tag and bytes of the object as it is now."""
        try:
            with s3.told(self._address):
                about = self._store.head(self._address.key)
        except FileNotFoundError:
            raise UsageError(f"{self.name}: there is no such object") from None
        return str(about["e_tag"] or about["last_modified"]), int(about["size"])

    def _open(self) -> Any:
        """The object as a file of Arrow's."""
        try:
            place = f"{self._address.bucket}/{self._address.key}"
            return s3.filesystem().open_input_file(place)
        except OSError as e:
            raise UsageError(f"{self.name}: {e}") from None


def below(address: str) -> Iterator[str]:
    """The Parquet objects whose names begin with an address that ends in a slash, by name.

    Raises:
        UsageError: there are none.
    """
    prefix = s3.parse(address)
    with s3.told(prefix):
        found = [
            entry["path"]
            for some in s3.objects(prefix.bucket).list(prefix.key or None)
            for entry in some
            if formats.EXTENSIONS.get(PurePosixPath(entry["path"]).suffix.lower()) == "parquet"
        ]
    if not found:
        raise UsageError(f"{prefix}/: there are no Parquet files")
    for key in sorted(found):
        yield f"{s3.SCHEME}{prefix.bucket}/{key}"
