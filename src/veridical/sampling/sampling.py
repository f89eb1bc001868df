"""Sampling: for each prompt a response and n samples besides it, in input order."""

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

#: How the response comes about: decoded greedily; the first draw; or the row's own.
Response = Literal["greedy", "first", "given"]

LARGEST_LOGPROBS = 20
_WINDOW_BYTES = 256 << 20
_READ = 16  # rows a read
#: Troubles that are the endpoint's: as many failures in a row as this, and the run stops.
_ENDPOINT_TROUBLES = ("connection", "rejected", "timeout", "server", "rate_limited")
_MOST_IN_A_ROW = 16


class Chat(Protocol):
    """What answers requests: an LlmService, or a model of this process."""

    async def chat_each(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        """One reply or error a request, in order."""
        ...


@dataclass(frozen=True)
class Sampling:
    """What is asked of the model for each prompt.

    Attributes:
        n: samples besides the response.
        adaptive: draw as many as the decision needs instead of ``n``.
        temperature: of the draws, above 0. The greedy response is at 0.
        decoding: of the draws if it draws, else of the response; None: the server's own way of
            drawing at ``temperature``.
        max_tokens: of each answer; None leaves it to the server.
        system: stands before prompts that have no system message.
        seed: draws that go out one by one have ``seed + i``, those that go together ``seed``;
            None sends none.
        logprobs: alternatives a token to report; None for no log-probabilities.
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
            raise UsageError(f"a temperature lies between 0 and 10, not {self.temperature}")
        if self.temperature == 0 and (most or self.response == "first"):
            raise UsageError("samples drawn at temperature 0 would all be the same")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UsageError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if self.logprobs is not None and not 0 <= self.logprobs <= LARGEST_LOGPROBS:
            raise UsageError(f"logprobs takes 0 to {LARGEST_LOGPROBS}, not {self.logprobs}")
        if self.response == "first" and self.decoding is not None and not self.decoding.draws:
            raise UsageError(f"the first draw cannot be made by {self.decoding}, which draws none")
        if self.response == "given" and not most:
            raise UsageError("the row's own response and no samples: there is nothing to ask")

    def parameters(self) -> dict[str, Any]:
        """What tells one way of sampling from another, for records and fingerprints."""
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
        """The same with as many samples as there can be, and how few there can be."""
        a = self.adaptive
        return (self, self.n) if a is None else (replace(self, n=a.most, adaptive=None), a.least)

    def greedy(self, messages: tuple[dict[str, Any], ...]) -> ChatRequest:
        """The request of the response that is not drawn."""
        return ChatRequest(
            messages, temperature=0.0, max_tokens=self.max_tokens, logprobs=self.logprobs
        )

    def draw(self, messages: tuple[dict[str, Any], ...], ordinal: int) -> ChatRequest:
        """The request of draw number ``ordinal``."""
        cut = self.decoding if self.decoding is not None and self.decoding.draws else None
        return ChatRequest(
            messages,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            top_p=None if cut is None else cut.top_p,
            top_k=None if cut is None else cut.top_k,
            seed=self.seed,  # clients move it on by the ordinal, or equal seeds gave equal draws
            logprobs=self.logprobs,
            ordinal=ordinal,
        )


@dataclass(frozen=True)
class Answered:
    """A prompt with its answers: the line of the output, without newline.

    Attributes:
        drawn: samples in it.
        saved: samples that adaptive sampling found unnecessary.
    """

    row: int
    line: bytes
    drawn: int
    saved: int = 0


@dataclass(frozen=True)
class Failed:
    """A prompt without (all of) its answers.

    Attributes:
        trouble: class of the problem: an :data:`~veridical.core.messages.Trouble`, or ``row`` for
            a row that cannot be asked.
    """

    row: int
    id: str | int | None
    trouble: str
    error: str
    possibly_paid: int = 0

    def row_error(self, file: str) -> RowError:
        """The failure as the problem of an input row; one of the endpoint begins with
        :data:`~veridical.errors.NO_ANSWER`."""
        before = "" if self.trouble == "row" else NO_ANSWER
        return RowError(self.row, file, None, "prompt", before + self.error)


#: A record among them was answered already and passed as it is.
Outcome: TypeAlias = Answered | Failed | RowError | Record


@dataclass
class SamplingProgress:
    """How far the sampling is.

    Attributes:
        before: prompts done by an earlier run.
        total: prompts; None where they were not counted.
        fraction: of the input read, None where unknown.
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
        """Prompts that are done, by this run or an earlier one, whatever came of them."""
        return self.before + self.answered + self.failed + self.bad_rows

    @property
    def done(self) -> float | None:
        """The share of the prompts that is done, 0 to 1; None where it cannot be known."""
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
    """Asks ``chat`` for the answers to one prompt at a time.

    Attributes:
        about: put into ``meta.sampling`` of every record: model, run and the like.
        columns: put into ``meta`` of every record, beside what the row had, and ``item`` (the
            record's id) with them, if there are any.
        row_offset: added to the rows' numbers.
        passes: leave records that have a response as they are.
    """

    chat: Chat
    sampling: Sampling
    about: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    row_offset: int = 0
    passes: bool = False

    async def answer(self, record: Record) -> Outcome:
        """The record with its answers. One that lacks any of them has failed: no sample is
        missing in silence. What the journal holds of it is not asked again at the next try."""
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
        except ValueError as e:  # what no record can hold, from the model
            return Failed(row, record.id, "malformed", f"the answer is no record: {reason(e)}")

    async def _answer(self, record: Record, row: int) -> Answered:
        s = self.sampling
        if s.response == "given" and isinstance(record, Unanswered):
            raise RowProblem("is missing, and --response given asks for it", "response")
        messages = messages_of(record.prompt, s.system)
        first = int(s.response == "first")  # draws that are not samples
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
        """Draw on until the decision stands; None where nothing could be decided."""
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
    """The outcome of every row, in the order of ``rows``, ``window`` prompts at a time.

    At most about 256 MB of answers wait for their turn. Rows are read in a thread.

    Raises:
        LlmError: the budget does not allow the next call; or the endpoint has failed so many
            prompts in a row that it must be out of order. These prompts have no outcome, so that
            a later run asks them again.
    """
    loop = asyncio.get_running_loop()
    flying: deque[asyncio.Task[Outcome]] = deque()
    pending: deque[Record | RowError] = deque()
    waiting: list[Outcome] = []  # since the endpoint last answered
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
                        "the next run asks them again",
                    )
                continue
            if isinstance(outcome, (RowError, Record)) and waiting and len(waiting) < window:
                waiting.append(outcome)  # says nothing of the endpoint
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
    return list(itertools.islice(rows, _READ))
