"""FActScore's labelled biographies (Min et al. 2023): atomic facts with human labels.

Each fact of ``human-atomic-facts`` is an item: supported by Wikipedia (S), not supported (NS), or
irrelevant (IR), which FActScore leaves out of its precision. The knowledge source is not part of
the release; it is joined where the user has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

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
    rows_by_key,
    text_list,
    text_of,
)
from veridical_lab.bench.datasets.suite import BadItem, Item, Labelled, Suite, Task

_PART = "factscore"
_ANNOTATED = "annotations"
_FACTS = "human-atomic-facts"
_LABELS = {"S": 0.0, "NS": 1.0}
_IRRELEVANT = "IR"
_SOURCES = "references.jsonl"
_NEEDS = (
    "the labelled files (InstructGPT.jsonl, ChatGPT.jsonl, PerplexityAI.jsonl: input, output, "
    f"topic, {_ANNOTATED}: [text, {_FACTS}: [text, label S, NS or IR]]); for scorers that compare, "
    f"texts about the topics in {_SOURCES} in the same folder (topic, references)"
)


def _items(path: Path, options: object) -> Iterator[Item | BadItem]:
    files = files_of(path, (), lambda file: has_columns(file, _ANNOTATED))
    beside = (path if path.is_dir() else path.parent) / _SOURCES
    sources = rows_by_key(beside, _source) if beside.is_file() else {}
    ordinals = count()

    def facts(file: Path) -> Iterator[Item | RowError]:
        model = file.name.partition(".")[0]
        return each_row(file, lambda row, n: _facts(row, n, model, sources), ordinals)

    yield from parted(chain.from_iterable(map(facts, files)), _PART)


def _facts(row: Row, ordinal: int, model: str, sources: dict[str, list[str]]) -> list[Item]:
    """Return the facts of one biography; empty if the model declined to write it."""
    if _ANNOTATED not in row:
        raise RowProblem("is missing", _ANNOTATED)
    topic, response = text_of(row.get("topic"), "topic"), text_of(row.get("output"), "output")
    prompt = text_of(row.get("input"), "input")
    annotated = row[_ANNOTATED] if row[_ANNOTATED] is not None else []
    if not isinstance(annotated, list):
        raise RowProblem(f"must be a list of sentences, got {shown(annotated)}", _ANNOTATED)
    items = []
    for i, sentence in enumerate(annotated):
        if not isinstance(sentence, dict):
            raise RowProblem(f"must be an object, got {shown(sentence)}", f"{_ANNOTATED}[{i}]")
        for k, fact in enumerate(_listed(sentence, i)):
            place = f"{_ANNOTATED}[{i}].{_FACTS}[{k}]"
            if not isinstance(fact, dict):
                raise RowProblem(f"must be an object, got {shown(fact)}", place)
            label = fact.get("label")
            if label not in _LABELS and label != _IRRELEVANT:
                raise RowProblem(f"must be S, NS or IR, got {shown(label)}", f"{place}.label")
            fields: dict[str, Any] = {
                "id": f"{model}/{topic}/{i}.{k}",
                "prompt": prompt,
                "response": text_of(fact.get("text"), f"{place}.text"),
                "contexts": sources.get(topic),
                "label": _LABELS.get(str(label)),
                "meta": {"topic": topic, "model": model, "response": response},
            }
            record = record_of({k: v for k, v in fields.items() if v is not None}, ordinal)
            irrelevant = int(label == _IRRELEVANT)
            items.append(Item(record, _PART, topic, {"model": model}, unusable=irrelevant))
    return items


def _listed(sentence: Row, i: int) -> list[Any]:
    facts = sentence.get(_FACTS)
    if facts is not None and not isinstance(facts, list):
        raise RowProblem(f"must be a list, got {shown(facts)}", f"{_ANNOTATED}[{i}].{_FACTS}")
    return facts or []


def _source(row: Row) -> tuple[str, list[str]]:
    return text_of(row.get("topic"), "topic"), text_list(row.get("references"), "references")


def _tasks(labelled: Labelled) -> list[Task]:
    """Return the tasks: find unsupported facts, over all models and by model."""
    wrong = np.where(np.isnan(labelled.label), np.nan, (labelled.label >= 0.5).astype(np.float64))
    models = labelled.facets["model"]
    splits = {"all": np.full(len(wrong), True)}
    splits |= {f"model:{m}": models == m for m in sorted(set(models.tolist()))}
    return [
        Task(split, "claim", "binary", "not supported", "items", np.where(where, wrong, np.nan))
        for split, where in splits.items()
    ]


SUITE = Suite(
    name=_PART,
    summary="atomic facts of biographies by three models: supported or not",
    needs=_NEEDS,
    source="Min et al. 2023 (FActScore)",
    read=_items,
    tasks=_tasks,
    against="contexts",
    unusable="facts that the annotators called irrelevant",
)
