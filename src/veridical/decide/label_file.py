"""Labels from a file of their own: what reviewers said of the records of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError
from veridical.io.cells import cell_value
from veridical.io.files import open_path
from veridical.io.formats import Cursor
from veridical.io.problems import RowProblem, shown

if TYPE_CHECKING:
    from veridical.records import Record
    from veridical.results import Results


def read_labels(path: str | Path, results: Results) -> tuple[dict[int, float | None], int]:
    """The labels of a run's records, those of a review put over their own.

    Args:
        path: JSONL, JSON, CSV, TSV or Parquet. Each row has a ``label`` (0 right .. 1
            hallucinated, or true or false; empty: not reviewed), and says by ``row``, ``id`` or
            both which record it is about: result lines and exports with a column more will do.

    Returns:
        Row of the input -> label, None where there is none; and how many the review gave.

    Raises:
        UsageError: a row cannot be read, is about no record or about several, or contradicts
            another one; the message names its line.
    """
    records: dict[int, Record] = {r.row: r for r, line in results.records() if line is not None}
    rows_of: dict[str, list[int]] = {}
    for record in records.values():
        rows_of.setdefault(str(record.id), []).append(record.row)
    given: dict[int, float] = {}
    for place, row in _rows(path):
        label = _label(row.get("label"), place)
        if label is None:
            continue
        at = _record(row, rows_of, records, place)
        if given.setdefault(at, label) != label:
            raise UsageError(f"{place}: row {at} has another label before")
    labels = {at: given.get(at, record.label) for at, record in records.items()}
    return labels, len(given)


def _rows(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    part = open_path(path, lambda column: None, True)
    known = False
    for line, row in part.rows(Cursor()):
        place = f"{part.name}, line {line}"
        assert row is not None  # nothing is skipped
        if isinstance(row, RowProblem):
            raise UsageError(f"{place}: {row.error}")
        known = known or "label" in row
        yield place, row
    if not known:
        raise UsageError(f"{part.name}: no row has a label")


def _label(value: Any, place: str) -> float | None:
    if isinstance(value, str):
        try:
            value = cell_value("label", value.strip())
        except RowProblem as e:
            raise UsageError(f"{place}: label {e.error}") from None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, (bool, int, float)) or not 0 <= value <= 1:
        raise UsageError(
            f"{place}: label must be a number from 0 (right) to 1 (hallucinated), true or false, "
            f"got {shown(value)}"
        )
    return float(value)


def _record(
    row: dict[str, Any], rows_of: dict[str, list[int]], records: dict[int, Record], place: str
) -> int:
    """The row of the input that a row of the review is about."""
    number, name = row.get("row"), row.get("id")
    if number in (None, "") and name in (None, ""):
        raise UsageError(f"{place}: it has neither row nor id, so it is about no record")
    found = rows_of.get(str(name), []) if name not in (None, "") else None
    if number not in (None, ""):
        text = str(number).strip()
        at = int(text) if text.isdecimal() and len(text) < 19 else -1
        if at not in records:
            raise UsageError(f"{place}: there is no record of row {shown(number)}")
        if found is not None and at not in found:
            raise UsageError(f"{place}: the record of row {at} has another id than {shown(name)}")
        return at
    if not found:
        raise UsageError(f"{place}: there is no record of id {shown(name)}")
    if len(found) > 1:
        rows = ", ".join(str(r) for r in found[:5])
        raise UsageError(f"{place}: id {shown(name)} is that of rows {rows}: name the row too")
    return found[0]
