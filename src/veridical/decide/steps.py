"""Steps after scoring, which score and compare further answers.

A step derives further records from those of a run and has them scored by the same scorers, in a
nested run directory. It reports an outcome for each record.
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
    from veridical.llm.cost_accounting import Account
    from veridical.llm.service import LlmService

#: Entries of a record's meta that belong to its response alone: claims supplied with it.
_OF_RESPONSE = ("claims",)


class Outcome(NamedTuple):
    """Outcome of a step for a record.

    It has the ``entry`` of the record's result line, and the result line of the answer in
    ``entry``; None if that was not scored.
    """

    row: int
    entry: Selected | Repair
    line: bytes | None


@dataclass(frozen=True)
class Asking:
    """The run's LLM for a step's reading thread. Never call it on the engine's loop, where
    ``submit`` runs a coroutine."""

    submit: Callable[[Coroutine[Any, Any, Any]], Future[Any]]
    service: LlmService
    account: Account

    def __call__(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        """Return one reply or error per request, in order."""
        replies: list[Reply | LlmError] = self.submit(
            self.service.chat_each(requests, self.account)
        ).result()
        return replies

    def reject(self, request: ChatRequest) -> None:
        """Mark the reply as unusable: ``--retry-failed`` requests another one."""
        self.submit(self.service.reject(request, self.account)).result()


class Answers(Protocol):
    """The answers that a step works on, one per result of a run, in order.

    They are the run's responses (:class:`~veridical.engine.results.RunResults`), or the output of
    another step.
    """

    def pairs(self) -> Iterator[tuple[Record, Result]]:
        """Yield answers as records under their rows in the run, each with its result."""
        ...

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """Yield row in the run, and result line."""
        ...

    def fraction(self) -> float | None:
        """Return the share of the run's input read in the latest pass."""
        ...


class Step(Protocol):
    """A step after scoring.

    Attributes:
        key: the field of the result line that it fills.
        doing: text of the progress line.
        asks: True if it needs an LLM.
    """

    @property
    def key(self) -> str: ...
    @property
    def doing(self) -> str: ...
    @property
    def asks(self) -> bool: ...

    def identity(self) -> Mapping[str, Any]:
        """Return everything on which its records depend, except the run."""
        ...

    def source(self, results: RunResults, folder: Path, asking: Asking | None) -> Input:
        """Return the further records. Required files go into ``folder``."""
        ...

    def outcomes(self, results: RunResults, folder: Path) -> Iterator[Outcome]:
        """Yield outcomes, one for each result of the run, in order."""
        ...


def folder_of(run: Path, step: Step) -> Path:
    """Return a step's folder in that of the run; it depends on the step's identity."""
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
    """Return ``record`` with another response, without labels, sentence offsets and claims of the
    old one. It is a new object, without cached sentences."""
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
