"""Plain text of prompts and chat messages; the only conversion.

The text of a message is the texts of its parts, one line each. The texts of several messages are
separate paragraphs; messages without text are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def message_text(content: Any) -> str:
    """Return the text of a message's ``content``, a string or a list of parts. Parts without text,
    such as images, are left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def prompt_text(prompt: str | Sequence[dict[str, Any]] | None, between: str = "\n\n") -> str:
    """Return a prompt's text, with ``between`` separating its messages."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return between.join(filter(None, (message_text(m.get("content")) for m in prompt)))


def last_question(prompt: str | Sequence[dict[str, Any]] | None) -> str:
    """Return the last question of a prompt: its text, or the last text of the user's messages."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    contents = (m.get("content") for m in reversed(prompt) if m.get("role") == "user")
    of_user = (message_text(_asked(content)) for content in contents)
    return next((text for text in of_user if text.strip()), "")


def qualified(part: Any) -> tuple[str, str] | None:
    """Return the qualifier and the text of a part for contextual grounding, of LiteLLM
    (``{"type": "query", "text": ...}``) or Bedrock (``{"guardContent": {"text": {"text": ...,
    "qualifiers": ["query"]}}}``); None for any other part."""
    if not isinstance(part, dict):
        return None
    guarded = part.get("guardContent")
    inner = guarded.get("text") if isinstance(guarded, dict) else None
    holder = inner if isinstance(inner, dict) else part
    names = holder.get("qualifiers") if holder is inner else [part.get("type")]
    text = holder.get("text")
    if not isinstance(text, str) or not isinstance(names, list):
        return None
    found = next((name for name in ("grounding_source", "query") if name in names), None)
    if found is None and holder is inner:
        found = "guard_content"
    return None if found is None else (found, text)


def _asked(content: Any) -> Any:
    """Return a content without grounding sources; only its queries if it has some."""
    if not isinstance(content, list):
        return content
    said = [(qualified(part), part) for part in content]
    queries = [found[1] for found, _ in said if found is not None and found[0] == "query"]
    if queries:
        return "\n".join(queries)
    return [
        part if found is None else found[1]
        for found, part in said
        if found is None or found[0] != "grounding_source"
    ]


def question_text(prompt: str | Sequence[dict[str, Any]] | None) -> str:
    """Return a prompt as shown to a judge. For several messages, or one that is not the user's,
    each text follows its role, and each image is ``[image 1]``."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    count = 0
    paragraphs = []
    for message in prompt:
        content = message.get("content")
        parts: list[Any] = []
        for part in content if isinstance(content, list) else [content]:
            if is_image(part):
                count += 1
                part = f"[image {count}]"
            parts.append(part)
        paragraphs.append(message_text(parts))
    if len(prompt) == 1 and prompt[0].get("role") == "user":
        return paragraphs[0]
    pairs = zip(prompt, paragraphs, strict=True)
    return "\n\n".join(f"{message.get('role')}: {text}" for message, text in pairs)


def images(prompt: str | Sequence[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Return the image parts of a prompt, in order."""
    if prompt is None or isinstance(prompt, str):
        return []
    contents = (message.get("content") for message in prompt)
    return [part for c in contents if isinstance(c, list) for part in c if is_image(part)]


def is_image(part: Any) -> bool:
    """Return True if a part of a message is an image."""
    return isinstance(part, dict) and part.get("type") == "image_url"
