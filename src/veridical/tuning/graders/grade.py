"""Interface of graders: correctness of a response, and its reason."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from veridical.core.messages import ChatRequest, Reply

if TYPE_CHECKING:
    from veridical.core.records import Record

#: Function through which a grader calls a language model: replies in the order of the requests.
Chat = Callable[[Sequence[ChatRequest]], Awaitable[list[Reply]]]


@dataclass(frozen=True, slots=True)
class Grade:
    """Correctness of a response.

    Attributes:
        correct: 1 right .. 0 wrong; None if undecided.
        reason: basis of the grade, for humans.
    """

    correct: float | None
    reason: str

    @property
    def label(self) -> float | None:
        """The label of records: 0 right .. 1 hallucinated."""
        return None if self.correct is None else 1.0 - self.correct


class Grader(Protocol):
    """Judge of the response of a record by its ``reference``.

    Attributes:
        name: text that :func:`veridical.tuning.graders.load_grader` reads back to this grader.
        rule: definition of a right response in one sentence, for tables and reports.
        needs_llm: True if it calls a language model.
    """

    rule: ClassVar[str]
    needs_llm: ClassVar[bool]

    @property
    def name(self) -> str: ...

    async def grade(self, record: Record, chat: Chat | None = None) -> Grade:
        """Grade ``record.response``; a blank response is wrong.

        Raises:
            UsageError: it needs a language model and has none of them.
            LlmError: the model's call failed.
        """
        ...


def by_rule(record: Record) -> Grade | None:
    """Apply the rules of every grader: no grade without a gold answer, and a blank response is
    wrong."""
    if not any(gold.strip() for gold in record.reference):
        return Grade(None, "the record has no reference to grade by")
    if not record.response.strip():
        return Grade(0.0, "the response is empty")
    return None


def quoted(text: str) -> str:
    """Quote a short piece of foreign text for a reason, on one line."""
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else line[:59] + "…")
