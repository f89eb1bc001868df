"""Questions that an LLM generates about a text."""

from __future__ import annotations

from typing import Any

from veridical.core.messages import ChatRequest, Reply
from veridical.llm.structured import read_json
from veridical.prompts import load_prompt

_TOKENS_PER_QUESTION = 64
_MAX_QUESTION_CHARACTERS = 500
_MAX_QUESTIONS_PER_REPLY = 100


def questions_request(template: str, count: int, **parts: Any) -> ChatRequest:
    """Build the request for ``count`` questions from a template with ``count`` and ``parts``."""
    messages = load_prompt(template).messages(count=str(count), **parts)
    return ChatRequest(
        messages, max_tokens=64 + _TOKENS_PER_QUESTION * count, schema=_schema(count, count)
    )


def questions_in(reply: Reply, count: int) -> list[str]:
    """Parse up to ``count`` distinct questions from a reply.

    Blank questions and those of over 500 characters are dropped.

    Raises:
        LlmError: the reply is cut, refused, or not the requested JSON.
    """
    rows = read_json(reply.whole(), _schema(0, _MAX_QUESTIONS_PER_REPLY))["questions"]
    texts = dict.fromkeys(" ".join(row.split()) for row in rows)
    usable = (t for t in texts if len(t) <= _MAX_QUESTION_CHARACTERS and any(map(str.isalnum, t)))
    return list(usable)[:count]


def _schema(least: int, most: int) -> dict[str, Any]:
    questions = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": least,
        "maxItems": most,
    }
    return {
        "type": "object",
        "properties": {"questions": questions},
        "required": ["questions"],
        "additionalProperties": False,
    }
