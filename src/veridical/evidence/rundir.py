"""The run directory: manifest, append-only results, row errors. Kill it anywhere, start it again.

``results.jsonl`` is written in the order records finish. Records are admitted by row and no
record is admitted more than :data:`DISORDER` rows ahead of the oldest unfinished one, so lines
are out of order by less than that and can be read back in input order with a bounded buffer.
``--retry-failed`` opens a new segment, whose lines take the place of earlier ones; no result
written is ever altered. Row errors that are tried again leave ``errors.jsonl``.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from veridical.errors import RowError, UsageError
from veridical.evidence.locks import try_lock

DISORDER = 8192
_ROW = re.compile(rb'\{(?:"id":(?:"(?:[^"\\]|\\.)*"|-?\d+),)?"row": ?(\d+)')


class Rows:
    """A set of row numbers in one bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self.count = 0

    def add(self, row: int) -> None:
        byte, bit = row >> 3, 1 << (row & 7)
        if byte >= len(self._bits):
            self._bits.extend(bytes(byte + 4096 - len(self._bits)))
        if not self._bits[byte] & bit:
            self._bits[byte] |= bit
            self.count += 1

    def first_gap(self) -> int:
        """The lowest row that is not in the set."""
        for byte, bits in enumerate(self._bits):
            if bits != 0xFF:
                return byte * 8 + next(i for i in range(8) if not bits >> i & 1)
        return len(self._bits) * 8

    def __contains__(self, row: int) -> bool:
        byte = row >> 3
        return byte < len(self._bits) and bool(self._bits[byte] & (1 << (row & 7)))


class RunFiles:
    """A run directory as it lies on disk, for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def manifest(self) -> dict[str, Any]:
        """What the run is.

        Raises:
            UsageError: there is no readable manifest.
        """
        try:
            found = json.loads((self.path / _MANIFEST).read_text("utf-8"))
            if not isinstance(found.get("identity"), dict):
                raise ValueError("it has no identity")
        except (ValueError, OSError, AttributeError) as e:
            raise UsageError(f"{self.path} is no readable run directory: {e}") from None
        return dict(found)

    def segments(self) -> list[Path]:
        """Result files, oldest first."""
        found = (self.path / "results.jsonl", *sorted(self.path.glob("results.retry-*.jsonl")))
        return [p for p in found if p.exists()]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """``(row, line)`` in row order; of several lines for a row, the newest."""
        streams = [_ranked(segment, -i) for i, segment in enumerate(self.segments())]
        last = -1
        for row, _, line in heapq.merge(*streams):
            if row != last:
                last = row
                yield row, line

    def errors(self) -> Iterator[RowError]:
        """Row errors, in the order they were met."""
        for _, _, line in _lines(self.path / "errors.jsonl"):
            yield RowError(**json.loads(line))


class RunDirectory(RunFiles):
    """A run directory being written, by one process at a time.

    Args:
        path: the folder; made if absent.
        identity: what makes two runs the same (inputs, scorers, models, parameters).
        request: kept in the manifest beside it: what it takes to open the inputs again.

    Raises:
        UsageError: it holds a run with another identity (saying what differs), is in use by
            another process, or is not a run directory and not empty.
    """

    def __init__(self, path: Path, identity: dict[str, Any], request: dict[str, Any]) -> None:
        super().__init__(path)
        self.done = Rows()  # accounted for: scored, or known to be no valid record
        self.resumed = 0  # records of it scored before
        self._errors_done = Rows()
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = try_lock(path / "run.lock")
        except OSError as e:
            raise UsageError(f"cannot make run directory {path}: {e}") from e
        if self._lock is None:
            raise UsageError(f"run directory {path} is in use by another process")
        try:
            self._open(identity, request)
        except BaseException:
            os.close(self._lock)
            raise

    def _open(self, identity: dict[str, Any], request: dict[str, Any]) -> None:
        if (self.path / _MANIFEST).exists():
            self._compare(identity)
        else:
            drafts = set(self.path.glob(f"{_MANIFEST}.*.tmp"))  # of a process killed just here
            strange = [p.name for p in {*self.path.iterdir()} - drafts if p.name not in _OWN]
            if strange:
                raise UsageError(
                    f"{self.path} is not a run directory and not empty (it holds {strange[0]!r})"
                )
            for draft in drafts:
                draft.unlink()
            manifest = {"identity": identity, "request": request}
            write_atomic(self.path / _MANIFEST, json.dumps(manifest, indent=1) + "\n")
        for segment in self.segments():
            mend(segment)
            for row, _, _ in _lines(segment):
                self.done.add(row)
        self.resumed = self.done.count
        mend(self.path / "errors.jsonl")
        self._account_errors()
        self._results = _append((self.segments() or [self.path / "results.jsonl"])[-1])
        self._errors = _append(self.path / "errors.jsonl")

    def _account_errors(self) -> None:
        for row, _, _ in _lines(self.path / "errors.jsonl"):
            self.done.add(row)
            self._errors_done.add(row)

    def _compare(self, identity: dict[str, Any]) -> None:
        old = self.manifest()["identity"]
        new = json.loads(json.dumps(identity))
        differing = [
            f"{k}: it has {_brief(old.get(k))}, this run has {_brief(new.get(k))}"
            for k in sorted({*old, *new})
            if old.get(k) != new.get(k)
        ]
        if differing:
            raise UsageError(
                f"{self.path} holds another run; what differs: {'; '.join(differing)}. "
                "Choose another --out, or remove that folder."
            )

    def retry_failed(self, errors: Rows | None = None) -> int:
        """Forget the records with a failed score, and the row errors of the rows ``errors``, so
        that they run again. Returns how many records."""
        self.done, self._errors_done = Rows(), Rows()
        failed = 0
        for row, line in self.lines():
            if any(s["status"] == "failed" for s in json.loads(line)["scores"].values()):
                failed += 1
            else:
                self.done.add(row)
        if failed or (errors is not None and errors.count):
            os.close(self._results)
            name = f"results.retry-{len(self.segments()):04d}.jsonl"
            self._results = _append(self.path / name)
        self.resumed = self.done.count
        if errors is not None and errors.count:
            self._forget_errors(errors)
        self._account_errors()
        return failed

    def _forget_errors(self, rows: Rows) -> None:
        path = self.path / "errors.jsonl"
        kept = [line for row, _, line in _lines(path) if row not in rows]
        os.close(self._errors)
        try:
            write_atomic(path, b"".join(kept).decode())
        finally:
            self._errors = _append(path)

    def write(self, row: int, line: bytes) -> None:
        """Append one result line (without newline). It survives the process from here on."""
        _write_all(self._results, line + b"\n")
        self.done.add(row)

    def write_error(self, error: RowError) -> None:
        if error.row not in self._errors_done:
            line = json.dumps(error.as_dict(), ensure_ascii=True)
            _write_all(self._errors, line.encode() + b"\n")
            self._errors_done.add(error.row)
            self.done.add(error.row)

    def close(self) -> None:
        """Let the folder go; it can be read on."""
        if self._lock is not None:
            for fd in (self._results, self._errors, self._lock):
                os.close(fd)
            self._lock = None


_MANIFEST = "manifest.json"
SPOOLED = "input"  # a copy of an input that could be read only once
_OWN = {"run.lock", _MANIFEST, "results.jsonl", "errors.jsonl", SPOOLED}


def _append(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def _ranked(segment: Path, rank: int) -> Iterator[tuple[int, int, bytes]]:
    return ((row, rank, line) for row, line in _in_order(segment))


def _in_order(segment: Path) -> Iterator[tuple[int, bytes]]:
    """Lines by row; holds places, not lines, of at most DISORDER rows."""
    heap: list[tuple[int, int, int]] = []
    newest = -1
    with segment.open("rb") as f:

        def read(place: tuple[int, int, int]) -> tuple[int, bytes]:
            f.seek(place[1])
            return place[0], f.read(place[2]).rstrip(b"\n")

        for row, start, line in _lines(segment):
            heapq.heappush(heap, (row, start, len(line)))
            newest = max(newest, row)
            while heap and heap[0][0] <= newest - DISORDER:
                yield read(heapq.heappop(heap))
        while heap:
            yield read(heapq.heappop(heap))


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """``(row, offset, line)`` of every whole line."""
    if not path.exists():
        return
    start = 0
    with path.open("rb") as f:
        for line in f:
            if not line.endswith(b"\n"):
                return
            yield _row_of(line), start, line
            start += len(line)


def _row_of(line: bytes) -> int:
    """The line's own ``row``, which follows the id (hostile text: matched as a JSON string)."""
    found = _ROW.match(line)
    if not found:
        raise UsageError(f"not a line of a run: {line[:80]!r}")
    return int(found[1])


def mend(path: Path) -> None:
    """Cut off a last line that a killed process left half written."""
    if not path.exists():
        return
    with path.open("rb+") as f:
        end = f.seek(0, os.SEEK_END)
        at = end
        while at > 0:
            step = min(at, 65536)
            f.seek(at - step)
            block = f.read(step)
            newline = block.rfind(b"\n")
            if newline >= 0:
                at = at - step + newline + 1
                break
            at -= step
        if at < end:
            f.truncate(at)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_atomic(path: Path, text: str) -> None:
    """Write ``text`` so that a reader sees the old file or the whole new one."""
    draft = path.with_name(path.name + f".{os.getpid()}.tmp")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        draft.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:157] + "..."
