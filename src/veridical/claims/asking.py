"""What extractors and checkers by a language model ask with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.core.messages import ChatRequest
from veridical.core.prompt_text import question_text
from veridical.llm.asking import BARE
from veridical.llm.verdicts import ALTERNATIVES

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.prompts import Prompt


def question_of(record: Record) -> str | None:
    """The record's prompt as text; None where it has none, or a blank one."""
    text = question_text(record.prompt)
    return text if text.strip() else None


def verdicts_request(
    prompt: Prompt, parts: dict[str, Any], schema: dict[str, Any], count: int
) -> ChatRequest:
    """The call for ``count`` verdicts of the form ``schema``, with token probabilities where the
    server can."""
    return ChatRequest(
        prompt.messages(**parts),
        max_tokens=BARE + 32 * count,
        logprobs=ALTERNATIVES,
        schema=schema,
    )
