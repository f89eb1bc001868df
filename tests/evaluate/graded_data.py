"""A graded data set, and scorers with known faults, for tests of the harness."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.registry import scorer
from veridical.scores import Score

if TYPE_CHECKING:
    from veridical.evidence import Evidence
    from veridical.records import Record


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


@scorer("t_good", level="response", source="test")
async def t_good(record: Record, evidence: Evidence) -> Score:
    """The signal itself."""
    return Score.of(float(record.meta["signal"]))


@scorer("t_inverted", level="response", source="test")
async def t_inverted(record: Record, evidence: Evidence) -> Score:
    """The signal upside down."""
    return Score.of(1 - float(record.meta["signal"]))


@scorer("t_constant", level="response", source="test")
async def t_constant(record: Record, evidence: Evidence) -> Score:
    """Always the same."""
    return Score.of(0.7)


@scorer("t_length", level="response", source="test")
async def t_length(record: Record, evidence: Evidence) -> Score:
    """The response's length."""
    return Score.of(len(record.response) / 1000)


@scorer("t_failing", level="response", source="test")
async def t_failing(record: Record, evidence: Evidence) -> Score:
    """The signal, but every twentieth record fails."""
    if record.meta["number"] % 20 == 0:
        raise RuntimeError("the model is away")
    return Score.of(float(record.meta["signal"]))


@scorer("t_timid", level="response", source="test")
async def t_timid(record: Record, evidence: Evidence) -> Score:
    """Noise that no threshold can use: it calls nearly everything one class."""
    return Score.of(0.5 if record.meta["number"] % 97 else 0.51)


@scorer("t_tied", level="response", source="test")
async def t_tied(record: Record, evidence: Evidence) -> Score:
    """The signal in three steps: many ties."""
    return Score.of(round(float(record.meta["signal"]) * 2) / 2)
