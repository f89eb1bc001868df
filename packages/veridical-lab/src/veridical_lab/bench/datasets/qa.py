"""Question answering with gold answers: correctness and its prediction by scorers.

The experiment of Bouchard and Chauhan 2025 (tunable ensemble, sections 4 to 5). Answers come from
a model (``--llm``, see :mod:`veridical_lab.bench.answering`) or from a file: records with samples
and labels, or GSM8K's published model solutions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.io import open_source
from veridical.io.problems import RowProblem
from veridical.text.display import display
from veridical.tuning.graders import load_grader
from veridical.tuning.graders.choice import CHOICES
from veridical_lab.bench.datasets.files import (
    Row,
    data_files,
    each_row,
    files_of,
    first_rows,
    has_columns,
    parted,
    record_of,
    row_error,
    text_of,
)
from veridical_lab.bench.datasets.qa_questions import PARTS, grader_of, has_questions, questions
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Suite, Task, by_part
from veridical_lab.bench.suite_options import QaOptions

_NEEDS = (
    "questions, with --llm NAME to answer them: CommonsenseQA and ARC (.jsonl), popQA.tsv, "
    "NQ-open.*.jsonl, HotpotQA (hotpot_dev_*.json), SimpleQA (simple_qa_test_set.csv), SVAMP.json, "
    "GSM8K test.jsonl or the hub's Parquet of these; or answers: "
    "records with response, samples and label (0 right .. 1 wrong) or reference, and dataset; or "
    "GSM8K's example_model_solutions.jsonl"
)
#: Metrics in the paper's tables, of the right answers.
_TABLE = ("f1", "precision", "recall", "accuracy", "auroc", "average_precision")
_CROSS_MODEL = (
    "the samples of an answer are the other models' answers to the same question: agreement "
    "between models, not of a model with itself"
)


def _items(path: Path, options: QaOptions) -> Iterator[Item | BadItem]:
    inside = data_files(path) if path.is_dir() else [path]
    if has_questions(path) and not any(_answers(file) for file in inside):
        raise UsageError(
            f"{display(path)}: the file contains questions; name a model to answer them (--llm)"
        )
    for number, file in enumerate(files_of(path, (), _answers)):
        rows = each_row(file, _solved) if _has_solutions(file) else _records(file, number)
        yield from parted(rows, "all")


def _answers(path: Path) -> bool:
    """Return True if a file contains answers to questions."""
    if _has_solutions(path):
        return True
    return has_columns(path, "label", "reference", "reference_answer", "gold") and has_columns(
        path, "response", "output", "prediction", "generated_text", "actual_output"
    )


def _records(path: Path, file: int) -> Iterator[Item | RowError]:
    """Answered records; those without a label are graded by the rules of their data set."""
    for row in open_source(path).rows():
        if isinstance(row, RowError):
            yield row
            continue
        part = next((row.meta[k] for k in ("dataset", "split") if row.meta.get(k)), "all")
        if not isinstance(part, str):
            yield row_error(RowProblem("must be a name", "dataset"), row.row, path, None)
            continue
        question = f"question {row.prompt}" if row.prompt else f"file {file} row {row.row}"
        yield Item(row if row.label is not None else graded(row, part), part, question)


def graded(record: Record, part: str) -> Record:
    """Return ``record`` with the label of its data set's grader, and the grade in ``meta``.

    For graders without a model.
    """
    grader = load_grader(grader_of(part, record.meta.get(CHOICES)))
    grading = grader.grade(record)
    try:
        grading.send(None)
    except StopIteration as done:
        return marked(record, grader.name, done.value)
    raise RuntimeError(f"the grader {grader.name} waits for something")


def marked(record: Record, grader: str, grade: Any) -> Record:
    """Return ``record`` with a grade's label and reason."""
    fields = {"grader": grader, "correct": grade.correct, "reason": grade.reason}
    meta = {**record.meta, "grade": fields}
    return record.model_copy(update={"label": grade.label, "meta": meta})


def _has_solutions(path: Path) -> bool:
    return any(_models(row) for row in first_rows(path))


def _models(row: Row) -> list[str]:
    return [
        k for k, v in row.items() if isinstance(v, dict) and {"solution", "is_correct"} <= set(v)
    ]


def _solved(row: Row, ordinal: int) -> list[Item]:
    """Read GSM8K's model solutions (Cobbe et al. 2021): an item per model, graded as published."""
    models = _models(row)
    if not models:
        raise RowProblem("no model's solution and is_correct are in it")
    question = text_of(row.get("question"), "question")
    gold = text_of(row.get("ground_truth"), "ground_truth")
    texts = {m: text_of(row[m]["solution"], f"{m}.solution") for m in models}
    items = []
    for model in models:
        right = row[model]["is_correct"]
        if not isinstance(right, bool):
            raise RowProblem("must be true or false", f"{model}.is_correct")
        part = f"gsm8k/{model}"
        fields = {
            "id": f"{ordinal}-{model}",
            "prompt": question,
            "response": texts[model],
            "samples": [text for other, text in texts.items() if other != model],
            "reference": gold,
            "label": float(not right),
            "meta": {"dataset": part},
        }
        facets = {"samples": "other models"}
        items.append(Item(record_of(fields, ordinal), part, f"question {question}", facets))
    return items


def _tasks(labelled: Labelled) -> list[Task]:
    """Return two tasks per data set: find the wrong answers (figure 2), and the right ones (table
    1).

    Section 3.1 of the paper calls wrong answers positive, but its table 1 the right ones. A recall
    of 0.997 at a precision of 0.758 implies an accuracy of three quarters.
    """
    tasks = []
    others = labelled.facets.get("samples", np.full(len(labelled.parts), ""))
    for task in by_part(labelled, "wrong", headline="auroc"):
        of_part = labelled.parts == task.split
        notes = (_CROSS_MODEL,) if (others[of_part] == "other models").any() else ()
        right = replace(
            task,
            split=f"{task.split}-right",
            positive="right",
            truth=1.0 - task.truth,
            metrics=_TABLE,
            headline=_TABLE[0],
            flip=True,
            objective="f1",
            notes=notes,
        )
        tasks += [replace(task, notes=notes), right]
    return tasks


SUITE = Suite(
    name="qa",
    summary="questions with gold answers, answered by any model and graded",
    needs=_NEEDS,
    source="Bouchard and Chauhan 2025 (tunable ensemble)",
    read=_items,
    tasks=_tasks,
    options=QaOptions,
    against="samples",
    questions=lambda path, options: questions(path),
)

__all__ = ["PARTS", "SUITE", "graded", "marked"]
