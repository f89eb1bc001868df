"""Token probabilities of given text from completion servers.

Two forms are supported: ``echo`` with ``logprobs`` (OpenAI's old completions; vLLM, SGLang,
llama-cpp-python) and vLLM's ``prompt_logprobs``.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from veridical.core.messages import LlmError
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.text.token_spans import MisalignedTokens, token_spans

EchoForm: TypeAlias = Literal["echo", "prompt_logprobs"]
_ROUNDING = 1e-4  # maximum excess of a log-probability over 0 by rounding
ECHO_FORMS: tuple[EchoForm, ...] = ("echo", "prompt_logprobs")


class _EchoedToken(NamedTuple):
    """A token reported by the server.

    ``logprob`` is None if it is missing, as for the first token.
    """

    token: str
    logprob: float | None
    top: list[float]


def echo_request(text: GivenText, top: int, form: EchoForm = "echo") -> dict[str, Any]:
    """Return the body of a completions request, without the model.

    It requests one token, as servers handle zero differently.
    """
    body: dict[str, Any] = {
        "prompt": text.prompt + text.text,
        "max_tokens": 1,
        "temperature": 0,
    }
    extra = {"echo": True, "logprobs": top} if form == "echo" else {"prompt_logprobs": top}
    return body | extra


def read_echo(reply: Any, text: GivenText, form: EchoForm, top: int) -> TokenProbabilities:
    """Parse the tokens of ``given.text`` from the reply to :func:`echo_request`.

    ``top`` is that of the request. The server tokenises prompt and text together, so a token across
    the boundary belongs to the text, from offset 0.

    Raises:
        LlmError: ``rejected`` if the reply does not cover the given text; ``malformed`` if it does
            not fit the text, or has an invalid log-probability.
    """
    choices = reply.get("choices") if isinstance(reply, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise LlmError("malformed", "the server's completion has no choices")
    whole = text.prompt + text.text
    if form == "echo":
        tokens = _echoed(choice.get("logprobs"))
        reply_text = choice.get("text")
        # drop the generated token
        spelled = (
            reply_text if isinstance(reply_text, str) and reply_text.startswith(whole) else whole
        )
    else:
        tokens, spelled = _prompt_tokens(choice.get("prompt_logprobs"), whole), whole
    try:
        spans = token_spans([t.token for t in tokens], spelled)
    except MisalignedTokens as e:
        if _is_answer_only(choice, tokens, whole):
            raise LlmError(
                "rejected", "the server returns no probabilities of the given text"
            ) from None
        raise LlmError("malformed", f"the server's tokens do not fit: {e}") from None
    join, end = len(text.prompt), len(whole)
    return _table(
        [
            (max(start, join) - join, min(stop, end) - join, tokens[index])
            for index, start, stop in spans
            if stop > join and start < end
        ],
        top,
    )


def _is_answer_only(choice: dict[str, Any], tokens: Sequence[_EchoedToken], whole: str) -> bool:
    """Return True if the server ignored the request for echo and only continued the text."""
    reply_text = choice.get("text")
    return not tokens or (isinstance(reply_text, str) and not reply_text.startswith(whole))


def _echoed(logprobs: Any) -> list[_EchoedToken]:
    if not isinstance(logprobs, dict):
        raise LlmError("rejected", "the server returns no log-probabilities with completions")
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        raise LlmError("rejected", "the server's log-probabilities have an unknown form")
    tops = logprobs.get("top_logprobs")
    if not isinstance(tops, list) or len(tops) != len(tokens):
        tops = [None] * len(tokens)
    return [
        _told(token, value, list(top.values()) if isinstance(top, dict) else [])
        for token, value, top in zip(tokens, values, tops, strict=True)
    ]


def _prompt_tokens(entries: Any, whole: str) -> list[_EchoedToken]:
    """Parse vLLM's list of mappings, whose first entry is the text's token.

    The first mapping is None; its token is the rest of ``whole``.
    """
    if not isinstance(entries, list) or not entries:
        raise LlmError("rejected", "the server returns no log-probabilities of the prompt")
    tokens = []
    for entry in entries[1:]:
        places = list(entry.values()) if isinstance(entry, dict) else []
        if not places or not all(isinstance(p, dict) for p in places):
            raise LlmError(
                "malformed", "the server's prompt log-probabilities have an unknown form"
            )
        values = [p.get("logprob") for p in places]
        tokens.append(_told(places[0].get("decoded_token"), values[0], values))
    following = "".join(t.token for t in tokens)
    first = whole[: len(whole) - len(following)] if whole.endswith(following) else ""
    return [_EchoedToken(first, None, []), *tokens]


def _told(token: Any, value: Any, top: list[Any]) -> _EchoedToken:
    if not isinstance(token, str):
        raise LlmError("malformed", "the server's log-probabilities have no token")
    logprob = None if value is None else _logprob(value, token)
    return _EchoedToken(token, logprob, sorted((_logprob(v, token) for v in top), reverse=True))


def _logprob(value: Any, token: str) -> float:
    """Return ``value`` as a log-probability: finite, and above 0 by rounding only."""
    number = math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            number = float(value)
    if not -math.inf < number <= _ROUNDING:
        value_text = (
            type(value).__name__ if isinstance(value, (int, list, dict)) else repr(value)[:40]
        )
        problem = f"the server returned log-probability {value_text} at {token!r:.40}"
        raise LlmError("malformed", problem)
    return number


def _table(rows: Sequence[tuple[int, int, _EchoedToken]], most: int) -> TokenProbabilities:
    if any(token.logprob is None for _, _, token in rows):
        raise LlmError(
            "rejected",
            "the server returns no log-probability of a text's first token; add a prompt before it",
        )
    # a text's token outside the likeliest is listed in addition
    tops = [token.top[:most] for _, _, token in rows]
    width = max(map(len, tops), default=0)
    top = np.full((len(rows), width), -np.inf)
    for row, likeliest in zip(top, tops, strict=True):
        row[: len(likeliest)] = likeliest
    return TokenProbabilities(
        starts=np.array([start for start, _, _ in rows], np.int64),
        ends=np.array([end for _, end, _ in rows], np.int64),
        logprobs=np.array([token.logprob for _, _, token in rows], np.float64),
        top=top if width else None,
    )
