"""A scripted chat for sampling tests: what is asked, when, and answers in any order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

from veridical.core.messages import ChatRequest, LlmError, Reply, Usage

Script = Callable[[ChatRequest], Reply | LlmError | str]


def question(request: ChatRequest) -> str:
    """The text of the last message."""
    content = request.messages[-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def echo(request: ChatRequest) -> str:
    """An answer that tells what it answers, and which draw it is."""
    how = "greedy" if request.temperature == 0 else f"draw {request.ordinal}"
    return f"{question(request)} / {how}"


class ScriptedChat:
    """Answers by ``script`` after up to ``delay`` seconds, so that calls end in any order."""

    def __init__(self, script: Script = echo, *, delay: float = 0.0, seed: int = 0) -> None:
        self.script = script
        self.asked: list[ChatRequest] = []
        self.under_way = 0
        self.most_under_way = 0
        self._delay = delay
        self._random = random.Random(seed)

    async def chat_each(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return list(await asyncio.gather(*(self._one(r) for r in requests)))
        finally:
            self.under_way -= 1

    async def _one(self, request: ChatRequest) -> Reply | LlmError:
        self.asked.append(request)
        await asyncio.sleep(self._random.uniform(0, self._delay))
        said = self.script(request)
        if isinstance(said, str):
            return Reply(said, "stop", usage=Usage(3, len(said.split())), model="scripted-1")
        return said


def prompts(n: int, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"p{i}", "prompt": f"question {i}", **more} for i in range(n)]
