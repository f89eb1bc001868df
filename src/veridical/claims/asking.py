"""LLM requests shared by extractors and checkers."""

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
    """Return the record's prompt as text; None if it is missing or blank."""
    text = question_text(record.prompt)
    return text if text.strip() else None


def verdicts_request(
    prompt: Prompt, parts: dict[str, Any], schema: dict[str, Any], count: int
) -> ChatRequest:
    """Build the request for ``count`` verdicts of form ``schema``.

    It asks for token probabilities if the server supports them.
    """
    return ChatRequest(
        prompt.messages(**parts),
        max_tokens=BARE + 32 * count,
        logprobs=ALTERNATIVES,
        schema=schema,
    )
