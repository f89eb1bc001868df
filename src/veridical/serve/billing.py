"""Payment for LLM calls from a key's daily budget."""

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
class Billing:
    """Payment for the calls of one request, or of one job in one session of the server.

    Attributes:
        budget: None if only the server's own budget limits it.
        ledger: totals of the calls; None if no call was possible.
    """

    budget: Budget | None = None
    ledger: Ledger | None = None
    _told: float = field(default=0.0, init=False)

    def open(self, account: Account) -> None:
        """Charge the calls of ``account`` to it."""
        self.ledger, self._told = account.ledger, account.ledger.charged
        if self.budget is not None:
            account.budget = self.budget

    @property
    def empty(self) -> bool:
        """Return True if a call was not made for lack of money."""
        return self.ledger is not None and self.ledger.not_sent > 0

    def charged(self) -> float:
        """Return the money charged since the last call of this method."""
        if self.ledger is None:
            return 0.0
        before, self._told = self._told, self.ledger.charged
        return self._told - before


class BilledRun(Job):
    """Run whose LLM calls have a payer.

    When it resumes an earlier one, replies obtained then are not requested and paid again.
    """

    def __init__(
        self, inputs: Any, scorers: Sequence[BoundScorer], billing: Billing, **options: Any
    ) -> None:
        self._purse = billing
        super().__init__(inputs, list(scorers), **options)

    def _open_account(self, inputs: Inputs) -> Account | None:
        account = super()._open_account(inputs)
        if account is not None:
            account.retry = False
            self._purse.open(account)
        return account
