"""A language model that says whether a response is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from veridical.errors import NotApplicable, UsageError
from veridical.evaluate.graders.grade import Chat, Grade, by_rule
from veridical.llm.messages import LlmError
from veridical.llm.prompts import Prompt, load_prompt
from veridical.llm.verdicts import read_verdict
from veridical.scorers.judges.asking import parts_of, request

if TYPE_CHECKING:
    from veridical.records import Record

#: The template of the package.
TEMPLATE = "grade_answer"


@dataclass(frozen=True)
class LlmGrader:
    """Yes or no by a prompt template that is shown question, gold answers and response.

    Where the server gives token probabilities the grade is the probability of yes, else 1 or 0.
    A reply without a clear yes or no is no grade: never a no.
    """

    name: str
    prompt: Prompt
    rule: ClassVar[str] = "a language model says that the response agrees with a gold answer"
    needs_llm: ClassVar[bool] = True

    @classmethod
    def of(cls, template: str) -> LlmGrader:
        """By a template of the package, or a TOML file.

        Raises:
            UsageError: it cannot be read, asks for no verdict, or is not shown what it takes.
        """
        prompt = load_prompt(template)
        if prompt.scale is None or not {"answer", "reference"} <= prompt.parts:
            raise UsageError(
                f"prompt {template} cannot grade: it needs a verdict, and places for {{answer}} "
                "and {reference}"
            )
        return cls("llm" if template == TEMPLATE else f"llm:{template}", prompt)

    async def grade(self, record: Record, chat: Chat | None = None) -> Grade:
        """See :class:`veridical.evaluate.graders.Grader`."""
        settled = by_rule(record)
        if settled is not None:
            return settled
        if chat is None:
            raise UsageError(f"the grader {self.name} needs a language model (--llm NAME)")
        try:
            asked = request(self.prompt, parts_of(record, self.prompt), record)
        except NotApplicable as e:
            return Grade(None, str(e))
        (reply,) = await chat([asked])
        try:
            verdict = read_verdict(reply, self.prompt)
        except LlmError as e:
            return Grade(None, f"{e}: {e.text!r:.200}")
        return Grade(1.0 - verdict.risk, f"says {verdict.answer} (by {verdict.how})")
