"""What is sent to a language model and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from veridical.core.records import TokenLogprob
from veridical.errors import ModelError

#: ``{"role": "system" | "user" | "assistant", "content": str | list of parts}``, where a part is
#: ``{"type": "text", "text": ...}`` or ``{"type": "image_url", "image_url": {"url": ...}}``.
Message = dict[str, Any]

#: Why a call, or the answer it brought, is of no use.
Trouble = Literal[
    "connection",  # nobody answered, or the line broke
    "timeout",
    "rate_limited",
    "server",  # 5xx
    "rejected",  # 4xx: the request itself, the key, the model's name
    "malformed",  # an answer that is not what the protocol says
    "length",  # cut at max_tokens
    "empty",
    "refused",  # the provider's content filter, or the model's own refusal field
    "budget",  # not sent: it could have gone over the budget
]


class LlmError(ModelError):
    """A call that brought no usable answer.

    Attributes:
        trouble: the class of the problem.
        possibly_paid: calls that left and whose answers were lost: the provider may charge them.
        text: what the model had said, where it had said something.
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
    """One answer asked of a chat model.

    Attributes:
        messages: the conversation so far.
        temperature: 0 is greedy.
        max_tokens: of the answer; None leaves it to the server.
        top_p, top_k, seed, stop: as servers define them; None and () are not sent.
        logprobs: alternatives a token to report with its log-probability (natural logarithm);
            None asks for none. Where the server has none to give, the reply has none.
        schema: JSON schema of the answer. Servers that can are held to it; others are not, so the
            text is checked by whoever asked.
        ordinal: which of several samples of the same request this is. Part of the request's key.
        verdict: a reply that would do, where one is asked for again should it have no verdict;
            for dry runs only.
        cut: whether a reply that is cut at ``max_tokens`` is one: only its first tokens, with
            their alternatives, are wanted.
        again: whether an earlier reply could not be read, so that this one is asked for.

    ``verdict``, ``cut`` and ``again`` are no part of the key.
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
    """Tokens as the server counted them; None where it did not say (unknown is never 0).

    Attributes:
        prompt, completion: of the prompt, and of the answer.
        cached: of the prompt, those that the server had read before, for a prompt that begins
            likewise.
    """

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    Attributes:
        text: the model's words, possibly empty.
        finish_reason: ``stop``, ``length``, ``content_filter`` or what else the server says.
        logprobs: of the answer's tokens, with alternatives; None where the server gave none.
        usage: of this answer (a server's count for several samples is shared out).
        model: the model's name as the server states it.
        refusal: the provider's refusal message, if it gave one.
    """

    text: str
    finish_reason: str | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    usage: Usage = Usage()
    model: str | None = None
    refusal: str | None = None

    def whole(self, *, cut: bool = False) -> str:
        """The text of an answer that is complete.

        Args:
            cut: accept one that was cut at max_tokens.

        Raises:
            LlmError: it was cut at max_tokens, refused, filtered, or is blank.
        """
        if self.refusal or self.finish_reason == "content_filter":
            raise LlmError("refused", "the model refused to answer", text=self.refusal or self.text)
        if self.finish_reason == "length" and not cut:
            raise LlmError("length", "the answer was cut at max_tokens", text=self.text)
        if not self.text.strip():
            raise LlmError("empty", "the model gave an empty answer", text=self.text)
        return self.text


def user(text: str, system: str | None = None) -> tuple[Message, ...]:
    """A conversation of one question, after ``system`` where given."""
    head: Sequence[Message] = () if system is None else ({"role": "system", "content": system},)
    return (*head, {"role": "user", "content": text})
