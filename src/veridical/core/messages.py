"""Chat requests, replies and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from veridical.core.records import TokenLogprob
from veridical.errors import ModelError

#: ``{"role": "system" | "user" | "assistant", "content": str | list of parts}``, where a part is
#: ``{"type": "text", "text": ...}`` or ``{"type": "image_url", "image_url": {"url": ...}}``.
Message = dict[str, Any]

#: Reason why a call or its answer is unusable.
Trouble = Literal[
    "connection",  # no response, or the connection broke
    "timeout",
    "rate_limited",
    "server",  # 5xx
    "rejected",  # 4xx: the request itself, the key, the model's name
    "malformed",  # response that violates the protocol
    "length",  # cut at max_tokens
    "empty",
    "refused",  # the provider's content filter, or the model's own refusal field
    "budget",  # not sent: it might have exceeded the budget
]


class LlmError(ModelError):
    """Error: a call brought no usable answer.

    Attributes:
        trouble: class of the problem.
        possibly_paid: calls sent whose answers were lost: the provider may charge for them.
        text: text received from the model; None if no text arrived.
    """

    def __init__(
        self, trouble: Trouble, message: str, *, possibly_paid: int = 0, text: str | None = None
    ) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.possibly_paid = possibly_paid
        self.text = text


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for one answer of a chat model.

    Attributes:
        messages: the conversation so far.
        temperature: 0 is greedy.
        max_tokens: maximum tokens of the answer; None leaves it to the server.
        top_p, top_k, seed, stop: as servers define them; None and () are not sent.
        logprobs: number of alternatives per token to report with log-probabilities (natural
            logarithm); None requests none. The reply lacks them if the server does
            not support them.
        schema: JSON schema of the answer. Not all servers enforce it, so the caller checks the
            text.
        ordinal: index among several samples of the same request. Part of the request's key.
        verdict: an acceptable reply, for dry runs only, if the caller repeats requests without a
            verdict.
        cut: True if a reply cut at ``max_tokens`` is accepted: only its first tokens, with their
            alternatives, are needed.
        again: True if this request repeats one whose reply could not be parsed.

    ``verdict``, ``cut`` and ``again`` are not part of the key.
    """

    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int | None = 512
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: int | None = None
    schema: dict[str, Any] | None = None
    ordinal: int = 0
    verdict: str | None = field(default=None, compare=False, repr=False)
    cut: bool = field(default=False, compare=False, repr=False)
    again: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as counted by the server; None if not reported (unknown is never 0).

    Attributes:
        prompt, completion: tokens of the prompt and of the answer.
        cached: prompt tokens that the server took from its cache of an earlier prompt with the same
            beginning.
    """

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model.

    Attributes:
        text: the model's words, possibly empty.
        finish_reason: ``stop``, ``length``, ``content_filter`` or another value of the server.
        logprobs: log-probabilities of the answer's tokens, with alternatives; None if not reported.
        usage: tokens of this answer (a server's count for several samples is divided among them).
        model: name of the model as reported by the server.
        refusal: refusal message of the provider, if any.
    """

    text: str
    finish_reason: str | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    usage: Usage = Usage()
    model: str | None = None
    refusal: str | None = None

    def whole(self, *, cut: bool = False) -> str:
        """Return the text if the answer is complete.

        Args:
            cut: accept an answer that was cut at max_tokens.

        Raises:
            LlmError: the answer was cut at max_tokens, refused, filtered, or is blank.
        """
        if self.refusal or self.finish_reason == "content_filter":
            raise LlmError("refused", "the model refused to answer", text=self.refusal or self.text)
        if self.finish_reason == "length" and not cut:
            raise LlmError(
                "length", "the answer was cut at max_tokens; raise max_tokens", text=self.text
            )
        if not self.text.strip():
            raise LlmError("empty", "the model gave an empty answer", text=self.text)
        return self.text


def user(text: str, system: str | None = None) -> tuple[Message, ...]:
    """Return a conversation of one user message, after ``system`` if given."""
    head: Sequence[Message] = () if system is None else ({"role": "system", "content": system},)
    return (*head, {"role": "user", "content": text})
