"""Scripted chat model for tests: no server, no key, repeatable answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from veridical.core.messages import ChatRequest, LlmError, Reply, Usage
from veridical.core.prompt_text import message_text
from veridical.core.records import TokenLogprob
from veridical.errors import UsageError
from veridical.llm.endpoints import Endpoint

Said: TypeAlias = Reply | LlmError | str
Script: TypeAlias = Callable[[ChatRequest], Said]
_RULE = {"contains", "text", "logprobs", "finish_reason", "refusal"}


class FakeLlm:
    """Chat model that answers from a script, without delay.

    Args:
        answer: the text of every answer; or texts by a part of the conversation (the first match
            wins; ``""`` matches all). Or a function of the request, whose ``ordinal``
            distinguishes samples. The function may return an :class:`LlmError`.
        name: the endpoint's and the model's name. Two scripts under one name share a journal.

    Attributes:
        asked: requests with their counts, each ordinal separately.
    """

    def __init__(
        self, answer: str | Mapping[str, str] | Script = "", *, name: str = "fake"
    ) -> None:
        self.endpoint = Endpoint(name, f"fake:{name}", name, price_in=0.0, price_out=0.0)
        self.asked: Counter[str] = Counter()
        self._script: Script = answer if callable(answer) else _by_content(answer)

    @classmethod
    def read(cls, path: str | Path) -> FakeLlm:
        """Read a script from a JSON file: a list of rules, of which the first match answers::

            [{"contains": "capital", "text": ["Paris", "Lyon"]}, {"text": "I do not know."}]

        A list of texts answers the samples in turn. ``logprobs``, ``finish_reason`` and
        ``refusal`` are optional.

        Raises:
            UsageError: the file does not exist, or is not such a list.
        """
        try:
            rules = json.loads(Path(path).read_text("utf-8"))
            if not isinstance(rules, list):
                raise ValueError("it is not a list of rules")
            script = _by_rules([_rule(r) for r in rules])
        except (OSError, ValueError, RecursionError) as e:
            raise UsageError(f"{path}: not a script for a fake LLM: {e}") from None
        return cls(script, name=str(path))

    async def chat(
        self, request: ChatRequest, ordinals: Sequence[int] = (0,)
    ) -> list[Reply | LlmError]:
        """Return one outcome per ordinal; words count as tokens."""
        outcomes: list[Reply | LlmError] = []
        for ordinal in ordinals:
            one = ChatRequest(**{**_fields(request), "ordinal": ordinal})
            self.asked[repr(one)] += 1
            said = self._script(one)
            if isinstance(said, str):
                usage = Usage(len(_conversation(one).split()), len(said.split()))
                said = Reply(said, "stop", usage=usage, model=self.endpoint.model)
            outcomes.append(said)
        return outcomes

    async def close(self) -> None:
        """Do nothing; there is nothing to release."""


def _fields(request: ChatRequest) -> dict[str, Any]:
    return {name: getattr(request, name) for name in ChatRequest.__dataclass_fields__}


def _conversation(request: ChatRequest) -> str:
    """Return the texts of all messages."""
    return "\n".join(message_text(m.get("content")) for m in request.messages)


def _by_content(answer: str | Mapping[str, str]) -> Script:
    texts = {"": answer} if isinstance(answer, str) else answer

    def script(request: ChatRequest) -> Said:
        conversation = _conversation(request)
        for part, text in texts.items():
            if part in conversation:
                return text
        return LlmError(
            "malformed", "no rule of the fake LLM's script matches this request; add one"
        )

    return script


def _rule(rule: Any) -> tuple[str, list[Reply]]:
    if not isinstance(rule, dict) or not set(rule) <= _RULE or "text" not in rule:
        raise ValueError(f"a rule must have 'text' and may have {sorted(_RULE - {'text'})}")
    texts = rule["text"] if isinstance(rule["text"], list) else [rule["text"]]
    part = rule.get("contains", "")
    if not texts or not all(isinstance(t, str) for t in [*texts, part]):
        raise ValueError("'text' must be a text or a list of texts, 'contains' a text")
    tokens = rule.get("logprobs")
    logprobs = None if tokens is None else tuple(map(TokenLogprob.model_validate, tokens))
    reason = rule.get("finish_reason", "stop")
    return part, [Reply(t, reason, logprobs, refusal=rule.get("refusal")) for t in texts]


def _by_rules(rules: Sequence[tuple[str, list[Reply]]]) -> Script:
    def script(request: ChatRequest) -> Said:
        conversation = _conversation(request)
        for part, replies in rules:
            if part in conversation:
                return replies[request.ordinal % len(replies)]
        return LlmError(
            "malformed", "no rule of the fake LLM's script matches this request; add one"
        )

    return script
