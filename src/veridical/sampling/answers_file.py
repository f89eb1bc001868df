"""Output file of sampling: one record per line, with a failures file.

Whole lines are appended to both, in input order. After a kill the highest row in either file is the
place to resume; later calls are in the journal. An earlier row in neither file has lost its line,
and is requested again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from veridical.errors import RowError, UsageError
from veridical.files.atomic import replacing
from veridical.files.locks import is_locked, try_lock
from veridical.files.rowlog import Distrusted, Rows, append_to, mend, whole_lines, write_all
from veridical.io.lines import LONGEST_LINE
from veridical.sampling.sampling import Answered, Failed

_IDENTIFYING_LINES = 20  # checked for the sampling that wrote a file
_MODE = 0o644  # the user's own file, unlike those of a run directory
_BEGINNINGS = (b'{"id":', b'{"row":')


def run_of(identity: Mapping[str, Any]) -> str:
    """Return 16 hex digits that identify a sampling."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def errors_path(path: Path) -> Path:
    """Return the path of the failures file for ``path``."""
    return path.with_name(path.name + ".errors.jsonl")


def kept_answers(path: Path, identity: Mapping[str, Any]) -> KeptAnswers:
    """Return the outcomes from which :class:`AnswersFile` would resume, without writing.

    Raises:
        UsageError: as for :class:`AnswersFile`.
    """
    _check_files(path)
    with _writable(path):
        if path.exists() and is_locked(path):
            raise _busy(path)
    return KeptAnswers(path, identity)


class KeptAnswers:
    """The written outcomes of a sampling, read only.

    Args:
        path: the file; it need not be there.
        identity: prompts, model and parameters. ``run_of`` it is in every line.

    Attributes:
        journal: the folder of the journal of a sampling without a store.
        seen: rows with an answer or a failure.
        next_row: the row after the last with an answer or a failure.
        gaps: whether rows before it have neither: their lines are damaged or gone.
        distrusted: lines that are not outcomes of this sampling, or not in their place.

    Raises:
        UsageError: the file holds something else.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self.errors = errors_path(path)
        self.journal = path.with_name(path.name + ".journal")
        self._identity = dict(identity)
        self.run = run_of(identity)
        for place in (self.path, self.errors):
            self._check(place)
        self.seen, self.next_row, self.distrusted = Rows(), 0, Distrusted()
        for place in (self.path, self.errors):
            for row, _ in self.lines(place, self.distrusted):
                self.seen.add(row)
                self.next_row = max(self.next_row, row + 1)

    def _check(self, place: Path) -> None:
        if not place.exists():
            return
        with place.open("rb") as f:
            head = [
                line
                for line in (f.readline(LONGEST_LINE + 1) for _ in range(_IDENTIFYING_LINES))
                if line
            ]
        if not head:
            return
        origins = [origin for origin in map(_origin, head) if origin is not None]
        if not origins:
            line = head[0]
            half = any(b.startswith(line) or line.startswith(b) for b in _BEGINNINGS)
            if half and not line.endswith(b"\n") and not _is_json(line):
                return  # the very first line, half written
            raise _foreign(place)
        if any(origin["run"] == self.run for origin in origins):
            return
        other = origins[0]
        differing = [
            f"{k} (file: {json.dumps(other[k])}, this run: {json.dumps(v)})"
            for k, v in self._identity.items()
            if k in other and other[k] != json.loads(json.dumps(v))
        ]
        what = "; ".join(differing) or "the prompts, their mapping, or the endpoint's options"
        raise UsageError(
            f"{place} belongs to another sampling, which differs in: {what}. Choose another --out; "
            "answers already paid for come from the journal"
        )

    @property
    def gaps(self) -> bool:
        return self.seen.count < self.next_row

    def is_missing(self, row: int) -> bool:
        """Return True if ``row`` has lost its line."""
        return row < self.next_row and row not in self.seen

    def failed_rows(self) -> Rows:
        """Return the rows whose prompt failed and that have no answer, without bad rows."""
        answered, failed = Rows(), Rows()
        for row, _ in self.lines(self.path):
            answered.add(row)
        for row, line in self.lines(self.errors):
            if row not in answered and "trouble" in json.loads(line):
                failed.add(row)
        return failed

    def lines(
        self, path: Path, distrusted: Distrusted | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Yield ``(row, line)`` of every valid whole line of this sampling in its place."""
        last = -1
        for number, line in enumerate(whole_lines(path), 1):
            origin = _origin(line)
            if origin is not None and origin["run"] == self.run and origin["row"] > last:
                last = origin["row"]
                yield last, line
            elif distrusted is not None:
                distrusted.add(path, number)


class AnswersFile(KeptAnswers):
    """The output of one sampling, written by one process at a time.

    Args:
        path: the file; an existing one is resumed.
        identity: as in :class:`KeptAnswers`.

    Raises:
        UsageError: the file has other content, or another process writes to it.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        _check_files(path)
        with _writable(path):
            self._lock = try_lock(path)
        if self._lock is None:
            raise _busy(path)
        try:
            super().__init__(path, identity)  # a foreign file is rejected before any repair
            for place in (self.path, self.errors):
                mend(place)
            self._out = append_to(self.path, _MODE)
            self._err = append_to(self.errors, _MODE)
        except BaseException:
            os.close(self._lock)
            raise

    def write(self, outcome: Answered | Failed | RowError) -> None:
        """Append one outcome, durably."""
        file = self._out if isinstance(outcome, Answered) else self._err
        write_all(file, _line(outcome, self.run))
        self.seen.add(outcome.row)
        self.next_row = outcome.row + 1

    def rewrite(self) -> Rewrite:
        """Start rewriting failed or missing rows; invalid lines are dropped.

        Write the new outcomes, in order, to the returned object, then close it.
        """
        return Rewrite(self)

    def reopen(self, lock: int | None) -> None:
        """Switch to the new files that have replaced the old ones.

        Args:
            lock: lock of the new answers file.
        """
        for fd in (self._out, self._err, self._lock):
            assert fd is not None
            os.close(fd)
        self._lock = lock
        self._out, self._err = append_to(self.path, _MODE), append_to(self.errors, _MODE)
        self.distrusted = Distrusted()

    def counts(self) -> tuple[int, int]:
        """Return the numbers of answered and of failed (or bad) rows in the files."""
        return _count(self.path), _count(self.errors)

    def close(self) -> None:
        """Close the file and remove an empty failures file."""
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
    """A replacement of outcomes among the old lines.

    Until :meth:`close`, the old files are unchanged; if the process dies, the journal has the new
    answers.
    """

    def __init__(self, file: AnswersFile) -> None:
        self._file = file
        # Closed in reverse, answers first: if the process dies between the two, a row in both files
        # two, has its answer.
        self._drafts = ExitStack()
        self._errors, self._answers = (
            self._drafts.enter_context(_draft(path)) for path in (file.errors, file.path)
        )
        self._old = [
            (_LineCursor(file.lines(file.path)), self._answers),
            (_LineCursor(file.lines(file.errors)), self._errors),
        ]

    def write(self, outcome: Answered | Failed | RowError) -> None:
        """Replace the outcome of the row."""
        self._copy(outcome.row)
        for old, _ in self._old:
            old.drop(outcome.row)
        self._file.seen.add(outcome.row)
        draft = self._answers if isinstance(outcome, Answered) else self._errors
        draft.write(_line(outcome, self._file.run))

    def _copy(self, end: int | None) -> None:
        for old, draft in self._old:
            draft.writelines(old.before(end))

    def close(self) -> None:
        """Copy all old lines that were not replaced, and install the new files."""
        with self._drafts:
            self._copy(None)
            lock = try_lock(Path(self._answers.name))  # before it takes the old file's name
        self._file.reopen(lock)


class _LineCursor:
    """Lines in row order, read on demand."""

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


def failure_line(outcome: Failed | RowError, run: str) -> bytes:
    """Return the JSON object with the reason why a row of the sampling ``run`` failed."""
    if isinstance(outcome, RowError):
        fields: dict[str, Any] = outcome.as_dict()
    else:
        names = ("row", "id", "error", "trouble", "possibly_paid")
        fields = {name: getattr(outcome, name) for name in names}
        if not outcome.possibly_paid:
            del fields["possibly_paid"]
    return json.dumps({**fields, "run": run}).encode()


def _line(outcome: Answered | Failed | RowError, run: str) -> bytes:
    line = outcome.line if isinstance(outcome, Answered) else failure_line(outcome, run)
    return line + b"\n"


def row_of(line: bytes) -> int:
    """Return the row of a line of answers.

    Raises:
        ValueError: the line has another form.
    """
    origin = _origin(line)
    if origin is None:
        raise ValueError("not a line of sampled answers")
    return int(origin["row"])


def _check_files(path: Path) -> None:
    for place in (path, errors_path(path)):
        if place.exists() and not place.is_file():
            raise UsageError(f"cannot write {place}: not a regular file")


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise UsageError(f"cannot write {path}: {e.strerror}") from None


def _busy(path: Path) -> UsageError:
    return UsageError(f"{path} is being written by another process")


def _foreign(place: Path) -> UsageError:
    return UsageError(f"{place} exists and is not a file of sampled answers; choose another --out")


def _origin(line: bytes) -> dict[str, Any] | None:
    """Return the run of a line of either file; None if it is not a line of a sampling."""
    import pydantic_core

    try:
        fields = pydantic_core.from_json(line)
        origin = fields["meta"]["sampling"] if "meta" in fields else fields
        whole = isinstance(origin.get("run"), str) and type(origin["row"]) is int
        return dict(origin) if whole else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


@contextmanager
def _draft(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that will replace ``path``, with its mode."""
    with replacing(path, private=True, binary=True) as draft:
        Path(draft.name).chmod(stat.S_IMODE(path.stat().st_mode))
        yield draft


def _count(path: Path) -> int:
    with path.open("rb") as f:
        return sum(block.count(b"\n") for block in iter(lambda: f.read(1 << 20), b""))
