"""RefChecker human annotations v1 (Hu et al. 2024): labelled claims.

Each claim is a triplet that people judged as entailed by, neutral to or contradicting the
reference. There are three settings: no context (NQ), noisy context (MS MARCO), accurate context
(Dolly). The references are not part of the release; they are joined where the user has them. A
claim is an item here; ``refchecker_responses`` has the responses with all their claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from veridical.claims.extractors.given import as_claims
from veridical.core.records import Context, Record
from veridical.errors import RowError, UsageError
from veridical.io.files import raw_rows
from veridical.io.problems import RowProblem
from veridical.io.readers import find_reader
from veridical.review.triplets import EXTRACTED, SETTINGS, told_by_name
from veridical.text.display import display, shown
from veridical_lab.bench.datasets.files import (
    Row,
    data_files,
    files_of,
    has_columns,
    parted,
    record_of,
    row_error,
    rows_by_key,
    text_list,
    text_of,
)
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Suite, Task

CLASSES = ("Entailment", "Neutral", "Contradiction")
#: Annotators' term for a triplet that differs from the response: no verdict on it.
UNUSABLE = "claims that the annotators called bad triplets"
_BAD = frozenset({"bad triplet", "bad"})
NEEDS = (
    "human_annotations_v1 (files such as zero_context/nq_gpt4_answers.json with id, response and "
    f"{EXTRACTED}: [triplet, human_label]), or claims.jsonl (a claim a row: setting, model, id, "
    "response, triplet, human_label); the references, for scorers that compare, in "
    "references.jsonl next to it (id, references; optional setting, question) or in the rows "
    "(reference or references)"
)
References = dict[tuple[str | None, str], tuple[list[str], str | None]]


def is_there(path: Path) -> bool:
    """Return True if a file, or a file of the folder, has claims in one of the two forms."""
    files = data_files(path) if path.is_dir() else [path]
    return any(has_columns(file, "human_label", EXTRACTED) for file in files)


def files_with_claims(path: Path) -> list[Path]:
    """Return the files to read, in one of the two forms.

    Raises:
        UsageError: there are no such files.
    """
    return files_of(
        path,
        ("claims.jsonl", "*_answers.json"),
        lambda p: has_columns(p, "human_label", EXTRACTED),
    )


def references_beside(path: Path) -> References:
    """Read ``references.jsonl`` in the folder; empty if it does not exist.

    Raises:
        UsageError: a row of it is unusable.
    """
    beside = (path if path.is_dir() else path.parent) / "references.jsonl"
    return rows_by_key(beside, _reference) if beside.is_file() else {}


def items(path: Path, *, whole: bool = False) -> Iterator[Item | BadItem]:
    """Yield every claim as a separate item, in the order of the files.

    With ``whole``, only triplets with the response that they belong to.
    """
    references = references_beside(path)
    ordinal = 0
    for file in files_with_claims(path):
        read: list[Item | RowError] = []
        for line, row in raw_rows(file):
            for claim in _claims(row, file):
                try:
                    if whole:
                        _check_whole(claim)
                    read.append(_item(claim, ordinal, references))
                except RowProblem as e:
                    read.append(row_error(e, ordinal, file, line))
                ordinal += 1
        yield from parted(read, told_by_name(file).get("setting", "zero_context"))


def _claims(row: Row | RowProblem, file: Path) -> Iterator[Row | RowProblem]:
    """Flat rows of a published row, which holds an answer with its claims; others as they are."""
    if isinstance(row, RowProblem) or EXTRACTED not in row:
        yield row
        return
    shared = shared_fields(row, file)
    claims = row[EXTRACTED]
    if not isinstance(claims, list):
        yield RowProblem(f"must be a list of claims, got {shown(claims)}", EXTRACTED)
        return
    for i, claim in enumerate(claims):
        if isinstance(claim, dict):
            yield {**shared, **claim}
        else:
            yield RowProblem(
                f"must be an object with 'triplet' and 'human_label', got {shown(claim)}",
                f"{EXTRACTED}[{i}]",
            )


def shared_fields(row: Row, file: Path) -> Row:
    """Return the fields of a published row's answer, with those in the file's name.

    Raises:
        UsageError: the name contains none of them.
    """
    told = told_by_name(file)
    if not told:
        raise UsageError(
            f"{display(file)}: the setting and the model of published rows are read from "
            "the file's "
            "name, such as nq_gpt4_answers.json (nq, msmarco or dolly)"
        )
    return {**{k: v for k, v in row.items() if k != EXTRACTED}, **told}


def setting_of(row: Row) -> str:
    """Return the setting of a row, which must have an id too.

    Raises:
        RowProblem: one of the two is missing.
    """
    setting = row.get("setting")
    if setting not in SETTINGS.values():
        raise RowProblem(
            f"must be one of {', '.join(SETTINGS.values())}, got {shown(setting)}", "setting"
        )
    if not isinstance(row.get("id"), (str, int)):
        raise RowProblem(f"must be the question's id, got {shown(row.get('id'))}", "id")
    return str(setting)


def _item(row: Row | RowProblem, ordinal: int, references: References) -> Item:
    if isinstance(row, RowProblem):
        raise row
    setting = setting_of(row)
    bad = _is_bad(row.get("human_label"))
    judged = {**row, "human_label": CLASSES[0]} if bad else row
    (fields,) = find_reader("refchecker").read(judged, ordinal)
    if isinstance(fields, RowProblem):
        raise fields
    if bad:
        fields["label"] = None
    fields["meta"]["claims"] = [row["triplet"]]
    record = with_reference(record_of(fields, ordinal), setting, references)
    facets = {"model": str(row.get("model") or "")}
    return Item(record, setting, str(row["id"]), facets=facets, unusable=int(bad))


def _check_whole(row: Row | RowProblem) -> None:
    if isinstance(row, RowProblem):
        raise row
    text_of(row.get("response"), "response")
    try:
        as_claims([row.get("triplet")])
    except ValueError as e:
        raise RowProblem(str(e), "triplet") from None


def _is_bad(label: Any) -> bool:
    return isinstance(label, str) and label.strip().lower().replace("_", " ") in _BAD


def with_reference(record: Record, setting: str, references: References) -> Record:
    """Return the record with the reference of its question as contexts."""
    values = [record.meta.get(k) for k in ("references", "reference")]
    key = str(record.id)
    texts, question = references.get((setting, key)) or references.get((None, key)) or ([], None)
    for column, value in zip(("references", "reference"), values, strict=True):
        if value is not None:
            texts = text_list(value, column)
            break
    changed: dict[str, Any] = {"contexts": tuple(Context(text=t) for t in texts)}
    question = record.meta.get("question") or question
    if question is not None:
        changed["prompt"] = text_of(question, "question")
    return record.model_copy(update=changed)


def _reference(row: Row) -> tuple[tuple[str | None, str], tuple[list[str], str | None]]:
    """Return (setting or None, question id), and the reference texts and question."""
    if not isinstance(row.get("id"), (str, int)):
        raise RowProblem(f"must be a question's id, got {shown(row.get('id'))}", "id")
    texts = text_list(row.get("references", row.get("reference")), "references")
    setting, question = row.get("setting"), row.get("question")
    if setting is not None and setting not in SETTINGS.values():
        raise RowProblem(f"is not a setting: {shown(setting)}", "setting")
    if question is not None:
        text_of(question, "question")
    return (setting, str(row["id"])), (texts, question)


def _tasks(labelled: Labelled) -> list[Task]:
    """Return the tasks of three classes over claims: one per setting, and all together."""
    label = labelled.label
    truth = np.select([label < 0.25, label < 0.75, label >= 0.75], [0.0, 1.0, 2.0], np.nan)
    settings = [s for s in SETTINGS.values() if s in set(labelled.parts.tolist())]
    return [
        Task(
            split,
            "claim",
            "classes",
            "which of Entailment, Neutral, Contradiction",
            "items",
            truth if split == "all" else np.where(labelled.parts == split, truth, np.nan),
            classes=CLASSES,
            named={"abstain": 0},  # the claim reads like a refusal: nothing is claimed
        )
        for split in (*settings, "all")
    ]


SUITE = Suite(
    name="refchecker",
    summary="claims of seven models: entailed, neutral or contradicted; three settings",
    needs=NEEDS,
    source="Hu et al. 2024 (RefChecker)",
    read=lambda path, options: items(path),
    tasks=_tasks,
    against="contexts",
    unusable=UNUSABLE,
)
