"""Who pays for calls: each attempt's worst case is held back, put on record, and settled."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from veridical.core.messages import LlmError, Reply, Usage
from veridical.llm.budget import Budget
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import Journal
from veridical.llm.journal_rows import JournaledCall, Leaving, Settled
from veridical.llm.ledger import Ledger


class Account:
    """On whose behalf calls are made: a run, where it writes them down, and what it may spend.

    Args:
        journal: shared by runs, or the run's own.
        run: name under which the run resumes; what its earlier lives spent counts.
        retry: ask again for replies that whoever asked could make nothing of.
        budget: shared by every account that spends the same money.

    Raises:
        UsageError: the run is at work in another process, or its earlier lives have spent nobody
            knows what and there is a budget.
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
            journal.take_up(run)
            self.ledger = journal.totals(run)
            if budget is not None:
                budget.resume((str(journal.path or id(journal)), run), self.ledger)
        self.session = journal.session(run)

    def close(self) -> None:
        """Let another process go on with the run."""
        if self.run:
            self.journal.put_down(self.run)


class Bill:
    """What one attempt may cost, held back from when it is made out until its cost is known.

    One that has left and is closed without an outcome was lost: it is charged at its worst case.
    This one costs nobody anything.
    """

    async def leave(self) -> None:
        """Put on record that the attempt leaves now."""

    async def refused(self) -> None:
        """Record that it never reached the server, or was turned away unworked: nothing is owed."""

    def answered(self, usages: Sequence[Usage]) -> None:
        """Count what its answers have used."""

    def close(self) -> None:
        """End the attempt; if it has not left, what was held back is free again."""


class Payer:
    """Whoever pays for the calls that a client makes for it: here nobody."""

    async def bill(self, answers: int, *, again: bool) -> Bill:
        """Hold back the worst case of an attempt for ``answers``.

        Args:
            again: the call was tried before.

        Raises:
            LlmError: ``budget``: it does not fit.
        """
        return Bill()


#: Who pays for the calls of this task, and of those that it starts.
PAYER: ContextVar[Payer] = ContextVar("veridical-payer", default=Payer())  # noqa: B039


class Tab(Payer):
    """Pays for the attempts of one group of calls.

    Each attempt holds back the worst case of its answers before it waits for its turn, and is
    written down with that sum before it leaves. So a process killed at any moment has on record
    all that it may owe.

    Args:
        endpoint: its prices.
        each: worst case of an answer; None where it is not known, which no budget allows. The
            account's budget holds it back for each of ``keys`` already.
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
        self.calls: list[int] = []  # their numbers, once an attempt has left
        self.lost = 0  # answers that may have been paid and never came
        self.settled: list[Settled] = []  # to be written down with the answers
        self._prepaid = len(keys)

    async def bill(self, answers: int, *, again: bool) -> Attempt:
        """See :meth:`Payer.bill`."""
        self.account.ledger.retries += again
        if self._prepaid >= answers:
            self._prepaid -= answers
        elif (budget := self.account.budget) is not None and self.each is not None:
            self._release()  # or two that hold some would wait for each other
            fitting = await budget.reserve(self.each, answers)
            if fitting < answers:
                budget.settle(self.each * fitting, 0.0)
                raise not_sent(budget, self.each * answers)
        return Attempt(self, answers)

    def settle(self, held: float | None, cost: float | None) -> None:
        """Count ``cost``, or ``held`` where it is not known, in place of what was held back."""
        budget = self.account.budget
        if budget is not None and held is not None:
            budget.settle(held, held if cost is None else cost)

    async def write(self, outcomes: Sequence[Reply | LlmError]) -> None:
        """Enter what became of the calls into ledger and journal."""
        ledger = self.account.ledger
        answered: list[JournaledCall] = []
        failed: list[tuple[int, str]] = []
        for i, outcome in enumerate(outcomes):
            if isinstance(outcome, LlmError):
                ledger.not_sent += outcome.trouble == "budget"
                if self.calls:  # it has left
                    failed.append((self.calls[i], outcome.trouble))
                    ledger.failed += 1
            else:
                cost = self.endpoint.cost(outcome.usage.prompt, outcome.usage.completion)
                answered.append(JournaledCall(self.calls[i], *self.keys[i], outcome, cost))
                ledger.answer(outcome, cost)
        if self.calls:
            await self.account.journal.end(answered, failed, self.settled)

    def close(self) -> None:
        """Let go of what is held back for attempts that were not made."""
        self._release()
        self.account.ledger.possibly_paid += self.lost

    def _release(self) -> None:
        if self._prepaid and self.each is not None:
            self.settle(self.each * self._prepaid, 0.0)
        self._prepaid = 0


class Attempt(Bill):
    """One attempt that a :class:`Tab` pays for."""

    def __init__(self, tab: Tab, answers: int) -> None:
        self._tab = tab
        self._answers = answers
        self._held = None if tab.each is None else tab.each * answers
        self._number: int | None = None  # of its row in the journal
        self._open = True

    async def leave(self) -> None:
        """Write down what may be owed from now on, and with the first attempt the calls."""
        tab, account = self._tab, self._tab.account
        calls: list[tuple[int, bytes, int]] = []
        if not tab.calls:
            tab.calls = [account.journal.number(account.session) for _ in tab.keys]
            calls = [(n, *key) for n, key in zip(tab.calls, tab.keys, strict=True)]
            account.ledger.calls += len(calls)
        self._number = account.journal.number(account.session)
        await account.journal.leave(calls, Leaving(self._number, self._answers, self._held))

    async def refused(self) -> None:
        """Settle that nothing is owed; that is written down at once."""
        self._settle(0.0)
        await self._tab.account.journal.settle([self._tab.settled.pop()])

    def answered(self, usages: Sequence[Usage]) -> None:
        """Charge what ``usages`` cost; the worst case where they do not tell it."""
        costs = self._costs(usages)
        self._settle(self._held if None in costs else _sum(costs))

    def ended(self, usages: Sequence[Usage], lost: int) -> None:
        """Charge answers, and others that were lost on the way; what is not known of either at its
        worst case."""
        each = self._tab.each
        owed = [each if cost is None else cost for cost in self._costs(usages)]
        self._settle(_sum([*owed, *[each] * lost]), lost)

    def close(self) -> None:
        """See :meth:`Bill.close`."""
        if not self._open:
            return
        if self._number is not None:
            self._settle(self._held, self._answers)
        else:
            self._open = False
            self._tab.settle(self._held, 0.0)

    def _costs(self, usages: Sequence[Usage]) -> list[float | None]:
        return [self._tab.endpoint.cost(u.prompt, u.completion) for u in usages]

    def _settle(self, cost: float | None, lost: int = 0) -> None:
        assert self._number is not None, "it has left"
        self._open = False
        tab = self._tab
        tab.lost += lost
        tab.account.ledger.charge(cost)
        tab.settle(self._held, cost)
        tab.settled.append(Settled(self._number, cost, lost))


def _sum(costs: Sequence[float | None]) -> float | None:
    """The sum; None where a part of it is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def not_sent(budget: Budget, amount: float) -> LlmError:
    """Why a call that may cost ``amount`` is not sent."""
    budget = budget.short_of(amount)
    return LlmError(
        "budget",
        f"not sent: {budget.spent:.4f} of the budget of {budget.limit:g} is spent, and this call "
        f"may cost {amount:.4f}",
    )
