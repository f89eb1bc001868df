"""Sampling: a response and n samples for each prompt, in input order."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.records import Record
from veridical.errors import NO_ANSWER, RowError, UsageError
from veridical.io.problems import RowProblem
from veridical.io.prompts import Unanswered, messages_of
from veridical.sampling.answer_lines import answer_line, text_of
from veridical.text.display import LONGEST_ERROR, cut, reason
from veridical.text.wrap import harmless

if TYPE_CHECKING:
    from veridical.llm.decoding import Decoding
    from veridical.sampling.adaptive import Adaptive, Side

#: Origin of the response: greedy decoding; the first sample; or the row's own.
Response = Literal["greedy", "first", "given"]

LARGEST_LOGPROBS = 20
_WINDOW_BYTES = 256 << 20
_ROWS_PER_READ = 16
#: Failures caused by the endpoint; the run stops after this many in a row.
_ENDPOINT_TROUBLES = ("connection", "rejected", "timeout", "server", "rate_limited")
_MOST_IN_A_ROW = 16


class Chat(Protocol):
    """A service that answers requests: an LlmService or a local model."""

    async def chat_each(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        """Return one reply or error per request, in order."""
        ...


@dataclass(frozen=True)
class Sampling:
    """Parameters of sampling for each prompt.

    Attributes:
        n: number of samples in addition to the response.
        adaptive: limits for adaptive sampling, instead of ``n``.
        temperature: temperature of the samples, above 0. The greedy response uses 0.
        decoding: decoding of the samples if it is random, else of the response; None: the server's
            sampling at ``temperature``.
        max_tokens: maximum tokens per answer; None uses the server's default.
        system: system message for prompts without one.
        seed: seed; separate requests use ``seed + i``, joint ones ``seed``; None sends none.
        logprobs: alternatives reported per token; None for no log-probabilities.
    """

    n: int = 10
    adaptive: Adaptive | None = None
    response: Response = "greedy"
    temperature: float = 1.0
    decoding: Decoding | None = None
    max_tokens: int | None = 512
    system: str | None = None
    seed: int | None = None
    logprobs: int | None = None

    def __post_init__(self) -> None:
        most = self.n if self.adaptive is None else self.adaptive.most
        if self.n < 0:
            raise UsageError(f"the number of samples must be at least 0, not {self.n}")
        if not 0 <= self.temperature <= 10:
            raise UsageError(f"temperature must be between 0 and 10, not {self.temperature}")
        if self.temperature == 0 and (most or self.response == "first"):
            raise UsageError(
                "samples at temperature 0 would all be equal; set a higher temperature"
            )
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UsageError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if self.logprobs is not None and not 0 <= self.logprobs <= LARGEST_LOGPROBS:
            raise UsageError(f"logprobs takes 0 to {LARGEST_LOGPROBS}, not {self.logprobs}")
        if self.response == "first" and self.decoding is not None and not self.decoding.draws:
            raise UsageError(f"the first sample needs a random decoding, not {self.decoding}")
        if self.response == "given" and not most:
            raise UsageError("nothing to request: the response is the row's own and --n is 0")

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that identify a sampling, for records and fingerprints."""
        a = self.adaptive
        parameters: dict[str, Any] = {
            "n": self.n if a is None else [a.least, a.most],
            "response": self.response,
            "temperature": self.temperature,
            "decoding": None if self.decoding is None else str(self.decoding),
            "max_tokens": self.max_tokens,
            "system": self.system,
            "seed": self.seed,
            "logprobs": self.logprobs,
        }
        if a is not None:
            adaptive = {"scorer": a.scorer, "threshold": a.threshold, "alpha": a.alpha}
            parameters["adaptive"] = adaptive
        return parameters

    def with_all_draws(self) -> tuple[Sampling, int]:
        """Return these parameters with the maximum number of samples, and the minimum."""
        a = self.adaptive
        return (self, self.n) if a is None else (replace(self, n=a.most, adaptive=None), a.least)

    def greedy(self, messages: tuple[dict[str, Any], ...]) -> ChatRequest:
        """Build the request of the greedy response."""
        return ChatRequest(
            messages, temperature=0.0, max_tokens=self.max_tokens, logprobs=self.logprobs
        )

    def draw(self, messages: tuple[dict[str, Any], ...], ordinal: int) -> ChatRequest:
        """Build the request of sample number ``ordinal``."""
        cut = self.decoding if self.decoding is not None and self.decoding.draws else None
        return ChatRequest(
            messages,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            top_p=None if cut is None else cut.top_p,
            top_k=None if cut is None else cut.top_k,
            seed=self.seed,  # clients add the ordinal; equal seeds would give equal samples
            logprobs=self.logprobs,
            ordinal=ordinal,
        )


@dataclass(frozen=True)
class Answered:
    """An answered prompt: the output line, without newline.

    Attributes:
        drawn: number of its samples.
        saved: number of samples saved by adaptive sampling.
    """

    row: int
    line: bytes
    drawn: int
    saved: int = 0


@dataclass(frozen=True)
class Failed:
    """A prompt with missing answers.

    Attributes:
        trouble: class of the problem: an :data:`~veridical.core.messages.Trouble`, or ``row`` for a
            row that cannot be sampled.
    """

    row: int
    id: str | int | None
    trouble: str
    error: str
    possibly_paid: int = 0

    def row_error(self, file: str) -> RowError:
        """Return the failure as an error of the input row.

        One of the endpoint begins with :data:`~veridical.errors.NO_ANSWER`.
        """
        before = "" if self.trouble == "row" else NO_ANSWER
        return RowError(self.row, file, None, "prompt", before + self.error)


#: A record among them already had a response and is unchanged.
Outcome: TypeAlias = Answered | Failed | RowError | Record


@dataclass
class SamplingProgress:
    """Progress of the sampling.

    Attributes:
        before: prompts done by an earlier run.
        total: prompts; None if they were not counted.
        fraction: share of the input read, None if unknown.
    """

    answered: int = 0
    failed: int = 0
    bad_rows: int = 0
    drawn: int = 0
    saved: int = 0
    before: int = 0
    total: int | None = None
    fraction: float | None = None

    @property
    def finished(self) -> int:
        """Return the number of finished prompts of this and earlier runs, failed ones included."""
        return self.before + self.answered + self.failed + self.bad_rows

    @property
    def done(self) -> float | None:
        """Return the finished share of the prompts, 0 to 1; None if unknown."""
        if self.total is None:
            return self.fraction
        return min(1.0, self.finished / max(self.total, 1))

    def count(self, outcome: Outcome) -> None:
        if isinstance(outcome, Answered):
            self.answered += 1
            self.drawn += outcome.drawn
            self.saved += outcome.saved
        elif isinstance(outcome, Failed):
            self.failed += 1
        elif isinstance(outcome, RowError):
            self.bad_rows += 1


@dataclass(frozen=True)
class Sampler:
    """A client that requests the answers to one prompt at a time from ``chat``.

    Attributes:
        about: added to ``meta.sampling`` of every record, such as model and run.
        columns: added to ``meta`` of every record; if there are any, ``item`` (the record's id) is
            added too.
        row_offset: added to the row numbers.
        passes: leave records with a response unchanged.
    """

    chat: Chat
    sampling: Sampling
    about: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    row_offset: int = 0
    passes: bool = False

    async def answer(self, record: Record) -> Outcome:
        """Return the record with its answers, or a failure if any answer is missing.

        Answers in the journal are not requested again by the next attempt.
        """
        row = record.row + self.row_offset
        try:
            return await self._answer(record, row)
        except RowProblem as e:
            where = f"{e.field} " if e.field else ""
            return Failed(row, record.id, "row", where + e.error)
        except LlmError as e:
            if e.trouble == "budget":
                raise
            said = cut(harmless(str(e)), LONGEST_ERROR)
            return Failed(row, record.id, e.trouble, said, e.possibly_paid)
        except ValueError as e:  # model output that a record cannot hold
            return Failed(
                row, record.id, "malformed", f"the answer does not fit into a record: {reason(e)}"
            )

    async def _answer(self, record: Record, row: int) -> Answered:
        s = self.sampling
        if s.response == "given" and isinstance(record, Unanswered):
            raise RowProblem("is missing, but --response given requires it", "response")
        messages = messages_of(record.prompt, s.system)
        first = int(s.response == "first")  # replies that are not samples
        least = s.n if s.adaptive is None else s.adaptive.least
        requests = [s.greedy(messages)] if s.response == "greedy" else []
        requests += [s.draw(messages, i) for i in range(first + least)]
        replies = await self._ask(requests)
        response = None if s.response == "given" else replies.pop(0)
        origin = {"row": row, **self.about, **s.parameters()}
        saved = 0
        if s.adaptive is not None:
            text = record.response if response is None else text_of(response)
            side = await self._more(record, text, messages, replies, first)
            saved = s.adaptive.most - len(replies)
            decision = {"decision": side, "drawn": len(replies), "most": s.adaptive.most}
            origin["adaptive"] = {**origin["adaptive"], **decision}
        columns = {**self.columns, "item": record.id} if self.columns else {}
        line = answer_line(record, response, replies, origin, columns)
        return Answered(row, line, len(replies), saved)

    async def _more(
        self,
        record: Record,
        text: str,
        messages: tuple[dict[str, Any], ...],
        replies: list[Reply],
        first: int,
    ) -> Side | None:
        """Sample until the decision is certain; return None if no decision is possible."""
        adaptive = self.sampling.adaptive
        assert adaptive is not None
        answered = record.model_copy(update={"response": text})
        race = adaptive.race()
        while True:
            new = [text_of(r) for r in replies[race.drawn :]]
            disagreements = await asyncio.to_thread(adaptive.disagreements, answered, new)
            more = adaptive.most - len(replies)
            if disagreements is not None:
                for x in disagreements:
                    race.add(x)
                side = race.decided()
                if side is not None:
                    return side
                more = race.least_more()
            if more:
                start = first + len(replies)
                draws = [self.sampling.draw(messages, start + i) for i in range(more)]
                replies += await self._ask(draws)
            if disagreements is None:
                return None

    async def _ask(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        replies = await self.chat.chat_each(requests)
        if len(replies) != len(requests):
            raise LlmError("malformed", f"{len(replies)} replies to {len(requests)} requests")
        errors = [r for r in replies if isinstance(r, LlmError)]
        if errors:
            worst = next((e for e in errors if e.trouble == "budget"), errors[0])
            more = f" ({len(errors)} of {len(requests)} calls)" if len(requests) > 1 else ""
            paid = sum(e.possibly_paid for e in errors)
            raise LlmError(worst.trouble, f"{worst}{more}", possibly_paid=paid)
        return [r for r in replies if isinstance(r, Reply)]


async def answers(
    rows: Iterator[Record | RowError], sampler: Sampler, *, window: int = 256
) -> AsyncGenerator[Outcome, None]:
    """Yield the outcome of every row in the order of ``rows``, ``window`` prompts at a time.

    At most about 256 MB of answers are buffered. Rows are read in a thread.

    Raises:
        LlmError: the budget does not allow the next call; or the endpoint has failed too many
            prompts in a row. These prompts have no outcome, so a later run repeats them.
    """
    loop = asyncio.get_running_loop()
    flying: deque[asyncio.Task[Outcome]] = deque()
    pending: deque[Record | RowError] = deque()
    waiting: list[Outcome] = []  # outcomes since the endpoint's last answer
    streak = 0
    ended = False
    size = 0.0  # bytes of an answer, smoothed

    async def one(row: Record | RowError) -> Outcome:
        if isinstance(row, RowError):
            return replace(row, row=row.row + sampler.row_offset)
        if sampler.passes and not isinstance(row, Unanswered):
            return row
        return await sampler.answer(row)

    try:
        while True:
            room = window if not size else min(window, max(1, int(_WINDOW_BYTES / size)))
            while len(flying) < room and not (ended and not pending):
                if not pending:
                    chunk = await loop.run_in_executor(None, _take, rows)
                    ended = not chunk
                    pending.extend(chunk)
                else:
                    flying.append(loop.create_task(one(pending.popleft())))
            if not flying:
                break
            outcome = await flying[0]
            flying.popleft()
            if isinstance(outcome, Failed) and outcome.trouble in _ENDPOINT_TROUBLES:
                waiting.append(outcome)
                streak += 1
                if streak == _MOST_IN_A_ROW:
                    raise LlmError(
                        "server",
                        f"{streak} prompts in a row failed, the last with: {outcome.error}; "
                        "the next run repeats them",
                    )
                continue
            if isinstance(outcome, (RowError, Record)) and waiting and len(waiting) < window:
                waiting.append(outcome)  # not caused by the endpoint
                continue
            if isinstance(outcome, Answered):
                size = len(outcome.line) if not size else 0.9 * size + 0.1 * len(outcome.line)
            for earlier in waiting:
                yield earlier
            waiting.clear()
            streak = 0
            yield outcome
        for earlier in waiting:
            yield earlier
    finally:
        for task in flying:
            task.cancel()
        await asyncio.gather(*flying, return_exceptions=True)


def _take(rows: Iterator[Record | RowError]) -> list[Record | RowError]:
    return list(itertools.islice(rows, _ROWS_PER_READ))
