"""Messages as literal text, for models that read rather than answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from veridical.errors import ModelError


def text_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """``messages`` with the texts of their parts run together.

    Raises:
        ModelError: one of them holds an image.
    """
    return [{"role": str(m["role"]), "content": _text(m["content"])} for m in messages]


def plain_prompt(messages: Sequence[dict[str, Any]]) -> str:
    """The texts of ``messages``, with blank lines between and after them: what stands before an
    answer where there is no chat template.

    Raises:
        ModelError: one of them holds an image.
    """
    return "".join(f"{m['content']}\n\n" for m in text_messages(messages))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if any(part.get("type") != "text" for part in content):
        raise ModelError("a language model that reads texts cannot be shown images")
    return "".join(part["text"] for part in content)
