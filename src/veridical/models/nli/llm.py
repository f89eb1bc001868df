"""A chat model as NLI model: ``--nli llm:NAME``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from veridical.core.messages import ChatRequest, LlmError
from veridical.core.model_names import ModelName
from veridical.core.protocols import LABELS
from veridical.core.verdicts import Verdicts
from veridical.errors import UsageError
from veridical.llm.asking import Chat, ask_all, request
from veridical.llm.verdicts import ALTERNATIVES, JudgeVerdict
from veridical.models.folder import digest_of
from veridical.prompts import load_prompt

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

    languages: ClassVar[frozenset[str] | None] = None

    def __init__(self, llm: str | None = None, classes: int = 3) -> None:
        if classes not in (2, 3):
            raise UsageError(f"an LLM judges pairs in 2 or 3 classes, not {classes}")
        self.llm = llm
        self.contradicts = classes == 3
        self._prompt = load_prompt("nli" if self.contradicts else "nli_binary")
        self.name = f"{_PREFIX}:{llm}" if llm else _PREFIX
        self.revision = digest_of(self._prompt.identity.encode())

    @classmethod
    def from_name(cls, name: ModelName) -> LlmNli:
        """
        Raises:
            UsageError: ``name`` is not of the form ``llm[:NAME][?classes=2]``.
        """
        if name.query is None and not name.place.startswith("?"):
            return cls(name.place or None)
        if list(name.options) != ["classes"]:
            raise UsageError(f"{str(name)!r}: an LLM has no option but classes=2 or classes=3")
        if name.options["classes"] not in ("2", "3"):
            raise UsageError(f"{str(name)!r}: classes must be 2 or 3")
        return cls(name.place or None, int(name.options["classes"]))

    async def judge(
        self, pairs: Sequence[tuple[str, str]], chat: Chat, *, by_token: bool = False
    ) -> Verdicts:
        """Verdicts on (premise, hypothesis) pairs, in order. Each distinct pair is asked about
        once, one of equal texts not at all: a text entails itself.

        Args:
            chat: makes the calls.
            by_token: the server surely tells the probabilities of tokens: no more of an answer is
                asked for than the first.

        Raises:
            LlmError: a call brought no answer, or one that names no class (its ``text`` is what
                was said). Nothing stands in its place.
        """
        distinct = list(dict.fromkeys(p for p in pairs if p[0] != p[1]))
        requests = [self._request(*pair, by_token) for pair in distinct]
        verdicts = await ask_all(chat, requests, [self._prompt] * len(requests))
        known = {pair: self._row(v) for pair, v in zip(distinct, verdicts, strict=True)}
        itself = [1.0, 0.0, 0.0]
        table = np.array([known.get((p, h), itself) for p, h in pairs], np.float64)
        return Verdicts(table.reshape(len(pairs), len(LABELS)).round(_ROUNDED), self.contradicts)

    def _request(self, premise: str, hypothesis: str, by_token: bool) -> ChatRequest:
        parts: dict[str, Any] = {"premise": premise, "hypothesis": hypothesis}
        if by_token:
            return request(self._prompt, parts, form="token")
        return ChatRequest(
            self._prompt.messages(**parts),
            max_tokens=_TOKENS,
            logprobs=ALTERNATIVES,
            schema=self._prompt.schema(),
        )

    def _row(self, verdict: JudgeVerdict) -> list[float]:
        """Probabilities in the order of LABELS."""
        shares = verdict.probabilities or {verdict.answer: 1.0}
        if not self.contradicts:
            shares = {"entailment": shares.get("Yes", 0.0), "neutral": shares.get("No", 0.0)}
        row = [shares.get(label, 0.0) for label in LABELS]
        if not np.isfinite(row).all() or abs(sum(row) - 1) > 1e-6:
            raise LlmError(
                "malformed", "the classes' probabilities are unusable", text=verdict.text
            )
        return row
