"""What every grader gives: how right a response is, and why."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from veridical.core.messages import ChatRequest, Reply

if TYPE_CHECKING:
    from veridical.core.records import Record

#: How a grader reaches a language model: replies in the order of the requests.
Chat = Callable[[Sequence[ChatRequest]], Awaitable[list[Reply]]]


@dataclass(frozen=True, slots=True)
class Grade:
    """How right a response is.

    Attributes:
        correct: 1 right .. 0 wrong; None where the grader cannot tell.
        reason: what it went by, for people.
    """

    correct: float | None
    reason: str

    @property
    def label(self) -> float | None:
        """The label that records carry: 0 right .. 1 hallucinated."""
        return None if self.correct is None else 1.0 - self.correct


class Grader(Protocol):
    """Judges the response of a record by its ``reference``.

    Attributes:
        name: text that :func:`veridical.tuning.graders.load_grader` reads back to this grader.
        rule: one sentence on what counts as right, for tables and reports.
        needs_llm: whether it asks a language model.
    """

    rule: ClassVar[str]
    needs_llm: ClassVar[bool]

    @property
    def name(self) -> str: ...

    async def grade(self, record: Record, chat: Chat | None = None) -> Grade:
        """The grade of ``record.response``; a blank response is wrong.

        Raises:
            UsageError: it needs a language model and has none.
            LlmError: the model's call failed.
        """
        ...


def by_rule(record: Record) -> Grade | None:
    """What holds for every grader: no gold answer, no grade; no answer, no mark."""
    if not any(gold.strip() for gold in record.reference):
        return Grade(None, "the record has no reference to grade by")
    if not record.response.strip():
        return Grade(0.0, "the response is empty")
    return None


def quoted(text: str) -> str:
    """A short piece of foreign text for a reason, on one line."""
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else line[:59] + "…")
