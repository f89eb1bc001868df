"""What a client does, counted for itself and for whoever it does it for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Counts:
    """What was done.

    Attributes:
        attempts: HTTP requests that were let out.
        retries: those of them that were not a call's first.
        rejected: those that the server turned away as too many.
        possibly_paid: answers that may have been charged and never arrived whole, those of calls
            that a later attempt answered included.
    """

    attempts: int = 0
    retries: int = 0
    rejected: int = 0
    possibly_paid: int = 0


#: Counts of the caller, which a client fills beside its own. Tasks inherit it.
CALLER: ContextVar[Counts | None] = ContextVar("veridical-caller", default=None)

#: To be awaited before a call of the caller's leaves; does nothing but the first time.
LEAVING: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar(
    "veridical-leaving", default=None
)


def count(
    own: Counts, *, attempts: int = 0, retries: int = 0, rejected: int = 0, possibly_paid: int = 0
) -> None:
    """Add to a client's ``own`` counts and to its caller's."""
    for counts in (own, CALLER.get()):
        if counts is not None:
            counts.attempts += attempts
            counts.retries += retries
            counts.rejected += rejected
            counts.possibly_paid += possibly_paid
