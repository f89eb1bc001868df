"""A chat model as NLI model: ``--nli llm:NAME``."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

import numpy as np

from veridical.errors import UsageError
from veridical.evidence.verdicts import Verdicts
from veridical.llm.messages import ChatRequest, LlmError, Reply
from veridical.llm.prompts import load_prompt
from veridical.llm.verdicts import ALTERNATIVES, read_verdict
from veridical.models.protocols import LABELS

Chat = Callable[[Sequence[ChatRequest]], Awaitable[list[Reply]]]

_PREFIX = "llm"
_TOKENS = 64  # of an answer
_ROUNDED = 6  # decimals, before anything is compared with a threshold


class LlmNli:
    """Asks a chat model for the class of each pair.

    Where the server gives token probabilities, those of the classes' words, normalised, are the
    probabilities; otherwise the class that was answered has all of it. Premises are neither
    windowed nor cut: the server says what is too long for it.

    Args:
        llm: the endpoint asked; None for the run's own.
        classes: 3, or 2 to ask only whether the hypothesis follows: the rest then stands as
            neutral.

    Attributes:
        revision: 16 hexadecimal digits over the prompt. The model's identity is the endpoint's.
    """

    scripts: ClassVar[frozenset[str] | None] = None

    def __init__(self, llm: str | None = None, classes: int = 3) -> None:
        if classes not in (2, 3):
            raise UsageError(f"an LLM judges pairs in 2 or 3 classes, not {classes}")
        self.llm = llm
        self.contradicts = classes == 3
        self._prompt = load_prompt("nli" if self.contradicts else "nli_binary")
        self.name = f"{_PREFIX}:{llm}" if llm else _PREFIX
        identity = self._prompt.identity.encode()
        self.revision = hashlib.blake2b(identity, digest_size=8).hexdigest()

    @classmethod
    def from_spec(cls, spec: str) -> LlmNli:
        """
        Raises:
            UsageError: ``spec`` is not of the form ``llm[:NAME][?classes=2]``.
        """
        name, found, classes = spec.removeprefix(_PREFIX).removeprefix(":").rpartition("?classes=")
        if not found:
            if classes.startswith("?"):
                raise UsageError(f"{spec!r}: an LLM has no option but classes=2 or classes=3")
            return cls(classes or None)
        if classes not in ("2", "3"):
            raise UsageError(f"{spec!r}: classes must be 2 or 3")
        return cls(name or None, int(classes))

    async def judge(self, pairs: Sequence[tuple[str, str]], chat: Chat) -> Verdicts:
        """Verdicts on (premise, hypothesis) pairs, in order. Each distinct pair is asked about
        once, one of equal texts not at all: a text entails itself.

        Args:
            chat: makes the calls.

        Raises:
            LlmError: a call brought no answer, or one that names no class (its ``text`` is what
                was said). Nothing stands in its place.
        """
        asked = list(dict.fromkeys(p for p in pairs if p[0] != p[1]))
        schema = self._prompt.schema()
        requests = [
            ChatRequest(
                self._prompt.messages(premise=premise, hypothesis=hypothesis),
                max_tokens=_TOKENS,
                logprobs=ALTERNATIVES,
                schema=schema,
            )
            for premise, hypothesis in asked
        ]
        known = {}
        for pair, reply in zip(asked, await chat(requests) if requests else [], strict=True):
            known[pair] = self._row(reply)
        itself = [1.0, 0.0, 0.0]
        table = np.array([known.get((p, h), itself) for p, h in pairs], np.float64)
        return Verdicts(table.reshape(len(pairs), len(LABELS)).round(_ROUNDED), self.contradicts)

    def _row(self, reply: Reply) -> list[float]:
        """Probabilities in the order of LABELS."""
        verdict = read_verdict(reply, self._prompt)
        shares = verdict.probabilities or {verdict.answer: 1.0}
        if not self.contradicts:
            shares = {"entailment": shares.get("Yes", 0.0), "neutral": shares.get("No", 0.0)}
        row = [shares.get(label, 0.0) for label in LABELS]
        if not np.isfinite(row).all() or abs(sum(row) - 1) > 1e-6:
            raise LlmError("malformed", "the classes' probabilities are unusable", text=reply.text)
        return row
