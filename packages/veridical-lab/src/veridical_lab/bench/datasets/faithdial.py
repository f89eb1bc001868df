"""FaithDial (Dziri et al. 2022): Wizard of Wikipedia turns edited for faithfulness.

An edited response is right by construction. The original one is judged by its BEGIN labels, by
the rule FaithCritic was trained with: Hallucination wins over Entailment. A response that was not
edited is itself what the labels are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from veridical.io.files import raw_rows
from veridical.io.problems import RowProblem
from veridical.text.display import named, shown
from veridical_lab.bench.datasets.files import (
    Row,
    files_of,
    has_columns,
    record_of,
    row_error,
    text_list,
    text_of,
)
from veridical_lab.bench.datasets.suite import BadItem, Item, Suite, by_part_or_generic
from veridical_lab.bench.suite_options import GenericOptions

_LABELS = ("Hallucination", "Entailment", "Generic", "Uncooperative")
_NEEDS = (
    "test.json (or valid.json, train.json): a list of dialogues with utterances: [history, "
    "knowledge, original_response, response, BEGIN]; or one row per utterance; of a folder, the "
    "first of these that exists"
)


def _items(path: Path, options: GenericOptions) -> Iterator[Item | BadItem]:
    names = [f"{part}.{e}" for part in ("test", "valid", "train") for e in ("json", "jsonl")]
    for file in files_of(path, names, lambda p: has_columns(p, "utterances", "BEGIN")):
        match = re.search(r"test|valid|train", file.name)
        part = match[0] if match else "test"
        ordinal = 0
        for number, (line, row) in enumerate(raw_rows(file)):
            for turn in _turns(row, number):
                try:
                    if isinstance(turn, RowProblem):
                        raise turn
                    items = _answers(*turn, part, ordinal, options)
                except RowProblem as e:
                    yield BadItem(part, row_error(e, number, file, line))
                else:
                    yield from items
                    ordinal += len(items)


def _turns(row: Row | RowProblem, number: int) -> Iterator[tuple[Row, str, str] | RowProblem]:
    """Yield the wizard's utterances, each with its name and its place in the row."""
    if isinstance(row, RowProblem):
        yield row
        return
    if "utterances" not in row:
        yield row, f"turn {number}", ""
        return
    if not isinstance(row["utterances"], list):
        yield RowProblem(f"must be a list, got {shown(row['utterances'])}", "utterances")
        return
    for i, turn in enumerate(row["utterances"]):
        place = f"utterances[{i}]"
        if not isinstance(turn, dict):
            yield RowProblem(f"must be an object, got {shown(turn)}", place)
        elif turn.get("speaker", "Wizard") == "Wizard":
            yield turn, f"dialogue {number} turn {i}", place + "."


def _answers(
    turn: Row, group: str, place: str, part: str, ordinal: int, options: GenericOptions
) -> list[Item]:
    """Return the judged answers of a turn: the response and, if it was edited, the original."""
    try:
        knowledge = text_of(turn.get("knowledge"), "knowledge")
        response = text_of(turn.get("response"), "response")
        original = turn.get("original_response") or None
        if original is not None:
            text_of(original, "original_response")
        history = text_list(turn.get("history"), "history")
        labels = text_list(turn.get("BEGIN"), "BEGIN")
        unknown = [label for label in labels if label not in _LABELS]
        if unknown or not labels:
            raise RowProblem(f"must hold some of {named(_LABELS)}, got {named(labels)}", "BEGIN")
        edited = original is not None and original != response
        judged = [(response, 0.0, "edited")] if edited else []
        label = _label(labels)
        if label is not None or options.keep_generic:
            judged.append((str(original or response), 1.0 if label is None else label, "original"))
        items: list[Item] = []
        for text, risk, which in judged:
            fields: dict[str, Any] = {
                "id": group,
                "prompt": "\n".join(history) or None,
                "response": text,
                "contexts": knowledge,
                "label": risk,
                "meta": {"BEGIN": labels, "VRM": turn.get("VRM"), "which": which},
            }
            generic = "yes" if which == "original" and label is None else ""
            record = record_of(fields, ordinal + len(items))
            items.append(Item(record, part, group, facets={"which": which, "generic": generic}))
    except RowProblem as e:
        raise RowProblem(e.error, place + (e.field or "")) from None
    return items


def _label(labels: list[str]) -> float | None:
    if "Hallucination" in labels:
        return 1.0
    return 0.0 if "Entailment" in labels else None


SUITE = Suite(
    name="faithdial",
    summary="dialogue turns, original and edited to be faithful to the knowledge",
    needs=_NEEDS,
    source="Dziri, Kamalloo et al. 2022 (FaithDial)",
    read=_items,
    tasks=partial(by_part_or_generic, positive="hallucinated"),
    options=GenericOptions,
    hub="McGill-NLP/FaithDial",
    hub_files=("data/test.json",),
    against="contexts",
)
