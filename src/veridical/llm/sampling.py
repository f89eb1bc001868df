"""Sampling: for each prompt a response and n samples besides it, in input order."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from veridical.errors import RowError, UsageError
from veridical.io.problems import RowProblem, reason
from veridical.io.prompts import Unanswered, messages_of
from veridical.llm.answer_lines import answer_line, text_of
from veridical.llm.messages import ChatRequest, LlmError, Reply
from veridical.records import Record

if TYPE_CHECKING:
    from veridical.llm.adaptive import Adaptive, Side
    from veridical.llm.decoding import Decoding

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
        told: dict[str, Any] = {
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
            told["adaptive"] = {"scorer": a.scorer, "threshold": a.threshold, "alpha": a.alpha}
        return told

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
        trouble: class of the problem: an :data:`~veridical.llm.messages.Trouble`, or ``row`` for
            a row that cannot be asked.
    """

    row: int
    id: str | int | None
    trouble: str
    error: str
    possibly_paid: int = 0

    def row_error(self, file: str) -> RowError:
        """As the problem of an input row."""
        return RowError(self.row, file, None, "prompt", f"no answer: {self.error}")


#: A record among them was answered already and passed as it is.
Outcome: TypeAlias = Answered | Failed | RowError | Record


@dataclass
class Progress:
    """How far the sampling is; ``fraction`` of the input read is None where unknown."""

    answered: int = 0
    failed: int = 0
    bad_rows: int = 0
    drawn: int = 0
    saved: int = 0
    fraction: float | None = None

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
        told: put into ``meta.sampling`` of every record: model, run and the like.
        columns: put into ``meta`` of every record, beside what the row had, and ``item`` (the
            record's id) with them, if there are any.
        row_offset: added to the rows' numbers.
        passes: leave records that have a response as they are.
    """

    chat: Chat
    sampling: Sampling
    told: dict[str, Any] = field(default_factory=dict)
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
            return Failed(row, record.id, e.trouble, reason(e), e.possibly_paid)
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
        given = None if s.response == "given" else replies.pop(0)
        text = record.response if given is None else text_of(given)
        decided: dict[str, Any] | None = None
        if s.adaptive is not None:
            side = await self._more(record, text, messages, replies, first)
            decided = {"decision": side, "drawn": len(replies), "most": s.adaptive.most}
        saved = 0 if s.adaptive is None else s.adaptive.most - len(replies)
        told = {"row": row, **self.told, **s.parameters()}
        if decided is not None:
            told["adaptive"] = {**told["adaptive"], **decided}
        columns = {**self.columns, "item": record.id} if self.columns else {}
        line = answer_line(record, given, replies, told, columns)
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
            found = await asyncio.to_thread(adaptive.disagreements, answered, new)
            more = adaptive.most - len(replies)
            side = None
            if found is not None:
                for x in found:
                    race.add(x)
                side = race.decided()
                if side is not None:
                    return side
                more = race.least_more()
            if more:
                start = first + len(replies)
                draws = [self.sampling.draw(messages, start + i) for i in range(more)]
                replies += await self._ask(draws)
            if found is None:
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
    held: list[Outcome] = []  # since the endpoint last answered
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
                held.append(outcome)
                streak += 1
                if streak == _MOST_IN_A_ROW:
                    raise LlmError(
                        "server",
                        f"{streak} prompts in a row failed, the last with: {outcome.error}; "
                        "the next run asks them again",
                    )
                continue
            if isinstance(outcome, (RowError, Record)) and held and len(held) < window:
                held.append(outcome)  # says nothing of the endpoint
                continue
            if isinstance(outcome, Answered):
                size = len(outcome.line) if not size else 0.9 * size + 0.1 * len(outcome.line)
            for earlier in held:
                yield earlier
            held.clear()
            streak = 0
            yield outcome
        for earlier in held:
            yield earlier
    finally:
        for task in flying:
            task.cancel()
        await asyncio.gather(*flying, return_exceptions=True)


def _take(rows: Iterator[Record | RowError]) -> list[Record | RowError]:
    return list(itertools.islice(rows, _READ))
