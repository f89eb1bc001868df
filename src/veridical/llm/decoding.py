"""Decoding methods: selection of the next token.

The methods are greedy, beam search (b = 3), ancestral sampling, top-k (k = 40) and top-p
(p = 0.95). Source: the Mirage study (Kulkarni 2025, section 2 and appendix C.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.llm.endpoints import Endpoint

Kind = Literal["greedy", "beam", "ancestral", "top_k", "top_p"]

FORMS = "greedy, beam:WIDTH, ancestral, top_k:K or top_p:P"
MIRAGE = ("greedy", "beam:3", "ancestral", "top_k:40", "top_p:0.95")
_ALL = -1  # top_k value for all tokens
#: Hosts whose interface has no top_k: they refuse it or (Ollama) ignore it silently.
_WITHOUT_TOP_K = ("api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com")
_OLLAMA_PORT = 11434


@dataclass(frozen=True)
class Decoding:
    """Decoding method.

    Attributes:
        value: beam width, k or p; None for the other methods.
    """

    kind: Kind
    value: float | None = None

    def __str__(self) -> str:
        return self.kind if self.value is None else f"{self.kind}:{self.value:g}"

    @property
    def draws(self) -> bool:
        """Return True if the method is random, so that it yields samples."""
        return self.kind not in ("greedy", "beam")

    @property
    def top_p(self) -> float | None:
        """Return the ``top_p`` to send; without it, servers apply defaults of their own."""
        if not self.draws:
            return None
        return self.value if self.kind == "top_p" and self.value is not None else 1.0

    @property
    def top_k(self) -> int | None:
        """Return the ``top_k`` to send.

        :func:`endpoint_for` disables the cut for servers that know ``top_k``.
        """
        return int(self.value) if self.kind == "top_k" and self.value is not None else None


def parse_decoding(text: str) -> Decoding:
    """Parse ``greedy``, ``beam:3``, ``ancestral``, ``top_k:40`` or ``top_p:0.95``.

    Raises:
        UsageError: the text is none of these, or its number is out of range.
    """
    kind, colon, number = text.strip().partition(":")
    wrong = UsageError(f"unknown decoding: {text!r}; give {FORMS}")
    if kind in ("greedy", "ancestral"):
        if colon:
            raise wrong
        return Decoding("greedy" if kind == "greedy" else "ancestral")
    try:
        if kind == "top_p" and 0 < float(number) <= 1:
            return Decoding("top_p", float(number))
        if kind == "beam" and 2 <= int(number) <= 64:
            return Decoding("beam", int(number))
        if kind == "top_k" and 1 <= int(number) <= 1_000_000:
            return Decoding("top_k", int(number))
    except ValueError:
        pass
    raise wrong


def has_top_k(endpoint: Endpoint) -> bool:
    """Return True if the server of ``endpoint`` accepts ``top_k``."""
    if endpoint.runs_here:
        return True
    parts = urlsplit(endpoint.base_url)
    return parts.hostname not in _WITHOUT_TOP_K and parts.port != _OLLAMA_PORT


def endpoint_for(decoding: Decoding, endpoint: Endpoint) -> Endpoint:
    """Return ``endpoint`` with the extra settings that ``decoding`` needs.

    Raises:
        UsageError: the server does not support the method.
    """
    here = endpoint.kind == "torch"
    if decoding.kind == "beam":
        if here:
            return replace(
                endpoint, extra_body={**endpoint.extra_body, "num_beams": int(decoding.value or 1)}
            )
        raise UsageError(
            f"{endpoint.name}: the chat API has no beam search; use a model on "
            "this disk: --llm torch:FOLDER (extra [torch])"
        )
    if not decoding.draws or here:
        return endpoint
    if not has_top_k(endpoint):
        if decoding.kind == "top_k":
            raise UsageError(f"{endpoint.name} does not support top_k; use ancestral or top_p:P")
        return endpoint
    # llama.cpp cuts by top_k and min_p by default; vLLM cuts as the model's files say.
    cuts = {"min_p": 0.0} if decoding.kind == "top_k" else {"min_p": 0.0, "top_k": _ALL}
    return replace(endpoint, extra_body={**endpoint.extra_body, **cuts})
