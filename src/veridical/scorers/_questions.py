"""Questions that an LLM writes about a text."""

from __future__ import annotations

from typing import Any

from veridical.core.messages import ChatRequest, Reply
from veridical.llm.structured import read_json
from veridical.prompts import load_prompt

_TOKENS = 64  # of a question
_LONGEST = 500  # characters of one
_MOST = 100  # that a reply may have


def questions_request(template: str, count: int, **parts: Any) -> ChatRequest:
    """The call for ``count`` questions, by a template with places for ``count`` and ``parts``."""
    messages = load_prompt(template).messages(count=str(count), **parts)
    return ChatRequest(messages, max_tokens=64 + _TOKENS * count, schema=_schema(count, count))


def questions_in(reply: Reply, count: int) -> list[str]:
    """The questions of a reply, at most ``count``, each once; what is blank or has over 500
    characters is none.

    Raises:
        LlmError: it is cut, refused, or not the JSON asked for.
    """
    rows = read_json(reply.whole(), _schema(0, _MOST))["questions"]
    texts = dict.fromkeys(" ".join(row.split()) for row in rows)
    usable = (t for t in texts if len(t) <= _LONGEST and any(map(str.isalnum, t)))
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
