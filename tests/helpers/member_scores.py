"""Scores of an ensemble's members that are given, not made."""

from __future__ import annotations

import math

from veridical.core.evidence import Evidence, guarded
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.scores import Score


class Fixed(Evidence):
    """Members whose scores are given, by key; others do not apply."""

    def __init__(self, record: Record, scores: dict[str, Score | float]) -> None:
        super().__init__(record)
        self.given = scores
        self.nli = "some-nli"
        self.asked: list[str] = []

    async def nli_name(self, model: str | None = None) -> str:
        return self.nli

    async def _score(self, bound) -> Score:
        self.asked.append(bound.key)
        found = self.given.get(bound.key)
        if found is None:
            return Score.not_applicable("not given")
        return Score.of(found) if isinstance(found, float) else found


async def run(record: Record, scores, text: str = "ensemble") -> Score:
    (bound,) = REGISTRY.parse(text)
    return await guarded(bound, record, Fixed(record, scores))


def odds(risk: float) -> float:
    """Log-odds of a risk drawn into [0.02, 0.98]."""
    p = 0.02 + 0.96 * risk
    return math.log(p / (1 - p))
