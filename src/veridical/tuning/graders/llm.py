"""Grader that asks a language model if a response is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from veridical.core.messages import LlmError
from veridical.errors import NotApplicable, UsageError, option_named
from veridical.llm.asking import ask_verdicts, parts_of, request
from veridical.prompts import Prompt, load_prompt
from veridical.tuning.graders.grade import Chat, Grade, by_rule

if TYPE_CHECKING:
    from veridical.core.records import Record

#: Default template.
TEMPLATE = "grade_answer"


@dataclass(frozen=True)
class LlmGrader:
    """Yes or no by a prompt template with question, gold answers and response.

    If the server reports token probabilities, the grade is the probability of yes, else 1 or 0. A
    reply without a clear yes or no, after one repetition, yields no grade rather than a no.
    """

    name: str
    prompt: Prompt
    rule: ClassVar[str] = "a language model says that the response agrees with a gold answer"
    needs_llm: ClassVar[bool] = True

    @classmethod
    def of(cls, template: str) -> LlmGrader:
        """Make a grader with a template of the package, or a TOML file.

        Raises:
            UsageError: it cannot be read, has no verdict, or lacks a required placeholder.
        """
        prompt = load_prompt(template)
        if prompt.scale is None or not {"answer", "reference"} <= prompt.parts:
            raise UsageError(
                f"prompt {template} cannot grade; it requires a verdict, "
                "and the placeholders {answer} and {reference}"
            )
        return cls("llm" if template == TEMPLATE else f"llm:{template}", prompt)

    async def grade(self, record: Record, chat: Chat | None = None) -> Grade:
        """Grade a record; see :class:`veridical.tuning.graders.Grader`."""
        settled = by_rule(record)
        if settled is not None:
            return settled
        if chat is None:
            raise UsageError(
                f"the grader {self.name} requires a language model; "
                f"name one ({option_named('llm', 'NAME')})"
            )
        try:
            question = request(self.prompt, parts_of(record, self.prompt), record)
        except NotApplicable as e:
            return Grade(None, str(e))
        (verdict,) = await ask_verdicts(chat, [question], [self.prompt])
        if isinstance(verdict, LlmError):
            return Grade(None, f"{verdict}: {verdict.text!r:.200}")
        return Grade(1.0 - verdict.risk, f"says {verdict.answer} (by {verdict.how})")
