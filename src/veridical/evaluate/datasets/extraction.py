"""Responses with the claims they make, as people have them: what extractors are measured by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from veridical.claims.extractors.given import as_claims
from veridical.errors import RowError
from veridical.evaluate.datasets import refchecker, refchecker_responses
from veridical.evaluate.datasets.files import (
    Row,
    checked,
    files_of,
    has_columns,
    parted,
    raw_rows,
    record_of,
    row_error,
)
from veridical.evaluate.datasets.suite import BadItem, Item, Options, Suite
from veridical.io.problems import RowProblem

_NAME = "extraction"
_NEEDS = (
    "JSONL, JSON, CSV, TSV or Parquet records with response and claims (a list of statements, or "
    "of triplets: lists of three texts), optionally prompt; or the data of the suite refchecker"
)


def _load(path: Path, options: Options) -> Iterator[Item | BadItem]:
    return checked(_items(path), path, _NAME, _NEEDS)


def _items(path: Path) -> Iterator[Item | BadItem]:
    if refchecker.is_there(path):
        yield from refchecker_responses.responses(path)
        return
    files = files_of(path, (), lambda file: has_columns(file, "claims"))
    yield from parted(_read(files), _NAME)


def _read(files: list[Path]) -> Iterator[Item | RowError]:
    ordinal = 0
    for file in files:
        for line, row in raw_rows(file):
            try:
                yield _item(row, ordinal)
            except RowProblem as e:
                yield row_error(e, ordinal, file, line)
            ordinal += 1


def _item(row: Row | RowProblem, ordinal: int) -> Item:
    if isinstance(row, RowProblem):
        raise row
    try:
        as_claims(row.get("claims"))
    except ValueError as e:
        raise RowProblem(str(e), "claims") from None
    record = record_of(row, ordinal)
    return Item(record, _NAME, str(record.row))


SUITE = Suite(
    name=_NAME,
    summary="claim extractors: are their claims faithful to the response, and do they miss any",
    needs=_NEEDS,
    source="Hu et al. 2024 (RefChecker), section 6.1",
    load=_load,
    tasks=lambda labelled: [],
    unusable=refchecker.UNUSABLE,
    measures="extractors",
)
