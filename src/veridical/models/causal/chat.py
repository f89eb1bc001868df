"""Chat messages as literal text, for models that score text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from veridical.core.prompt_text import images, message_text, prompt_text
from veridical.errors import ModelError


def text_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return ``messages`` with the text of each as its content.

    Raises:
        ModelError: a message has an image.
    """
    if images(messages):
        raise ModelError("the language model reads texts only; remove the images")
    return [{"role": str(m["role"]), "content": message_text(m["content"])} for m in messages]


def plain_prompt(messages: Sequence[dict[str, Any]]) -> str:
    """Join the text of ``messages``, followed by a blank line.

    It precedes the answer if there is no chat template.

    Raises:
        ModelError: a message has an image.
    """
    text = prompt_text(text_messages(messages))
    return f"{text}\n\n" if text else ""


def template_prompt(
    template: str, messages: Sequence[dict[str, Any]], marks: Mapping[str, str]
) -> str:
    """Render ``messages`` by a chat template, up to the beginning of an answer.

    Templates come with models and are not trusted: they run in Jinja's sandbox, with the functions
    that transformers provides.

    Args:
        marks: tokens that a template may name, such as ``bos_token``.

    Raises:
        ModelError: a message has an image, or the template fails.
    """
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    texts = text_messages(messages)
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _as_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    try:
        made = environment.from_string(template)
        return made.render(messages=texts, add_generation_prompt=True, **marks)
    except Exception as e:  # templates may raise any error
        reason = " ".join(str(e).split())
        raise ModelError(f"its chat template fails: {reason or type(e).__name__}") from e


def _as_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise ModelError(message)
