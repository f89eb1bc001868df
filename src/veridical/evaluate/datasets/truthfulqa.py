"""TruthfulQA (Lin, Hilton and Evans 2022): listed answers, right and wrong, to each question.

An answer is compared with the question's right ones, itself left out. An answer that is the only
right one has no reference; scorers that compare then say that they do not apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from veridical.errors import RowError
from veridical.evaluate.datasets.files import checked, files_of, has_records
from veridical.evaluate.datasets.suite import (
    BadItem,
    Item,
    Labelled,
    Options,
    Suite,
    Task,
    by_part,
)
from veridical.io import open_source

_PART = "truthfulqa"
_NAMES = (
    "TruthfulQA.csv",
    "TruthfulQA_generation.jsonl",
    "TruthfulQA_generation.json",
    "bigbench_task_mc.json",
    "task_mc.json",
)
_NEEDS = (
    "TruthfulQA.csv (Question, Correct Answers, Incorrect Answers), the generation set "
    "(question, correct_answers, incorrect_answers) or BIG-bench's task_mc.json (input, "
    "target_scores); of a folder the first of these"
)


def _load(path: Path, options: Options) -> Iterator[Item | BadItem]:
    return checked(_items(path), path, _PART, _NEEDS)


def _items(path: Path) -> Iterator[Item | BadItem]:
    files = files_of(path, _NAMES, lambda p: has_records(p, _PART))
    for row in open_source(files, reader=_PART).rows():
        if isinstance(row, RowError):
            yield BadItem(_PART, row)
        else:
            yield Item(row, _PART, str(row.prompt))


def _tasks(labelled: Labelled) -> list[Task]:
    return by_part(labelled, "incorrect")


SUITE = Suite(
    name=_PART,
    summary="right and wrong answers to questions that invite common mistakes",
    needs=_NEEDS,
    source="Lin, Hilton and Evans 2022 (TruthfulQA)",
    load=_load,
    tasks=_tasks,
    hub="truthfulqa/truthful_qa",
    hub_files=("generation/*.parquet",),
    against="reference",
)
