"""Messages as literal text, for models that read rather than answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from veridical.core.prompt_text import images, message_text, prompt_text
from veridical.errors import ModelError


def text_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """``messages`` with the text of each as its content.

    Raises:
        ModelError: one of them holds an image.
    """
    if images(messages):
        raise ModelError("a language model that reads texts cannot be shown images")
    return [{"role": str(m["role"]), "content": message_text(m["content"])} for m in messages]


def plain_prompt(messages: Sequence[dict[str, Any]]) -> str:
    """The text of ``messages`` and a blank line: what stands before an answer where there is no
    chat template.

    Raises:
        ModelError: one of them holds an image.
    """
    text = prompt_text(text_messages(messages))
    return f"{text}\n\n" if text else ""


def template_prompt(
    template: str, messages: Sequence[dict[str, Any]], marks: Mapping[str, str]
) -> str:
    """What a chat template makes of ``messages``, up to where an answer begins.

    Templates come with models and are not trusted: they run in Jinja's sandbox, with what
    transformers lets them use.

    Args:
        marks: tokens that a template may name, such as ``bos_token``.

    Raises:
        ModelError: one of the messages holds an image, or the template fails.
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
    except Exception as e:  # templates raise whatever they like
        reason = " ".join(str(e).split())
        raise ModelError(f"its chat template fails: {reason or type(e).__name__}") from e


def _as_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise ModelError(message)
