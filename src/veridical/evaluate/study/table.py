"""The table behind the factor tests: what scorers gave the outputs of many models.

Long form: columns ``model, size, tuning, decoding, item, scorer, value``, one value a row. Wide
form: without the last two, and every other column of numbers is a scorer. ``dataset`` and
``family`` are optional.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.errors import RowError, UsageError, unknown_name
from veridical.evaluate.study.levels import billions, family_of, is_instruct
from veridical.io.files import open_path
from veridical.io.formats import Cursor
from veridical.io.memory import MemoryPart, frame_part
from veridical.io.problems import RowProblem, shown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
class Column:
    """Words in columns: ``names[codes[i]]`` is that of row i."""

    names: tuple[str, ...]
    codes: Ints

    @classmethod
    def of(cls, words: Iterable[str]) -> Column:
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(w, len(numbers)) for w in words]
        return cls(tuple(numbers), np.array(codes, dtype=np.int64))

    def where(self, keep: NDArray[np.bool_] | Ints) -> Column:
        """The rows that ``keep`` selects."""
        return Column(self.names, self.codes[keep])


@dataclass(frozen=True)
class Table:
    """Values with the levels of the factors they were got at; all columns have one length.

    Attributes:
        size: billions of parameters.
        instruct: 1 instruction-tuned, 0 pretrained.
        value: what the scorer gave; finite.
    """

    dataset: Column
    scorer: Column
    model: Column
    family: Column
    decoding: Column
    item: Column
    size: Floats
    instruct: Ints
    value: Floats
    notes: tuple[str, ...] = ()

    def where(self, keep: NDArray[np.bool_] | Ints) -> Table:
        """The rows that ``keep`` selects."""
        return replace(
            self,
            dataset=self.dataset.where(keep),
            scorer=self.scorer.where(keep),
            model=self.model.where(keep),
            family=self.family.where(keep),
            decoding=self.decoding.where(keep),
            item=self.item.where(keep),
            size=self.size[keep],
            instruct=self.instruct[keep],
            value=self.value[keep],
        )

    def keys(self, *columns: str) -> Ints:
        """One number a row, the same for rows that agree in all ``columns``; from 0 on."""
        key = np.zeros(len(self.value), dtype=np.int64)
        for name in columns:
            column = getattr(self, name)
            codes = column.codes if isinstance(column, Column) else column
            _, found = np.unique(codes, return_inverse=True)
            # Renumbered at every step, so that the product stays under n squared.
            _, key = np.unique(key * (found.max(initial=0) + 1) + found, return_inverse=True)
        return key.astype(np.int64)


class _Key(NamedTuple):
    """What a row says of its values."""

    dataset: str
    model: str
    family: str
    decoding: str
    item: str
    size: float
    instruct: int


@dataclass
class _Rows:
    """What was read so far."""

    keys: list[_Key] = field(default_factory=list)
    cells: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    places: list[tuple[int, str, int | None]] = field(default_factory=list)
    problems: list[RowError] = field(default_factory=list)
    total: int = 0


def read_table(rows: Any, scorers: Sequence[str] | None = None) -> Table:
    """The table in ``rows``: a path (JSONL, JSON, CSV, TSV, Parquet), dicts or a data frame.

    Args:
        scorers: those to keep; in the wide form, the columns that are scorers.

    Raises:
        UsageError: there is nothing to read, a scorer is not there, or a row is broken (the first
            few are named with file, row and field).
    """
    read = _Rows()
    long: bool | None = None
    for row, file, line in _raw_rows(rows):
        place = (read.total, file, line)
        read.total += 1
        try:
            if isinstance(row, RowProblem):
                raise row
            if long is None:
                long = _is_long(row)
            _take(read, row, place, long)
        except RowProblem as e:
            read.problems.append(RowError(place[0], file, line, e.field, e.error))
    if not read.total:
        raise UsageError(f"the table has no rows; {_NEEDS}")
    values = {} if read.problems else _numbers(read, scorers, bool(long))
    if read.problems:
        first = "; ".join(str(e) for e in read.problems[:_SHOWN])
        more = len(read.problems) - _SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        raise UsageError(f"the table cannot be used: {first}{rest}; {_NEEDS}")
    return _columns(read, values, bool(long))


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
        kept = row if isinstance(row, (dict, RowProblem)) else RowProblem("is no table row")
        yield kept, part.name, line


def _is_long(row: dict[str, Any]) -> bool:
    found = [c for c in ("scorer", "value") if c in row]
    if len(found) == 1:
        other = "value" if found == ["scorer"] else "scorer"
        raise RowProblem(f"is missing beside {found[0]!r}", other)
    return bool(found)


def _take(read: _Rows, row: dict[str, Any], place: tuple[int, str, int | None], long: bool) -> None:
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
    number = len(read.keys)
    if long:
        scorer = _word(row, "scorer")
        read.cells.setdefault(scorer, []).append((number, row.get("value")))
    else:
        for name, cell in row.items():
            if name not in FACTORS and name not in OPTIONAL:
                read.cells.setdefault(name, []).append((number, cell))
    read.keys.append(key)
    read.places.append(place)


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


def _numbers(
    read: _Rows, scorers: Sequence[str] | None, long: bool
) -> dict[str, list[tuple[int, float]]]:
    """Numbers by scorer; what is not a number goes to ``read.problems``."""
    found: dict[str, list[tuple[int, float]]] = {}
    for name in scorers or ():
        if name not in read.cells:
            raise unknown_name("scorer of the table", name, read.cells)
    for name, cells in read.cells.items():
        if scorers is not None and name not in scorers:
            continue
        numbers: list[tuple[int, float]] = []
        wrong: list[RowError] = []
        for number, cell in cells:
            try:
                numbers.append((number, _number(cell)))
            except RowProblem as e:
                row, file, line = read.places[number]
                wrong.append(RowError(row, file, line, "value" if long else name, e.error))
        # A wide table may hold texts as well: a column that is mostly not numbers is no scorer.
        if not long and scorers is None and not _mostly_numbers(numbers, wrong):
            continue
        read.problems.extend(wrong)
        found[name] = numbers
    if not found and not read.problems:
        raise UsageError(f"the table has no scorer; {_NEEDS}")
    return found


def _mostly_numbers(numbers: list[tuple[int, float]], wrong: list[RowError]) -> bool:
    return sum(not math.isnan(v) for _, v in numbers) > len(wrong)


def _number(cell: Any) -> float:
    """A finite number, or NaN where there is none."""
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


def _columns(read: _Rows, values: dict[str, list[tuple[int, float]]], long: bool) -> Table:
    pairs = [(name, n, v) for name, cells in values.items() for n, v in cells]
    kept = [(name, n, v) for name, n, v in pairs if not math.isnan(v)]
    notes = []
    if not long:
        notes.append(f"scorers are the columns {', '.join(values)}")
    if len(kept) < len(pairs):
        notes.append(f"{len(pairs) - len(kept)} of {len(pairs)} values are missing and left out")
    rows = [read.keys[n] for _, n, _ in kept]
    return Table(
        dataset=Column.of(r.dataset for r in rows),
        scorer=Column.of(name for name, _, _ in kept),
        model=Column.of(r.model for r in rows),
        family=Column.of(r.family for r in rows),
        decoding=Column.of(r.decoding for r in rows),
        item=Column.of(r.item for r in rows),
        size=np.array([r.size for r in rows], dtype=np.float64),
        instruct=np.array([r.instruct for r in rows], dtype=np.int64),
        value=np.array([v for _, _, v in kept], dtype=np.float64),
        notes=tuple(notes),
    )
