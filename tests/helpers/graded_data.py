"""A graded data set, and scorers with known faults, for tests of the harness."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.registry import REGISTRY, scorer
from veridical.core.scores import Score, Unit
from veridical.text.spans import Span

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record


def rows(n: int = 400, groups: int = 200, seed: int = 3) -> list[dict[str, Any]]:
    """``n`` labelled answers to ``groups`` questions; ``signal`` says how bad each is, noisily."""
    draw = random.Random(seed)
    made = []
    for i in range(n):
        label = int(draw.random() < 0.4)
        words = draw.randint(3, 30)
        made.append(
            {
                "id": f"r{i}",
                "prompt": f"Question {i % groups}?",
                "response": "word " * words + f"{i}.",
                "label": label,
                "signal": min(1.0, max(0.0, 0.5 + 0.25 * (2 * label - 1) + draw.gauss(0, 0.25))),
                "number": i,
            }
        )
    return made


def write(folder: Path, data: list[dict[str, Any]], name: str = "graded.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(r) + "\n" for r in data), encoding="utf-8")
    return path


async def t_good(record: Record, evidence: Evidence) -> Score:
    """The signal itself."""
    return Score.of(float(record.meta["signal"]))


async def t_inverted(record: Record, evidence: Evidence) -> Score:
    """The signal upside down."""
    return Score.of(1 - float(record.meta["signal"]))


async def t_constant(record: Record, evidence: Evidence) -> Score:
    """Always the same."""
    return Score.of(0.7)


async def t_length(record: Record, evidence: Evidence) -> Score:
    """The response's length."""
    return Score.of(len(record.response) / 1000)


async def t_failing(record: Record, evidence: Evidence) -> Score:
    """The signal, but every twentieth record fails."""
    if record.meta["number"] % 20 == 0:
        raise RuntimeError("the model is away")
    return Score.of(float(record.meta["signal"]))


async def t_timid(record: Record, evidence: Evidence) -> Score:
    """Noise that no threshold can use: it calls nearly everything one class."""
    return Score.of(0.5 if record.meta["number"] % 97 else 0.51)


async def t_tied(record: Record, evidence: Evidence) -> Score:
    """The signal in three steps: many ties."""
    return Score.of(round(float(record.meta["signal"]) * 2) / 2)


async def t_numbers(record: Record, evidence: Evidence) -> Score:
    """Every word of digits is a hallucinated span."""
    units, at = [], 0
    for word in record.response.split(" "):
        if word.isdigit():
            units.append(Unit.of(Span(at, at + len(word), word), 0.9, level="span"))
        at += len(word) + 1
    return Score.of(0.9 if units else 0.1, units=units or [_nothing(record)])


def _nothing(record: Record) -> Unit:
    text = record.response
    return Unit.of(Span(0, len(text), text), 0.0, level="span")


async def t_three(record: Record, evidence: Evidence) -> Score:
    """Says the class it reads in the record."""
    text = record.response
    label = record.meta["says"]
    risk = {"Entailment": 0.1, "Neutral": 0.5, "Contradiction": 0.9}[label]
    return Score.of(risk, units=[Unit.of(Span(0, len(text), text), risk, label=label)])


@contextmanager
def registered() -> Iterator[None]:
    """The scorers above are known while this lasts."""
    functions = [f for name, f in globals().items() if name.startswith("t_")]
    for function in functions:
        level = "span" if function is t_numbers else "response"
        scorer(function.__name__, level=level, source="test")(function)
    try:
        yield
    finally:
        for function in functions:
            REGISTRY._scorers.pop(function.__name__)
