"""Finding a data set's files under a path, and what all loaders say when there is nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any

from veridical.errors import RowError, UsageError
from veridical.evaluate.datasets.suite import BadItem, Item
from veridical.io import open_source
from veridical.io.columns import Columns
from veridical.io.files import open_path
from veridical.io.formats import EXTENSIONS, Cursor
from veridical.io.problems import RowProblem, display, named, shown
from veridical.records import Record, clean_text

_DEEPEST = 3
_LOOKED_AT = 20

Row = dict[str, Any]


def data_files(folder: Path) -> list[Path]:
    """Files in a readable format, by path, down to three folders below; hidden ones left out."""
    return [p for p in _files(folder) if _format(p) is not None]


def _files(folder: Path) -> list[Path]:
    found = []
    for place, folders, names in os.walk(folder, followlinks=True):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = [] if depth == _DEEPEST else [f for f in folders if not f.startswith(".")]
        found += [Path(place, n) for n in names if not n.startswith(".")]
    return sorted(found)


def _format(path: Path) -> str | None:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return EXTENSIONS.get(suffixes[-1]) if suffixes else None


def first_named(files: Iterable[Path], names: Sequence[str]) -> list[Path]:
    """The files matching the first of the patterns that any matches (``.gz`` may be added).

    Of a whole name only the file nearest to the top is taken: the others are copies.
    """
    files = sorted(files, key=lambda p: (len(p.parts), p))
    for name in names:
        found = [p for p in files if fnmatch(p.name, name) or fnmatch(p.name, name + ".gz")]
        if found:
            return found if "*" in name else found[:1]
    return []


def files_of(path: Path, names: Sequence[str], fits: Callable[[Path], bool]) -> list[Path]:
    """The files to read: a file itself; of a folder those published, else all that fit.

    Args:
        names: patterns of published names, the preferred one first; one pattern is used.

    Raises:
        UsageError: a folder without any.
    """
    if not path.is_dir():
        return [path]
    inside = data_files(path)
    found = first_named(inside, names) or [file for file in inside if fits(file)]
    if not found:
        raise nothing_in(path)
    return found


def has_records(path: Path, reader: str | None, wanted: Callable[[Record], bool] = bool) -> bool:
    """Whether a wanted record is among the first rows of a file."""
    try:
        rows = islice(open_source(path, reader=reader).rows(), _LOOKED_AT)
        return any(isinstance(row, Record) and wanted(row) for row in rows)
    except UsageError:
        return False


def has_columns(path: Path, *columns: str) -> bool:
    """Whether one of the columns is among the first rows of a file."""
    try:
        rows = islice(raw_rows(path), _LOOKED_AT)
        return any(isinstance(row, dict) and c in row for _, row in rows for c in columns)
    except UsageError:
        return False


def nothing_in(folder: Path) -> UsageError:
    """That a folder holds no file of the data set, and what it holds."""
    names = [display(p.relative_to(folder)) for p in _files(folder)]
    return UsageError(
        f"{display(folder)}: no file in the folder has the rows of this data set; "
        + (f"found {named(names)}" if names else "it is empty")
    )


def raw_rows(path: Path) -> Iterator[tuple[int | None, Row | RowProblem]]:
    """Line and row of each row of a file, as it stands there.

    Raises:
        UsageError: it cannot be read.
    """
    for line, row in open_path(path, lambda column: None, True).rows(Cursor()):
        assert row is not None  # nothing is skipped
        yield line, row


def record_of(row: Row, ordinal: int) -> Record:
    """The record of record fields.

    Raises:
        RowProblem: they make none.
    """
    return Columns().record(row, ordinal)


def row_error(problem: RowProblem, ordinal: int, path: Path, line: int | None) -> RowError:
    """A problem with its place."""
    return RowError(ordinal, display(path), line, problem.field, problem.error)


def text_of(value: Any, column: str) -> str:
    """A text.

    Raises:
        RowProblem: it is none, or one that no record can hold.
    """
    if not isinstance(value, str):
        raise RowProblem(f"must be text, got {shown(value)}", column)
    try:
        return clean_text(value)
    except ValueError as e:
        raise RowProblem(str(e), column) from None


def text_list(value: Any, column: str) -> list[str]:
    """A text, or a list of texts, as a list; an empty one where there is none.

    Raises:
        RowProblem: anything else.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        return [text_of(value, column)]
    return [text_of(text, f"{column}[{i}]") for i, text in enumerate(value)]


def parted(rows: Iterable[Item | RowError], default: str) -> Iterator[Item | BadItem]:
    """Bad rows with the part of the item before them; leading ones with that of the first item."""
    part: str | None = None
    leading: list[RowError] = []
    for row in rows:
        if isinstance(row, Item):
            part = row.part
            yield from (BadItem(part, error) for error in leading)
            leading = []
            yield row
        elif part is None:
            leading.append(row)
        else:
            yield BadItem(part, row)
    yield from (BadItem(default, error) for error in leading)


def checked(
    items: Iterable[Item | BadItem], path: Path, suite: str, needs: str
) -> Iterator[Item | BadItem]:
    """``items``, once it is sure that there are any.

    Raises:
        UsageError: there is no valid one, or the files cannot be read; it says what is needed.
    """
    expected = f"{suite} needs {needs}"
    first: RowError | None = None
    found = False
    try:
        for item in items:
            if isinstance(item, Item):
                found = True
            elif first is None:
                first = item.error
            yield item
    except UsageError as e:
        raise UsageError(f"{e}. {expected}") from None
    if not found:
        why = f"no row fits; the first problem: {first}" if first else "there are no rows"
        raise UsageError(f"{display(path)}: {why}. {expected}")
