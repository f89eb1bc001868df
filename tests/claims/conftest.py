from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from veridical.core.evidence import Evidence
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.records import Record
from veridical.core.registry import BoundScorer
from veridical.core.scores import Score


class ScriptedChat(Evidence):
    """Answers every request by ``answer(request)``: a Reply, its text, or an error to raise.

    ``rounds`` keeps the requests of each call.
    """

    def __init__(
        self, record: Record, answer: Callable[[ChatRequest], Reply | str | LlmError] | str
    ) -> None:
        super().__init__(record)
        self.answer = answer
        self.rounds: list[list[ChatRequest]] = []

    async def chat(self, requests: Sequence[ChatRequest], llm: str | None = None) -> list[Reply]:
        self.rounds.append(list(requests))
        found = []
        for request in requests:
            said = self.answer if isinstance(self.answer, str) else self.answer(request)
            if isinstance(said, LlmError):
                raise said
            found.append(Reply(said, "stop") if isinstance(said, str) else said)
        return found

    async def _score(self, bound: BoundScorer) -> Score:
        return await bound(self.record, self)


@pytest.fixture
def chat():
    return ScriptedChat
