"""Questions with gold answers, in the published formats of nine data sets.

Bouchard and Chauhan 2025 (tunable ensemble), section 4.1: numbers (GSM8K, SVAMP), multiple choice
(CommonsenseQA, ARC) and open answers (PopQA, NQ-Open). Not in the paper: EfficientQA, HotpotQA and
SimpleQA, which are asked without their sources. The paper does not print its prompts; the
instructions here ask for the bare answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from veridical.errors import UsageError
from veridical.io.problems import RowProblem
from veridical.text.display import display, shown
from veridical.tuning.graders.choice import CHOICES
from veridical_lab.bench.datasets.files import (
    Row,
    data_files,
    each_row,
    first_rows,
    nothing_in,
    parted,
    record_of,
    text_list,
    text_of,
)
from veridical_lab.bench.datasets.suite import BadItem, Item

_INSTRUCTIONS = {
    "choice": "Answer with the letter of the right option only.",
    "numeric": "Answer with the final number only.",
    "contains": "Answer as briefly as possible, without an explanation.",
}


@dataclass(frozen=True)
class DataSet:
    """One of the data sets.

    Attributes:
        part: its name in tables.
        grader: what grades its answers unless another is named.
        fits: whether a row looks like one of it.
        read: question text, gold answers and options (letter -> text) of a row.
        published: parts of the file names that are preferred, best first; of several splits of
            one data set only the first there is.
    """

    part: str
    grader: str
    fits: Callable[[Row], bool]
    read: Callable[[Row], tuple[str, list[str], dict[str, str]]]
    published: tuple[str, ...] = ("test", "dev", "validation")


def questions(path: Path) -> Iterator[Item | BadItem]:
    """Yield the questions of a file, or of all data sets in a folder; responses are empty.

    Raises:
        UsageError: no file has questions.
    """
    files = _files(path)
    if not files:
        if path.is_dir():
            raise nothing_in(path)
        raise UsageError(f"{display(path)}: no row is a question of {', '.join(PARTS)}")
    for data_set, file in files:
        yield from parted(each_row(file, partial(_item, data_set)), data_set.part)


def has_questions(path: Path) -> bool:
    """Return True if there are any."""
    return bool(_files(path))


def grader_of(part: str, choices: Any = None) -> str:
    """Return the grader of a part, such as ``gsm8k`` or ``gsm8k/175b_finetuning``."""
    name = part.partition("/")[0]
    usual = next((d.grader for d in DATA_SETS if d.part == name), "contains")
    return "choice" if choices else usual


def _files(path: Path) -> list[tuple[DataSet, Path]]:
    """Return the files to read: one split of each data set."""
    files = [(d, f) for f in (data_files(path) if path.is_dir() else [path]) if (d := _kind(f))]
    chosen = []
    for data_set in DATA_SETS:
        candidates = [f for d, f in files if d is data_set]
        best = min((_rank(data_set, f) for f in candidates), default=0)
        chosen += [(data_set, f) for f in candidates if _rank(data_set, f) == best]
    return chosen


def _rank(data_set: DataSet, file: Path) -> int:
    name = file.name.lower()
    names = data_set.published
    place = next((i for i, word in enumerate(names) if word in name), len(names))
    return len(names) + 1 if "train" in name else place


def _kind(path: Path) -> DataSet | None:
    """Return the data set of a file, by its first rows."""
    rows = list(first_rows(path))
    if any("response" in row or "label" in row for row in rows):
        return None  # answered already
    return next((d for d in DATA_SETS for row in rows if d.fits(row)), None)


def _item(data_set: DataSet, row: Row, ordinal: int) -> list[Item]:
    text, golds, choices = data_set.read(row)
    if not text.strip():
        raise RowProblem("is blank", "question")
    if not any(gold.strip() for gold in golds):
        raise RowProblem("there is no gold answer")
    listed = "".join(f"\n{letter}. {option}" for letter, option in choices.items())
    prompt = f"{text.strip()}{listed}\n\n{_INSTRUCTIONS[data_set.grader]}"
    identity = next(
        (row[k] for k in ("id", "ID", "_id") if isinstance(row.get(k), (str, int))), None
    )
    meta: dict[str, Any] = {"dataset": data_set.part}
    if choices:
        meta[CHOICES] = choices
    fields = {"id": identity, "prompt": prompt, "response": "", "reference": golds, "meta": meta}
    return [Item(record_of(fields, ordinal), data_set.part, f"question {text.strip()}")]


# --- the formats


def _stem(row: Row) -> tuple[str, Any]:
    """Return the question's text and its options, nested (as published) or flat (on the hub)."""
    question = row.get("question")
    if isinstance(question, dict):
        return text_of(question.get("stem"), "question.stem"), question.get("choices")
    return text_of(question, "question"), row.get("choices")


def _multiple_choice(row: Row) -> tuple[str, list[str], dict[str, str]]:
    """Return the options lettered A, B, ... in their order; some rows of ARC number them."""
    stem, options = _stem(row)
    if isinstance(options, dict):
        labels, texts = (text_list(options.get(k), f"choices.{k}") for k in ("label", "text"))
    elif isinstance(options, list) and all(isinstance(c, dict) for c in options):
        labels = [text_of(c.get("label"), f"choices[{i}].label") for i, c in enumerate(options)]
        texts = [text_of(c.get("text"), f"choices[{i}].text") for i, c in enumerate(options)]
    else:
        raise RowProblem(f"must be a list of options, got {shown(options)}", "choices")
    key = text_of(row.get("answerKey"), "answerKey").strip()
    if len(labels) != len(texts) or not 2 <= len(labels) <= 26:
        raise RowProblem(f"{len(labels)} labels for {len(texts)} options", "choices")
    if key not in labels:
        raise RowProblem(f"must be one of {', '.join(labels)}, got {shown(key)}", "answerKey")
    letters = {chr(ord("A") + i): text for i, text in enumerate(texts)}
    gold = chr(ord("A") + labels.index(key))
    return stem, [gold, letters[gold]], letters


def _is_choice(row: Row) -> bool:
    question = row.get("question")
    options = question.get("choices") if isinstance(question, dict) else row.get("choices")
    return "answerKey" in row and isinstance(options, (list, dict))


def _is_csqa(row: Row) -> bool:
    question = row.get("question")
    holder: Mapping[str, Any] = question if isinstance(question, dict) else row
    return _is_choice(row) and "question_concept" in holder


def _popqa(row: Row) -> tuple[str, list[str], dict[str, str]]:
    golds = row.get("possible_answers")
    if isinstance(golds, str):  # a cell of the TSV
        try:
            golds = json.loads(golds)
        except ValueError:
            raise RowProblem(f"is not JSON: {shown(golds)}", "possible_answers") from None
    return text_of(row.get("question"), "question"), text_list(golds, "possible_answers"), {}


def _nq_open(row: Row) -> tuple[str, list[str], dict[str, str]]:
    return text_of(row.get("question"), "question"), text_list(row.get("answer"), "answer"), {}


def _hotpotqa(row: Row) -> tuple[str, list[str], dict[str, str]]:
    return text_of(row.get("question"), "question"), [text_of(row.get("answer"), "answer")], {}


def _simpleqa(row: Row) -> tuple[str, list[str], dict[str, str]]:
    return text_of(row.get("problem"), "problem"), [text_of(row.get("answer"), "answer")], {}


def _svamp(row: Row) -> tuple[str, list[str], dict[str, str]]:
    body, question = (text_of(row.get(k), k).strip() for k in ("Body", "Question"))
    answer = row.get("Answer")
    if isinstance(answer, bool) or not isinstance(answer, (int, float, str)):
        raise RowProblem(f"must be a number, got {shown(answer)}", "Answer")
    whole = isinstance(answer, float) and answer.is_integer()
    gold = str(int(answer)) if whole else text_of(str(answer), "Answer")
    return f"{body}{'' if body.endswith(('.', '?', '!')) else '.'} {question}", [gold], {}


def _gsm8k(row: Row) -> tuple[str, list[str], dict[str, str]]:
    _, mark, gold = text_of(row.get("answer"), "answer").rpartition("####")
    if not mark:
        raise RowProblem("has no '####' before the final answer", "answer")
    return text_of(row.get("question"), "question"), [gold.strip()], {}


def _is_gsm8k(row: Row) -> bool:
    answer = row.get("answer")
    return "question" in row and isinstance(answer, str) and bool(re.search("####", answer))


DATA_SETS = (
    DataSet("csqa", "choice", _is_csqa, _multiple_choice, ("dev", "validation", "test")),
    DataSet("arc", "choice", lambda row: _is_choice(row) and not _is_csqa(row), _multiple_choice),
    DataSet("popqa", "contains", lambda row: "possible_answers" in row, _popqa),
    DataSet(
        "nq_open",
        "contains",
        lambda row: (
            "question" in row
            and isinstance(row.get("answer"), list)
            and "def_correct_predictions" not in row
        ),
        _nq_open,
    ),
    DataSet(
        "efficientqa",
        "contains",
        lambda row: isinstance(row.get("answer"), list) and "def_correct_predictions" in row,
        _nq_open,
    ),
    DataSet("hotpotqa", "contains", lambda row: "supporting_facts" in row, _hotpotqa),
    DataSet("simpleqa", "contains", lambda row: "problem" in row and "answer" in row, _simpleqa),
    DataSet("svamp", "numeric", lambda row: "Body" in row and "Question" in row, _svamp),
    DataSet("gsm8k", "numeric", _is_gsm8k, _gsm8k),
)
PARTS = tuple(d.part for d in DATA_SETS)
