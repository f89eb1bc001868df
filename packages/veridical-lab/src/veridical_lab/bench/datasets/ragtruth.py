"""RAGTruth (Niu et al. 2024): answers with marked hallucinated spans.

A response is hallucinated when it has any span. The sources are a file of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from veridical.arrays import Floats
from veridical.core.records import Context, Record
from veridical.errors import RowError, UsageError
from veridical.io import open_source
from veridical.io.problems import RowProblem
from veridical.text.display import display, shown
from veridical_lab.bench.datasets.files import (
    Row,
    files_of,
    has_records,
    parted,
    rows_by_key,
    text_list,
    text_of,
)
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Suite, Task

_NEEDS = (
    "response.jsonl (source_id, model, labels: [start, end, ...], split, response; where rows "
    "have a split, only those of test are used) and, for contexts, prompts and figures by task, "
    "source_info.jsonl in its folder (source_id, task_type, source_info, prompt); "
    "without it the tasks "
    "of the released test set follow from its order"
)
#: The released test set: how many responses, sources of each task, and the tasks in their order.
_RELEASED, _SOURCES = 2700, 150
_BLOCKS = ("Summary", "Data2txt", "QA")


def _items(path: Path, options: object) -> Iterator[Item | BadItem]:
    files = files_of(
        path, ("response.jsonl", "response.json"), lambda p: has_records(p, "ragtruth")
    )
    sources = sources_beside(files[0])
    read = parted(_read(files, sources), "test")
    yield from read if sources else _in_order(list(read))


def _in_order(rows: list[Item | BadItem]) -> Iterator[Item | BadItem]:
    """Yield the rows with the task by their order, if they are the released test responses.

    These do not name their task without ``source_info.jsonl``. They come in blocks of 150 sources
    with six models' answers each, one task per block.
    """
    sources = list(dict.fromkeys(r.group for r in rows if isinstance(r, Item)))
    told = any(r.facets.get("task") for r in rows)
    if told or len(rows) != _RELEASED or len(sources) != len(_BLOCKS) * _SOURCES:
        yield from rows
        return
    task = {source: _BLOCKS[i // _SOURCES] for i, source in enumerate(sources)}
    for row in rows:
        if isinstance(row, Item):
            row = replace(row, facets={**row.facets, "task": task[row.group]})
        yield row


def sources_beside(file: Path) -> dict[str, Row]:
    """Read the rows of ``source_info.jsonl`` in a file's folder, by id; {} if it does not exist.

    Raises:
        UsageError: it is unreadable.
    """
    beside = file.parent / "source_info.jsonl"
    return rows_by_key(beside, _source) if beside.is_file() else {}


def with_source(record: Record, sources: Mapping[str, Row]) -> Record:
    """Return ``record`` with the contexts and the prompt of its source, if known."""
    source = sources.get(str(record.meta.get("source_id")), {})
    if not source:
        return record
    contexts = tuple(Context(text=text) for text in _texts(source))
    prompt = record.prompt or source.get("prompt")
    return record.model_copy(update={"contexts": contexts, "prompt": prompt})


def _read(files: list[Path], sources: dict[str, Row]) -> Iterator[Item | RowError]:
    used = False
    passed_over = 0
    for row in open_source(files, reader="ragtruth").rows():
        if isinstance(row, RowError):
            yield row
        elif row.meta.get("split") in (None, "test"):
            used = True
            yield _item(row, sources)
        else:
            passed_over += 1
    if passed_over and not used:
        raise UsageError(
            f"{display(files[0])}: none of its {passed_over} rows is in the test split"
        )


def _item(record: Record, sources: dict[str, Row]) -> Item:
    """Build an item; its group is the source, which all six models answer."""
    identity = record.meta.get("source_id")
    group = f"row {record.row}" if identity is None else str(identity)
    source = sources.get(group, {})
    record = with_source(record, sources)
    facets = {
        "model": str(record.meta.get("model") or ""),
        "task": str(source.get("task_type") or record.meta.get("task_type") or ""),
    }
    return Item(record, str(record.meta.get("split") or "all"), group, facets=facets)


def _source(row: Row) -> tuple[str, Row]:
    """Return a row of ``source_info.jsonl`` by its ``source_id``."""
    if not isinstance(row.get("source_id"), (str, int)):
        got = shown(row.get("source_id"))
        raise RowProblem(f"must be the source's id, got {got}", "source_id")
    if row.get("prompt") is not None:
        text_of(row["prompt"], "prompt")
    _texts(row)
    return str(row["source_id"]), row


def _texts(source: Row) -> list[str]:
    """Return the grounding texts: passages for QA, an object as JSON for Data2txt.

    Raises:
        RowProblem: they are missing.
    """
    value: Any = source.get("source_info")
    if isinstance(value, dict) and "passages" in value:
        return text_list(value["passages"], "source_info.passages")
    if isinstance(value, dict):
        return [json.dumps(value, ensure_ascii=False)]
    return [text_of(value, "source_info")]


def _tasks(labelled: Labelled) -> list[Task]:
    """Return tasks of responses (whole, by model and task) and spans.

    CheckEmbed's table 7 has the right answers as positives, by task (Besta et al. 2025, appendix
    D.6), so both directions exist there.
    """
    wrong = (labelled.label >= 0.5).astype(np.float64)
    tasks = _both_ways("all", wrong)
    for facet in ("model", "task"):
        values = labelled.facets.get(facet, np.array([], dtype=np.str_))
        for value in sorted(set(values.tolist()) - {""}):
            hallucinated, right = _both_ways(
                f"{facet}:{value}", np.where(values == value, wrong, np.nan)
            )
            tasks += [hallucinated, right] if facet == "task" else [hallucinated]
    tasks.append(Task("spans", "span", "spans", "has hallucinated spans", "items", wrong))
    return tasks


def _both_ways(split: str, wrong: Floats) -> list[Task]:
    """Find the wrong answers of a split; and the right ones."""
    positive = "right (CheckEmbed's orientation)"
    return [
        Task(split, "response", "binary", "has a hallucinated span", "items", wrong),
        Task(f"{split}-right", "response", "binary", positive, "items", 1.0 - wrong, flip=True),
    ]


SUITE = Suite(
    name="ragtruth",
    summary="answers of six models to given sources, hallucinated spans marked",
    needs=_NEEDS,
    source="Niu et al. 2024 (RAGTruth)",
    read=_items,
    tasks=_tasks,
    against="contexts",
    quick=None,
)
