"""What language models were asked for and what that cost. Unknown is never 0."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any

from veridical.errors import UsageError
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import Totals
from veridical.llm.messages import ChatRequest, Reply

#: Tokens of an answer without ``max_tokens``, and of an image, for the worst case.
LONGEST_ANSWER = 16_384
IMAGE_TOKENS = 4_096
_AROUND_A_MESSAGE = 16
_CHARACTERS_PER_TOKEN = 4
_ROUNDING = 1e-12  # of sums of money


@dataclass
class Ledger:
    """Counts of one run, over all its lives. Each answer asked for is one call.

    Attributes:
        calls: answers asked of a server.
        answered, failed: what became of them.
        tokens_in, tokens_out: of the answered calls whose usage is known.
        without_usage, without_cost: answered calls of which tokens, or money, are not known.
        known_cost: money for the others.
        possibly_paid: answers that left a server, perhaps, and never arrived: charged, perhaps.
        retries: attempts after the first, in this life.
        journaled: answers taken from the journal, in this life.
        shared: answers another asker was already waiting for, in this life.
        not_sent: calls that the budget stopped, in this life.
    """

    calls: int = 0
    answered: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    without_usage: int = 0
    known_cost: float = 0.0
    without_cost: int = 0
    possibly_paid: int = 0
    retries: int = 0
    journaled: int = 0
    shared: int = 0
    not_sent: int = 0

    @classmethod
    def resumed(cls, totals: Totals) -> Ledger:
        """The ledger of a run that has already called as much as ``totals`` says."""
        return cls(
            totals.calls,
            totals.answered,
            totals.failed,
            totals.tokens_in,
            totals.tokens_out,
            totals.without_usage,
            totals.cost,
            totals.without_cost,
            totals.possibly_paid,
        )

    @property
    def cost(self) -> float | None:
        """Money for the answered calls; None where that of any is not known."""
        return None if self.without_cost else self.known_cost

    @property
    def tokens(self) -> int | None:
        """Tokens of the answered calls, in and out; None where those of any are not known."""
        return None if self.without_usage else self.tokens_in + self.tokens_out

    def answer(self, reply: Reply, cost: float | None) -> None:
        """Enter an answered call."""
        self.answered += 1
        self.tokens_in += reply.usage.prompt or 0
        self.tokens_out += reply.usage.completion or 0
        self.without_usage += reply.usage.prompt is None or reply.usage.completion is None
        self.known_cost += cost or 0.0
        self.without_cost += cost is None

    @property
    def used(self) -> bool:
        """Whether anything was asked for at all."""
        return bool(self.calls or self.journaled or self.not_sent)

    def as_dict(self) -> dict[str, Any]:
        """For the JSON summary: counts, ``tokens`` and ``cost`` None where not wholly known."""
        return {
            "calls": self.calls,
            "answered": self.answered,
            "failed": self.failed,
            "tokens": self.tokens,
            "tokens_in": None if self.without_usage else self.tokens_in,
            "tokens_out": None if self.without_usage else self.tokens_out,
            "cost": self.cost,
            "known_cost": self.known_cost,
            "without_usage": self.without_usage,
            "without_cost": self.without_cost,
            "possibly_paid": self.possibly_paid,
            "retries": self.retries,
            "journaled": self.journaled,
            "shared": self.shared,
            "not_sent": self.not_sent,
        }


class Budget:
    """Money that may be spent: a call is let out only where its worst case still fits.

    What calls under way may cost at worst is held back until they are settled; a call that would
    fit without those waits for them.

    Args:
        limit: in the currency of the endpoints' prices, at least 0.
    """

    def __init__(self, limit: float) -> None:
        if not 0 <= limit < float("inf"):
            raise UsageError(f"the budget must be a number of at least 0, not {limit}")
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self._runs: set[tuple[str, str]] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()

    def resume(self, run: tuple[str, str], spent: float) -> None:
        """Count what earlier lives of ``run`` (its journal and name) have spent. Of a run that
        was here before, all of it is counted already."""
        if run not in self._runs:
            self._runs.add(run)
            self.spent += spent

    async def reserve(self, each: float, count: int) -> int:
        """Hold back ``each`` for as many of ``count`` calls as fit: how many those are.

        Fewer than ``count`` only where what is spent, and not what is held back, is in the way.
        """
        while self.spent + self._reserved + each * count > self.limit + _ROUNDING:
            if not self._reserved:
                left = self.limit + _ROUNDING - self.spent
                count = max(0, min(count, int(left / each)))
                break
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._reserved += each * count
        return count

    def settle(self, reserved: float, spent: float) -> None:
        """Let go of ``reserved`` and count ``spent``."""
        self._reserved = max(0.0, self._reserved - reserved)
        if self._reserved < _ROUNDING:
            self._reserved = 0.0
        self.spent += spent
        waiting, self._waiting = self._waiting, deque()
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


def worst_case(endpoint: Endpoint, request: ChatRequest) -> float:
    """The most one answer to ``request`` can cost: a token a byte of the text, and an answer of
    ``max_tokens``. Without that, :data:`LONGEST_ANSWER` is taken for the longest.

    Raises:
        UsageError: the endpoint's prices are not known.
    """
    tokens_in = sum(
        _AROUND_A_MESSAGE + len(text.encode("utf-8", "replace")) + IMAGE_TOKENS * images
        for text, images in map(_content, request.messages)
    )
    cost = endpoint.cost(tokens_in, request.max_tokens or LONGEST_ANSWER)
    if cost is None:
        raise UsageError(
            f"a budget needs prices: give price_in and price_out (per million tokens) of LLM "
            f"{endpoint.name!r} in a section of veridical.toml"
        )
    return cost


def rough_tokens(request: ChatRequest) -> int:
    """Tokens of the request, roughly, for estimates."""
    return sum(
        4 + len(text) // _CHARACTERS_PER_TOKEN + IMAGE_TOKENS * images // 4
        for text, images in map(_content, request.messages)
    )


def _content(message: dict[str, Any]) -> tuple[str, int]:
    """The text of a message and its number of images."""
    content = message.get("content")
    if isinstance(content, str):
        return content, 0
    parts = content if isinstance(content, list) else []
    texts = [str(p.get("text", "")) for p in parts if p.get("type") == "text"]
    return "\n".join(texts), sum(p.get("type") == "image_url" for p in parts)
