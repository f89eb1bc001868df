"""What extractors and checkers by a language model ask with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.llm.messages import ChatRequest
from veridical.scorers.judges.asking import question_text

if TYPE_CHECKING:
    from veridical.llm.prompts import Prompt
    from veridical.records import Record

_ALTERNATIVES = 20  # asked for at each token: the most that common servers give
_VERDICT = 256  # tokens of one: a model that does not keep to the form has room to say so
_EXPLAINED = 1024  # of one after its reasons


def question_of(record: Record) -> str | None:
    """The record's prompt as text; None where it has none, or a blank one."""
    text = "" if record.prompt is None else question_text(record.prompt)
    return text if text.strip() else None


def identity(prompt: Prompt) -> str:
    """``name@version``, as results report a template."""
    return f"{prompt.name}@{prompt.version}"


def verdict_request(prompt: Prompt, parts: dict[str, Any]) -> ChatRequest:
    """The call for one verdict, as JSON and with token probabilities where the server can."""
    return ChatRequest(
        prompt.messages(as_json=True, **parts),
        max_tokens=_EXPLAINED if prompt.explains else _VERDICT,
        logprobs=_ALTERNATIVES,
        schema=prompt.schema(),
    )


def verdicts_request(
    prompt: Prompt, parts: dict[str, Any], schema: dict[str, Any], count: int
) -> ChatRequest:
    """The call for ``count`` verdicts of the form ``schema``, with token probabilities where the
    server can."""
    return ChatRequest(
        prompt.messages(**parts),
        max_tokens=_VERDICT + 32 * count,
        logprobs=_ALTERNATIVES,
        schema=schema,
    )
