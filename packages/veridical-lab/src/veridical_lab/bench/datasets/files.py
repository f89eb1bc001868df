"""Search for a data set's files, and messages if none is found."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeVar

from veridical.core.records import Record, clean_text
from veridical.errors import RowError, UsageError
from veridical.io import open_source
from veridical.io.columns import Columns
from veridical.io.files import raw_rows
from veridical.io.formats import EXTENSIONS
from veridical.io.problems import RowProblem
from veridical.text.display import display, named, shown
from veridical_lab.bench.datasets.suite import BadItem, Item

_DEEPEST = 3
_LOOKED_AT = 20

Row = dict[str, Any]
T = TypeVar("T")
K = TypeVar("K")


def data_files(folder: Path) -> list[Path]:
    """Return files in a readable format, sorted, up to three folders deep, without hidden ones."""
    return [p for p in _files(folder) if _format(p) is not None]


def _files(folder: Path) -> list[Path]:
    paths = []
    for place, folders, names in os.walk(folder, followlinks=True):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = [] if depth == _DEEPEST else [f for f in folders if not f.startswith(".")]
        paths += [Path(place, n) for n in names if not n.startswith(".")]
    return sorted(paths)


def _format(path: Path) -> str | None:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return EXTENSIONS.get(suffixes[-1]) if suffixes else None


def first_named(files: Iterable[Path], names: Sequence[str]) -> list[Path]:
    """Return the files that match the first matching pattern (``.gz`` may be added).

    For a whole name, only the file nearest to the top is taken: the others are copies.
    """
    files = sorted(files, key=lambda p: (len(p.parts), p))
    for name in names:
        matching = [p for p in files if fnmatch(p.name, name) or fnmatch(p.name, name + ".gz")]
        if matching:
            return matching if "*" in name else matching[:1]
    return []


def files_of(path: Path, names: Sequence[str], fits: Callable[[Path], bool]) -> list[Path]:
    """Return the files to read: a file itself, or a folder's published files, else all that fit.

    Args:
        names: patterns of published names, the preferred one first; one pattern is used.

    Raises:
        UsageError: a folder without any.
    """
    if not path.is_dir():
        return [path]
    inside = data_files(path)
    fitting = first_named(inside, names) or [file for file in inside if fits(file)]
    if not fitting:
        raise nothing_in(path)
    return fitting


def has_records(path: Path, reader: str | None, fits: Callable[[Record], bool] = bool) -> bool:
    """Return True if a wanted record is among the first rows of a file."""
    try:
        rows = islice(open_source(path, reader=reader).rows(), _LOOKED_AT)
        return any(isinstance(row, Record) and fits(row) for row in rows)
    except UsageError:
        return False


def has_columns(path: Path, *columns: str) -> bool:
    """Return True if one of the columns is among the first rows of a file."""
    return any(column in row for row in first_rows(path) for column in columns)


def first_rows(path: Path) -> Iterator[Row]:
    """Yield the valid first rows of a file; empty for an unreadable one."""
    try:
        for _, row in islice(raw_rows(path), _LOOKED_AT):
            if isinstance(row, dict):
                yield row
    except UsageError:
        return


def nothing_in(folder: Path) -> UsageError:
    """Return the error of a folder without a file of the data set, with the folder's content."""
    names = [display(p.relative_to(folder)) for p in _files(folder)]
    return UsageError(
        f"{display(folder)}: no file in the folder has the rows of this data set; "
        + (f"found {named(names)}" if names else "it is empty")
    )


def each_row(
    path: Path, read: Callable[[Row, int], Iterable[T]], ordinals: Iterator[int] | None = None
) -> Iterator[T | RowError]:
    """Yield the result of ``read`` for each row and its number, or the row's error."""
    for (line, row), ordinal in zip(raw_rows(path), ordinals or count(), strict=False):
        try:
            if isinstance(row, RowProblem):
                raise row
            yield from read(row, ordinal)
        except RowProblem as e:
            yield row_error(e, ordinal, path, line)


def rows_by_key(path: Path, read: Callable[[Row], tuple[K, T]]) -> dict[K, T]:
    """Return results of ``read`` for an auxiliary file's rows, by key.

    Raises:
        UsageError: a row is unusable; an item must not lose its data silently.
    """
    pairs: dict[K, T] = {}
    for row in each_row(path, lambda row, _: [read(row)]):
        if isinstance(row, RowError):
            raise UsageError(str(row))
        key, value = row
        pairs[key] = value
    return pairs


def read_records(
    files: Path | Sequence[Path], reader: str, part: str, group: Callable[[Record], str]
) -> Iterator[Item | BadItem]:
    """Yield one item per record of a published format, all of one part."""
    for row in open_source(files, reader=reader).rows():
        if isinstance(row, RowError):
            yield BadItem(part, row)
        else:
            yield Item(row, part, group(row))


def record_of(row: Row, ordinal: int) -> Record:
    """Build a record from record fields.

    Raises:
        RowProblem: they are invalid.
    """
    return Columns().record(row, ordinal)


def row_error(problem: RowProblem, ordinal: int, path: Path, line: int | None) -> RowError:
    """Return a problem with its location."""
    return RowError(ordinal, display(path), line, problem.field, problem.error)


def text_of(value: Any, column: str) -> str:
    """Return a value as text.

    Raises:
        RowProblem: it is not a text, or not allowed in a record.
    """
    if not isinstance(value, str):
        raise RowProblem(f"must be text, got {shown(value)}", column)
    try:
        return clean_text(value)
    except ValueError as e:
        raise RowProblem(str(e), column) from None


def text_list(value: Any, column: str) -> list[str]:
    """Return a text or a list of texts as a list, empty if missing.

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
