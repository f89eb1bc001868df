"""What is done to a run's records after they are scored: other answers are scored, and compared.

A step makes further records of those of a run, has them scored by the same scorers in a run
directory within the run's own, and tells of each record what came of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from veridical.records import Record, Sample, TokenLogprob

if TYPE_CHECKING:
    from veridical.engine import Engine
    from veridical.llm.messages import ChatRequest, LlmError, Reply
    from veridical.llm.service import Account
    from veridical.results import Results
    from veridical.run import Input
    from veridical.scores import Repair, Selected

#: What a record's meta has that belongs to its response alone: claims that came with it.
_OF_RESPONSE = ("claims",)


class Outcome(NamedTuple):
    """What came of a record: ``told`` for its result line, and the line of the answer that
    ``told`` is about; None where that was not scored."""

    row: int
    told: Selected | Repair
    line: bytes | None


@dataclass(frozen=True)
class Asking:
    """The run's LLM, for a step's reading thread: never call it on the engine's loop."""

    engine: Engine
    account: Account

    def __call__(self, requests: Sequence[ChatRequest]) -> list[Reply | LlmError]:
        """One reply or error a request, in order."""
        calls = self.engine.llms.service().chat_each(requests, self.account)
        return self.engine.submit(calls).result()

    def reject(self, request: ChatRequest) -> None:
        """Its reply could not be used: ``--retry-failed`` asks for another."""
        self.engine.submit(self.engine.llms.service().reject(request, self.account)).result()


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

    def source(self, results: Results, folder: Path, asking: Asking | None) -> Input:
        """The further records. Files it needs go into ``folder``."""
        ...

    def outcomes(self, results: Results, folder: Path) -> Iterator[Outcome]:
        """One for each result of the run, in its order."""
        ...


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
