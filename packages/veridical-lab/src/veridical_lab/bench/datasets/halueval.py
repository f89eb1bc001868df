"""HaluEval (Li et al. 2023): right and hallucinated answers in pairs.

The hallucinated answers of qa, dialogue and summarization were written by a language model on
request; only ``general`` has human labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from veridical.core.records import Record
from veridical.errors import RowError
from veridical.io import open_source
from veridical_lab.bench.datasets.files import (
    data_files,
    first_named,
    has_records,
    nothing_in,
    parted,
)
from veridical_lab.bench.datasets.suite import BadItem, Item, Suite, by_part

_PARTS = ("qa", "dialogue", "summarization", "general")
_NEEDS = (
    "qa_data.json, dialogue_data.json, summarization_data.json and general_data.json (or "
    "dataset_halueval_qa.jsonl and so on), any of them: one JSON object a line, with "
    "right_answer and hallucinated_answer (or _response, _summary) and knowledge (or document); "
    "general: user_query, chatgpt_response and hallucination (yes, no)"
)


def _items(path: Path, options: object) -> Iterator[Item | BadItem]:
    for part, files in _files(path):
        rows = open_source(files, reader="halueval").rows()
        yield from _held_out(parted((_item(row) for row in rows), part))


def _files(path: Path) -> list[tuple[str, list[Path]]]:
    """Return the files that are read together, with the part in their names."""
    if not path.is_dir():
        return [(_part_of(path), [path])]
    inside = data_files(path)
    named_files = []
    for part in _PARTS:
        names = (f"{part}_data.json", f"{part}_data.jsonl", f"dataset_halueval_{part}.jsonl")
        named_files += [(part, [file]) for file in first_named(inside, names)]
    fitting = [] if named_files else [p for p in inside if has_records(p, "halueval")]
    if not named_files and not fitting:
        raise nothing_in(path)
    return named_files or [(_part_of(fitting[0]), fitting)]


def _part_of(path: Path) -> str:
    return next((part for part in _PARTS if part in path.name), "general")


def _item(row: Record | RowError) -> Item | RowError:
    """Build an item; its group is the input row, whose two answers have one id (kind and row)."""
    if isinstance(row, RowError):
        return row
    if not row.contexts:  # ids of ``general`` repeat
        return Item(row, "general", f"row {row.row}")
    return Item(row, str(row.id).rsplit("-", 1)[0], str(row.id))


def _held_out(items: Iterator[Item | BadItem]) -> Iterator[Item | BadItem]:
    """Mark the last 20 % of each part by input row (contract, section 5)."""
    read = list(items)
    rows: Counter[str] = Counter()
    places, before = [], None
    for item in read:
        group = (item.part, item.group) if isinstance(item, Item) else None
        if group is None or group != before:
            rows[item.part] += 1
        before = group
        places.append(rows[item.part] - 1)
    for item, place in zip(read, places, strict=True):
        held = "yes" if 5 * place >= 4 * rows[item.part] else ""
        yield replace(item, facets={"heldout": held})


SUITE = Suite(
    name="halueval",
    summary="right and hallucinated answers: questions, dialogue, summaries, general queries",
    needs=_NEEDS,
    source="Li, Cheng, Zhao, Nie and Wen 2023 (HaluEval)",
    read=_items,
    tasks=by_part,
    hub="pminervini/HaluEval",
    hub_files=tuple(f"{part}/*.parquet" for part in _PARTS),
    against="contexts",
    notes=(
        "qa, dialogue and summarization: hallucinations written by a language model, without human "
        "labels; general: human labels, no reference texts",
    ),
)
