"""Append-only row logs: sealed JSON objects, one per line.

Lines are read in row order.

A log is a file and, if rows had to be written again, later files whose lines replace earlier ones.
Whole lines are appended in one write, so a kill leaves at most a torn last line. Every line has a
seal over the log's purpose, its owner (``key``) and its object. A line that is damaged, was written
elsewhere or has another owner is not used, and its row counts as missing. Within a file, a line is
less than :data:`DISORDER` rows behind the highest row before it, so a bounded buffer restores row
order.
"""

from __future__ import annotations

import heapq
import os
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, TypeVar

from veridical.errors import UsageError
from veridical.files.atomic import PRIVATE_FILE
from veridical.files.seals import SEAL, seal, sealed_hex

DISORDER = 8192
#: Maximum bytes of a line; a longer one is damaged.
LONGEST = 1 << 28
_ROW = re.compile(rb'\{(?:"id":\s?(?:"(?:[^"\\]|\\.)*"|-?\d+|null),\s?)?"row":\s?(\d{1,15})[,}]')
_BEFORE, _AFTER = b',"seal":"', b'"}'
_TAIL = len(_BEFORE) + 2 * SEAL + len(_AFTER)
_BLOCK = 1 << 16
_PAGE = 1 << 12  # bytes
_SHOWN = 5

RowOf = Callable[[bytes], int]


class Rows:
    """A set of row numbers in one bit each; ranges without rows take no memory."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self.count = 0

    def add(self, row: int) -> None:
        page = self._pages.setdefault(row // (8 * _PAGE), bytearray(_PAGE))
        byte, bit = row // 8 % _PAGE, 1 << (row & 7)
        if not page[byte] & bit:
            page[byte] |= bit
            self.count += 1

    def discard(self, row: int) -> None:
        if row in self:
            self._pages[row // (8 * _PAGE)][row // 8 % _PAGE] &= ~(1 << (row & 7))
            self.count -= 1

    def first_gap(self) -> int:
        """Return the lowest row that is not in the set."""
        number = 0
        while (page := self._pages.get(number)) is not None:
            for byte, bits in enumerate(page):
                if bits != 0xFF:
                    bit = next(i for i in range(8) if not bits >> i & 1)
                    return (number * _PAGE + byte) * 8 + bit
            number += 1
        return number * _PAGE * 8

    def __contains__(self, row: int) -> bool:
        page = self._pages.get(row // (8 * _PAGE))
        return page is not None and bool(page[row // 8 % _PAGE] & (1 << (row & 7)))

    def __iter__(self) -> Iterator[int]:
        for number in sorted(self._pages):
            for byte, bits in enumerate(self._pages[number]):
                if bits:
                    first = (number * _PAGE + byte) * 8
                    yield from (first + i for i in range(8) if bits >> i & 1)


class HasRow(Protocol):
    @property
    def row(self) -> int: ...


R = TypeVar("R", bound=HasRow)
T = TypeVar("T")


def joined_rows(
    rows: Iterable[R], entries: Iterator[tuple[int, T]]
) -> Iterator[tuple[R, T | None]]:
    """Yield rows in order, each with the entry of the same number, if there is one."""
    entry = next(entries, None)
    for row in rows:
        while entry is not None and entry[0] < row.row:
            entry = next(entries, None)
        yield row, entry[1] if entry is not None and entry[0] == row.row else None


class Distrusted:
    """Lines that are not used: their number, and the locations of the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, path: Path, number: int) -> None:
        self.count += 1
        if len(self.first) < _SHOWN:
            self.first.append(f"{path}: line {number}")

    def extend(self, others: Distrusted) -> None:
        """Add the lines of another log."""
        self.count += others.count
        self.first = [*self.first, *others.first][:_SHOWN]

    @property
    def lines(self) -> tuple[str, ...]:
        """Locations as text for humans."""
        more = self.count - len(self.first)
        return (
            *(f"not trusted: {place}" for place in self.first),
            *([f"... and {more} more stored lines"] if more else []),
        )


class _Place(NamedTuple):
    """Location of a used line. Later lines of a row sort first."""

    row: int
    newest: int
    length: int


class RowLog:
    """An append-only log.

    Args:
        path: its first file; names of later files derive from it.
        key: owner of its lines.
        purpose: kind of its lines, see :func:`veridical.files.seals.seal`.
        row_of: function that returns the row of an object; default: its own ``row``, first or
            after ``id``.
        unsealed: use lines with a row whatever their seal: for logs that are shown but not relied
            on.
    """

    def __init__(
        self,
        path: Path,
        key: str,
        purpose: str,
        *,
        row_of: RowOf | None = None,
        unsealed: bool = False,
    ) -> None:
        self.path = path
        self.key = key
        self.purpose = purpose
        self.unsealed = unsealed
        self._row_of = row_of or row_in
        self._file: int | None = None
        self._newest: int | None = None  # row of the last file; None before it was inspected

    def files(self) -> list[Path]:
        """Return the existing files of the log, oldest first."""
        return [p for p in self._names() if p.exists()]

    def _names(self) -> Iterator[Path]:
        yield self.path
        stem, _, ending = self.path.name.partition(".")
        pattern = re.compile(rf"{re.escape(stem)}\.retry-\d{{4}}\.{re.escape(ending)}")
        folder = self.path.parent
        if folder.is_dir():
            yield from sorted(p for p in folder.iterdir() if pattern.fullmatch(p.name))

    def lines(self, distrusted: Distrusted | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield ``(row, object)`` in row order; of several lines of a row, the newest valid one."""
        files = enumerate(reversed(self.files()))
        streams = [self._ranked(path, rank, distrusted) for rank, path in files]
        last = -1
        for row, _, content in heapq.merge(*streams, key=lambda line: line[:2]):
            if row != last:
                last = row
                yield row, content

    def index(self, keep: Rows | None = None) -> RowIndex:
        """Return the locations of :meth:`lines`; only for the rows ``keep``, if given."""
        return RowIndex(self, keep)

    def rows(self, distrusted: Distrusted | None = None) -> Iterator[int]:
        """Yield the rows of the used lines, in no order."""
        newest: int | None = None
        for path in self.files():
            newest = -1
            for place in self._used(path, distrusted):
                newest = max(newest, place.row)
                yield place.row
        self._newest = newest

    def append(self, row: int, content: bytes) -> None:
        """Append a line; ``content`` is a JSON object. It then survives the process."""
        if self._newest is None:
            for _ in self.rows():
                pass
        if row <= (self._newest or 0) - DISORDER:
            self.restart()
        if self._file is None:
            self._file = append_to((self.files() or [self.path])[-1])
        write_all(self._file, self.sealed(content) + b"\n")
        self._newest = max(self._newest or 0, row)

    def sealed(self, content: bytes) -> bytes:
        """Return ``content`` with its seal, as in a line."""
        mark = seal(self.key, content, purpose=self.purpose).hex().encode()
        return content[:-1] + _BEFORE + mark + _AFTER

    def restart(self) -> None:
        """Start a new file for the lines appended from now on."""
        files = self.files()
        self.close()
        if files:
            stem, _, ending = self.path.name.partition(".")
            last = files[-1].name.removeprefix(f"{stem}.retry-")[:4]
            number = int(last) + 1 if last.isdecimal() else 1
            name = f"{stem}.retry-{number:04d}.{ending}"
            self._file = append_to(self.path.with_name(name))
        self._newest = 0

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._newest = None

    def remove(self) -> None:
        """Remove the files of the log."""
        self.close()
        for path in self.files():
            path.unlink()

    def mend(self) -> None:
        """Cut off a line that a killed process left incomplete."""
        for path in self.files():
            mend(path)

    def _ranked(
        self, path: Path, rank: int, distrusted: Distrusted | None
    ) -> Iterator[tuple[int, int, bytes]]:
        """Yield lines by row; holds the locations, not the lines, of at most DISORDER rows."""
        with path.open("rb") as file:
            for place in self._ordered(path, distrusted):
                file.seek(-place.newest)
                yield place.row, rank, self._object(file.read(place.length))

    def _ordered(self, path: Path, distrusted: Distrusted | None) -> Iterator[_Place]:
        """Yield the locations of a file's lines in row order."""
        heap: list[_Place] = []
        newest = -1
        for place in self._used(path, distrusted):
            heapq.heappush(heap, place)
            newest = max(newest, place.row)
            while heap and heap[0].row <= newest - DISORDER:
                yield heapq.heappop(heap)
        while heap:
            yield heapq.heappop(heap)

    def _used(self, path: Path, distrusted: Distrusted | None) -> Iterator[_Place]:
        """Yield the used lines of a file, in its order."""
        newest, start = -1, 0
        for number, line in enumerate(whole_lines(path), 1):
            row = self._row(line[:-1]) if line.endswith(b"\n") else None
            if row is None or row <= newest - DISORDER:
                if distrusted is not None:
                    distrusted.add(path, number)
            else:
                newest = max(newest, row)
                yield _Place(row, -start, len(line) - 1)
            start += len(line)

    def _row(self, line: bytes) -> int | None:
        """Return the row of a line if it is used."""
        content = self._object(line)
        if not self.unsealed:
            mark = line[-_TAIL + len(_BEFORE) : -len(_AFTER)]
            if content is line or not sealed_hex(mark, self.key, content, purpose=self.purpose):
                return None
        try:
            return self._row_of(content)
        except ValueError:
            return None

    @staticmethod
    def _object(line: bytes) -> bytes:
        """Return the appended object; ``line`` itself if it has no seal."""
        if line[-_TAIL : -_TAIL + len(_BEFORE)] == _BEFORE and line.endswith(_AFTER):
            return line[:-_TAIL] + b"}"
        return line


class RowIndex:
    """Locations of the lines of a log, in row order, for random access. It takes 32 bytes per line.

    Attributes:
        rows: the rows, ascending.
    """

    def __init__(self, log: RowLog, keep: Rows | None = None) -> None:
        self.rows = array("q")
        self._log = log
        self._files = log.files()
        self._sizes = [path.stat().st_size for path in self._files]
        self._numbers, self._starts, self._lengths = array("q"), array("q"), array("q")
        streams = [self._stream(number) for number in reversed(range(len(self._files)))]
        for row, rank, start, length in heapq.merge(*streams):
            if (not self.rows or row != self.rows[-1]) and (keep is None or row in keep):
                self.rows.append(row)
                self._numbers.append(-rank)
                self._starts.append(start)
                self._lengths.append(length)

    def _stream(self, number: int) -> Iterator[tuple[int, int, int, int]]:
        newest = -1
        for row, place, length in self._log._ordered(self._files[number], None):
            if row != newest:  # of several lines of a row in a file, the last comes first
                newest = row
                yield row, -number, -place, length

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def current(self) -> bool:
        """True if the log has not changed since it was indexed."""
        files = self._log.files()
        return files == self._files and [p.stat().st_size for p in files] == self._sizes

    def line(self, position: int) -> bytes:
        """Return the object at ``position`` from 0.

        Raises:
            UsageError: the line has changed.
        """
        path = self._files[self._numbers[position]]
        with path.open("rb") as file:
            file.seek(self._starts[position])
            line = file.read(self._lengths[position])
        if self._log._row(line) != self.rows[position]:
            raise UsageError(f"{path} changed while it was read; run the command again")
        return self._log._object(line)

    def find(self, row: int) -> bytes | None:
        """Return the object of ``row``; None if there is no such row."""
        position = bisect_left(self.rows, row)
        there = position < len(self.rows) and self.rows[position] == row
        return self.line(position) if there else None


def row_in(content: bytes) -> int:
    """Return the object's own ``row``, which is first or follows the id (hostile text: matched as a
    JSON string).

    Raises:
        ValueError: it has no row.
    """
    match = _ROW.match(content)
    if not match:
        raise ValueError("no row")
    return int(match[1])


def whole_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file up to its last newline; nothing for a missing file. An overlong
    line is split into pieces, which are not valid lines."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    except OSError as e:
        raise UsageError(f"{path} cannot be read: {e.strerror}") from None
    with file:
        while line := file.readline(LONGEST):
            if not line.endswith(b"\n") and len(line) < LONGEST:
                return
            yield line


def append_to(path: Path, mode: int = PRIVATE_FILE) -> int:
    """Return the descriptor of a file to append to, created if absent.

    Raises:
        UsageError: it cannot be written, or is a link, whose target is not ours.
    """
    return _descriptor(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode)


def mend(path: Path) -> None:
    """Cut off a last line that a killed process left incomplete."""
    if not path.exists():
        return
    with os.fdopen(_descriptor(path, os.O_RDWR, 0), "rb+") as file:
        size = file.seek(0, os.SEEK_END)
        end = _after_newline(file, size)
        if end < size:
            file.truncate(end)


def write_all(file: int, data: bytes) -> None:
    """Write all of ``data`` to a descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _descriptor(path: Path, flags: int, mode: int) -> int:
    if path.is_symlink():  # where the system cannot refuse links itself
        raise UsageError(f"{path} is a link, which is not written to; remove it")
    try:
        return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), mode)
    except OSError as e:
        raise UsageError(f"{path} cannot be written: {e.strerror}") from None


def _after_newline(file: BinaryIO, end: int) -> int:
    """Return the position after the last newline before ``end``; 0 without one."""
    at = end
    while at > 0:
        step = min(at, _BLOCK)
        file.seek(at - step)
        newline = file.read(step).rfind(b"\n")
        if newline >= 0:
            return at - step + newline + 1
        at -= step
    return 0
