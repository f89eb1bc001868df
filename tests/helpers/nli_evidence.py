"""Evidence for the tests of the NLI scorers: verdicts by hand, or by a real model."""

from __future__ import annotations

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import BoundScorer
from veridical.core.scores import Score
from veridical.core.verdicts import Verdicts

NEUTRAL = (0.1, 0.8, 0.1)


class FixedVerdicts(Evidence):
    """Answers from ``table``: (e, n, c) by (premise, hypothesis); equal texts entail each other.

    ``asked`` keeps every request, so that a test can say how many there were.
    """

    def __init__(
        self, record: Record, table=None, *, default=NEUTRAL, contradicts: bool = True
    ) -> None:
        super().__init__(record)
        self.table = table or {}
        self.default = default
        self.contradicts = contradicts
        self.asked: list[list[tuple[str, str]]] = []

    async def nli(self, pairs, model=None):
        pairs = [tuple(p) for p in pairs]
        self.asked.append(pairs)
        rows = [
            (1.0, 0.0, 0.0) if p == h else self.table.get((p, h), self.default) for p, h in pairs
        ]
        return Verdicts(np.array(rows, float).reshape(-1, 3), self.contradicts)

    async def _score(self, bound: BoundScorer) -> Score:
        return await bound(self.record, self)
