"""Small runs for tests of reviews: real checks by scorers that need no model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import veridical
from veridical.review.items import Items
from veridical.review.service import ReviewService, SubmittedLabel

#: Right and wrong answers by turns; every second is of another model.
CITIES = ("Paris", "Lisbon", "Rome", "Oslo", "Lima", "Quito", "Accra", "Doha")


def rows(count: int) -> list[dict[str, Any]]:
    """Answers of two sentences each; the second is wrong in every third."""
    out = []
    for i in range(count):
        city = CITIES[i % len(CITIES)]
        rivers = i % 7 + 1
        told = rivers + 3 if i % 3 == 0 else rivers
        out.append(
            {
                "id": f"q{i}",
                "prompt": f"What is to be known of {city} number {i}?",
                "response": f"{city} is a city. It has {told} rivers and number {i}.",
                "contexts": [f"{city} is a city of number {i}. It has {rivers} rivers. It is old."],
                "model": "large" if i % 2 else "small",
                "wrong": i % 3 == 0,
            }
        )
    return out


SCORERS = "support, knowledge_f1, ngram_presence(against=contexts)"


def make_run(
    folder: Path, given: list[dict[str, Any]], name: str = "run", scorers: str = SCORERS
) -> Path:
    """The directory of a run over rows."""
    data = folder / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in given), "utf-8")
    out = folder / name
    veridical.check(data, scorers, store=None, processes=0, out=out)
    return out


def items_of(run: Path, **options: Any) -> Items:
    return Items(veridical.api.reopen(run), **options)


def label_all(desk: ReviewService, who: str, row: int, *labels: str) -> None:
    """Label the units of an answer and be done; of fewer labels than units the last goes on."""
    told = desk.answer(who, row)
    assert told is not None
    for n in range(told["asked"]):
        chosen: Any = labels[min(n, len(labels) - 1)]
        desk.label(who, SubmittedLabel(row=row, unit=n, label=chosen))
    desk.done(who, row)
