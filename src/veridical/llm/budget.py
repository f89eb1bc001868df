"""Money budget: remaining amount, and the worst-case cost of a call."""

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

#: Maximum tokens of an image. OpenAI's small models charge 48 169 for 2048 x 768 pixels, the
#: largest number known. Estimates use another number.
IMAGE_TOKENS = 50_000
_USUAL_IMAGE_TOKENS = 1_024
#: Tokens that a server's chat template adds to the request and to each message.
_AROUND_ALL = 64
_AROUND_A_MESSAGE = 16
#: Used for estimates only.
CHARACTERS_PER_TOKEN = 4
_ROUNDING = 1e-12  # tolerance of sums of money


class Budget:
    """Money budget: a call is sent only if its worst-case cost still fits.

    The worst-case cost of calls in flight is reserved until they are settled. A call that would fit
    without those reservations waits for them.

    Args:
        limit: in the currency of the endpoints' prices, at least 0.
        within: a parent budget, in which each call must fit too.
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
        """Add the charges of earlier sessions of ``run`` (its journal and name), once per run.

        Raises:
            UsageError: an earlier session made calls of unknown cost.
        """
        if run in self._runs:
            return
        if before.unpriced:
            raise UsageError(
                f"the budget cannot be kept: earlier sessions made {before.unpriced} attempts "
                "of unknown cost (no prices, or a damaged journal); start "
                "a new run, or resume without --budget"
            )
        self._runs.add(run)
        self.spent += before.charged

    async def reserve(self, each: float, count: int) -> int:
        """Reserve ``each`` for as many of ``count`` calls as fit; return that number.

        Waits while other calls' reservations are in the way, so fewer than ``count`` means that
        money already spent is.
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
        """Release ``reserved`` and add ``spent``."""
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
        """Return the first of this budget and its parents with less than ``amount`` left, else
        this.
        """
        budget: Budget | None = self
        while budget is not None:
            if budget.spent + amount > budget.limit + _ROUNDING:
                return budget
            budget = budget.within
        return self


def check_budgeted(endpoint: Endpoint) -> None:
    """Check that a budget can be kept with an endpoint.

    Raises:
        UsageError: its prices are unknown, or its ``extra_body`` may change them.
    """
    if endpoint.cost(1, 1) is None:
        raise UsageError(
            f"a budget requires prices: set price_in and price_out (per million tokens) of LLM "
            f"{endpoint.name!r} in veridical.toml"
        )
    if endpoint.price_in or endpoint.price_out:
        check_reservable(f"LLM {endpoint.name!r}", endpoint.extra_body)


def longest_answer(endpoint: Endpoint, request: ChatRequest) -> int | None:
    """Return the maximum tokens of an answer to ``request``; None if unlimited."""
    limits = (request.max_tokens, longest_of(endpoint.extra_body))
    return max((limit for limit in limits if limit is not None), default=None)


def worst_case(endpoint: Endpoint, request: ChatRequest) -> float | None:
    """Return the maximum cost of one answer to ``request``; None if prices or length are unknown.

    Counts one token for each byte of the texts, and an answer of maximum length.
    """
    tokens_in = _AROUND_ALL + sum(
        _AROUND_A_MESSAGE + len(text.encode("utf-8", "replace")) + IMAGE_TOKENS * images
        for text, images in map(_content, request.messages)
    )
    if request.schema is not None:  # servers prepend the schema to the prompt
        tokens_in += len(json.dumps(request.schema))
    if endpoint.extra_body:
        tokens_in += len(json.dumps(endpoint.extra_body))
    return endpoint.cost(tokens_in, longest_answer(endpoint, request))


def rough_tokens(request: ChatRequest) -> int:
    """Estimate the tokens of the request."""
    return sum(
        4 + len(text) // CHARACTERS_PER_TOKEN + _USUAL_IMAGE_TOKENS * images
        for text, images in map(_content, request.messages)
    )


def _content(message: dict[str, Any]) -> tuple[str, int]:
    """Return the text of a message and its number of images."""
    return message_text(message.get("content")), len(images([message]))
