"""The file that sampling writes: one record a line, in input order, beside a file of failures.

Both are only ever appended to, by whole lines, in input order. So after a kill the highest row in
either says where to go on; what was asked beyond it is in the journal.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from veridical.errors import RowError, UsageError
from veridical.evidence.locks import try_lock
from veridical.evidence.rundir import Rows
from veridical.io.lines import LONGEST_LINE
from veridical.llm.sampling import Answered, Failed

_BLOCK = 1 << 16
_BEGINNINGS = (b'{"id":', b'{"row":')


def run_of(identity: Mapping[str, Any]) -> str:
    """16 hex digits for what makes two samplings the same."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def errors_path(path: Path) -> Path:
    """The file of failures beside ``path``."""
    return path.with_name(path.name + ".errors.jsonl")


class AnswersFile:
    """The output of one sampling, written by one process at a time.

    Args:
        path: the file; one that is there is gone on with.
        identity: prompts, model and parameters. ``run_of`` it is in every line.

    Attributes:
        next_row: the first row with neither an answer nor a failure.

    Raises:
        UsageError: the file holds something else, or another process writes to it.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self.errors = errors_path(path)
        self._identity = dict(identity)
        self.run = run_of(identity)
        for place in (path, self.errors):
            if place.exists() and not place.is_file():
                raise UsageError(f"cannot write {place}: it is no file")
        try:
            self._lock = try_lock(path)
        except OSError as e:
            raise UsageError(f"cannot write {path}: {e.strerror}") from None
        if self._lock is None:
            raise UsageError(f"{path} is being written by another process")
        try:
            self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def _open(self) -> None:
        # A foreign file is left as it is, so it is looked at before anything is mended.
        for place in (self.path, self.errors):
            self._check(place)
        last = [_mend(place) for place in (self.path, self.errors)]
        rows = [_row_of(line) for line in last if line]
        self.next_row = max(rows, default=-1) + 1
        self._out = _append(self.path)
        self._err = _append(self.errors)

    def _check(self, place: Path) -> None:
        if not place.exists():
            return
        with place.open("rb") as f:
            line = f.readline(LONGEST_LINE + 1)
        if not line:
            return
        try:
            told = _told(line)
        except ValueError:
            half = any(b.startswith(line) or line.startswith(b) for b in _BEGINNINGS)
            if half and not line.endswith(b"\n"):
                return  # the very first line, half written
            raise _foreign(place) from None
        except (KeyError, TypeError):
            raise _foreign(place) from None
        if told.get("run") == self.run:
            return
        differing = [
            f"{k}: it has {json.dumps(told[k])}, this run has {json.dumps(v)}"
            for k, v in self._identity.items()
            if k in told and told[k] != json.loads(json.dumps(v))
        ]
        what = "; ".join(differing) or "the prompts, their mapping, or the endpoint's options"
        raise UsageError(
            f"{place} holds another sampling; what differs: {what}. Choose another --out; answers "
            "already paid for come from the journal"
        )

    def write(self, outcome: Answered | Failed | RowError) -> None:
        """Append one outcome. It survives the process from here on."""
        if isinstance(outcome, Answered):
            _write_all(self._out, outcome.line + b"\n")
        else:
            _write_all(self._err, self._error_line(outcome))
        self.next_row = outcome.row + 1

    def _error_line(self, outcome: Failed | RowError) -> bytes:
        if isinstance(outcome, RowError):
            told: dict[str, Any] = outcome.as_dict()
        else:
            told = {"row": outcome.row, "id": outcome.id, "error": outcome.error}
            told["trouble"] = outcome.trouble
            if outcome.possibly_paid:
                told["possibly_paid"] = outcome.possibly_paid
        return json.dumps({**told, "run": self.run}).encode() + b"\n"

    def failed_rows(self) -> Rows:
        """Rows whose prompt failed and that have no answer; bad rows are not among them."""
        answered, failed = Rows(), Rows()
        for row, _ in _lines(self.path):
            answered.add(row)
        for row, line in _lines(self.errors):
            if row not in answered and "trouble" in json.loads(line):
                failed.add(row)
        return failed

    def rewrite(self) -> Rewrite:
        """Begin to answer failed rows again: write their outcomes, in order, to what this
        returns, then close it."""
        return Rewrite(self)

    def _take(self, answers: Path, errors: Path) -> None:
        """Go on with other files in place of the old ones."""
        lock = try_lock(answers)  # the new file's, before it has the name
        # Answers first: a row that is in both files, should we die here, has its answer.
        answers.replace(self.path)
        errors.replace(self.errors)
        for fd in (self._out, self._err, self._lock):
            assert fd is not None
            os.close(fd)
        self._lock = lock
        self._out, self._err = _append(self.path), _append(self.errors)

    def counts(self) -> tuple[int, int]:
        """Answered and failed (or bad) rows, as the files have them."""
        return _count(self.path), _count(self.errors)

    def close(self) -> None:
        """Let the file go. An empty file of failures is removed."""
        if self._lock is None:
            return
        for fd in (self._out, self._err, self._lock):
            os.close(fd)
        self._lock = None
        if self.errors.stat().st_size == 0:
            self.errors.unlink()

    def __enter__(self) -> AnswersFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Rewrite:
    """New outcomes put in their places among the old lines. Until :meth:`close`, the old files
    stay as they are; if the process dies, the journal has what was answered."""

    def __init__(self, file: AnswersFile) -> None:
        self._file = file
        self._drafts = [p.with_name(p.name + ".tmp") for p in (file.path, file.errors)]
        self._to = [d.open("wb") for d in self._drafts]
        self._old = [_Ahead(_lines(p)) for p in (file.path, file.errors)]

    def write(self, outcome: Answered | Failed | RowError) -> None:
        """Put ``outcome`` in place of what its row had."""
        self._copy(outcome.row)
        for old in self._old:
            old.drop(outcome.row)
        if isinstance(outcome, Answered):
            self._to[0].write(outcome.line + b"\n")
        else:
            self._to[1].write(self._file._error_line(outcome))

    def _copy(self, end: int | None) -> None:
        for old, to in zip(self._old, self._to, strict=True):
            for line in old.before(end):
                to.write(line)

    def close(self) -> None:
        """Keep all old lines that were not replaced, and put the new files in place."""
        self._copy(None)
        for to in self._to:
            to.flush()
            os.fsync(to.fileno())
            to.close()
        self._file._take(*self._drafts)


class _Ahead:
    """Lines in row order, read as far as is asked for."""

    def __init__(self, lines: Iterator[tuple[int, bytes]]) -> None:
        self._lines = lines
        self._next = next(lines, None)

    def before(self, end: int | None) -> Iterator[bytes]:
        while self._next is not None and (end is None or self._next[0] < end):
            yield self._next[1]
            self._next = next(self._lines, None)

    def drop(self, row: int) -> None:
        while self._next is not None and self._next[0] == row:
            self._next = next(self._lines, None)


def stored(path: Path) -> Iterator[tuple[int, bytes | RowError]]:
    """What ``path`` and its file of failures hold, by row: a line, or why there is none."""
    answered = _Ahead(_lines(path))
    for row, line in _lines(errors_path(path)):
        for old in answered.before(row):
            yield _row_of(old), old
        told = json.loads(line)
        if "trouble" in told:
            yield row, Failed(row, told["id"], told["trouble"], told["error"]).row_error(str(path))
        else:
            yield row, RowError(row, told["file"], told["line"], told["field"], told["error"])
    for old in answered.before(None):
        yield _row_of(old), old


def _foreign(place: Path) -> UsageError:
    return UsageError(f"{place} is there and holds no sampled answers; it is left as it is")


def _told(line: bytes) -> dict[str, Any]:
    """What a line of either file says of its run."""
    import pydantic_core

    told = pydantic_core.from_json(line)
    found = told["meta"]["sampling"] if "meta" in told else told
    if not isinstance(found.get("run"), str) or type(found["row"]) is not int:
        raise KeyError("run")
    return dict(found)


def _row_of(line: bytes) -> int:
    try:
        return int(_told(line)["row"])
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"not a line of sampled answers: {line[:80]!r}") from None


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """``(row, line)`` of every whole line."""
    if not path.exists():
        return
    with path.open("rb") as f:
        for line in f:
            if not line.endswith(b"\n"):
                return
            yield _row_of(line), line


def _count(path: Path) -> int:
    with path.open("rb") as f:
        return sum(block.count(b"\n") for block in iter(lambda: f.read(1 << 20), b""))


def _mend(path: Path) -> bytes:
    """Cut off a last line that a killed process left half written; the last whole one."""
    if not path.exists():
        return b""
    with path.open("rb+") as f:
        size = f.seek(0, os.SEEK_END)
        end = _after_newline(f, size)
        if end < size:
            f.truncate(end)
        if not end:
            return b""
        start = _after_newline(f, end - 1)
        f.seek(start)
        return f.read(end - start)


def _after_newline(f: Any, end: int) -> int:
    """The place after the last newline before ``end``; 0 if there is none."""
    at = end
    while at > 0:
        step = min(at, _BLOCK)
        f.seek(at - step)
        newline = f.read(step).rfind(b"\n")
        if newline >= 0:
            return int(at - step + newline + 1)
        at -= step
    return 0


def _append(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
