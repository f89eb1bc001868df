"""RefChecker's annotated responses (Hu et al. 2024), each with all its claims.

A response is judged as a whole here, whatever its verdict is made of. Truth is derived from the
human labels of its claims. It is the worst class (section 5.1), whether all are entailed, and the
share that is not (appendix C.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from veridical.arrays import Floats
from veridical.claims.extractors.given import given_claims
from veridical.core.records import Record, UnitLabel
from veridical.io.problems import RowProblem
from veridical.review.triplets import EXTRACTED, SETTINGS
from veridical.text.display import shown
from veridical_lab.bench.datasets.files import Row, each_row, parted, record_of, text_of
from veridical_lab.bench.datasets.refchecker import (
    CLASSES,
    NEEDS,
    UNUSABLE,
    References,
    files_with_claims,
    items,
    references_beside,
    setting_of,
    shared_fields,
    with_reference,
)
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Suite, Task

_NAME = "refchecker_responses"
#: The model whose responses the published tables 10 to 12 leave out.
LEFT_OUT = "davinci001"
#: Beside the claims: every response with its number of claims (setting, model, id, response).
_ALL_RESPONSES = "responses.jsonl"
_WORST = "which of Entailment, Neutral, Contradiction is the worst of its claims"
_OF_MODELS = f"responses of {LEFT_OUT} are left out, as in the paper's tables 10 to 12"


@dataclass
class _Response:
    """A response as its claims come in."""

    first: Item
    text: str
    triplets: list[list[str]] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    unusable: int = 0


def responses(path: Path) -> Iterator[Item | BadItem]:
    """Yield responses in the order of their first claims, after the invalid claims."""
    by_key: dict[tuple[str, str, str, str], _Response] = {}
    for claim in items(path, whole=True):
        if isinstance(claim, BadItem):
            yield claim
            continue
        meta, text = claim.record.meta, claim.record.meta["response"]
        key = (claim.part, claim.facets["model"], claim.group, text)
        response = by_key.setdefault(key, _Response(claim, text))
        response.unusable += claim.unusable
        if claim.record.label is not None:
            response.triplets.append(meta["triplet"])
            response.labels.append(claim.record.label)
    for response in by_key.values():
        yield _item(response)


def _item(response: _Response) -> Item:
    """Build a response with its claims in ``meta["claims"]`` and as labelled units.

    The share of claims that are not entailed is its label.
    """
    claim, labels = response.first, response.labels
    dropped = ("response", "triplet", "human_label", "extractor_field")
    meta: dict[str, Any] = {k: v for k, v in claim.record.meta.items() if k not in dropped}
    meta["claims"] = response.triplets
    record: Record = claim.record.model_copy(update={"response": response.text, "meta": meta})
    units = [
        UnitLabel(start=c.start, end=c.end, label=y)
        for c, y in zip(given_claims(record), labels, strict=True)
    ]
    labels_of_response = {
        "label": sum(y >= 0.25 for y in labels) / len(labels) if labels else None,
        "unit_labels": tuple(units) or None,
    }
    labelled = record.model_copy(update=labels_of_response)
    return Item(labelled, claim.part, claim.group, facets=claim.facets, unusable=response.unusable)


def _silent(path: Path) -> Iterator[Item | BadItem]:
    """Yield responses without a claim.

    From ``responses.jsonl`` in the folder, or published rows with an empty list of claims.
    """
    references = references_beside(path)
    beside = (path if path.is_dir() else path.parent) / _ALL_RESPONSES

    def counted(row: Row, ordinal: int) -> list[Item]:
        n = row.get("n_claims")
        if not isinstance(n, int) or isinstance(n, bool) or n < 0:
            raise RowProblem(f"must be a number of claims, got {shown(n)}", "n_claims")
        return [] if n else [_without_claims(row, ordinal, references)]

    if beside.is_file():
        yield from parted(each_row(beside, counted), "zero_context")
    for file in files_with_claims(path):

        def published(row: Row, ordinal: int, file: Path = file) -> list[Item]:
            if row.get(EXTRACTED) != []:
                return []
            return [_without_claims(shared_fields(row, file), ordinal, references)]

        empty = (row for row in each_row(file, published) if isinstance(row, Item))
        yield from parted(empty, "zero_context")


def _without_claims(row: Row, ordinal: int, references: References) -> Item:
    """Build a response without claims: ``meta["claims"]`` is empty, and there is no label."""
    setting, text = setting_of(row), text_of(row.get("response"), "response")
    meta = {k: v for k, v in row.items() if k not in ("id", "response", "n_claims")}
    fields = {"id": row["id"], "response": text, "meta": {**meta, "claims": []}}
    record = with_reference(record_of(fields, ordinal), setting, references)
    facets = {"model": str(row.get("model") or "")}
    return Item(record, setting, str(row["id"]), facets=facets)


def _tasks(labelled: Labelled) -> list[Task]:
    """Return three tasks per setting, and the first of them over all settings."""
    worst = np.full(len(labelled.label), -1.0)
    np.maximum.at(worst, labelled.unit_item, labelled.unit_label)
    strict = np.select([worst < 0, worst < 0.25, worst < 0.75], [np.nan, 0.0, 1.0], 2.0)
    rate = labelled.label
    published = labelled.facets["model"] != LEFT_OUT
    settings = [s for s in SETTINGS.values() if s in set(labelled.parts.tolist())]
    tasks = []
    for split in (*settings, "all"):
        of_split = np.full(len(rate), True) if split == "all" else labelled.parts == split
        tasks.append(
            Task(
                *(split, "response", "classes", _WORST, "items"),
                np.where(of_split, strict, np.nan),
                classes=CLASSES,
                named={"abstain": 0},  # without claims, nothing is wrong
            )
        )
        of_split = of_split & published
        if split != "all" and of_split.any():
            notes = () if published.all() else (_OF_MODELS,)
            tasks += _tables_10_to_12(split, np.where(of_split, rate, np.nan), notes)
    return tasks


def _tables_10_to_12(split: str, rate: Floats, notes: tuple[str, ...]) -> list[Task]:
    """Return the tasks of columns 1 to 3 of the tables, and columns 4 and 5."""
    return [
        Task(
            f"{split}/factual",
            "response",
            "classes",
            "whether all its claims are entailed",
            "items",
            np.where(np.isnan(rate), np.nan, (rate > 0).astype(np.float64)),
            metrics=("accuracy", "f1", "macro_f1", "balanced_accuracy", "mcc"),
            classes=("Factual", "Non-Factual"),
            named={"entailment": 0, "abstain": 0, "neutral": 1, "contradiction": 1},
            notes=notes,
        ),
        Task(
            f"{split}/rate",
            "response",
            "graded",
            "share of claims that are not entailed",
            "items",
            rate,
            metrics=("pearson", "spearman", "kendall"),
            notes=notes,
        ),
    ]


SUITE = Suite(
    name=_NAME,
    summary="responses of seven models with their claims: strict class, factual or not, rate",
    needs=f"{NEEDS}; for the responses that claim nothing {_ALL_RESPONSES} in the folder "
    "of claims.jsonl "
    "(setting, model, id, response, n_claims)",
    source="Hu et al. 2024 (RefChecker)",
    read=lambda path, options: chain(responses(path), _silent(path)),
    tasks=_tasks,
    against="contexts",
    unusable=UNUSABLE,
)
