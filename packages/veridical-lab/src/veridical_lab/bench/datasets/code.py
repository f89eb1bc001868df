"""Your own answers in code, each with what became of its tests. Nothing is run here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from veridical.core.records import Record, Sample
from veridical.errors import RowError
from veridical.io.problems import RowProblem
from veridical.text.display import shown
from veridical_lab.bench.datasets.files import (
    Row,
    each_row,
    files_of,
    has_columns,
    parted,
    record_of,
)
from veridical_lab.bench.datasets.suite import BadItem, Item, Suite, by_part

_NEEDS = (
    "JSONL, JSON, CSV, TSV or Parquet rows with response (or completion, as HumanEval's results "
    "have it) and passed (true or false, or the share of its tests that passed) or label (0 right "
    ".. 1 wrong); optional: task_id (rows of a task without samples are each other's), language "
    "(the part's name)"
)


_WORDS = {"true": "1", "false": "0"}


def _items(path: Path, options: object) -> Iterator[Item | BadItem]:
    files = files_of(path, (), lambda file: has_columns(file, "passed", "label"))
    for number, file in enumerate(files):
        rows = list(each_row(file, partial(_item, file=number)))
        yield from parted(_with_samples(rows), "all")


def _item(row: Row, ordinal: int, file: int) -> Iterator[Item]:
    fields = dict(row)
    if "completion" in fields and "response" not in fields:
        fields["response"] = fields.pop("completion")
    passed, label = _share(row, "passed"), _share(row, "label")
    if passed is None and label is None:
        raise RowProblem("is missing, and so is label", "passed")
    fields["label"] = label if passed is None else 1 - passed
    record = record_of(fields, ordinal)
    task, language = (_name(row, column) for column in ("task_id", "language"))
    group = f"task {task}" if task else f"prompt {record.prompt}" if record.prompt else ""
    yield Item(record, language or "all", f"file {file} {group or f'row {ordinal}'}")


def _share(row: Row, column: str) -> float | None:
    value = row.get(column)
    if isinstance(value, str):  # a CSV cell
        with suppress(ValueError):
            value = float(_WORDS.get(value.lower(), value)) if value else None
    if value is None:
        return None
    if not isinstance(value, (bool, int, float)) or not 0 <= value <= 1:
        raise RowProblem(
            f"must be true or false, or a share from 0 to 1, got {shown(value)}", column
        )
    return float(value)


def _name(row: Row, column: str) -> str:
    value = row.get(column)
    if value is None or isinstance(value, (str, int, float)):
        return "" if value is None else str(value)
    raise RowProblem(f"must be text or a number, got {shown(value)}", column)


def _with_samples(rows: list[Item | RowError]) -> Iterator[Item | RowError]:
    """Yield the rows; rows of one task without samples become each other's, except blank ones."""
    answers: dict[tuple[str, str], list[tuple[Record, Sample]]] = defaultdict(list)
    for item in rows:
        if isinstance(item, Item):
            sample = Sample(text=item.record.response, logprobs=item.record.logprobs)
            answers[item.part, item.group].append((item.record, sample))
    for item in rows:
        if isinstance(item, Item) and not item.record.samples:
            others = tuple(
                sample
                for record, sample in answers[item.part, item.group]
                if record is not item.record and record.response.strip()
            )
            record = item.record.model_copy(update={"samples": others})
            yield Item(record, item.part, item.group)
        else:
            yield item


SUITE = Suite(
    name="code",
    summary="your own answers in code, with what became of their tests",
    needs=_NEEDS,
    source="the user's own data",
    read=_items,
    tasks=partial(by_part, positive="fails its tests (label >= 0.5)"),
    against="samples",
)
