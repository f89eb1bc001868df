"""Row iterators per file format, yielding ``(line, row)`` or a row problem."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any, BinaryIO

from veridical.errors import UsageError
from veridical.io.arrow import batch_rows
from veridical.io.cells import cell_value, checked_row
from veridical.io.lines import BOM, BROKEN_STREAM, LONGEST_LINE, from_json, not_utf8, read_lines
from veridical.io.problems import RowProblem
from veridical.io.row_shapes import transposed
from veridical.text.display import named, reason, shown

#: A row before its fields are interpreted; None if the caller asked to skip it.
Raw = dict[str, Any] | RowProblem | None
Rows = Iterator[tuple[int | None, Raw]]

LARGEST_JSON = 2 * 1024**3
PARQUET_BATCH = 256
#: Bytes of a Parquet column read at once.
PARQUET_BUFFER = 1 << 18
EXTENSIONS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass
class Cursor:
    """Position of a reading: rows still to skip without parsing, and rows yielded."""

    skip: int = 0
    done: int = 0

    def skips(self) -> bool:
        """Return True if the current row is to be skipped, and count it."""
        if self.skip:
            self.skip -= 1
            return True
        return False


def jsonl_rows(stream: BinaryIO, cursor: Cursor) -> Rows:
    """Read one JSON object per line; blank lines are not rows."""
    for number, line in read_lines(stream):
        if isinstance(line, RowProblem):
            yield number, None if cursor.skips() else line
            continue
        if not line or line.isspace():
            continue
        if cursor.skips():
            yield number, None
            continue
        try:
            row = from_json(line, "not JSON", nan=True)
        except RowProblem as e:
            yield number, e
            continue
        yield number, as_row(row)


def as_row(value: Any) -> dict[str, Any] | RowProblem:
    """Return an object as a row; anything else is a problem."""
    if isinstance(value, dict):
        return value
    return RowProblem(f"a row must be a JSON object, got {shown(value)}")


def json_list(stream: BinaryIO, name: str, *, whole: bool = False) -> list[Any]:
    """Return the rows of a JSON file.

    The file has one list, an object with a single list of objects, or an object of equally long
    lists (columns). With ``whole``, an object is one row.

    Raises:
        UsageError: the file has another structure, is not JSON, or is too large.
    """
    try:
        data = stream.read(LARGEST_JSON + 1)
    except BROKEN_STREAM as e:
        raise UsageError(f"{name}: cannot be read: {reason(e)}") from None
    if len(data) > LARGEST_JSON:
        raise UsageError(
            f"{name}: a JSON file is read as a whole and this one exceeds 2 GB; "
            "write one object per line (JSONL) instead"
        )
    try:
        value = from_json(data.removeprefix(BOM), "not JSON", nan=True)
    except RowProblem as e:
        raise UsageError(f"{name}: {e.error}") from None
    if isinstance(value, list):
        return value
    if whole and isinstance(value, dict):
        return [value]
    lists = rows_inside(value)
    if len(lists) == 1:
        rows: list[Any] = value[lists[0]]
        return rows
    if not lists and _is_columns(value):
        try:
            return transposed(value)
        except UsageError as e:
            raise UsageError(f"{name}: {e}") from None
    what = f"several lists of objects ({named(lists)})" if lists else "no list of objects"
    raise UsageError(f"{name}: expected a list of rows, or an object with one; found {what}")


def rows_inside(value: Any) -> list[str]:
    """Return the names of an object's entries that are lists of objects."""
    if not isinstance(value, dict):
        return []
    return [
        k for k, v in value.items() if isinstance(v, list) and v and all(type(x) is dict for x in v)
    ]


def _is_columns(value: Any) -> bool:
    """Return True for an object of lists only: columns."""
    return isinstance(value, dict) and bool(value) and all(type(v) is list for v in value.values())


def json_rows(stream: BinaryIO, cursor: Cursor, name: str, *, whole: bool = False) -> Rows:
    for value in json_list(stream, name, whole=whole):
        yield None, None if cursor.skips() else as_row(value)


def csv_rows(
    stream: BinaryIO,
    cursor: Cursor,
    name: str,
    *,
    delimiter: str = ",",
    quotes: bool = True,
    field_of: Callable[[str], str | None],
) -> Rows:
    """Read rows under a header line. Cells of list fields may be JSON text.

    Args:
        delimiter: expected delimiter; the header may show another one (such as ``;`` or tabs).
        quotes: False for files without quoting (``"`` is then an ordinary character).
        field_of: column -> the record field it feeds, if any.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    lines = _CsvLines(stream)
    first_lines = list(islice(lines, 1))
    reader = csv.reader(
        chain(first_lines, lines),
        delimiter=_delimiter(first_lines, delimiter, field_of),
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        strict=True,
    )
    header = _header(reader, lines, name)
    fields = [field_of(column) for column in header]
    while True:
        first = lines.number + 1
        lines.problem = None
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as e:
            why = f"not CSV: {reason(e)}"
            if lines.number > first:
                why += f" (a quoted cell swallowed the lines up to {lines.number})"
            yield first, None if cursor.skips() else RowProblem(why)
            continue
        blank = not cells or (len(header) > 1 and len(cells) == 1 and not cells[0].strip())
        if blank and lines.problem is None:
            continue
        if cursor.skips():
            yield first, None
        else:
            yield first, lines.problem or _csv_row(cells, header, fields)


def _delimiter(lines: Sequence[str], usual: str, field_of: Callable[[str], str | None]) -> str:
    """Return the delimiter of a header: the usual one, unless another fits better.

    Another fits better if it gives more columns with known names, or several columns where the
    usual one gives one.
    """

    def columns(mark: str) -> tuple[int, bool]:
        try:
            header = [cell.strip() for line in csv.reader(lines, delimiter=mark) for cell in line]
        except csv.Error:
            return 0, False
        known = {field_of(cell) for cell in header} - {None}
        return len(known), sum(map(bool, header)) > 1

    return max((usual, *(mark for mark in ",;\t|" if mark != usual)), key=columns)


class _CsvLines:
    """Text lines for :mod:`csv`; decoding errors are attached to their row."""

    def __init__(self, stream: BinaryIO) -> None:
        self._lines = read_lines(stream)
        self.number = 0
        self.problem: RowProblem | None = None

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        if not isinstance(line, RowProblem):
            try:
                return line.decode("utf-8") + "\n"
            except UnicodeDecodeError:
                line = RowProblem(not_utf8(line) or "invalid UTF-8")
        self.problem = line
        return ""


def _header(reader: Iterator[list[str]], lines: _CsvLines, name: str) -> list[str]:
    try:
        header = next(reader)
    except StopIteration:
        raise UsageError(f"{name}: the file is empty; a header line is needed") from None
    except csv.Error as e:
        raise UsageError(f"{name}: the header is not CSV: {reason(e)}") from None
    if lines.problem is not None:
        raise UsageError(f"{name}: the header cannot be read: {lines.problem.error}")
    if not any(cell.strip() for cell in header):
        raise UsageError(f"{name}: the first line is blank; a header line is needed")
    header = [cell.strip() or f"column {i + 1}" for i, cell in enumerate(header)]
    twice = _first_twice(header)
    if twice is not None:
        raise UsageError(f"{name}: column {shown(twice)} occurs twice; rename one")
    return header


def _first_twice(names: Iterable[str]) -> str | None:
    """Return the first repeated name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _csv_row(cells: list[str], header: list[str], fields: list[str | None]) -> Raw:
    if len(cells) > len(header):
        return RowProblem(f"{len(cells)} cells, but the header has {len(header)}")
    row: dict[str, Any] = {}
    for column, field, cell in zip(header, fields, cells, strict=False):
        try:
            row[column] = cell if field is None else cell_value(field, cell)
        except RowProblem as e:
            return RowProblem(e.error, column)
    return row


def parquet_rows(path: Any, cursor: Cursor, name: str, *, buffer: int = PARQUET_BUFFER) -> Rows:
    """Read the rows of a Parquet file in batches; an unreadable part yields a problem per row.

    Args:
        buffer: bytes of a column read at once.
    """
    import pyarrow as pa

    with open_parquet(path, name, buffer=buffer) as file:
        for group in range(file.metadata.num_row_groups):
            total = file.metadata.row_group(group).num_rows
            n_read = 0
            if cursor.skip >= total:
                cursor.skip -= total
                cursor.done += total
                yield from ((None, None) for _ in range(total))
                continue
            try:
                for batch in file.iter_batches(batch_size=PARQUET_BATCH, row_groups=[group]):
                    skipped = min(cursor.skip, batch.num_rows)
                    cursor.skip -= skipped
                    checked: Iterator[Any] = map(checked_row, batch_rows(batch, skipped))
                    for row in chain(repeat(None, skipped), checked):
                        n_read += 1
                        cursor.done += 1
                        yield None, row
            except (pa.ArrowException, OSError, ValueError) as e:
                why = RowProblem(f"row group {group} cannot be read: {reason(e)}")
                for _ in range(total - n_read):
                    yield None, None if cursor.skips() else why


def open_parquet(path: Any, name: str, *, buffer: int = PARQUET_BUFFER) -> Any:
    """Open a ``pyarrow.parquet.ParquetFile``.

    Raises:
        UsageError: it is not a Parquet file, or two columns have the same name.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=buffer)
    except (pa.ArrowException, OSError, ValueError) as e:
        raise UsageError(f"{name}: cannot be read as Parquet: {reason(e)}") from None
    twice = _first_twice(file.schema_arrow.names)
    if twice is not None:
        file.close()
        raise UsageError(f"{name}: column {shown(twice)} occurs twice; rename one")
    return file


def sniff(head: bytes, name: str) -> str:
    """Detect the format of a file from its beginning.

    Raises:
        UsageError: the format is unknown.
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    head = head.removeprefix(BOM).lstrip()
    if head.startswith(b"{"):
        return json_or_jsonl(head)
    if head.startswith(b"["):
        return "json"
    line = head.split(b"\n", 1)[0]
    if b"\x00" not in line and _begins_as_utf8(line):
        for mark, format in ((b"\t", "tsv"), (b",", "csv"), (b";", "csv")):
            if mark in line:
                return format
    looks = f"; it begins with {shown(line[:40].decode('utf-8', 'replace'))}" if line else ""
    raise UsageError(
        f"{name}: unknown format{looks}; use .jsonl, .json, .csv, .tsv or .parquet "
        "(text formats may be .gz)"
    )


def _begins_as_utf8(line: bytes) -> bool:
    """Return True if ``line``, possibly cut within a character, is UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(line)
    except UnicodeDecodeError:
        return False
    return True


def begins_json_list(head: bytes) -> bool:
    """Return True if text that begins with ``[`` is one JSON list of rows, not one list per
    line."""
    line, _, following = head.partition(b"\n")
    try:
        value = from_json(line, "")
    except RowProblem:
        return line.rstrip().endswith((b"[", b"{", b",")) or len(line) >= LONGEST_LINE
    rows = isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)
    return rows and not following.strip()


def json_or_jsonl(head: bytes) -> str:
    """Return ``json`` or ``jsonl`` for text that begins with ``{``."""
    line, end, following = head.partition(b"\n")
    try:
        value = from_json(line, "")
    except RowProblem:
        laid_out = end and line.rstrip().endswith((b"{", b"[", b","))
        return "json" if laid_out or len(line) >= LONGEST_LINE else "jsonl"
    whole = not following.strip() and (rows_inside(value) or _is_columns(value))
    return "json" if whole else "jsonl"
