"""Judging of answers' sentences by the guard's warm engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from veridical.core.records import Record
from veridical.core.scores import Decision, Result
from veridical.core.verdict_cuts import Verdict
from veridical.engine.run import Task
from veridical.io.columns import Columns
from veridical.io.problems import RowProblem
from veridical.serve.timeouts import with_timeout
from veridical.text.spans import Span

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer
    from veridical.core.verdict_cuts import Strictness
    from veridical.decide.policy import Policy
    from veridical.engine.engine import Engine

Status = Literal["checked", "unchecked", "failed"]
OnError = Literal["closed", "open"]

_log = logging.getLogger("veridical.guard")


@dataclass(frozen=True)
class Finding:
    """Finding about a piece of an answer: a sentence with the white space before it.

    Attributes:
        piece: the text, as received.
        decision: the policy's; ``reject`` for a failure if errors are closed.
        status: ``unchecked`` if nothing judged it, ``failed`` if judging failed.
    """

    piece: str
    decision: Decision
    verdict: Verdict
    risk: float | None
    reason: str | None
    status: Status
    why: tuple[str, ...] = ()
    result: Result | None = field(default=None, repr=False)
    record: Record | None = field(default=None, repr=False)

    @property
    def rejected(self) -> bool:
        return self.decision == "reject"


@dataclass(frozen=True)
class SentenceChecker:
    """Judge with fixed scorers and a policy, on an engine that stays warm.

    Attributes:
        on_error: treatment of a sentence that could not be judged: ``closed`` rejects it.
        strictness: operating point of the verdicts; None is the policy's, or balanced.
        deadline: seconds per sentence; a later judgement counts as a failure.
    """

    engine: Engine
    scorers: Sequence[BoundScorer]
    policy: Policy
    on_error: OnError = "closed"
    strictness: Strictness | None = None
    deadline: float = 60.0

    @property
    def task(self) -> Task:
        """Return the task that scores sentences."""
        return Task(self.scorers, self.strictness or self.policy.strictness or "balanced")

    @property
    def wants_samples(self) -> bool:
        """Return True if a scorer of the policy compares with samples."""
        return any("samples" in s.needs for s in self._named)

    @property
    def wants_logprobs(self) -> bool:
        """Return True if a scorer of the policy reads log-probabilities of the answer."""
        return any("logprobs" in s.needs for s in self._named)

    @property
    def _named(self) -> list[BoundScorer]:
        keys = {rule.scorer for rule in self.policy.rules} | {self.policy.on}
        return [s for s in self.scorers if s.key in keys]

    async def line(self, record: Record) -> bytes:
        """Return the result line of a record.

        Raises:
            VeridicalError: a model failed.
        """
        return await asyncio.wrap_future(
            self.engine.submit(self.engine.score_one(record, self.task))
        )

    async def find(self, piece: str, record: Record) -> Finding:
        """Judge a piece by its record; failures are returned as findings, not raised."""
        try:
            line = await with_timeout(self.line(record), self.deadline)
            result = Result.model_validate_json(line)
        except TimeoutError:
            _log.warning("a sentence was not judged within %g s", self.deadline)
            return self.failed(piece, f"not judged within {self.deadline:g} s")
        except Exception as e:  # any exception of a model or a library
            _log.exception("a sentence could not be judged")
            return self.failed(piece, f"{type(e).__name__}")
        if result.risk is None and result.reason == "failed":
            return self.failed(piece, "scoring failed")
        decided = self.policy.decide(result, self.policy.stratum(record))
        decision, why = decided
        status: Status = "unchecked" if result.verdict == "unchecked" else "checked"
        if result.reason == "no_statement":  # it makes no claim that could be wrong
            decision, why = "review", ("no statement",)
        return Finding(
            piece,
            decision,
            result.verdict,
            result.risk,
            result.reason,
            status,
            why,
            result,
            record,
        )

    def failed(self, piece: str, why: str) -> Finding:
        """Return the finding of a piece that could not be judged."""
        decision: Decision = "reject" if self.on_error == "closed" else "review"
        return Finding(piece, decision, "unchecked", None, "failed", "failed", (why,))


class Judge:
    """Judge of the pieces of the answers to one request.

    Args:
        contexts: the evidence, in a record's format.
        prompt: the request's, in a record's format.
        samples: the texts of other answers, when available; None: no samples are requested.
        whole: keep the white space before a sentence, which log-probabilities include too.
    """

    def __init__(
        self,
        checker: SentenceChecker,
        contexts: Sequence[dict[str, Any]],
        prompt: Any,
        samples: Awaitable[list[str]] | None = None,
        whole: bool = False,
    ) -> None:
        self.checker = checker
        self._fields = {"contexts": list(contexts), "prompt": prompt}
        self._samples = None if samples is None else asyncio.ensure_future(samples)
        self._whole = whole

    async def find(self, piece: str, tokens: Sequence[dict[str, Any]] = ()) -> Finding | None:
        """Return the finding about a piece; None for a blank one."""
        sentence = piece.strip()
        if not sentence:
            return None
        start = piece.index(sentence)
        try:
            if self._whole and tokens:
                span = (start, start + len(sentence))
                record = await self.record(piece, [span], tokens)
            else:
                record = await self.record(sentence, [(0, len(sentence))])
        except RowProblem as e:
            return self.checker.failed(piece, str(e))
        return await self.checker.find(piece, record)

    async def record(
        self,
        response: str,
        sentences: Sequence[tuple[int, int]],
        tokens: Sequence[dict[str, Any]] = (),
        row: int = 0,
        **more: Any,
    ) -> Record:
        """Build a record of this request, answered by ``response``.

        Raises:
            RowProblem: it is not a valid record, for example with a NUL in a text.
        """
        fields = await self.row(response, sentences, tokens)
        return Columns().record({**fields, **more}, row)

    async def row(
        self,
        response: str,
        sentences: Sequence[tuple[int, int]],
        tokens: Sequence[dict[str, Any]] = (),
    ) -> dict[str, Any]:
        """Return the fields of such a record, as a row of JSON."""
        fields: dict[str, Any] = {**self._fields, "response": response}
        fields["sentences"] = [list(s) for s in sentences]
        if self._samples is not None:
            fields["samples"] = await asyncio.shield(self._samples)
        if tokens and "".join(t["token"] for t in tokens) == response:
            fields["logprobs"] = list(tokens)
        return fields

    def close(self) -> None:
        """Cancel the request for samples."""
        if self._samples is not None:
            self._samples.cancel()


def spans_of(pieces: Sequence[str], start: int = 0) -> Iterator[Span]:
    """Yield the sentences of pieces, by their offsets in the joined text."""
    for piece in pieces:
        sentence = piece.strip()
        if sentence:
            at = start + piece.index(sentence)
            yield Span(at, at + len(sentence), sentence)
        start += len(piece)
