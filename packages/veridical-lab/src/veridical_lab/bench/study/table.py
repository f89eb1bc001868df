"""Table of scores on outputs of many models, for the factor tests.

Long form: columns ``model, size, tuning, decoding, item, scorer, value``, one value per row. Wide
form: without the last two, and every other numeric column is a scorer. ``dataset`` and ``family``
are optional.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints
from veridical.errors import RowError, UsageError
from veridical.io.files import open_path
from veridical.io.formats import Cursor
from veridical.io.memory import MemoryPart, frame_part
from veridical.io.problems import RowProblem
from veridical.text.display import shown
from veridical_lab.sampling.levels import billions, family_of, is_instruct

FACTORS = ("model", "size", "tuning", "decoding", "item")
OPTIONAL = ("dataset", "family")
_MISSING = ("", "nan", "na", "n/a", "null", "none")
_NEEDS = (
    f"a row needs {', '.join(FACTORS)}, and either scorer and value or one column of numbers "
    f"a scorer ({' and '.join(OPTIONAL)} are optional)"
)
_SHOWN = 5
_LARGEST = 1e100  # squares of larger values would overflow


@dataclass(frozen=True)
class TableColumn:
    """Words in columns: ``names[codes[i]]`` is that of row i."""

    names: tuple[str, ...]
    codes: Ints

    @classmethod
    def of(cls, words: Iterable[str]) -> TableColumn:
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(w, len(numbers)) for w in words]
        return cls(tuple(numbers), np.array(codes, dtype=np.int64))

    def where(self, keep: NDArray[np.bool_] | Ints) -> TableColumn:
        """Return the rows that ``keep`` selects."""
        return TableColumn(self.names, self.codes[keep])


@dataclass(frozen=True)
class Table:
    """Values with the levels of the factors they were got at; all columns have one length.

    Attributes:
        size: billions of parameters.
        instruct: 1 instruction-tuned, 0 pretrained.
        value: what the scorer gave; finite.
    """

    dataset: TableColumn
    scorer: TableColumn
    model: TableColumn
    family: TableColumn
    decoding: TableColumn
    item: TableColumn
    size: Floats
    instruct: Ints
    value: Floats
    notes: tuple[str, ...] = ()

    def where(self, keep: NDArray[np.bool_] | Ints) -> Table:
        """Return the rows that ``keep`` selects."""
        columns: dict[str, Any] = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name != "notes"
        }
        for name, column in columns.items():
            columns[name] = column.where(keep) if isinstance(column, TableColumn) else column[keep]
        return replace(self, **columns)

    def keys(self, *columns: str) -> Ints:
        """Assign each row a number from 0, the same for rows that agree in all ``columns``."""
        key = np.zeros(len(self.value), dtype=np.int64)
        for name in columns:
            column = getattr(self, name)
            codes = column.codes if isinstance(column, TableColumn) else column
            _, levels = np.unique(codes, return_inverse=True)
            # Renumbered at every step, so that the product stays under n squared.
            _, key = np.unique(key * (levels.max(initial=0) + 1) + levels, return_inverse=True)
        return key.astype(np.int64)


class _Key(NamedTuple):
    """Metadata of a row's values."""

    dataset: str
    model: str
    family: str
    decoding: str
    item: str
    size: float
    instruct: int


_KEY_COLUMNS = ("dataset", "model", "family", "decoding", "item")


@dataclass
class _Rows:
    """Rows read so far."""

    keys: list[_Key] = field(default_factory=list)
    cells: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    places: list[tuple[int, str, int | None]] = field(default_factory=list)
    problems: list[RowError] = field(default_factory=list)
    total: int = 0


def read_table(rows: Any) -> Table:
    """Read the table in ``rows``: a path (JSONL, JSON, CSV, TSV, Parquet), dicts or a data frame.

    Raises:
        UsageError: there are no rows, or a row is invalid (the first few are named with file, row
            and field).
    """
    read_rows = _Rows()
    long: bool | None = None
    for row, file, line in _raw_rows(rows):
        place = (read_rows.total, file, line)
        read_rows.total += 1
        try:
            if isinstance(row, RowProblem):
                raise row
            if long is None:
                long = _is_long(row)
            _take(read_rows, row, place, long)
        except RowProblem as e:
            read_rows.problems.append(RowError(place[0], file, line, e.field, e.error))
    if not read_rows.total:
        raise UsageError(f"the table has no rows; {_NEEDS}")
    values = {} if read_rows.problems else _numbers(read_rows, bool(long))
    if read_rows.problems:
        first = "; ".join(str(e) for e in read_rows.problems[:_SHOWN])
        more = len(read_rows.problems) - _SHOWN
        ending = f"; and {more} more" if more > 0 else ""
        raise UsageError(f"the table cannot be used: {first}{ending}; {_NEEDS}")
    return _columns(read_rows, values, bool(long))


def _raw_rows(rows: Any) -> Iterator[tuple[Any, str, int | None]]:
    if isinstance(rows, (str, os.PathLike)):
        part: Any = open_path(rows, lambda column: None, True)
    elif (frame := frame_part(rows)) is not None:
        part = frame
    elif isinstance(rows, Iterable) and not isinstance(rows, (dict, bytes)):
        part = MemoryPart(rows)
    else:
        raise UsageError(f"a table is a path or a list of rows, got {shown(rows)}; {_NEEDS}")
    for line, row in part.rows(Cursor()):
        table_row = row if isinstance(row, (dict, RowProblem)) else RowProblem("is not a table row")
        yield table_row, part.name, line


def _is_long(row: dict[str, Any]) -> bool:
    present = [c for c in ("scorer", "value") if c in row]
    if len(present) == 1:
        other = "value" if present == ["scorer"] else "scorer"
        raise RowProblem(f"is required with {present[0]!r}", other)
    return bool(present)


def _take(
    read_rows: _Rows, row: dict[str, Any], place: tuple[int, str, int | None], long: bool
) -> None:
    model = _word(row, "model")
    key = _Key(
        dataset=_word(row, "dataset", "all"),
        model=model,
        family=_word(row, "family", family_of(model)),
        decoding=_word(row, "decoding"),
        item=_word(row, "item"),
        size=billions(_there(row, "size")),
        instruct=int(is_instruct(_there(row, "tuning"))),
    )
    number = len(read_rows.keys)
    if long:
        scorer = _word(row, "scorer")
        read_rows.cells.setdefault(scorer, []).append((number, row.get("value")))
    else:
        for name, cell in row.items():
            if name not in FACTORS and name not in OPTIONAL:
                read_rows.cells.setdefault(name, []).append((number, cell))
    read_rows.keys.append(key)
    read_rows.places.append(place)


def _there(row: dict[str, Any], column: str) -> Any:
    value = row.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        raise RowProblem("is missing", column)
    return value


def _word(row: dict[str, Any], column: str, default: str | None = None) -> str:
    value = row.get(column)
    if default is not None and (value is None or value == ""):
        return default
    value = _there(row, column)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise RowProblem(f"must be text or a number, got {shown(value)}", column)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 3 and 3.0 are one item: pandas makes floats of a column with a gap
    return str(value).strip()


def _numbers(read_rows: _Rows, long: bool) -> dict[str, list[tuple[int, float]]]:
    """Return numbers by scorer; other values go to ``read.problems``."""
    by_scorer: dict[str, list[tuple[int, float]]] = {}
    for name, cells in read_rows.cells.items():
        numbers: list[tuple[int, float]] = []
        wrong: list[RowError] = []
        for number, cell in cells:
            try:
                numbers.append((number, _number(cell)))
            except RowProblem as e:
                row, file, line = read_rows.places[number]
                wrong.append(RowError(row, file, line, "value" if long else name, e.error))
        # A wide table may hold texts as well: a column that is mostly not numbers is no scorer.
        if not long and sum(not math.isnan(v) for _, v in numbers) <= len(wrong):
            continue
        read_rows.problems.extend(wrong)
        by_scorer[name] = numbers
    if not by_scorer and not read_rows.problems:
        raise UsageError(f"the table has no scorer; {_NEEDS}")
    return by_scorer


def _number(cell: Any) -> float:
    """Return a finite number, or NaN."""
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        word = cell.strip().lower()
        if word in _MISSING:
            return math.nan
        if word in ("true", "false"):
            return float(word == "true")
        try:
            cell = float(word)
        except ValueError:
            raise RowProblem(f"must be a number, got {shown(cell)}") from None
    if not isinstance(cell, (int, float)):
        raise RowProblem(f"must be a number, got {shown(cell)}")
    if abs(cell) > _LARGEST:
        raise RowProblem(f"must be a finite number of at most {_LARGEST:g}, got {shown(cell)}")
    return float(cell)


def _columns(read_rows: _Rows, values: dict[str, list[tuple[int, float]]], long: bool) -> Table:
    pairs = [(name, n, v) for name, cells in values.items() for n, v in cells]
    numbers = [(name, n, v) for name, n, v in pairs if not math.isnan(v)]
    notes = []
    if not long:
        notes.append(f"scorers are the columns {', '.join(values)}")
    if len(numbers) < len(pairs):
        notes.append(f"{len(pairs) - len(numbers)} of {len(pairs)} values are missing and left out")
    rows = [read_rows.keys[n] for _, n, _ in numbers]
    return Table(
        scorer=TableColumn.of(name for name, _, _ in numbers),
        **{name: TableColumn.of(getattr(r, name) for r in rows) for name in _KEY_COLUMNS},
        size=np.array([r.size for r in rows], dtype=np.float64),
        instruct=np.array([r.instruct for r in rows], dtype=np.int64),
        value=np.array([v for _, _, v in numbers], dtype=np.float64),
        notes=tuple(notes),
    )
