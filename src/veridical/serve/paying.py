"""Who pays for the LLM calls of requests and jobs: a key, out of its money of the day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veridical.api import Job

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.llm.budget import Budget
    from veridical.llm.cost_accounting import Account
    from veridical.llm.ledger import Ledger
    from veridical.run.inputs import Inputs


@dataclass
class Purse:
    """Pays for the calls of one request, or of one job in one life of the server.

    Attributes:
        budget: None where nothing but the server's own budget limits it.
        ledger: what the calls came to; None where none was possible.
    """

    budget: Budget | None = None
    ledger: Ledger | None = None
    _told: float = field(default=0.0, init=False)

    def open(self, account: Account) -> None:
        """Have the calls of ``account`` paid from it."""
        self.ledger, self._told = account.ledger, account.ledger.charged
        if self.budget is not None:
            account.budget = self.budget

    @property
    def empty(self) -> bool:
        """Whether a call was not made as there is too little money for it."""
        return self.ledger is not None and self.ledger.not_sent > 0

    def charged(self) -> float:
        """Money that calls were charged since this was last asked."""
        if self.ledger is None:
            return 0.0
        before, self._told = self._told, self.ledger.charged
        return self._told - before


class PaidRun(Job):
    """A run whose LLM calls a purse pays. Where it takes up an earlier one, replies that were
    obtained then are not asked for, and paid, again."""

    def __init__(
        self, inputs: Any, scorers: Sequence[BoundScorer], purse: Purse, **options: Any
    ) -> None:
        self._purse = purse
        super().__init__(inputs, list(scorers), **options)

    def _open_account(self, inputs: Inputs) -> Account | None:
        account = super()._open_account(inputs)
        if account is not None:
            account.retry = False
            self._purse.open(account)
        return account
