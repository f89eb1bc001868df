"""Cost accounting per attempt: reserve the worst case, record it, settle it."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from veridical.core.messages import LlmError, Reply, Usage
from veridical.llm.budget import Budget
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import Journal
from veridical.llm.journal_rows import AttemptCost, JournaledCall, SentAttempt
from veridical.llm.ledger import Ledger


class Account:
    """Account that calls are charged to: a run, its journal and its budget.

    Args:
        journal: shared by runs, or the run's own.
        run: name under which the run resumes; spending of earlier sessions is included.
        retry: request replies again that the caller could not use.
        budget: shared by every account that spends the same money.

    Raises:
        UsageError: the run is active in another process, or there is a budget and an earlier
            session had unknown costs.
    """

    def __init__(
        self, journal: Journal, run: str = "", *, retry: bool = False, budget: Budget | None = None
    ) -> None:
        self.journal = journal
        self.run = run
        self.retry = retry
        self.budget = budget
        self.ledger = Ledger()
        if run:
            journal.lock_run(run)
            self.ledger = journal.totals(run)
            if budget is not None:
                budget.resume((str(journal.path or id(journal)), run), self.ledger)
        self.session = journal.session(run)

    def close(self) -> None:
        """Let another process resume the run."""
        if self.run:
            self.journal.unlock_run(self.run)


class CostReservation:
    """Worst-case cost of one attempt, reserved until its cost is known.

    An attempt that was sent and is closed without an outcome was lost: it is charged at its worst
    case. This base class charges nothing.
    """

    async def leave(self) -> None:
        """Record that the attempt is about to be sent."""

    async def refused(self) -> None:
        """Record that the attempt never reached the server or was refused unprocessed: no
        charge.
        """

    def answered(self, usages: Sequence[Usage]) -> None:
        """Charge the usage of its answers."""

    def close(self) -> None:
        """End the attempt; if it was not sent, release the reservation."""


class CostAccounting:
    """Accounting for the calls of a client. This base class charges nothing."""

    async def reserve(self, answers: int, *, again: bool) -> CostReservation:
        """Reserve the worst case of an attempt for ``answers``.

        Args:
            again: the call was tried before.

        Raises:
            LlmError: ``budget``: it does not fit.
        """
        return CostReservation()


#: Accounting of the calls of this task, and of those that it starts.
ACCOUNTING: ContextVar[CostAccounting] = ContextVar(
    "veridical-accounting",
    default=CostAccounting(),  # noqa: B039
)


class CallGroupAccounting(CostAccounting):
    """Accounting for the attempts of one group of calls.

    Each attempt reserves the worst case of its answers before it waits for permission, and is
    recorded with that sum before it is sent. So a process killed at any moment has recorded all
    that it may owe.

    Args:
        endpoint: gives the prices.
        each: worst case of an answer; None if unknown, which no budget allows. The account's budget
            reserves it for each of ``keys`` already.
        keys: of the calls' answers, each with its attempt.
    """

    def __init__(
        self,
        account: Account,
        endpoint: Endpoint,
        each: float | None,
        keys: Sequence[tuple[bytes, int]],
    ) -> None:
        self.account, self.endpoint, self.each, self.keys = account, endpoint, each, keys
        self.calls: list[int] = []  # numbers of the calls, once an attempt was sent
        self.lost = 0  # answers possibly paid that never arrived
        self.settled: list[AttemptCost] = []  # to be recorded with the answers
        self._prepaid = len(keys)

    async def reserve(self, answers: int, *, again: bool) -> AttemptReservation:
        """See :meth:`CostAccounting.reserve`."""
        self.account.ledger.retries += again
        if self._prepaid >= answers:
            self._prepaid -= answers
        elif (budget := self.account.budget) is not None and self.each is not None:
            self._release()  # otherwise two groups with reservations would wait for each other
            fitting = await budget.reserve(self.each, answers)
            if fitting < answers:
                budget.settle(self.each * fitting, 0.0)
                raise not_sent(budget, self.each * answers)
        return AttemptReservation(self, answers)

    def settle(self, held: float | None, cost: float | None) -> None:
        """Replace the reservation ``held`` by ``cost``, or charge all of it if the cost is
        unknown.
        """
        budget = self.account.budget
        if budget is not None and held is not None:
            budget.settle(held, held if cost is None else cost)

    async def write(self, outcomes: Sequence[Reply | LlmError]) -> None:
        """Record the outcomes of the calls in ledger and journal."""
        ledger = self.account.ledger
        answered: list[JournaledCall] = []
        failed: list[tuple[int, str]] = []
        for i, outcome in enumerate(outcomes):
            if isinstance(outcome, LlmError):
                ledger.not_sent += outcome.trouble == "budget"
                if self.calls:  # it was sent
                    failed.append((self.calls[i], outcome.trouble))
                    ledger.failed += 1
            else:
                cost = self.endpoint.cost(outcome.usage.prompt, outcome.usage.completion)
                answered.append(JournaledCall(self.calls[i], *self.keys[i], outcome, cost))
                ledger.answer(outcome, cost)
        if self.calls:
            await self.account.journal.end(answered, failed, self.settled)

    def close(self) -> None:
        """Release the reservations of attempts that were not made."""
        self._release()
        self.account.ledger.possibly_paid += self.lost

    def _release(self) -> None:
        if self._prepaid and self.each is not None:
            self.settle(self.each * self._prepaid, 0.0)
        self._prepaid = 0


class AttemptReservation(CostReservation):
    """One attempt, charged to a group of calls."""

    def __init__(self, group: CallGroupAccounting, answers: int) -> None:
        self._group = group
        self._answers = answers
        self._held = None if group.each is None else group.each * answers
        self._number: int | None = None  # of its row in the journal
        self._open = True

    async def leave(self) -> None:
        """Record the worst case before sending, and with the first attempt the calls."""
        group, account = self._group, self._group.account
        calls: list[tuple[int, bytes, int]] = []
        if not group.calls:
            group.calls = [account.journal.number(account.session) for _ in group.keys]
            calls = [(n, *key) for n, key in zip(group.calls, group.keys, strict=True)]
            account.ledger.calls += len(calls)
        self._number = account.journal.number(account.session)
        await account.journal.leave(calls, SentAttempt(self._number, self._answers, self._held))

    async def refused(self) -> None:
        """Record a zero charge, immediately."""
        self._settle(0.0)
        await self._group.account.journal.settle([self._group.settled.pop()])

    def answered(self, usages: Sequence[Usage]) -> None:
        """Charge ``usages``; the worst case if they are incomplete."""
        costs = self._costs(usages)
        self._settle(self._held if None in costs else _sum(costs))

    def ended(self, usages: Sequence[Usage], lost: int) -> None:
        """Charge answers and lost answers, unknown costs at their worst case."""
        each = self._group.each
        owed = [each if cost is None else cost for cost in self._costs(usages)]
        self._settle(_sum([*owed, *[each] * lost]), lost)

    def close(self) -> None:
        """See :meth:`CostReservation.close`."""
        if not self._open:
            return
        if self._number is not None:
            self._settle(self._held, self._answers)
        else:
            self._open = False
            self._group.settle(self._held, 0.0)

    def _costs(self, usages: Sequence[Usage]) -> list[float | None]:
        return [self._group.endpoint.cost(u.prompt, u.completion) for u in usages]

    def _settle(self, cost: float | None, lost: int = 0) -> None:
        assert self._number is not None, "the attempt was sent"
        self._open = False
        group = self._group
        group.lost += lost
        group.account.ledger.charge(cost)
        group.settle(self._held, cost)
        group.settled.append(AttemptCost(self._number, cost, lost))


def _sum(costs: Sequence[float | None]) -> float | None:
    """Return the sum; None if any part is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def not_sent(budget: Budget, amount: float) -> LlmError:
    """Build the error of a call that may cost ``amount`` and is not sent."""
    budget = budget.short_of(amount)
    return LlmError(
        "budget",
        f"not sent: {budget.spent:.4f} of the budget of {budget.limit:g} is spent and this call "
        f"may cost {amount:.4f}; raise the budget",
    )
