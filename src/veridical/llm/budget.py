"""A budget of money: what is left, and the worst case of a call."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

from veridical.core.messages import ChatRequest
from veridical.core.prompt_text import images, message_text
from veridical.errors import UsageError
from veridical.llm.endpoints import Endpoint
from veridical.llm.extra_body import check_reservable, longest_of
from veridical.llm.ledger import Ledger

#: Tokens of an image at worst: what OpenAI's small models charge for one of 2048 x 768 points is
#: 48 169, the most that is known. For estimates another number is taken.
IMAGE_TOKENS = 50_000
_USUAL_IMAGE_TOKENS = 1_024
#: Tokens that a server's own template puts around the whole and around each message.
_AROUND_ALL = 64
_AROUND_A_MESSAGE = 16
#: For estimates.
CHARACTERS_PER_TOKEN = 4
_ROUNDING = 1e-12  # of sums of money


class Budget:
    """Money that may be spent: a call is let out only where its worst case still fits.

    What calls under way may cost at worst is held back until they are settled; a call that would
    fit without those waits for them.

    Args:
        limit: in the currency of the endpoints' prices, at least 0.
        within: another budget, in which a call has to fit too.
    """

    def __init__(self, limit: float, within: Budget | None = None) -> None:
        if not 0 <= limit < float("inf"):
            raise UsageError(f"the budget must be a number of at least 0, not {limit}")
        self.limit = limit
        self.within = within
        self.spent = 0.0
        self._reserved = 0.0
        self._runs: set[tuple[str, str]] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()

    def resume(self, run: tuple[str, str], before: Ledger) -> None:
        """Count what earlier lives of ``run`` (its journal and name) have been charged. Of a run
        that was here before, all of it is counted already.

        Raises:
            UsageError: they made calls of which nobody can say what they cost.
        """
        if run in self._runs:
            return
        if before.unpriced:
            raise UsageError(
                f"no budget can be kept: this run has made {before.unpriced} attempts already "
                "whose cost is not known (without prices, or the journal is damaged there); begin "
                "it anew, or go on without --budget"
            )
        self._runs.add(run)
        self.spent += before.charged

    async def reserve(self, each: float, count: int) -> int:
        """Hold back ``each`` for as many of ``count`` calls as fit: how many those are.

        Fewer than ``count`` only where what is spent, and not what is held back, is in the way.
        """
        count = await self._hold(each, count)
        if self.within is None or not count:
            return count
        fitting = 0
        try:
            fitting = await self.within.reserve(each, count)
        finally:
            if fitting < count:
                self._let_go(each * (count - fitting))
        return fitting

    async def _hold(self, each: float, count: int) -> int:
        while self.spent + self._reserved + each * count > self.limit + _ROUNDING:
            if not self._reserved:
                left = self.limit + _ROUNDING - self.spent
                count = max(0, min(count, int(left / each))) if each > 0 else 0
                break
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._reserved += each * count
        return count

    def settle(self, reserved: float, spent: float) -> None:
        """Let go of ``reserved`` and count ``spent``."""
        self.spent += spent
        self._let_go(reserved)
        if self.within is not None:
            self.within.settle(reserved, spent)

    def _let_go(self, reserved: float) -> None:
        self._reserved = max(0.0, self._reserved - reserved)
        if self._reserved < _ROUNDING:
            self._reserved = 0.0
        waiting, self._waiting = self._waiting, deque()
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

    def short_of(self, amount: float) -> Budget:
        """Of this budget and those that it is within, the first that has less than ``amount``
        left; this one where none has."""
        budget: Budget | None = self
        while budget is not None:
            if budget.spent + amount > budget.limit + _ROUNDING:
                return budget
            budget = budget.within
        return self


def check_budgeted(endpoint: Endpoint) -> None:
    """Refuse an endpoint with which no budget can be kept.

    Raises:
        UsageError: its prices are not known, or its ``extra_body`` may change them.
    """
    if endpoint.cost(1, 1) is None:
        raise UsageError(
            f"a budget needs prices: give price_in and price_out (per million tokens) of LLM "
            f"{endpoint.name!r} in a section of veridical.toml"
        )
    if endpoint.price_in or endpoint.price_out:
        check_reservable(f"LLM {endpoint.name!r}", endpoint.extra_body)


def longest_answer(endpoint: Endpoint, request: ChatRequest) -> int | None:
    """The most tokens that an answer to ``request`` may have; None where nothing limits it."""
    limits = (request.max_tokens, longest_of(endpoint.extra_body))
    return max((limit for limit in limits if limit is not None), default=None)


def worst_case(endpoint: Endpoint, request: ChatRequest) -> float | None:
    """The most one answer to ``request`` can cost: a token for each byte of the texts that are
    sent, and an answer as long as it may be. None where prices, or that length, are not known."""
    tokens_in = _AROUND_ALL + sum(
        _AROUND_A_MESSAGE + len(text.encode("utf-8", "replace")) + IMAGE_TOKENS * images
        for text, images in map(_content, request.messages)
    )
    if request.schema is not None:  # servers put it before the prompt
        tokens_in += len(json.dumps(request.schema))
    if endpoint.extra_body:
        tokens_in += len(json.dumps(endpoint.extra_body))
    return endpoint.cost(tokens_in, longest_answer(endpoint, request))


def rough_tokens(request: ChatRequest) -> int:
    """Tokens of the request, roughly, for estimates."""
    return sum(
        4 + len(text) // CHARACTERS_PER_TOKEN + _USUAL_IMAGE_TOKENS * images
        for text, images in map(_content, request.messages)
    )


def _content(message: dict[str, Any]) -> tuple[str, int]:
    """The text of a message and its number of images."""
    return message_text(message.get("content")), len(images([message]))
