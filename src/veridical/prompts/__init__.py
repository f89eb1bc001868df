"""Prompt templates: versioned files and the messages they produce.

``load_prompt("correct_incorrect")`` loads a template of the package, ``load_prompt("mine.toml")``
one of yours; ``docs/llm.md`` describes the file.
"""

from __future__ import annotations

from veridical.prompts.prompt import (
    Prompt,
    PromptName,
    Turn,
    load_prompt,
    prompt_identity,
    prompt_names,
)
from veridical.prompts.scales import Choice, Choices, Numbers, Scale

__all__ = [
    "Choice",
    "Choices",
    "Numbers",
    "Prompt",
    "PromptName",
    "Scale",
    "Turn",
    "load_prompt",
    "prompt_identity",
    "prompt_names",
]
