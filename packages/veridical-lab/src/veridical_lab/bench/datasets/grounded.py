"""Claims and answers judged against documents, scored at the verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from veridical.core.records import Record
from veridical.errors import RowError
from veridical.io import open_source
from veridical_lab.bench.datasets.files import files_of, has_records, parted
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Suite, Task, by_part
from veridical_lab.bench.published import aggrefact
from veridical_lab.bench.suite_options import GroundedOptions

_METRICS = (
    "auroc",
    "balanced_accuracy",
    "balanced_accuracy_half",
    "balanced_accuracy_cross_fitted",
    "balanced_accuracy_best",
    "right_flagged",
    "wrong_missed",
    "unclear",
)
#: And, over several sets, the means of the sets' own.
_MACRO = tuple(f"{name}_macro" for name in _METRICS if name != "unclear")
_POSITIVE = "not supported"
_ALL = "all"


def _items(path: Path, options: GroundedOptions) -> Iterator[Item | BadItem]:
    for file in files_of(path, (), lambda f: has_records(f, options.reader, _labelled)):
        part = file.name.split(".")[0] if options.by else _ALL
        yield from parted(_read(file, part, options), part)


def _read(file: Path, part: str, options: GroundedOptions) -> Iterator[Item | RowError]:
    for row in open_source(file, reader=options.reader).rows():
        if isinstance(row, RowError):
            yield row
            continue
        name = row.meta.get("dataset") if options.by else None
        yield Item(row, str(name) if name else part, _group(row))


def _labelled(record: Record) -> bool:
    return record.label is not None and bool(record.contexts)


def _group(record: Record) -> str:
    """Return the document: claims on the same one depend on each other."""
    text = "\0".join(context.text for context in record.contexts)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _tasks(labelled: Labelled) -> list[Task]:
    """Return a task for each set and, of several, one for all."""
    tasks = [
        replace(task, notes=aggrefact.notes(task.split))
        for task in by_part(labelled, _POSITIVE, metrics=_METRICS, at_verdict=True)
    ]
    if len(tasks) > 1:
        known = ~np.isnan(labelled.label)
        names, sets = np.unique(labelled.parts, return_inverse=True)
        tasks.append(
            Task(
                split=_ALL,
                level="response",
                kind="binary",
                positive=_POSITIVE,
                on="items",
                truth=np.where(known, (labelled.label >= 0.5).astype(np.float64), np.nan),
                metrics=(*_METRICS, *_MACRO),
                at_verdict=True,
                sets=sets.astype(np.int64),
                notes=aggrefact.notes_of_all(names.tolist()),
            )
        )
    return tasks


SUITE = Suite(
    name="grounded",
    summary="claims and answers, supported by documents or not, at the verdict",
    needs=(
        "JSONL, JSON, CSV, TSV or Parquet records with response, contexts and label (0 supported "
        ".. 1 not); with --reader aggrefact doc, claim, label (1 supported, 0 not) and dataset"
    ),
    source="Tang, Laban and Durrett 2024 (LLM-AggreFact), or the user's own data",
    read=_items,
    tasks=_tasks,
    options=GroundedOptions,
    against="contexts",
    quick=None,
)
