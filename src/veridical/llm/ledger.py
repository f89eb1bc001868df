"""Totals of LLM calls and their cost. Unknown is never 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veridical.core.messages import Reply


@dataclass
class Ledger:
    """Counts of one run, over all its sessions. Each requested answer is one call.

    Attributes:
        calls: answers requested from a server.
        answered, failed: their outcomes.
        tokens_in, tokens_out: tokens of the answered calls with known usage.
        tokens_cached: part of ``tokens_in`` that servers report as read from a prompt cache.
        without_usage, without_cost: answered calls of unknown tokens, or unknown cost.
        known_cost: money for the other answered calls.
        possibly_paid: answers that may have left a server and never arrived: perhaps charged.
        charged: money as a budget counts it: known costs, and the worst case of unknown ones.
        unpriced: attempts with neither a known cost nor a known worst case.
        retries: attempts after the first, in this session.
        journaled: answers taken from the journal, in this session.
        shared: answers that another caller had already requested, in this session.
        not_sent: calls that the budget stopped, in this session.
        damaged: journaled replies that were damaged or from another computer and are requested
            again, in this session.
        again: calls made because an earlier reply could not be read, in this session.
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
        """Return the money for the answered calls; None if any cost is unknown."""
        return None if self.without_cost else self.known_cost

    @property
    def tokens(self) -> int | None:
        """Return the tokens of the answered calls, in and out; None if any are unknown."""
        return None if self.without_usage else self.tokens_in + self.tokens_out

    def answer(self, reply: Reply, cost: float | None) -> None:
        """Add an answered call."""
        self.answered += 1
        self.tokens_in += reply.usage.prompt or 0
        self.tokens_out += reply.usage.completion or 0
        self.tokens_cached += reply.usage.cached or 0
        self.without_usage += reply.usage.prompt is None or reply.usage.completion is None
        self.known_cost += cost or 0.0
        self.without_cost += cost is None

    def charge(self, money: float | None) -> None:
        """Add the cost of an attempt, or its worst case; None if unknown."""
        self.charged += money or 0.0
        self.unpriced += money is None

    @property
    def used(self) -> bool:
        """Return True if anything was requested."""
        return bool(self.calls or self.journaled or self.not_sent)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures of the JSON summary; ``tokens`` and ``cost`` are None if partly
        unknown.
        """
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
