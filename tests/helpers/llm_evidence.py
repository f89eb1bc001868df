"""Evidence for the tests of LLM and probability scorers: scripted replies and readings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from veridical.core.evidence import Evidence
from veridical.core.messages import ChatRequest, Reply
from veridical.core.records import Record
from veridical.core.registry import BoundScorer
from veridical.core.scores import Score
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.errors import NotApplicable


class FixedReplies(Evidence):
    """Answers by ``answer(request, llm)``: a Reply, its text, or an exception to raise.

    ``asked`` keeps every round as (llm, requests), so that a test can say how many there were.
    ``read(texts)`` answers by ``readings[(prompt, text)]``.
    """

    def __init__(
        self,
        record: Record,
        answer: Callable[[ChatRequest, str | None], Reply | str | Exception] | str = "",
        *,
        readings: dict[tuple[str, str], TokenProbabilities] | None = None,
        scores: dict[str, Score] | None = None,
    ) -> None:
        super().__init__(record)
        self.answer = answer
        self.readings = readings or {}
        self.scores = scores or {}
        self.asked: list[tuple[str | None, list[ChatRequest]]] = []
        self.read_texts: list[GivenText] = []

    async def chat(self, requests: Sequence[ChatRequest], llm: str | None = None) -> list[Reply]:
        self.asked.append((llm, list(requests)))
        found = []
        for request in requests:
            said = self.answer if isinstance(self.answer, str) else self.answer(request, llm)
            if isinstance(said, Exception):
                raise said
            found.append(Reply(said, "stop") if isinstance(said, str) else said)
        return found

    async def read(
        self, texts: Sequence[GivenText], proxy: str | None = None
    ) -> list[TokenProbabilities]:
        if proxy is None:
            raise NotApplicable("no proxy was named")
        self.read_texts += texts
        return [self.readings[tuple(t)] for t in texts]

    async def chat_prompt(self, messages, proxy: str | None = None) -> str:
        return "\n\n".join(m["content"] for m in messages)

    async def _score(self, bound: BoundScorer) -> Score:
        found = self.scores.get(bound.key)
        return found if found is not None else await bound(self.record, self)
