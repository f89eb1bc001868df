"""Shared LLM budget of many workers, in one file.

A worker borrows a little more than it needs, counts its spending of that itself, and settles it
after every shard. Money borrowed by a lost worker is never lent again. So all calls together cannot
exceed the limit; they may cost less.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from veridical.errors import UsageError
from veridical.llm.budget import Budget, check_budgeted
from veridical.llm.endpoints import find_endpoint
from veridical.llm.ledger import Ledger
from veridical.scale.place import ShardStore

SPENDING = "budget.json"
_SLICES = 1000  # a worker borrows this fraction of the whole, or the cost of a call


class SpendingFile(BaseModel):
    """Content of the file.

    Attributes:
        limit: of all calls.
        spent: by workers that have settled.
        lent: to the other workers, by name.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    limit: float = Field(ge=0, allow_inf_nan=False)
    spent: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    lent: dict[str, float] = {}

    @property
    def left(self) -> float:
        """Return the amount that can still be lent."""
        return max(0.0, self.limit - self.spent - sum(self.lent.values()))


def set_limit(place: ShardStore, limit: float, llm: str | None = None) -> None:
    """Limit the calls for the shards of a place to ``limit`` in all, earlier ones included.

    Args:
        llm: the LLM; None: checked later.

    Raises:
        UsageError: the limit is not a valid number, the LLM allows no budget, or the file cannot be
            read or written.
    """
    if not 0 <= limit < float("inf"):
        raise UsageError(f"--budget must be at least 0, not {limit}")
    if llm is not None:
        check_budgeted(find_endpoint(llm))

    def change(content: bytes | None) -> bytes:
        shared = SpendingFile(limit=limit) if content is None else _parsed(place, content)
        return shared.model_copy(update={"limit": limit}).model_dump_json().encode()

    place.update(SPENDING, change)


def shared_budget(place: ShardStore) -> SpendingFile | None:
    """Return the budget of a place; None without a limit.

    Raises:
        UsageError: the file is unreadable.
    """
    try:
        return _parsed(place, place.read(SPENDING))
    except FileNotFoundError:
        return None


def _parsed(place: ShardStore, content: bytes) -> SpendingFile:
    try:
        return SpendingFile.model_validate_json(content)
    except ValidationError:
        raise UsageError(f"{place.name}/{SPENDING} cannot be read") from None


class BorrowedBudget(Budget):
    """Budget borrowed by a worker for its calls.

    Attributes:
        name: of the worker, unique.
    """

    def __init__(self, place: ShardStore) -> None:
        super().__init__(0.0)
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._place = place
        self._purse = SpendingFile(limit=0.0)
        self._asking = asyncio.Lock()

    def resume(self, run: tuple[str, str], before: Ledger) -> None:
        """See :meth:`Budget.resume`. An earlier worker's charges came from its own loan."""
        spent = self.spent
        super().resume(run, before)
        self.spent = spent

    async def _hold(self, each: float, count: int) -> int:
        async with self._asking:
            owed = self.spent + self._reserved - self.limit
            if owed + each * count > 0:
                await asyncio.to_thread(self._borrow, owed + each, owed + each * count)
        return await super()._hold(each, count)

    def _borrow(self, least: float, most: float) -> None:
        """Borrow ``most`` or a little more; less if less is left, but not under ``least``."""
        got = 0.0

        def change(content: bytes | None) -> bytes | None:
            nonlocal got
            self._purse = shared = _parsed(self._place, content or b"")
            got = min(shared.left, max(most, shared.limit / _SLICES))
            if got < least or got <= 0:
                got = 0.0
                return None
            lent = {**shared.lent, self.name: shared.lent.get(self.name, 0.0) + got}
            self._purse = shared.model_copy(update={"lent": lent})
            return self._purse.model_dump_json().encode()

        self._place.update(SPENDING, change)
        self.limit += got

    def settle_up(self) -> None:
        """Report the spending, and return the rest, when no call is in flight.

        Raises:
            UsageError: the file cannot be read or written.
        """
        if not self.limit:
            return

        def change(content: bytes | None) -> bytes:
            shared = _parsed(self._place, content or b"")
            lent = {name: sum_ for name, sum_ in shared.lent.items() if name != self.name}
            update = {"lent": lent, "spent": shared.spent + self.spent}
            return shared.model_copy(update=update).model_dump_json().encode()

        self._place.update(SPENDING, change)
        self.limit = self.spent = 0.0

    def short_of(self, amount: float) -> Budget:
        """See :meth:`Budget.short_of`: for the shared budget, with loans counted as spent."""
        whole = Budget(self._purse.limit)
        whole.spent = self._purse.limit - self._purse.left
        return whole


def added(ledgers: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Add the totals of LLM calls; the sum is unknown if any is."""
    total: dict[str, Any] = {}
    for ledger in ledgers:
        for name, value in ledger.items():
            if not isinstance(value, (int, float, type(None))):
                continue
            before = total.get(name, 0)
            total[name] = None if value is None or before is None else before + value
    return total
