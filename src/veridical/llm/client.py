"""Client of one model behind an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import httpx

from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.llm.capabilities import REASONING_TOKENS, Capabilities, Feature, chat_payload
from veridical.llm.cost_accounting import ACCOUNTING
from veridical.llm.endpoints import Endpoint
from veridical.llm.limiter import Limiter, Outcome, Ticket
from veridical.llm.replies import read_replies
from veridical.llm.retries import LONGEST_ASKED, AttemptError, Attempts
from veridical.llm.transport import Transport
from veridical.llm.wording import explained, meaning
from veridical.text.reasoning import answer_only

T = TypeVar("T")

#: Calls accepted per slot on the wire: under faults most of them wait between attempts.
_CALLS_A_SLOT = 4
_REASONS = "reasons"  # capability key: the model reasons before it answers


@dataclass
class CallCounts:
    """Counters of a client.

    Attributes:
        attempts: HTTP requests sent.
        retries: attempts other than a call's first.
        rejected: attempts that the server refused because of load.
        possibly_paid: answers that may have been charged and never arrived whole, including those
            of calls that a later attempt answered.
    """

    attempts: int = 0
    retries: int = 0
    rejected: int = 0
    possibly_paid: int = 0


class LlmClient:
    """Chat client for one model of one server, on one event loop.

    Calls are throttled as the server demands (:mod:`veridical.llm.limiter`) and retried where that
    may help (:mod:`veridical.llm.retries`). A cancelled call ends at once.

    Args:
        endpoint: which model of which server; its ``timeout`` is for each attempt, from the
            moment it leaves to the last byte of the answer.
        http: for tests: brings its own transport, and is not closed.

    Attributes:
        most_calls: as many at once keep the server busy, those between attempts included.
        accounts_attempts: charges each attempt to its caller's ``ACCOUNTING``
            (:mod:`veridical.llm.cost_accounting`).
    """

    accounts_attempts = True

    def __init__(self, endpoint: Endpoint, *, http: httpx.AsyncClient | None = None) -> None:
        self.endpoint = endpoint
        self.counts = CallCounts()
        self.most_calls = _CALLS_A_SLOT * endpoint.max_concurrency
        self.limiter = Limiter(endpoint.max_concurrency)
        self._transport = Transport(endpoint, http)
        self._can = Capabilities(endpoint.supports)
        self._refused_since: float | None = None  # loop time since when no call was accepted
        self._longest_asked = 0.0  # longest Retry-After since then
        self._giving_up: asyncio.TimerHandle | None = None

    @property
    def one_by_one(self) -> bool:
        """Return True if the server is known to return one answer per call."""
        return self._can.knows("n") is False

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        """Return one reply or error per ordinal, in order.

        Several answers are requested in one call where the server supports it; missing ones are
        requested one by one. An error's ``possibly_paid`` counts its answer's lost attempts.

        Raises:
            UsageError: the endpoint's key is not in the environment.
        """
        outcomes: list[Reply | LlmError] = []
        while len(outcomes) < len(ordinals):
            left = ordinals[len(outcomes) :]
            if len(left) == 1:
                return outcomes + await self._outcomes(request, left[0], 1)
            if self.one_by_one:
                parts = [self._outcomes(request, ordinal, 1) for ordinal in left]
                return outcomes + [part[0] for part in await together(parts)]
            outcomes += await self._outcomes(request, left[0], len(left))
        return outcomes

    async def close(self) -> None:
        """Close the connections."""
        if self._giving_up is not None:
            self._giving_up.cancel()
        await self._transport.close()

    async def _outcomes(
        self, request: ChatRequest, ordinal: int, count: int
    ) -> list[Reply | LlmError]:
        """Return at least one and up to ``count`` replies, or ``count`` errors."""
        try:
            return [*await self._replies(request, ordinal, count)]
        except LlmError as e:
            return [e] * count

    async def _replies(self, request: ChatRequest, ordinal: int, count: int) -> list[Reply]:
        request = self._with_room(request)
        replies = await self._adapted(request, ordinal, count)
        if self._reasons(request, replies):
            self._can.learn(_REASONS, True)
            replies = await self._adapted(self._with_room(request), ordinal, count)
        return replies

    def _with_room(self, request: ChatRequest) -> ChatRequest:
        """Return the request with extra tokens if the model is known to reason."""
        if request.max_tokens is None or not self._can.knows(_REASONS):
            return request
        return replace(request, max_tokens=request.max_tokens + REASONING_TOKENS)

    def _reasons(self, request: ChatRequest, replies: Sequence[Reply]) -> bool:
        """Return True if reasoning used all the tokens and this was not known before."""
        if request.max_tokens is None or self._can.knows(_REASONS) is not None:
            return False
        return all(
            r.finish_reason == "length" and not r.refusal and not answer_only(r.text).strip()
            for r in replies
        )

    async def _adapted(self, request: ChatRequest, ordinal: int, count: int) -> list[Reply]:
        use = self._can.usable(request, count)
        try:
            replies = await self._send(request, ordinal, count, use)
        except AttemptError as problem:
            left_out, replies = await self._without(request, ordinal, count, use, problem)
            self._can.lacks(left_out, request)
            return replies
        if "n" in use and (len(replies) > 1 or not self._can.knows("n")):
            self._can.learn("n", len(replies) > 1)
        if "logprobs" in use and any(reply.logprobs for reply in replies):
            self._can.learn("logprobs", True)
        if "schema" in use:
            self._can.learn("schema", True)
        return replies

    async def _without(
        self,
        request: ChatRequest,
        ordinal: int,
        count: int,
        use: frozenset[Feature],
        problem: AttemptError,
    ) -> tuple[frozenset[Feature], list[Reply]]:
        """Send a refused request again without some features; return these and the replies.

        Raises:
            AttemptError: ``problem``, if leaving out features does not help.
        """
        for left_out in self._can.suspects(use, problem):
            fewer = use - left_out
            try:
                return left_out, await self._send(request, ordinal, count, fewer)
            except AttemptError as e:
                if e.trouble != "rejected":
                    raise
                if self._can.named(fewer, e):  # the refusal names another one now
                    more, replies = await self._without(request, ordinal, count, fewer, e)
                    return left_out | more, replies
        raise problem

    async def _send(
        self, request: ChatRequest, ordinal: int, count: int, use: frozenset[Feature]
    ) -> list[Reply]:
        """Make attempts until one returns a readable reply."""
        answers = count if "n" in use else 1
        payload = chat_payload(self.endpoint, request, ordinal, count, use)
        attempts = Attempts(self.endpoint.attempts)
        accounting = ACCOUNTING.get()
        problem: AttemptError | None = None
        lost = 0
        while True:
            try:
                reservation = await accounting.reserve(answers, again=attempts.made > 0)
            except LlmError as e:
                raise self._stopped(e, attempts.made, problem, lost) from None
            try:
                ticket = await self._admitted(attempts.made, lost)
                outcome: Outcome = "lost"
                retry_after = None
                try:
                    await reservation.leave()
                    self.counts.attempts += 1
                    self.counts.retries += attempts.made > 0
                    body = await self._transport.post("chat/completions", payload)
                    outcome = "accepted"
                    replies = read_replies(body, answers)
                    reservation.answered([reply.usage for reply in replies])
                    return replies
                except AttemptError as e:
                    problem = e
                    retry_after = e.retry_after
                    if e.overloaded:
                        outcome = "rejected"
                        self.counts.rejected += 1
                    elif e.status is not None:
                        outcome = "accepted"
                    lost += e.possibly_paid
                    self.counts.possibly_paid += e.possibly_paid * answers
                except asyncio.CancelledError:
                    self.counts.possibly_paid += answers
                    raise
                finally:
                    self._follow(outcome, retry_after)
                    self.limiter.release(ticket, outcome, retry_after=retry_after)
                if not problem.possibly_paid:
                    await reservation.refused()
            finally:
                reservation.close()
            wait = attempts.wait(problem)
            patience = self._patience()
            if wait is None or (patience is not None and wait > patience):
                raise self._failed(problem, attempts.made, lost)
            await asyncio.sleep(wait)

    async def _admitted(self, attempts: int, lost: int) -> Ticket:
        """Wait for permission to make an attempt.

        Raises:
            AttemptError: the server has rejected every call for the endpoint's ``patience``.
        """
        at_once = self._patience() == 0
        ticket = await self.limiter.acquire(again=attempts > 0, at_once=at_once)
        if ticket is None:
            fate = "not sent" if not attempts else f"gave up after {attempts} attempts"
            raise AttemptError(
                "rate_limited",
                f"{self.endpoint.name}: {fate}: the server has rejected every call for "
                f"{self.endpoint.patience:g} s ('patience' in veridical.toml)",
                possibly_paid=lost,
            )
        return ticket

    def _follow(self, outcome: Outcome, retry_after: float | None) -> None:
        """Record when the server began to reject every call, and give up in time."""
        if outcome == "lost":
            return
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
        if outcome == "accepted":
            self._refused_since, self._longest_asked = None, 0.0
            return
        loop = asyncio.get_running_loop()
        if self._refused_since is None:
            self._refused_since = loop.time()
        self._longest_asked = max(self._longest_asked, min(retry_after or 0.0, LONGEST_ASKED))
        self._giving_up = loop.call_later(self._patience() or 0.0, self.limiter.dismiss)

    def _patience(self) -> float | None:
        """Return the seconds left for a server that rejects every call; None for any other
        server.
        """
        if self._refused_since is None:
            return None
        until = self._refused_since + self.endpoint.patience + self._longest_asked
        return max(0.0, until - asyncio.get_running_loop().time())

    def _failed(self, problem: AttemptError, attempts: int, lost: int) -> AttemptError:
        tried = f" (after {attempts} attempts)" if attempts > 1 else ""
        return AttemptError(
            problem.trouble,
            f"{self.endpoint.name}: {self._describe(problem)}{tried}",
            status=problem.status,
            possibly_paid=lost,
        )

    def _describe(self, problem: AttemptError) -> str:
        """Describe a failed attempt: its meaning and the server's message."""
        endpoint = self.endpoint
        words = meaning(
            problem.trouble,
            problem.status,
            str(problem),
            model=endpoint.model,
            key=endpoint.key_env,
            address=endpoint.base_url,
            empty=problem.trouble == "rate_limited" and not problem.again,
        )
        return explained(words, self._transport.redact(str(problem)))

    def _stopped(
        self, e: LlmError, attempts: int, problem: AttemptError | None, lost: int
    ) -> LlmError:
        """Build the error of a call, or a retry, that does not fit the budget."""
        if problem is None:
            return e
        tried = f"{attempts} attempts" if attempts > 1 else "one attempt"
        why = self._transport.redact(str(problem))
        return LlmError(e.trouble, f"{e}, after {tried}: {why}", possibly_paid=lost)


async def together(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of ``calls``, in order.

    If one raises or the caller is cancelled, the others are cancelled and have ended before this
    returns.
    """
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        if not all(task.done() for task in tasks):
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
