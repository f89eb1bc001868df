"""Calls of one model behind an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import httpx
import numpy as np

from veridical.llm.capabilities import Capabilities, Feature, chat_payload
from veridical.llm.counts import LEAVING, Counts, count
from veridical.llm.echo import ECHO_FORMS, EchoForm, echo_request, read_echo
from veridical.llm.endpoints import CAPABILITIES, Endpoint
from veridical.llm.limiter import Limiter, Outcome
from veridical.llm.messages import ChatRequest, LlmError, Reply, user
from veridical.llm.replies import read_replies
from veridical.llm.retries import AttemptError, Attempts
from veridical.llm.tokens import GivenText, TokenProbabilities
from veridical.llm.transport import Transport

T = TypeVar("T")

#: Alternatives a token that are asked for of given text: vLLM's and OpenAI's most.
_TOPS = (20, 5)
_PROBE_TEXT = GivenText("The sky is", " blue and the grass is green.")
_PROBE_SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
_TEXTS_A_CALL = 32  # embeddings
#: Calls taken for each that may be on the wire: under faults most of them wait between attempts.
_CALLS_A_SLOT = 4


class LlmClient:
    """Chat, embeddings and the probabilities of given text. For one event loop.

    Calls are held back as far as the server demands (:mod:`veridical.llm.limiter`) and made again
    where that may help (:mod:`veridical.llm.retries`). A cancelled call ends at once.

    Args:
        endpoint: which model of which server; its ``timeout`` is for each attempt, from the
            moment it leaves to the last byte of the answer.
        http: for tests: brings its own transport, and is not closed.

    Attributes:
        most_calls: as many at once keep the server busy, those between attempts included.
        says_leaving: awaits its caller's ``LEAVING`` (:mod:`veridical.llm.counts`).
    """

    says_leaving = True

    def __init__(self, endpoint: Endpoint, *, http: httpx.AsyncClient | None = None) -> None:
        self.endpoint = endpoint
        self.counts = Counts()
        self.most_calls = _CALLS_A_SLOT * endpoint.max_concurrency
        self.limiter = Limiter(endpoint.max_concurrency)
        self._transport = Transport(endpoint, http)
        self._can = Capabilities(endpoint.supports)
        self._echo: tuple[EchoForm, int] | None = None
        self._finding_echo = asyncio.Lock()

    @property
    def one_by_one(self) -> bool:
        """Whether several answers take as many calls, as far as is known."""
        return self._can.knows("n") is False

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        """Answers to ``request``: one, or the error in its place, per ordinal, in that order.

        Several are asked for in one call where the server can; what it does not give is asked
        for one by one. An error's ``possibly_paid`` counts its answer's lost attempts.

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

    async def read(self, text: GivenText) -> TokenProbabilities:
        """Log-probabilities of the tokens of a text that is there already.

        Raises:
            LlmError: ``rejected`` where the server tells none, or none of the text's first token
                because nothing stands before it.
        """
        if not text.text:
            places = np.zeros(0, np.int64)
            return TokenProbabilities(places, places, np.zeros(0))
        if self._echo is None:
            async with self._finding_echo:
                if self._echo is None:
                    self._echo = await self._find_echo()
        return await self._read(text, *self._echo)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Vectors of ``texts``, in order, all of one width.

        Raises:
            LlmError: the server gives none, or anything else.
        """
        # Servers reject an empty text; a space embeds as one.
        sent = [text or " " for text in texts]
        parts = [sent[i : i + _TEXTS_A_CALL] for i in range(0, len(sent), _TEXTS_A_CALL)]
        found = await together([self._embed(part) for part in parts])
        vectors = [vector for part in found for vector in part]
        if len({len(v) for v in vectors}) > 1:
            raise LlmError("malformed", f"{self.endpoint.name}: vectors differ in length")
        return vectors

    async def probe(self) -> dict[str, bool]:
        """What the server can do, by name (see ``endpoints.CAPABILITIES``): asked by up to seven
        tiny calls, except for what the endpoint says of itself.

        Raises:
            LlmError: it does not answer at all.
        """
        request = ChatRequest(user("Say a word."), temperature=1.0, max_tokens=4, logprobs=1)
        replies = [_or_raise(outcome) for outcome in await self.chat(request, (0, 1))]
        found = {
            "n": bool(self._can.knows("n")),
            "logprobs": any(reply.logprobs for reply in replies),
            "schema": await self._keeps_to_schema(),
            "echo": await self._echoes(),
        }
        return {name: self.endpoint.supports.get(name, found[name]) for name in CAPABILITIES}

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def _outcomes(
        self, request: ChatRequest, ordinal: int, count: int
    ) -> list[Reply | LlmError]:
        """Up to ``count`` replies and at least one, or as many errors as were asked for."""
        try:
            return [*await self._replies(request, ordinal, count)]
        except LlmError as e:
            return [e] * count

    async def _replies(self, request: ChatRequest, ordinal: int, count: int) -> list[Reply]:
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
        """The replies to a refused request without some features, and these.

        Raises:
            AttemptError: ``problem``, if that does not help.
        """
        for left_out in self._can.suspects(use, problem):
            rest = use - left_out
            try:
                return left_out, await self._send(request, ordinal, count, rest)
            except AttemptError as e:
                if e.trouble != "rejected":
                    raise
                if self._can.named(rest, e):  # one down, and now it speaks of another
                    more, replies = await self._without(request, ordinal, count, rest, e)
                    return left_out | more, replies
        raise problem

    async def _send(
        self, request: ChatRequest, ordinal: int, count: int, use: frozenset[Feature]
    ) -> list[Reply]:
        wanted = count if "n" in use else 1
        payload = chat_payload(self.endpoint, request, ordinal, count, use)
        return await self._call(
            "chat/completions", payload, lambda body: read_replies(body, wanted), answers=wanted
        )

    async def _read(self, text: GivenText, form: EchoForm, top: int) -> TokenProbabilities:
        payload = {
            "model": self.endpoint.model,
            **self.endpoint.extra_body,
            **echo_request(text, top, form),
        }
        return await self._call(
            "completions", payload, lambda body: read_echo(body, text, form, top)
        )

    async def _find_echo(self) -> tuple[EchoForm, int]:
        if self._can.knows("echo") is False:
            raise LlmError(
                "rejected", f"{self.endpoint.name} tells no log-probabilities of given text"
            )
        for form in ECHO_FORMS:
            for top in _TOPS:
                try:
                    await self._read(_PROBE_TEXT, form, top)
                except LlmError as e:
                    if e.trouble not in ("rejected", "malformed"):
                        raise
                else:
                    self._can.learn("echo", True)
                    return form, top
        self._can.learn("echo", False)
        return await self._find_echo()

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        payload = {
            "model": self.endpoint.model,
            "input": texts,
            "encoding_format": "float",
            **self.endpoint.extra_body,
        }
        return await self._call("embeddings", payload, lambda body: _vectors(body, len(texts)))

    async def _keeps_to_schema(self) -> bool:
        request = ChatRequest(user("Is all well?"), max_tokens=32, schema=_PROBE_SCHEMA)
        (outcome,) = await self.chat(request)
        try:
            said = json.loads(_or_raise(outcome).text)
        except ValueError:
            return False
        return isinstance(said, dict) and set(said) == {"ok"}

    async def _echoes(self) -> bool:
        try:
            await self.read(_PROBE_TEXT)
        except LlmError as e:
            if e.trouble != "rejected":
                raise
            return False
        return True

    async def _call(
        self,
        path: str,
        payload: dict[str, Any],
        parse: Callable[[dict[str, Any]], T],
        *,
        answers: int = 1,
    ) -> T:
        """Make attempts until one brings what ``parse`` accepts.

        Args:
            answers: how many are lost with a lost reply.
        """
        attempts = Attempts(self.endpoint.attempts)
        leaving = LEAVING.get()
        lost = 0
        while True:
            ticket = await self.limiter.acquire(again=attempts.made > 0)
            if leaving is not None and not attempts.made:
                try:
                    await leaving()
                except BaseException:
                    self.limiter.release(ticket, "lost")
                    raise
            count(self.counts, attempts=1, retries=int(attempts.made > 0))
            outcome: Outcome = "lost"
            asked = None
            try:
                body = await self._transport.post(path, payload)
                outcome = "accepted"
                return parse(body)
            except LlmError as e:
                problem = e if isinstance(e, AttemptError) else _attempt_error(e)
                asked = problem.retry_after
                if problem.overloaded:
                    outcome = "rejected"
                    count(self.counts, rejected=1)
                elif problem.status is not None:
                    outcome = "accepted"
                lost += problem.possibly_paid
                count(self.counts, possibly_paid=problem.possibly_paid * answers)
            except asyncio.CancelledError:
                count(self.counts, possibly_paid=answers)
                raise
            finally:
                self.limiter.release(ticket, outcome, retry_after=asked)
            wait = attempts.wait(problem)
            if wait is None:
                tried = f" (after {attempts.made} attempts)" if attempts.made > 1 else ""
                raise AttemptError(
                    problem.trouble,
                    f"{self.endpoint.name}: {problem}{tried}",
                    status=problem.status,
                    possibly_paid=lost,
                )
            await asyncio.sleep(wait)


async def together(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Results of ``calls``, in order. If one raises, or the caller is cancelled, the others are
    cancelled and have ended before this returns."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        if not all(task.done() for task in tasks):
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _attempt_error(e: LlmError) -> AttemptError:
    """What was amiss with a whole answer."""
    return AttemptError(e.trouble, str(e), possibly_paid=int(e.trouble == "malformed"), again=False)


def _or_raise(outcome: Reply | LlmError) -> Reply:
    if isinstance(outcome, LlmError):
        raise outcome
    return outcome


def _vectors(body: dict[str, Any], count: int) -> list[list[float]]:
    """Embeddings by their index."""
    data = body.get("data")
    entries = data if isinstance(data, list) else []
    rows = {
        entry["index"]: entry.get("embedding")
        for entry in entries
        if isinstance(entry, dict) and type(entry.get("index")) is int
    }
    if len(entries) != count or set(rows) != set(range(count)):
        raise AttemptError("malformed", f"there is not one embedding for each of {count} texts")
    return [_vector(rows[i]) for i in range(count)]


def _vector(row: Any) -> list[float]:
    numbers = isinstance(row, list) and all(type(v) in (int, float) for v in row)
    try:
        vector = [float(v) for v in row] if numbers else []
    except OverflowError:
        vector = []
    if not vector or not all(map(math.isfinite, vector)):
        raise AttemptError("malformed", "an embedding is no list of finite numbers")
    return vector
