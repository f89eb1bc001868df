"""User's labelled answers: records with ``label``, ``unit_labels`` or both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veridical.core.dependence import unit_of
from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.io import open_source
from veridical.io.label_words import label_of
from veridical.io.names import ALIASES
from veridical.io.problems import LABEL, RowProblem
from veridical.io.readers import READERS
from veridical.text.display import display, shown
from veridical_lab.bench.datasets.files import files_of, has_columns, parted, row_error
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Suite, Task
from veridical_lab.bench.suite_options import GradedOptions

_NEEDS = (
    "JSONL, JSON, CSV, TSV or Parquet records with response and label (0 right .. 1 hallucinated) "
    "and/or unit_labels ([start, end, label]); optional: annotators (name: label, or a list), "
    "group (what rows depend on each other), split (the part's name)"
)
_LABELS = ("label", "unit_labels", "annotators")
_HINT = (
    "; labels in other words or scales are not read here: published data have suites of their "
    f"own, and veridical check has readers ({', '.join(READERS)})"
)


def _items(path: Path, options: GradedOptions) -> Iterator[Item | BadItem]:
    mapping = options.mapping or {}
    labelled = False
    unlabelled: str | None = None
    files = files_of(path, (), lambda file: _fits(file, mapping))
    for item in parted(_read(files, mapping), "all"):
        if isinstance(item, Item):
            labelled = labelled or _has_labels(item.record)
            unlabelled = unlabelled or ", ".join(item.record.meta) or "none"
        yield item
    if unlabelled is not None and not labelled:
        raise UsageError(
            f"{display(path)}: no row has a label or unit_labels, so nothing can be measured "
            f"(other columns: {unlabelled})"
        )


def _fits(path: Path, mapping: Mapping[str, str]) -> bool:
    columns = {field: path.partition(".")[0] for field, path in mapping.items()}
    labels = [columns.get(name, name) for name in _LABELS]
    usual = ("response", *ALIASES["response"])
    responses = (columns["response"],) if "response" in columns else usual
    return has_columns(path, *labels) and has_columns(path, *responses)


def _has_labels(record: Record) -> bool:
    return (
        record.label is not None
        or record.unit_labels is not None
        or record.meta.get("annotators") is not None
    )


def _read(files: list[Path], mapping: Mapping[str, str]) -> Iterator[Item | RowError]:
    for number, file in enumerate(files):
        for row in open_source(file, mapping=mapping).rows():
            if isinstance(row, RowError):
                yield row
                continue
            try:
                yield _item(row, number)
            except RowProblem as e:
                yield row_error(e, row.row, file, None)


def _item(record: Record, file: int) -> Item:
    annotators = _annotators(record.meta.get("annotators"))
    if annotators and record.label is None:
        mean = sum(annotators.values()) / len(annotators)
        record = record.model_copy(update={"label": mean})
    part = _name(record, "split")
    if part is None:
        part = _name(record, "part")
    facets = {"units": "" if record.unit_labels is None else "yes"}
    group = _group(record, file)
    return Item(record, "all" if part is None else part, group, facets, annotators)


def _group(record: Record, file: int) -> str:
    """Return the independent unit; rows are of their own file."""
    if _name(record, "group") is None and not record.prompt:
        return f"file {file} row {record.row}"
    return unit_of(record)


def _name(record: Record, column: str) -> str | None:
    value = record.meta.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, (str, int, float)):
        return str(value)
    raise RowProblem(f"must be text or a number, got {shown(value)}", column)


def _annotators(value: Any) -> dict[str, float]:
    """Return labels by annotator; those without a label are left out. A list numbers them from
    1.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):  # a CSV cell
        try:
            value = json.loads(value)
        except ValueError:
            raise RowProblem(f"is not JSON: {shown(value)}", "annotators") from None
    if value is None or value == "":
        return {}
    if isinstance(value, list):
        value = {str(i): label for i, label in enumerate(value, 1)}
    if not isinstance(value, dict):
        raise RowProblem(f"must be an object or a list of labels, got {shown(value)}", "annotators")
    read = {
        n: label_of(v, f"annotators.{n}") if isinstance(v, str) else v for n, v in value.items()
    }
    labels = {name: label for name, label in read.items() if label is not None}
    for name, label in labels.items():
        if not isinstance(label, (bool, int, float)) or not 0 <= label <= 1:
            raise RowProblem(
                f"must be {LABEL}, got {shown(label)}",
                f"annotators.{name}",
            )
    return {name: float(label) for name, label in labels.items()}


def _tasks(labelled: Labelled) -> list[Task]:
    """Return the tasks of each part: binary responses, graded ones, units, spans."""
    tasks = []
    parts = list(dict.fromkeys(labelled.parts.tolist()))
    has_units = labelled.facets.get("units", labelled.parts) == "yes"
    for part in parts:
        prefix = "" if parts == ["all"] else f"{part}/"
        of_part = labelled.parts == part
        label = np.where(of_part, labelled.label, np.nan)
        labels = label[~np.isnan(label)]
        if len(labels):
            positive = np.where(np.isnan(label), np.nan, (label >= 0.5).astype(np.float64))
            tasks.append(Task(part, "response", "binary", "label >= 0.5", "items", positive))
        if not np.isin(labels, (0.0, 1.0)).all():
            tasks.append(Task(f"{prefix}graded", "response", "graded", "label", "items", label))
        unit_of_part = of_part[labelled.unit_item]
        unit_positive = (labelled.unit_label >= 0.5).astype(np.float64)
        if unit_of_part.any():
            truth = np.where(unit_of_part, unit_positive, np.nan)
            tasks.append(
                Task(f"{prefix}units", "sentence", "binary", "label >= 0.5", "units", truth)
            )
        if (of_part & has_units).any():
            bad = np.zeros(len(of_part))
            bad[labelled.unit_item[unit_positive == 1]] = 1.0
            truth = np.where(of_part & has_units, bad, np.nan)
            positive_text = "has a unit of label >= 0.5"
            tasks.append(Task(f"{prefix}spans", "span", "spans", positive_text, "items", truth))
    return tasks


SUITE = Suite(
    name="graded",
    summary="your own answers with your own labels",
    needs=_NEEDS,
    source="the user's own data",
    read=_items,
    tasks=_tasks,
    options=GradedOptions,
    hint=_HINT,
)
