"""Decoding methods: how the next token is chosen.

The five of the Mirage study (Kulkarni 2025, section 2 and appendix C.3): greedy, beam search
(b = 3), ancestral sampling, top-k (k = 40) and top-p (p = 0.95).
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
_ALL = -1  # top_k: every token
#: Hosts whose interface has no top_k: it would be refused, or (Ollama) passed over in silence.
_WITHOUT_TOP_K = ("api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com")
_OLLAMA_PORT = 11434


@dataclass(frozen=True)
class Decoding:
    """One method.

    Attributes:
        value: beam width, k or p; None for the others.
    """

    kind: Kind
    value: float | None = None

    def __str__(self) -> str:
        return self.kind if self.value is None else f"{self.kind}:{self.value:g}"

    @property
    def draws(self) -> bool:
        """Whether it is random, so that it gives samples."""
        return self.kind not in ("greedy", "beam")

    @property
    def top_p(self) -> float | None:
        """What a request says; servers cut by defaults of their own unless told not to."""
        if not self.draws:
            return None
        return self.value if self.kind == "top_p" and self.value is not None else 1.0

    @property
    def top_k(self) -> int | None:
        """What a request says. That every token counts is said by :func:`endpoint_for`, to
        servers that know ``top_k``."""
        return int(self.value) if self.kind == "top_k" and self.value is not None else None


def parse_decoding(text: str) -> Decoding:
    """Read ``greedy``, ``beam:3``, ``ancestral``, ``top_k:40`` or ``top_p:0.95``.

    Raises:
        UsageError: it is none of them, or its number is out of range.
    """
    kind, colon, number = text.strip().partition(":")
    wrong = UsageError(f"a decoding is {FORMS}, not {text!r}")
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
    """Whether the server of ``endpoint`` is to be sent ``top_k``."""
    if endpoint.runs_here:
        return True
    parts = urlsplit(endpoint.base_url)
    return parts.hostname not in _WITHOUT_TOP_K and parts.port != _OLLAMA_PORT


def endpoint_for(decoding: Decoding, endpoint: Endpoint) -> Endpoint:
    """``endpoint`` with what it must be told beside the request for ``decoding`` to be that.

    Raises:
        UsageError: the server cannot decode so.
    """
    here = endpoint.kind == "torch"
    if decoding.kind == "beam":
        if here:
            return replace(
                endpoint, extra_body={**endpoint.extra_body, "num_beams": int(decoding.value or 1)}
            )
        raise UsageError(
            f"{endpoint.name}: beam search is not part of the chat interface; name a model on "
            "this disk: --llm torch:FOLDER (extra [torch])"
        )
    if not decoding.draws or here:
        return endpoint
    if not has_top_k(endpoint):
        if decoding.kind == "top_k":
            raise UsageError(f"{endpoint.name} has no top_k; use ancestral or top_p:P")
        return endpoint
    # llama.cpp cuts by top_k and min_p unless told not to; vLLM as the model's files say.
    cuts = {"min_p": 0.0} if decoding.kind == "top_k" else {"min_p": 0.0, "top_k": _ALL}
    return replace(endpoint, extra_body={**endpoint.extra_body, **cuts})
