"""Rows in memory: lists, generators and data frames."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.errors import UsageError
from veridical.io.arrow import batch_rows
from veridical.io.cells import checked_row
from veridical.io.problems import RowProblem
from veridical.text.display import reason, visible

if TYPE_CHECKING:
    from veridical.io.formats import Cursor

_CHUNK = 512
_MARK = 8  # bytes


class MemoryPart:
    """Rows held by the caller. If ``rows`` can be iterated only once, so can this part.

    Args:
        frame: a narwhals data frame, read in chunks.
    """

    size = None

    def __init__(self, rows: Iterable[Any], *, frame: Any = None) -> None:
        self.name = "<rows>" if frame is None else "<frame>"
        self.format = self.name.strip("<>")
        self.reiterable = frame is not None or isinstance(rows, Sequence)
        self._rows = rows
        self._frame = frame
        self._cursor: Cursor | None = None
        self._marks: bytes | None = None  # a short hash of every row, after hashing

    def rows(self, cursor: Cursor) -> Iterator[tuple[None, Any]]:
        """Yield the rows.

        Raises:
            UsageError: they differ from those that were hashed.
        """
        self._cursor = cursor
        at = 0
        for at, value in enumerate(self._values(), 1):
            cursor.done += 1
            if cursor.skips():
                yield None, None
                continue
            row = checked_row(value)
            if self._marks is not None:
                mark = self._marks[_MARK * (at - 1) : _MARK * at]
                if _mark(canonical(row)) != mark:
                    raise self._changed(f"row {at - 1}")
            yield None, row
        if self._marks is not None and at != len(self._marks) // _MARK:
            raise self._changed("their number")

    @property
    def frame(self) -> Any:
        """The data frame, as narwhals; None for rows of another kind."""
        return self._frame

    @property
    def columns(self) -> list[str] | None:
        """Names of a frame's columns; None if unknown."""
        return None if self._frame is None else [str(name) for name in self._frame.columns]

    def _changed(self, what: str) -> UsageError:
        return UsageError(
            f"{self.name}: {what} has changed since the rows were first read; existing scores are "
            "kept. Do not change rows until the report is written, or pass a copy"
        )

    def _values(self) -> Iterable[Any]:
        return self._rows if self._frame is None else _frame_rows(self._frame)

    def count(self) -> int | None:
        """Return the number of rows; None if they can be read only once."""
        if not self.reiterable:
            return None
        return len(self._rows if self._frame is None else self._frame)  # type: ignore[arg-type]

    def position(self) -> float | None:
        """Return the share read so far, 0 to 1; None if the number of rows is unknown."""
        total = self.count()
        if total is None:
            return None
        return 1.0 if not total else (self._cursor.done / total if self._cursor else 0.0)

    def digest(self) -> str:
        """Return the hash of the rows by their canonical JSON."""
        h = hashlib.blake2b(digest_size=16)
        marks = bytearray()
        for value in self._values():
            text = canonical(checked_row(value))
            marks += _mark(text)
            h.update(text)
            h.update(b"\n")
        self._marks = bytes(marks)
        return h.hexdigest()


def _mark(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_MARK).digest()


def _frame_rows(frame: Any) -> Iterator[Any]:
    """Yield the rows of a narwhals frame. Object columns of pandas may not fit in Arrow."""
    for start in range(0, len(frame), _CHUNK):
        chunk = frame[start : start + _CHUNK]
        if frame.implementation.is_pandas_like():
            yield from chunk.iter_rows(named=True)
        else:
            yield from _arrow_rows(chunk.to_arrow().to_batches())


def _arrow_rows(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        yield from batch_rows(batch)


def canonical(row: Any) -> bytes:
    """Return JSON bytes that depend only on the content of a row, not on the order of its keys."""
    if isinstance(row, RowProblem):
        row = {"error": row.error, "field": row.field}
    elif isinstance(row, Record):
        row = row.model_dump(exclude={"row"})
    text = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=repr)
    return text.encode("utf-8", "backslashreplace")


def frame_part(value: Any) -> MemoryPart | None:
    """Return a part for a pandas, polars or pyarrow table or an Arrow stream; None for anything
    else.

    Raises:
        UsageError: a lazy frame, a column instead of a table, or two columns of one name.
    """
    if not hasattr(value, "__arrow_c_stream__") and not _is_frame(value):
        return None
    import narwhals as nw
    import pyarrow as pa

    try:
        frame = nw.from_native(value, eager_only=True)
        # columns that the caller adds later are not part of the input
        if frame.implementation.is_pandas():
            frame = nw.from_native(nw.to_native(frame).copy(deep=False), eager_only=True)
        return MemoryPart((), frame=frame)
    except TypeError:
        pass
    except Exception as e:  # narwhals raises the back end's own errors
        raise UsageError(f"the data frame cannot be read: {reason(e)}") from None
    try:
        reader = pa.RecordBatchReader.from_stream(value)
    except (TypeError, pa.ArrowException):
        kind = visible(type(value).__name__)
        raise UsageError(
            f"cannot read rows from {kind}: pass a data frame (collect() a lazy one)"
        ) from None
    return MemoryPart(_arrow_rows(reader))


def _is_frame(value: Any) -> bool:
    return type(value).__module__.split(".")[0] in ("pandas", "polars", "pyarrow", "narwhals")
