"""Following of JSON lines files while they grow.

A followed file, or the files of a followed folder, may be rotated or truncated, and may end within
a line.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from veridical.errors import UsageError
from veridical.io.formats import EXTENSIONS, Cursor, Raw, as_row
from veridical.io.lines import BOM, LONGEST_LINE, from_json
from veridical.io.problems import RowProblem
from veridical.text.display import display, reason

#: Seconds between two checks of the followed files.
INTERVAL = 0.5
_BLOCK = 1 << 18
_REMEMBERED = 64  # bytes before the read position, compared to detect a rewritten file
_MOST_OPEN = 64  # files kept open between two checks, so that a rotated file is read to its end
_SUFFIXES = {suffix for suffix, format in EXTENSIONS.items() if format == "jsonl"}

Line = tuple[int, Raw]


class Followed:
    """Rows of followed files, as one input of an :class:`~veridical.io.source.InputSource`.

    A folder includes its ``.jsonl`` and ``.ndjson`` files, also those that appear later. A file
    that is renamed within the folder stays the same file.

    Args:
        path: a file or a folder.
        once: stop at the current end of the files; an unterminated last line is then a row.
        from_end: skip the lines that are complete now.
        stop: event that ends the rows.

    Attributes:
        name, line: location of the last row; ``line`` counts from 1.
        files: number of files read.

    Raises:
        UsageError: the path is not a file or folder, or a file of another format.
    """

    format = "jsonl"
    reiterable = False
    size = None

    def __init__(
        self,
        path: Path,
        *,
        once: bool = False,
        from_end: bool = False,
        stop: threading.Event | None = None,
        interval: float = INTERVAL,
    ) -> None:
        self.name, self.line, self.files = display(path), 0, 0
        self._path, self._once = path, once
        self._stop, self._interval = stop or threading.Event(), interval
        self._logs: dict[tuple[int, int], _Log] = {}
        try:
            mode = path.stat().st_mode
        except OSError as e:
            raise UsageError(f"cannot follow {display(path)}: {reason(e)}") from None
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise UsageError(f"cannot follow {display(path)}: it is neither a file nor a folder")
        format = EXTENSIONS.get(path.suffix.lower(), "jsonl")
        if stat.S_ISREG(mode) and format != "jsonl":
            raise UsageError(
                f"cannot follow {display(path)}: only JSON lines can be followed, not {format}"
            )
        self._folder = stat.S_ISDIR(mode)
        if from_end:
            for log in self._found(skip=True):
                log.close()

    @property
    def unfinished(self) -> int:
        """Number of files whose last line is not terminated yet."""
        return sum(log.unfinished for log in self._logs.values())

    def rows(self, cursor: Cursor) -> Iterator[tuple[int | None, Raw]]:
        """Yield rows and problems as they arrive; blank lines are not rows."""
        while True:
            busy = False
            for log in self._found():
                for line, row in log.lines(last=log.gone):
                    busy = True
                    self.name, self.line = log.name, line
                    yield line, row
                    if self._stop.is_set():
                        return
            for key, log in list(self._logs.items()):
                if log.gone and log.at_end:
                    log.close()
                    del self._logs[key]
            if busy or any(not log.at_end for log in self._logs.values()):
                continue
            if self._once:
                yield from self._rest()
                return
            if self._stop.wait(self._interval):
                return

    def _rest(self) -> Iterator[tuple[int | None, Raw]]:
        for log in self._logs.values():
            for line, row in log.lines(last=True):
                self.name, self.line = log.name, line
                yield line, row

    def _found(self, skip: bool = False) -> list[_Log]:
        """Return the logs to read now, ordered by name, preceded by those that were removed."""
        there: dict[tuple[int, int], Path] = {}
        for path in self._paths():
            try:
                status = path.stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                there.setdefault((status.st_dev, status.st_ino), path)
        if not there and not self._folder:  # a rotation may be in progress
            return list(self._logs.values())
        for key, log in self._logs.items():
            log.gone = key not in there
        for key, path in there.items():
            if key not in self._logs:
                self._logs[key] = _Log(path, skip)
                self.files += 1
            self._logs[key].path = path
        keep = len(self._logs) <= _MOST_OPEN
        for log in self._logs.values():
            log.keep = keep
        return sorted(self._logs.values(), key=lambda log: (not log.gone, str(log.path)))

    def _paths(self) -> list[Path]:
        if not self._folder:
            return [self._path]
        try:
            return sorted(p for p in self._path.iterdir() if p.suffix.lower() in _SUFFIXES)
        except OSError:
            return []

    def position(self) -> float | None:
        return None

    def count(self) -> int | None:
        return None

    def digest(self) -> str:
        raise UsageError("a followed input has no end and cannot be hashed")


class _Log:
    """A file and its read position.

    Attributes:
        path: its latest name.
        gone: True if it no longer has a followed name: its remaining content is the last.
        keep: True if it stays open.
        at_end: True if all its content was read.
    """

    def __init__(self, path: Path, skip: bool) -> None:
        self.path, self.gone, self.keep, self.at_end = path, False, True, False
        self._file: BinaryIO | None = None
        self._begin()
        if skip:
            self._skip()

    @property
    def name(self) -> str:
        return display(self.path)

    @property
    def unfinished(self) -> bool:
        return bool(self._rest) or self._too_long > 0

    def _begin(self) -> None:
        self._position = self._number = self._too_long = 0
        self._rest = bytearray()
        self._before = b""

    def _skip(self) -> None:
        """Skip the complete lines."""
        complete = number = 0
        while block := self._read():
            if (end := block.rfind(b"\n")) >= 0:
                complete = self._position - len(block) + end + 1
                number += block.count(b"\n")
        self._position, self._number, self._before = complete, number, b""
        self.at_end = False

    def lines(self, last: bool = False) -> Iterator[Line]:
        """Yield the lines of the next block of the file, each with its number.

        Args:
            last: True if nothing follows: once all is read, an unterminated line counts as a line.
        """
        block = self._read()
        self.at_end = len(block) < _BLOCK
        if not self.keep:
            self.close()
        *ended, rest = block.split(b"\n")
        for piece in ended:
            yield from self._line(piece)
        self._keep(rest)
        if last and self.at_end and self.unfinished:
            yield from self._line(b"")

    def _keep(self, piece: bytes) -> None:
        """Buffer the beginning of a line, or only the length of an overlong line."""
        if self._too_long or len(self._rest) + len(piece) > LONGEST_LINE:
            self._too_long = (self._too_long or len(self._rest)) + len(piece)
            self._rest.clear()
        else:
            self._rest += piece

    def _line(self, piece: bytes) -> Iterator[Line]:
        self._keep(piece)
        self._number += 1
        data, length = bytes(self._rest), self._too_long
        self._rest, self._too_long = bytearray(), 0
        if length:
            problem = f"the line is too long: {length:,} bytes, limit {LONGEST_LINE:,}"
            yield self._number, RowProblem(problem)
            return
        if self._number == 1 and data.startswith(BOM):
            data = data[len(BOM) :]
        if not data or data.isspace():
            return
        try:
            yield self._number, as_row(from_json(data, "not JSON"))
        except RowProblem as e:
            yield self._number, e

    def _read(self) -> bytes:
        """Read at most one block after the read position. A file that is shorter or has changed
        before that position was rewritten, and is read from its start."""
        try:
            if self._file is None:
                self._file = self.path.open("rb", buffering=0)
            size = os.fstat(self._file.fileno()).st_size
            if size < self._position or not self._unchanged():
                self._begin()
            self._file.seek(self._position)
            block = self._file.read(_BLOCK)
        except OSError:  # removed, or no longer readable
            self.close()
            return b""
        self._position += len(block)
        self._before = (self._before + block)[-_REMEMBERED:]
        return block

    def _unchanged(self) -> bool:
        assert self._file is not None
        self._file.seek(self._position - len(self._before))
        return self._file.read(len(self._before)) == self._before

    def close(self) -> None:
        """Close the file; it is reopened if there is more to read."""
        if self._file is not None:
            self._file.close()
            self._file = None
