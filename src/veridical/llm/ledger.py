"""What language models were asked for and what that cost. Unknown is never 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veridical.core.messages import Reply


@dataclass
class Ledger:
    """Counts of one run, over all its lives. Each answer asked for is one call.

    Attributes:
        calls: answers asked of a server.
        answered, failed: what became of them.
        tokens_in, tokens_out: of the answered calls whose usage is known.
        tokens_cached: those of ``tokens_in`` that servers say they need not read, having read the
            same beginning of a prompt before.
        without_usage, without_cost: answered calls of which tokens, or money, are not known.
        known_cost: money for the others.
        possibly_paid: answers that left a server, perhaps, and never arrived: charged, perhaps.
        charged: money as a budget counts it: the cost of what is known, and the worst case of
            what is not.
        unpriced: attempts of which neither is known.
        retries: attempts after the first, in this life.
        journaled: answers taken from the journal, in this life.
        shared: answers another asker was already waiting for, in this life.
        not_sent: calls that the budget stopped, in this life.
        damaged: replies in the journal that were damaged or not of this computer and are asked
            for again, in this life.
        again: calls that were made because an earlier reply could not be read, in this life.
    """

    calls: int = 0
    answered: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    without_usage: int = 0
    known_cost: float = 0.0
    without_cost: int = 0
    possibly_paid: int = 0
    charged: float = 0.0
    unpriced: int = 0
    retries: int = 0
    journaled: int = 0
    shared: int = 0
    not_sent: int = 0
    damaged: int = 0
    again: int = 0

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
        self.tokens_cached += reply.usage.cached or 0
        self.without_usage += reply.usage.prompt is None or reply.usage.completion is None
        self.known_cost += cost or 0.0
        self.without_cost += cost is None

    def charge(self, money: float | None) -> None:
        """Enter what an attempt costs, or may cost at worst; None where that is not known."""
        self.charged += money or 0.0
        self.unpriced += money is None

    @property
    def used(self) -> bool:
        """Whether anything was asked for at all."""
        return bool(self.calls or self.journaled or self.not_sent)

    def as_dict(self) -> dict[str, Any]:
        """Figures of the JSON summary; ``tokens`` and ``cost`` None where not wholly known."""
        return {
            "calls": self.calls,
            "answered": self.answered,
            "failed": self.failed,
            "tokens": self.tokens,
            "tokens_in": None if self.without_usage else self.tokens_in,
            "tokens_out": None if self.without_usage else self.tokens_out,
            "tokens_cached": self.tokens_cached,
            "cost": self.cost,
            "known_cost": self.known_cost,
            "without_usage": self.without_usage,
            "without_cost": self.without_cost,
            "possibly_paid": self.possibly_paid,
            "charged": None if self.unpriced else self.charged,
            "retries": self.retries,
            "journaled": self.journaled,
            "shared": self.shared,
            "not_sent": self.not_sent,
            "damaged": self.damaged,
            "again": self.again,
        }
