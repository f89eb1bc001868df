"""Evidence for the tests of scorers with checkpoints of their own: answers by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import BoundScorer
from veridical.core.scores import Score
from veridical.core.verdicts import Verdicts
from veridical_lab.models.requests import Answer, Likelihood, WindowRead


def window(*logprobs: Sequence[float], start: int = 0, end: int = 10**6) -> WindowRead:
    return WindowRead(start, end, tuple(np.array(row, float) for row in logprobs))


class FixedCheckpoints(Evidence):
    """Each model is a function of one request; ``asked`` keeps what was asked, by method.

    Args:
        read: (filled source, target) -> windows.
        write: (filled source) -> texts.
        answer: (question, context) -> answer text, or None.
        rate: (first, second) -> number.
        verdicts: (e, n, c) by (premise, hypothesis); else neutral.
    """

    def __init__(
        self,
        record: Record,
        *,
        read: Callable[..., Sequence[WindowRead]] | None = None,
        write: Callable[[str], Sequence[str]] | None = None,
        answer: Callable[[str, str], str | None] | None = None,
        rate: Callable[[str, str], float] | None = None,
        verdicts: dict[tuple[str, str], tuple[float, float, float]] | None = None,
    ) -> None:
        super().__init__(record)
        self._read, self._write, self._answer, self._rate = read, write, answer, rate
        self._verdicts = verdicts or {}
        self.asked: list[tuple[str, Any, dict[str, Any]]] = []

    async def likelihood(self, requests, model, **settings):
        self.asked.append(("likelihood", list(requests), {"model": model, **settings}))
        return [
            Likelihood(tuple(self._read(s if isinstance(s, str) else "".join(s), t)))
            for s, t in requests
        ]

    async def write(self, sources, model, **settings):
        self.asked.append(("write", list(sources), {"model": model, **settings}))
        return [list(self._write("".join(s))) for s in sources]

    async def answer(self, questions, model):
        self.asked.append(("answer", list(questions), {"model": model}))
        found = []
        for question, context in questions:
            text = self._answer(question, context)
            at = -1 if text is None else context.index(text)
            found.append(None if text is None else Answer(at, at + len(text), text, 1.0))
        return found

    async def rate(self, pairs, model):
        self.asked.append(("rate", list(pairs), {"model": model}))
        return np.array([self._rate(*p) for p in pairs])

    async def nli(self, pairs, model=None):
        self.asked.append(("nli", list(pairs), {"model": model}))
        rows = [self._verdicts.get(tuple(p), (0.1, 0.8, 0.1)) for p in pairs]
        return Verdicts(np.array(rows, float).reshape(-1, 3), True)

    async def _score(self, bound: BoundScorer) -> Score:
        return await bound(self.record, self)
