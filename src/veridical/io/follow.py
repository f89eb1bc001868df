"""JSON lines as they are written: a file, or the files of a folder, that grow, are rotated, are
cut, and end in the middle of a line."""

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

#: Seconds between two looks at what is followed.
INTERVAL = 0.5
_BLOCK = 1 << 18
_REMEMBERED = 64  # bytes before the place that was read to: a file that was rewritten has others
_MOST_OPEN = 64  # files that stay open between two looks, so that a rotated one is read to its end
_SUFFIXES = {suffix for suffix, format in EXTENSIONS.items() if format == "jsonl"}

Line = tuple[int, Raw]


class Followed:
    """The rows of what is followed, as one input of a :class:`~veridical.io.Source`.

    Of a folder these are the ``.jsonl`` and ``.ndjson`` files in it, those too that appear later.
    A file that is renamed within the folder is the same file.

    Args:
        path: a file or a folder.
        once: end where the files end now; a last line without its end is a row then.
        from_end: pass over the lines that are complete now.
        stop: set, it ends the rows.

    Attributes:
        name, line: where the row that was given last stands; ``line`` counts from 1.
        files: how many were read from.

    Raises:
        UsageError: the path is neither, or a file of another format.
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
        """Files whose last line has no end yet."""
        return sum(log.unfinished for log in self._logs.values())

    def rows(self, cursor: Cursor) -> Iterator[tuple[int | None, Raw]]:
        """Rows and what is wrong with them, as they come; blank lines are no rows."""
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
        """What there is to read now, in the order of its names; those that are gone before."""
        there: dict[tuple[int, int], Path] = {}
        for path in self._paths():
            try:
                status = path.stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                there.setdefault((status.st_dev, status.st_ino), path)
        if not there and not self._folder:  # a rotation may be in the middle
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
        raise UsageError("what is followed has no end to be hashed")


class _Log:
    """One file, and how far it is read.

    Attributes:
        path: its latest name.
        gone: whether it has no name any more that is followed: what it still holds is its last.
        keep: whether it stays open.
        at_end: whether all that it held was read.
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
        """Pass over the complete lines."""
        complete = number = 0
        while block := self._read():
            if (end := block.rfind(b"\n")) >= 0:
                complete = self._position - len(block) + end + 1
                number += block.count(b"\n")
        self._position, self._number, self._before = complete, number, b""
        self.at_end = False

    def lines(self, last: bool = False) -> Iterator[Line]:
        """The lines of the next block of the file, each with its number.

        Args:
            last: nothing comes after it: a line without its end is one, once all was read.
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
        """Hold the beginning of a line; of one that is too long its length."""
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
        """What follows the part that was read, at most a block of it. A file that is shorter than
        that part, or holds something else there, was written anew: it is read from its start."""
        try:
            if self._file is None:
                self._file = self.path.open("rb", buffering=0)
            size = os.fstat(self._file.fileno()).st_size
            if size < self._position or not self._unchanged():
                self._begin()
            self._file.seek(self._position)
            block = self._file.read(_BLOCK)
        except OSError:  # taken away, or not ours to read any more
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
        """Close the file; it is opened again where there is more to read."""
        if self._file is not None:
            self._file.close()
            self._file = None
