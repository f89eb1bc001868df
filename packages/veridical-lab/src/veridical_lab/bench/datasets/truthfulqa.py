"""TruthfulQA (Lin et al. 2022): listed right and wrong answers to questions.

An answer is compared with the question's right ones, itself left out. An answer that is the only
right one has no reference; scorers that compare then say that they do not apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from veridical_lab.bench.datasets.files import files_of, has_records, read_records
from veridical_lab.bench.datasets.suite import BadItem, Item, Suite, by_part

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


def _items(path: Path, options: object) -> Iterator[Item | BadItem]:
    files = files_of(path, _NAMES, lambda p: has_records(p, _PART))
    return read_records(files, _PART, _PART, lambda record: str(record.prompt))


SUITE = Suite(
    name=_PART,
    summary="right and wrong answers to questions that invite common mistakes",
    needs=_NEEDS,
    source="Lin, Hilton and Evans 2022 (TruthfulQA)",
    read=_items,
    tasks=partial(by_part, positive="incorrect"),
    hub="truthfulqa/truthful_qa",
    hub_files=("generation/*.parquet",),
    against="reference",
)
