"""What is done to a run's records after they are scored: other answers are scored, and compared.

A step makes further records of those of a run, has them scored by the same scorers in a run
directory within the run's own, and tells of each record what came of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from veridical.core.records import Record, Sample, TokenLogprob

if TYPE_CHECKING:
    from veridical.core.messages import ChatRequest, LlmError, Reply
    from veridical.core.scores import Repair, Result, Selected
    from veridical.engine.results import RunResults
    from veridical.engine.run import Input
    from veridical.llm.payments import Account
    from veridical.llm.service import LlmService

#: What a record's meta has that belongs to its response alone: claims that came with it.
_OF_RESPONSE = ("claims",)


class Outcome(NamedTuple):
    """What came of a record: the ``entry`` for its result line, and the line of the answer that
    ``entry`` is about; None where that was not scored."""

    row: int
    entry: Selected | Repair
    line: bytes | None


@dataclass(frozen=True)
class Asking:
    """The run's LLM, for a step's reading thread: never call it on the engine's loop, where
    ``submit`` runs a coroutine."""

    submit: Callable[[Coroutine[Any, Any, Any]], Future[Any]]
    service: LlmService
    account: Account

    def __call__(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        """One reply or error a request, in order."""
        replies: list[Reply | LlmError] = self.submit(
            self.service.chat_each(requests, self.account)
        ).result()
        return replies

    def reject(self, request: ChatRequest) -> None:
        """Note that the reply could not be used: ``--retry-failed`` asks for another."""
        self.submit(self.service.reject(request, self.account)).result()


class Answers(Protocol):
    """The answers that a step works on, one for each result of a run, in its order: the run's
    responses (:class:`~veridical.engine.results.RunResults`), or what another step made of them."""

    def pairs(self) -> Iterator[tuple[Record, Result]]:
        """Answers as records under their rows in the run, each with what it scored."""
        ...

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """Row in the run, and result line."""
        ...

    def fraction(self) -> float | None:
        """How much of the run's input the latest reading has passed."""
        ...


class Step(Protocol):
    """One such step.

    Attributes:
        key: the field of the result line that it fills.
        doing: what a progress line says.
        asks: whether it needs an LLM.
    """

    @property
    def key(self) -> str: ...
    @property
    def doing(self) -> str: ...
    @property
    def asks(self) -> bool: ...

    def identity(self) -> Mapping[str, Any]:
        """What its records depend on, besides the run."""
        ...

    def source(self, results: RunResults, folder: Path, asking: Asking | None) -> Input:
        """The further records. Files it needs go into ``folder``."""
        ...

    def outcomes(self, results: RunResults, folder: Path) -> Iterator[Outcome]:
        """Outcomes, one for each result of the run, in its order."""
        ...


def folder_of(run: Path, step: Step) -> Path:
    """A step's folder in that of the run: another way of doing it has another."""
    text = json.dumps(dict(step.identity()), sort_keys=True)
    return run / f"{step.key}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


def with_answer(
    record: Record,
    response: str,
    *,
    row: int,
    id: str | int | None,
    samples: tuple[Sample, ...],
    logprobs: tuple[TokenLogprob, ...] | None = None,
) -> Record:
    """``record`` with another response. Labels, sentence places and claims of the old one are
    not its own, so they are left out. A new object: cached sentences are not taken along."""
    return Record(
        row=row,
        id=id,
        prompt=record.prompt,
        response=response,
        samples=samples,
        contexts=record.contexts,
        reference=record.reference,
        logprobs=logprobs,
        meta={k: v for k, v in record.meta.items() if k not in _OF_RESPONSE},
    )
