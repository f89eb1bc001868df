"""LLM service of one endpoint: deduplicated and journaled calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.model_names import ModelName
from veridical.errors import ModelError, UsageError
from veridical.llm.budget import check_budgeted, worst_case
from veridical.llm.cost_accounting import ACCOUNTING, Account, CallGroupAccounting, not_sent
from veridical.llm.endpoints import Endpoint
from veridical.llm.journal import Journal, request_key, sample_key
from veridical.llm.ledger import Ledger
from veridical.llm.scheduling import CallScheduler, FifoScheduler, PrefixScheduler

#: Seconds between checks for a reply that another process requests: first and maximum.
_FIRST_LOOK, _LAST_LOOK = 0.05, 1.0


class ChatClient(Protocol):
    """Client that makes the calls: :class:`veridical.llm.client.LlmClient` or a scripted one.

    Optional attributes:

    - ``most_calls``: maximum concurrent calls, if not the endpoint's ``max_concurrency``.
    - ``shares_prefixes``: the server caches prompt prefixes, so calls are ordered to share them
      (:mod:`veridical.llm.scheduling`).
    - ``one_by_one``: each sample takes a call of its own, and is journaled as it arrives.
    - ``accounts_attempts``: each attempt is charged through ``ACCOUNTING``
      (:mod:`veridical.llm.cost_accounting`). Calls of other clients are taken to be sent at once
      and to cost what their outcomes state.
    """

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        """Return one reply or error per ordinal, in order."""
        ...

    async def close(self) -> None: ...


class LlmService:
    """All calls of one endpoint, on one event loop.

    Equal requests that are in flight at the same time are sent once. Replies in the journal are not
    requested at all. Requests that differ only in their ordinal are sent together if the client can
    combine them.

    Args:
        endpoint: the server and model.
        account: for callers without an account; the default keeps nothing.
        client: makes the calls; by default the endpoint's kind decides.

    Attributes:
        obtained: answers and errors received since the service was opened.
        waited, awaited: seconds of calls made here, retries included, and the number of answers
            requested by them.
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
        # a local model is identified by its file's content, not its location
        self.identity: str = getattr(self.client, "identity", endpoint.identity)
        # As many as the client processes: for more, the worst case would be reserved for nothing.
        most: int = getattr(self.client, "most_calls", endpoint.max_concurrency)
        by_prefix: bool = getattr(self.client, "shares_prefixes", False)
        self._turns: CallScheduler = PrefixScheduler(most) if by_prefix else FifoScheduler(most)
        self._pending: dict[tuple[int, bytes], asyncio.Future[Reply | LlmError]] = {}
        self._looking: set[tuple[int, bytes]] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self.obtained = 0
        self.waited = 0.0
        self.awaited = 0

    @property
    def waiting(self) -> int:
        """Return the number of pending answers."""
        return len(self._pending)

    @property
    def account(self) -> Account:
        """Return the account of callers without an account."""
        if self._account is None:
            self._account = self._own = Account(Journal(None))
        return self._account

    @property
    def ledger(self) -> Ledger:
        """Return the ledger of the service's own account."""
        return self.account.ledger

    async def chat(
        self, requests: Sequence[ChatRequest], account: Account | None = None
    ) -> list[Reply]:
        """Return replies, in order.

        Raises:
            LlmError: of the first request that failed. The others are made nevertheless.
        """
        replies = []
        for outcome in await self.chat_each(requests, account):
            if isinstance(outcome, LlmError):  # a new error: several callers may raise it
                paid, text = outcome.possibly_paid, outcome.text
                raise LlmError(outcome.trouble, str(outcome), possibly_paid=paid, text=text)
            replies.append(outcome)
        return replies

    async def chat_each(
        self, requests: Sequence[ChatRequest], account: Account | None = None
    ) -> list[Reply | LlmError]:
        """Return a reply or error per request, in order.

        Raises:
            UsageError: the endpoint cannot be called at all, or the journal cannot be written.
        """
        account = account or self.account
        journal, ledger = account.journal, account.ledger
        keys = self._keys(requests)
        outcomes: dict[bytes, Reply | LlmError] = {}
        waits: dict[bytes, asyncio.Future[Reply | LlmError]] = {}
        new: dict[bytes, tuple[bytes, ChatRequest]] = {}
        for (base, key), request in zip(keys, requests, strict=True):
            future = self._pending.get((id(journal), key))
            if future is None:
                new[key] = base, request
            elif key not in waits:
                waits[key] = future
                ledger.shared += 1
        looked = {(id(journal), key) for key in new} - self._looking
        self._looking |= looked
        try:
            journaled = await journal.find(list(new)) if new else {}
        finally:
            self._looking -= looked
        for key in journal.damaged & new.keys():
            journal.damaged.discard(key)
            ledger.damaged += 1
        # Another caller may have looked first, and be waiting for its call by now. It cannot have
        # the answer yet: the journal works in order, so its write comes after this.
        alone: bool = getattr(self.client, "one_by_one", False)
        groups: dict[tuple[bytes, int], dict[bytes, ChatRequest]] = {}
        for key, (base, request) in new.items():
            newest = journaled.get(key)
            if newest is not None and not (account.retry and newest.rejected):
                outcomes[key] = newest.reply
                if (id(journal), key) in looked:
                    ledger.journaled += 1
                else:  # another caller has already looked
                    ledger.shared += 1
                continue
            future = self._pending.get((id(journal), key))
            if future is None:
                future = self._pending[id(journal), key] = asyncio.Future()
                attempt = 0 if newest is None else newest.attempt + 1
                groups.setdefault((key if alone else base, attempt), {})[key] = request
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
        """Mark the newest reply to ``request`` as unusable: an account that retries requests
        another.
        """
        account = account or self.account
        ((_, key),) = self._keys([request])
        reply = (await account.journal.find([key])).get(key)
        if reply is not None:
            await account.journal.reject([(key, reply.attempt)])

    def _keys(self, requests: Iterable[ChatRequest]) -> list[tuple[bytes, bytes]]:
        """Return each request's key without and with its ordinal."""
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
        """Resolve the pending keys of requests that differ only in their ordinal.

        By a call, or by the reply of another process that has requested it already.
        """
        left = dict(group)
        look = _FIRST_LOOK
        try:
            while left:
                async with self._turns.slot(next(iter(group.values()))):
                    claimed, come = await account.journal.claim(list(left), attempt)
                    for key, reply in come.items():
                        account.ledger.journaled += 1
                        self._resolve(account, key, reply)
                    try:
                        if claimed:
                            requests = [group[key] for key in claimed]
                            await self._send(requests, claimed, attempt, account)
                    finally:
                        account.journal.release(claimed)
                for key in (*claimed, *come):
                    del left[key]
                if left:
                    await asyncio.sleep(look)
                    look = min(2 * look, _LAST_LOOK)
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
        """Make the call for as many of ``requests`` as the budget allows."""
        budget = account.budget
        count = len(keys)
        each = worst_case(self.endpoint, requests[0])
        if budget is not None:
            check_budgeted(self.endpoint)
            if each is None:
                raise UsageError(
                    f"a budget requires a maximum answer length for LLM {self.endpoint.name!r}: "
                    "set "
                    "max_tokens"
                )
            count = await budget.reserve(each, len(keys))
            for key in keys[count:]:
                account.ledger.not_sent += 1
                self._resolve(account, key, not_sent(budget, each))
        if not count:
            return
        account.ledger.again += sum(request.again for request in requests[:count])
        group = CallGroupAccounting(
            account, self.endpoint, each, [(key, attempt) for key in keys[:count]]
        )
        try:
            outcomes = await self._call(requests[:count], group)
            await group.write(outcomes)
            for key, outcome in zip(keys, outcomes, strict=False):
                self._resolve(account, key, outcome)
        finally:
            group.close()

    async def _call(
        self, requests: Sequence[ChatRequest], group: CallGroupAccounting
    ) -> list[Reply | LlmError]:
        started = time.perf_counter()
        ordinals = [r.ordinal for r in requests]
        if getattr(self.client, "accounts_attempts", False):
            ACCOUNTING.set(group)  # this task's own
            outcomes = await self.client.chat(requests[0], ordinals)
        else:
            reservation = await group.reserve(len(ordinals), again=False)
            try:
                await reservation.leave()
                outcomes = await self.client.chat(requests[0], ordinals)
                lost = sum(o.possibly_paid for o in outcomes if isinstance(o, LlmError))
                reservation.ended([o.usage for o in outcomes if isinstance(o, Reply)], lost)
            finally:
                reservation.close()
        self.waited += time.perf_counter() - started
        self.awaited += len(requests)
        if len(outcomes) != len(requests):
            raise ModelError(f"{len(outcomes)} outcomes for {len(requests)} calls")
        return outcomes

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
        self.obtained += 1
        if outcome is not None:
            future.set_result(outcome)
        elif isinstance(error, Exception):
            future.set_exception(error)
            future.exception()  # marks it as retrieved, in case every caller was cancelled
        else:
            future.cancel()

    async def close(self) -> None:
        """Cancel the calls in flight, and close the connections."""
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self.client.close()
        if self._own is not None:
            self._own.journal.close()


def check_client(endpoint: Endpoint) -> None:
    """Check what :func:`open_client` would, as far as possible without a model.

    Raises:
        UsageError: the key is not in the environment, or the file or option does not exist.
        ModelError: a package that runs the model is not installed.
    """
    if endpoint.kind == "local":
        from veridical.llm.local import check_installed, read_local

        read_local(endpoint.base_url)
        check_installed()
    elif endpoint.kind == "fake":
        open_client(endpoint)
    else:
        endpoint.key()


def open_client(endpoint: Endpoint) -> ChatClient:
    """Open the client of ``endpoint``: HTTP, a local llama.cpp server, or scripted.

    Raises:
        UsageError: its key is not in the environment, or a requirement is not installed.
    """
    if endpoint.kind == "fake":
        from veridical.llm.fake import FakeLlm

        return FakeLlm.read(ModelName.parse(endpoint.base_url).rest)
    if endpoint.kind == "local":
        from veridical.llm.local import LocalClient

        return LocalClient(endpoint)
    from veridical.llm.client import LlmClient

    endpoint.key()  # now rather than in the middle of a run
    return LlmClient(endpoint)


def _same_but_ordinal(one: ChatRequest, two: ChatRequest) -> bool:
    """Return True if two requests are equal except for the ordinal, with the same message
    objects.
    """
    return one.messages is two.messages and all(
        getattr(one, name) == getattr(two, name) for name in _FIELDS
    )


_FIELDS = ("temperature", "max_tokens", "top_p", "top_k", "seed", "stop", "logprobs", "schema")
