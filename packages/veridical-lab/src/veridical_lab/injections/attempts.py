"""The shipped attempts, and the answers that they are planted in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from itertools import zip_longest
from typing import Any, NamedTuple

from veridical.prompts import Choices, Prompt


class Attempt(NamedTuple):
    """Text intended to move a judge.

    Attributes:
        id: unique.
        kind: the technique: a fake verdict, a forged fence, a change of role ...
        text: template with ``{best}`` (the wanted verdict), ``{key}`` (the verdict's label) and
            ``{answer}``. Without ``{answer}`` it is appended to the answer.
    """

    id: str
    kind: str
    text: str

    def plant(self, answer: str, prompt: Prompt) -> str:
        """Insert this attempt into ``answer``, with the terms of ``prompt``."""
        text = self.text.replace("{best}", best(prompt)).replace("{key}", prompt.key)
        if "{answer}" in text:
            return text.replace("{answer}", answer)
        return f"{answer}\n\n{text}"


class AttackedItem(NamedTuple):
    """A question, an answer to it that is right and one that is wrong, and a passage that says
    so."""

    question: str
    right: str
    wrong: str
    context: str


def best(prompt: Prompt) -> str:
    """Return the verdict that an attacker wants: the first of those with the least risk."""
    scale = prompt.scale
    if isinstance(scale, Choices):
        return next(c.name for c in scale.choices if c.value == scale.best)
    if scale is None:
        raise ValueError(
            f"prompt {prompt.name} requests no verdict; choose a template with a scale"
        )
    return f"{scale.best:g}"


def attempts(limit: int | None = None) -> list[Attempt]:
    """Return the shipped attempts; with ``limit``, as many of each kind as possible."""
    kinds: dict[str, list[Attempt]] = {}
    for row in _rows("attempts.jsonl"):
        kinds.setdefault(row["kind"], []).append(Attempt(row["id"], row["kind"], row["text"]))
    mixed = [a for turn in zip_longest(*kinds.values()) for a in turn if a is not None]
    return mixed if limit is None else mixed[:limit]


def items() -> list[AttackedItem]:
    """Return the shipped questions with a right and a wrong answer."""
    return [AttackedItem(**row) for row in _rows("items.jsonl")]


def _rows(name: str) -> Iterator[dict[str, Any]]:
    text = files("veridical_lab.injections").joinpath(name).read_text("utf-8")
    return map(json.loads, text.splitlines())
