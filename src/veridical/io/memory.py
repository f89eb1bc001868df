"""Rows that are already in memory: lists, generators and data frames."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from uuid import UUID

from veridical.errors import UsageError
from veridical.io.arrow import batch_rows
from veridical.io.problems import RowProblem, reason, shown, visible
from veridical.records import Record

if TYPE_CHECKING:
    from veridical.io.formats import Cursor

_DEEPEST = 100
_CHUNK = 512


class MemoryPart:
    """Rows held by the caller. ``rows`` that can be iterated once make it one-shot.

    Args:
        frame: a narwhals data frame, read a chunk at a time.
    """

    size = None

    def __init__(self, rows: Iterable[Any], *, frame: Any = None) -> None:
        self.name = "<rows>" if frame is None else "<frame>"
        self.format = self.name.strip("<>")
        self.reiterable = frame is not None or isinstance(rows, Sequence)
        self._rows = rows
        self._frame = frame
        self._cursor: Cursor | None = None

    def rows(self, cursor: Cursor) -> Iterator[tuple[None, Any]]:
        self._cursor = cursor
        for value in self._values():
            cursor.done += 1
            yield None, None if cursor.skips() else checked_row(value)

    def _values(self) -> Iterable[Any]:
        return self._rows if self._frame is None else _frame_rows(self._frame)

    def position(self) -> float | None:
        """The part read so far, from 0 to 1; None where the number of rows is not known."""
        if not self.reiterable:
            return None
        total = len(self._rows if self._frame is None else self._frame)  # type: ignore[arg-type]
        return 1.0 if not total else (self._cursor.done / total if self._cursor else 0.0)

    def digest(self) -> str:
        """Hash of the rows by their canonical JSON."""
        h = hashlib.blake2b(digest_size=16)
        for value in self._values():
            h.update(canonical(checked_row(value)))
            h.update(b"\n")
        return h.hexdigest()


def _frame_rows(frame: Any) -> Iterator[Any]:
    """Rows of a narwhals frame. What pandas keeps in object columns need not fit in Arrow."""
    for start in range(0, len(frame), _CHUNK):
        chunk = frame[start : start + _CHUNK]
        if frame.implementation.is_pandas_like():
            yield from chunk.iter_rows(named=True)
        else:
            yield from _arrow_rows(chunk.to_arrow().to_batches())


def _arrow_rows(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        yield from batch_rows(batch)


def checked_row(value: Any) -> Record | dict[str, Any] | RowProblem:
    """A row as the record maker takes it, or why it cannot be one."""
    if isinstance(value, (Record, RowProblem)):
        return value
    try:
        return plain_row(value)
    except RowProblem as e:
        return e


def canonical(row: Any) -> bytes:
    """JSON bytes that depend on the content of a row only, not on the order of its keys."""
    if isinstance(row, RowProblem):
        row = {"error": row.error, "field": row.field}
    elif isinstance(row, Record):
        row = row.model_dump(exclude={"row"})
    text = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=repr)
    return text.encode("utf-8", "backslashreplace")


def frame_part(value: Any) -> MemoryPart | None:
    """A part for a pandas, polars or pyarrow table, or an Arrow stream; None for anything else.

    Raises:
        UsageError: a lazy frame, a column instead of a table, or two columns of one name.
    """
    if not hasattr(value, "__arrow_c_stream__") and not _is_frame(value):
        return None
    import narwhals as nw
    import pyarrow as pa

    try:
        return MemoryPart((), frame=nw.from_native(value, eager_only=True))
    except TypeError:
        pass
    except Exception as e:  # narwhals raises the back end's own errors
        raise UsageError(f"the data frame cannot be read: {reason(e)}") from None
    try:
        reader = pa.RecordBatchReader.from_stream(value)
    except (TypeError, pa.ArrowException):
        kind = visible(type(value).__name__)
        raise UsageError(
            f"cannot read rows from {kind}: give a data frame (collect() a lazy one)"
        ) from None
    return MemoryPart(_arrow_rows(reader))


def _is_frame(value: Any) -> bool:
    return type(value).__module__.split(".")[0] in ("pandas", "polars", "pyarrow", "narwhals")


def plain_row(value: Any) -> dict[str, Any]:
    """A row of JSON-like values only; a missing cell (None, NaN, NaT, NA) is None.

    Raises:
        RowProblem: it is not an object, or holds what no JSON file could.
    """
    if not isinstance(value, dict):
        raise RowProblem(f"a row must be an object (dict) or a Record, got {shown(value)}")
    row: dict[str, Any] = {}
    for key, cell in value.items():
        column = key if isinstance(key, str) else str(key)
        if isinstance(cell, float) and math.isnan(cell):
            row[column] = None
        else:
            row[_text(column, column)] = _plain(cell, column, 0)
    return row


def _plain(value: Any, column: str, depth: int) -> Any:
    if isinstance(value, str) and not isinstance(value, Enum):
        return _text(value, column)
    if value is None or (isinstance(value, (bool, int, float)) and not isinstance(value, Enum)):
        return _number(value)
    if depth > _DEEPEST:
        raise RowProblem(f"is nested deeper than {_DEEPEST} levels", column)
    if isinstance(value, dict):
        return {_text(str(k), column): _plain(v, column, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v, column, depth + 1) for v in value]
    if isinstance(value, bytes):  # old Parquet writers store texts as plain bytes
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist"):  # numpy arrays and scalars, and what behaves like them
        return _plain(value.tolist(), column, depth + 1)
    if isinstance(value, Enum):
        return _plain(value.value, column, depth + 1)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (timedelta, UUID, PurePath)):
        return str(value)
    raise RowProblem(f"holds {shown(value)}, which is not text, number, list or object", column)


def _number(value: Any) -> Any:
    """Subclasses of the plain types (numpy's float64 is one) as the plain type."""
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    return value


def _text(value: str, column: str) -> str:
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as e:
            raise RowProblem(f"lone surrogate at offset {e.start}", column) from None
    return str(value) if type(value) is not str else value
