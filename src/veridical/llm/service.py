"""Calls of one endpoint for everyone: each distinct one is made once, and written down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

from veridical.errors import ModelError
from veridical.llm.counts import CALLER, LEAVING, Counts
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import Answered, Journal, request_key, sample_key
from veridical.llm.ledger import Budget, Ledger, worst_case
from veridical.llm.messages import ChatRequest, LlmError, Reply


class ChatClient(Protocol):
    """What makes the calls: :class:`veridical.llm.client.LlmClient`, or a scripted one.

    One that knows better than its endpoint's ``max_concurrency`` how many calls to take at once
    has an attribute ``most_calls``; one that has to ask for samples one by one anyway says so by
    ``one_by_one``, and each of them is then written down as it comes. One that holds calls back
    awaits ``LEAVING`` (:mod:`veridical.llm.counts`) before they go and has ``says_leaving``; those
    of others are taken to leave at once.
    """

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        """One answer or error per ordinal, in order."""
        ...

    async def close(self) -> None: ...


class Account:
    """On whose behalf calls are made: a run, where it writes them down, and what it may spend.

    Args:
        journal: shared by runs, or the run's own.
        run: name under which the run resumes; what its earlier lives spent counts.
        retry: ask again for replies that whoever asked could make nothing of.
        budget: shared by every account that spends the same money.
    """

    def __init__(
        self, journal: Journal, run: str = "", *, retry: bool = False, budget: Budget | None = None
    ) -> None:
        self.journal = journal
        self.run = run
        self.retry = retry
        self.budget = budget
        self.ledger = Ledger.resumed(journal.totals(run)) if run else Ledger()
        self.session = journal.session(run)
        if budget is not None and run:
            budget.resume((str(journal.path or id(journal)), run), self.ledger.known_cost)


class LlmService:
    """All calls of one endpoint, on one event loop.

    Equal requests that are under way at the same time are sent once. What the journal holds is
    not sent at all. Requests that differ only in their ordinal go out together, where the client
    can do more with that than make them one by one.

    Args:
        endpoint: which model of which server.
        account: of callers that bring none of their own; default: one that keeps nothing.
        client: makes the calls; default: as the endpoint says.

    Attributes:
        waited, awaited: seconds of calls made here, retries included, and how many answers these
            were asked for.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        account: Account | None = None,
        *,
        client: ChatClient | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._own: Account | None = None
        self._account = account
        self.client = open_client(endpoint) if client is None else client
        # a model that runs here is what its file holds, wherever that lies
        self.identity: str = getattr(self.client, "identity", endpoint.identity)
        # As many as the client works on: of more, the worst case would be held back for nothing.
        most: int = getattr(self.client, "most_calls", endpoint.max_concurrency)
        self._slots = asyncio.Semaphore(most)
        self._pending: dict[tuple[int, bytes], asyncio.Future[Reply | LlmError]] = {}
        self._looking: set[tuple[int, bytes]] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self.waited = 0.0
        self.awaited = 0

    @property
    def account(self) -> Account:
        """Of callers that bring none of their own."""
        if self._account is None:
            self._account = self._own = Account(Journal(None))
        return self._account

    @property
    def ledger(self) -> Ledger:
        """Of the service's own account."""
        return self.account.ledger

    async def chat(
        self, requests: Sequence[ChatRequest], account: Account | None = None
    ) -> list[Reply]:
        """Replies, in order.

        Raises:
            LlmError: of the first request that brought none. The others were made nevertheless.
        """
        outcomes = await self.chat_each(requests, account)
        replies = [o for o in outcomes if not isinstance(o, LlmError)]
        for error in outcomes:
            if isinstance(error, LlmError):  # a new one: several askers may raise it
                raise LlmError(
                    error.trouble, str(error), possibly_paid=error.possibly_paid, text=error.text
                )
        return replies

    async def chat_each(
        self, requests: Sequence[ChatRequest], account: Account | None = None
    ) -> list[Reply | LlmError]:
        """A reply, or the error that came in its place, per request, in order.

        Raises:
            UsageError: the endpoint cannot be called at all, or the journal not be written.
        """
        account = account or self.account
        journal, ledger = account.journal, account.ledger
        keys = self._keys(requests)
        outcomes: dict[bytes, Reply | LlmError] = {}
        waits: dict[bytes, asyncio.Future[Reply | LlmError]] = {}
        asked: dict[bytes, tuple[bytes, ChatRequest]] = {}
        for (base, key), request in zip(keys, requests, strict=True):
            future = self._pending.get((id(journal), key))
            if future is None:
                asked[key] = base, request
            elif key not in waits:
                waits[key] = future
                ledger.shared += 1
        looked = {(id(journal), key) for key in asked} - self._looking
        self._looking |= looked
        try:
            held = await journal.find(list(asked)) if asked else {}
        finally:
            self._looking -= looked
        # Another asker may have been first to look, and wait for its call by now. It cannot have
        # the answer yet: the journal serves in turn, so what it wrote since comes after this.
        alone: bool = getattr(self.client, "one_by_one", False)
        groups: dict[tuple[bytes, int], dict[bytes, ChatRequest]] = {}
        for key, (base, request) in asked.items():
            found = held.get(key)
            if found is not None and not (account.retry and found.rejected):
                outcomes[key] = found.reply
                if (id(journal), key) in looked:
                    ledger.journaled += 1
                else:  # another was looking already
                    ledger.shared += 1
                continue
            future = self._pending.get((id(journal), key))
            if future is None:
                future = self._pending[id(journal), key] = asyncio.Future()
                attempt = 0 if found is None else found.attempt + 1
                together = base if not alone else key
                groups.setdefault((together, attempt), {})[key] = request
            else:
                ledger.shared += 1
            waits[key] = future
        for (_, attempt), group in groups.items():
            task = asyncio.create_task(self._obtain(group, attempt, account))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        if waits:
            await asyncio.wait(waits.values())  # unlike gather, never cancels a shared future
            outcomes |= {key: future.result() for key, future in waits.items()}
        return [outcomes[key] for _, key in keys]

    async def reject(self, request: ChatRequest, account: Account | None = None) -> None:
        """Nothing could be made of the newest reply to ``request``: an account that retries will
        ask for another."""
        account = account or self.account
        ((_, key),) = self._keys([request])
        held = (await account.journal.find([key])).get(key)
        if held is not None:
            await account.journal.reject([(key, held.attempt)])

    def _keys(self, requests: Iterable[ChatRequest]) -> list[tuple[bytes, bytes]]:
        """Each request's key without and with its ordinal."""
        keys = []
        previous, base = None, b""
        for request in requests:
            if previous is None or not _same_but_ordinal(previous, request):
                base = request_key(self.identity, request)
            previous = request
            keys.append((base, sample_key(base, request.ordinal)))
        return keys

    async def _obtain(
        self, group: dict[bytes, ChatRequest], attempt: int, account: Account
    ) -> None:
        """Resolve the pending keys of requests that differ only in their ordinal, by a call."""
        try:
            async with self._slots:
                await self._send(list(group.values()), list(group), attempt, account)
        except BaseException as e:
            for key in group:
                self._resolve(account, key, error=e)
            if not isinstance(e, Exception):
                raise

    async def _send(
        self,
        requests: Sequence[ChatRequest],
        keys: Sequence[bytes],
        attempt: int,
        account: Account,
    ) -> None:
        budget, reserved = account.budget, 0.0
        if budget is not None:
            reserved = worst_case(self.endpoint, requests[0])
            let = await budget.reserve(reserved, len(keys))
            for key in keys[let:]:
                account.ledger.not_sent += 1
                self._resolve(account, key, _stopped(budget, reserved))
            requests, keys = requests[:let], keys[:let]
        if keys:
            await self._call(requests, keys, attempt, account, reserved)

    async def _call(
        self,
        requests: Sequence[ChatRequest],
        keys: Sequence[bytes],
        attempt: int,
        account: Account,
        reserved: float,
    ) -> None:
        ledger, journal, budget = account.ledger, account.journal, account.budget
        counts = Counts()
        CALLER.set(counts)  # this task's own
        spent = 0.0
        outcomes: list[Reply | LlmError] = []
        numbers: list[int] = []
        once = asyncio.Lock()

        async def leave() -> None:
            nonlocal numbers
            async with once:
                if not numbers:
                    left = [(key, attempt) for key in keys]
                    numbers = await journal.leave(account.session, left)
                    ledger.calls += len(keys)

        LEAVING.set(leave)
        try:
            if not getattr(self.client, "says_leaving", False):
                await leave()
            started = time.perf_counter()
            outcomes = await self.client.chat(requests[0], [r.ordinal for r in requests])
            self.waited += time.perf_counter() - started
            self.awaited += len(requests)
            if len(outcomes) != len(keys):
                raise ModelError(f"{len(outcomes)} outcomes for {len(keys)} calls")
            answered: list[Answered] = []
            failed: list[tuple[int, str, int]] = []
            for number, key, outcome in zip(numbers, keys, outcomes, strict=True):
                if isinstance(outcome, LlmError):
                    failed.append((number, outcome.trouble, outcome.possibly_paid))
                    ledger.failed += 1
                else:
                    cost = self.endpoint.cost(outcome.usage.prompt, outcome.usage.completion)
                    answered.append(Answered(number, key, attempt, outcome, cost))
                    ledger.answer(outcome, cost)
                    spent += reserved if cost is None else cost
            lost = sum(f[2] for f in failed)
            before = max(0, counts.possibly_paid - lost)  # lost on the way to an answer
            if answered:
                await journal.answer([answered[0]._replace(lost=before), *answered[1:]])
            if failed:
                await journal.fail(failed)
            for key, outcome in zip(keys, outcomes, strict=True):
                self._resolve(account, key, outcome)
        finally:
            # what was cut off here may have been answered there
            lost = max(counts.possibly_paid, sum(_lost(o) for o in outcomes))
            ledger.possibly_paid += lost if outcomes else max(lost, len(numbers))
            ledger.retries += counts.retries
            if budget is not None:
                budget.settle(reserved * len(keys), spent + reserved * lost)

    def _resolve(
        self,
        account: Account,
        key: bytes,
        outcome: Reply | LlmError | None = None,
        error: BaseException | None = None,
    ) -> None:
        future = self._pending.pop((id(account.journal), key), None)
        if future is None or future.done():
            return
        if outcome is not None:
            future.set_result(outcome)
        elif isinstance(error, Exception):
            future.set_exception(error)
            future.exception()  # marks it as seen, should every asker have been cancelled
        else:
            future.cancel()

    async def close(self) -> None:
        """Drop the calls under way, and let go of the connections."""
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self.client.close()
        if self._own is not None:
            self._own.journal.close()


def open_client(endpoint: Endpoint) -> ChatClient:
    """The client that ``endpoint`` says: over HTTP, in this process, or scripted.

    Raises:
        UsageError: its key is not in the environment, or what it needs is not installed.
    """
    if endpoint.base_url.startswith("fake:"):
        from veridical.llm.fake import FakeLlm

        return FakeLlm.read(endpoint.base_url.removeprefix("fake:"))
    if endpoint.base_url.startswith("local:"):
        from veridical.llm.local import LocalClient

        return LocalClient(endpoint)
    if endpoint.base_url.startswith("torch:"):
        from veridical.llm.generation import TorchChat

        return TorchChat(endpoint)
    from veridical.llm.client import LlmClient

    endpoint.key()  # now rather than in the middle of a run
    return LlmClient(endpoint)


def _lost(outcome: Reply | LlmError) -> int:
    return outcome.possibly_paid if isinstance(outcome, LlmError) else 0


def _stopped(budget: Budget, amount: float) -> LlmError:
    return LlmError(
        "budget",
        f"not sent: {budget.spent:.4f} of the budget of {budget.limit:g} is spent, and this call "
        f"may cost {amount:.4f}",
    )


def _same_but_ordinal(one: ChatRequest, two: ChatRequest) -> bool:
    """Whether two requests are surely alike, ordinal aside: equal fields, the same messages."""
    return one.messages is two.messages and all(
        getattr(one, name) == getattr(two, name) for name in _FIELDS
    )


_FIELDS = ("temperature", "max_tokens", "top_p", "top_k", "seed", "stop", "logprobs", "schema")
