"""Responses with human claims, for measuring extractors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from veridical.claims.extractors.given import as_claims
from veridical.io.problems import RowProblem
from veridical_lab.bench.datasets import refchecker, refchecker_responses
from veridical_lab.bench.datasets.files import (
    Row,
    each_row,
    files_of,
    has_columns,
    parted,
    record_of,
)
from veridical_lab.bench.datasets.suite import BadItem, Item, Suite
from veridical_lab.bench.suite_options import ExtractionOptions

_NAME = "extraction"
_NEEDS = (
    "JSONL, JSON, CSV, TSV or Parquet records with response and claims (a list of statements, or "
    "of triplets: lists of three texts), optionally prompt; or the data of the suite refchecker"
)


def _items(path: Path, options: ExtractionOptions) -> Iterator[Item | BadItem]:
    if refchecker.is_there(path):
        yield from refchecker_responses.responses(path)
        return
    files = files_of(path, (), lambda file: has_columns(file, "claims"))
    ordinals = count()
    rows = chain.from_iterable(each_row(file, _item, ordinals) for file in files)
    yield from parted(rows, _NAME)


def _item(row: Row, ordinal: int) -> list[Item]:
    try:
        as_claims(row.get("claims"))
    except ValueError as e:
        raise RowProblem(str(e), "claims") from None
    record = record_of(row, ordinal)
    return [Item(record, _NAME, str(record.row))]


SUITE = Suite(
    name=_NAME,
    summary="claim extractors: are their claims faithful to the response, and do they miss any",
    needs=_NEEDS,
    source="Hu et al. 2024 (RefChecker), section 6.1",
    read=_items,
    tasks=lambda labelled: [],
    options=ExtractionOptions,
    unusable=refchecker.UNUSABLE,
    measures="extractors",
)
