"""Chat models as NLI models: ``--nli llm:NAME``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.model_names import ModelName
from veridical.core.protocols import LABELS
from veridical.core.verdicts import Verdicts
from veridical.errors import UsageError
from veridical.llm.asking import Chat, ask_all, request
from veridical.llm.verdicts import ALTERNATIVES, JudgeVerdict
from veridical.models.folder import digest_of
from veridical.prompts import load_prompt

_PREFIX = "llm"
_MAX_ANSWER_TOKENS = 64
_PROBABILITY_DECIMALS = 6  # rounded before comparison with a threshold


class LlmNli:
    """NLI by a chat model, which classifies each pair.

    Probabilities are the normalised token probabilities of the classes' words, if the server
    returns them; otherwise the answered class has probability 1. Premises are neither windowed nor
    truncated; the server rejects those that are too long.

    Args:
        llm: endpoint to call; the run's default if None.
        classes: 3, or 2 for entailment and the rest, which counts as neutral.

    Attributes:
        revision: 16 hexadecimal digits over the prompt. The model's identity is the endpoint's.
    """

    languages: ClassVar[frozenset[str] | None] = None

    def __init__(self, llm: str | None = None, classes: int = 3) -> None:
        if classes not in (2, 3):
            raise UsageError(f"classes must be 2 or 3, not {classes}")
        self.llm = llm
        self.contradicts = classes == 3
        self._prompt = load_prompt("nli" if self.contradicts else "nli_binary")
        self.name = f"{_PREFIX}:{llm}" if llm else _PREFIX
        self.revision = digest_of(self._prompt.identity.encode())

    @classmethod
    def from_name(cls, name: ModelName) -> LlmNli:
        """Parse the name of a chat model.

        Raises:
            UsageError: ``name`` is not of the form ``llm[:NAME][?classes=2]``.
        """
        if name.query is None and not name.place.startswith("?"):
            return cls(name.place or None)
        if list(name.options) != ["classes"]:
            raise UsageError(f"{str(name)!r}: the only option of an LLM is classes=2 or classes=3")
        if name.options["classes"] not in ("2", "3"):
            raise UsageError(f"{str(name)!r}: classes must be 2 or 3")
        return cls(name.place or None, int(name.options["classes"]))

    async def judge(
        self, pairs: Sequence[tuple[str, str]], chat: Chat, *, by_token: bool = False
    ) -> Verdicts:
        """Return verdicts on (premise, hypothesis) pairs, in order.

        Each distinct pair is sent once; a pair of equal texts is entailment without a call.

        Args:
            chat: makes the calls.
            by_token: True if the server always returns token probabilities, so that only the first
                token is requested.

        Raises:
            LlmError: a call returned no reply, or one without a class (its ``text`` has the reply).
                There is no default.
        """
        distinct = list(dict.fromkeys(p for p in pairs if p[0] != p[1]))
        requests = [self._request(*pair, by_token) for pair in distinct]

        async def ask(asked: Sequence[ChatRequest]) -> list[Reply]:
            """Call ``chat``; in a dry run nothing follows, so no pair makes another superfluous."""
            return await chat([r if r.verdict is None else self._neutral(r) for r in asked])

        verdicts = await ask_all(ask, requests, [self._prompt] * len(requests))
        known = {pair: self._row(v) for pair, v in zip(distinct, verdicts, strict=True)}
        itself = [1.0, 0.0, 0.0]
        table = np.array([known.get((p, h), itself) for p, h in pairs], np.float64)
        return Verdicts(
            table.reshape(len(pairs), len(LABELS)).round(_PROBABILITY_DECIMALS), self.contradicts
        )

    def _neutral(self, request: ChatRequest) -> ChatRequest:
        return replace(request, verdict="neutral" if self.contradicts else "No")

    def _request(self, premise: str, hypothesis: str, by_token: bool) -> ChatRequest:
        parts: dict[str, Any] = {"premise": premise, "hypothesis": hypothesis}
        if by_token:
            return request(self._prompt, parts, form="token")
        return ChatRequest(
            self._prompt.messages(**parts),
            max_tokens=_MAX_ANSWER_TOKENS,
            logprobs=ALTERNATIVES,
            schema=self._prompt.schema(),
        )

    def _row(self, verdict: JudgeVerdict) -> list[float]:
        """Return the probabilities in the order of LABELS."""
        shares = verdict.probabilities or {verdict.answer: 1.0}
        if not self.contradicts:
            shares = {"entailment": shares.get("Yes", 0.0), "neutral": shares.get("No", 0.0)}
        row = [shares.get(label, 0.0) for label in LABELS]
        if not np.isfinite(row).all() or abs(sum(row) - 1) > 1e-6:
            raise LlmError("malformed", "the class probabilities are invalid", text=verdict.text)
        return row
