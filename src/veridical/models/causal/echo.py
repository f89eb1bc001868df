"""Token probabilities of given text, as completion servers tell them.

Two forms are in use: ``echo`` with ``logprobs`` (OpenAI's old completions; vLLM, SGLang,
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
_ROUNDING = 1e-4  # how far rounding can lift a log-probability above 0
ECHO_FORMS: tuple[EchoForm, ...] = ("echo", "prompt_logprobs")


class _Told(NamedTuple):
    """One token as told. ``logprob`` is None where the server has none: for the first."""

    token: str
    logprob: float | None
    top: list[float]


def echo_request(text: GivenText, top: int, form: EchoForm = "echo") -> dict[str, Any]:
    """The body of a completions request, model aside.

    One token is asked for: servers differ in what they make of none.
    """
    body: dict[str, Any] = {
        "prompt": text.prompt + text.text,
        "max_tokens": 1,
        "temperature": 0,
    }
    extra = {"echo": True, "logprobs": top} if form == "echo" else {"prompt_logprobs": top}
    return body | extra


def read_echo(reply: Any, text: GivenText, form: EchoForm, top: int) -> TokenProbabilities:
    """The tokens of ``given.text``, from the answer to :func:`echo_request` with the same ``top``.

    The server has tokenised prompt and text together, so a token over their join counts as the
    text's, from offset 0.

    Raises:
        LlmError: ``rejected`` where the answer tells nothing of given text; ``malformed`` where
            what it tells does not fit the text, or is no log-probability.
    """
    choices = reply.get("choices") if isinstance(reply, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise LlmError("malformed", "the server's completion has no choices")
    whole = text.prompt + text.text
    if form == "echo":
        tokens = _echoed(choice.get("logprobs"))
        reply_text = choice.get("text")
        # the generated token's share is put aside, whatever it is
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
                "rejected", "the server tells nothing of the text it was given"
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


def _is_answer_only(choice: dict[str, Any], tokens: Sequence[_Told], whole: str) -> bool:
    """Whether the server has ignored what was asked and only gone on with the text."""
    reply_text = choice.get("text")
    return not tokens or (isinstance(reply_text, str) and not reply_text.startswith(whole))


def _echoed(logprobs: Any) -> list[_Told]:
    if not isinstance(logprobs, dict):
        raise LlmError("rejected", "the server gives no log-probabilities with completions")
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        raise LlmError("rejected", "the server's log-probabilities are in no known form")
    tops = logprobs.get("top_logprobs")
    if not isinstance(tops, list) or len(tops) != len(tokens):
        tops = [None] * len(tokens)
    return [
        _told(token, value, list(top.values()) if isinstance(top, dict) else [])
        for token, value, top in zip(tokens, values, tops, strict=True)
    ]


def _prompt_tokens(entries: Any, whole: str) -> list[_Told]:
    """Tokens of vLLM's list: at each place a mapping whose first entry is the text's own token,
    but None at the first place, whose token is what the others leave of ``whole``."""
    if not isinstance(entries, list) or not entries:
        raise LlmError("rejected", "the server gives no log-probabilities of its prompt")
    tokens = []
    for entry in entries[1:]:
        places = list(entry.values()) if isinstance(entry, dict) else []
        if not places or not all(isinstance(p, dict) for p in places):
            raise LlmError(
                "malformed", "the server's prompt log-probabilities are in no known form"
            )
        values = [p.get("logprob") for p in places]
        tokens.append(_told(places[0].get("decoded_token"), values[0], values))
    following = "".join(t.token for t in tokens)
    first = whole[: len(whole) - len(following)] if whole.endswith(following) else ""
    return [_Told(first, None, []), *tokens]


def _told(token: Any, value: Any, top: list[Any]) -> _Told:
    if not isinstance(token, str):
        raise LlmError("malformed", "the server's log-probabilities have no token")
    logprob = None if value is None else _logprob(value, token)
    return _Told(token, logprob, sorted((_logprob(v, token) for v in top), reverse=True))


def _logprob(value: Any, token: str) -> float:
    """``value`` as a log-probability: a finite number, above 0 by rounding alone."""
    number = math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            number = float(value)
    if not -math.inf < number <= _ROUNDING:
        value_text = (
            type(value).__name__ if isinstance(value, (int, list, dict)) else repr(value)[:40]
        )
        problem = f"the server gave {value_text} as a log-probability at {token!r:.40}"
        raise LlmError("malformed", problem)
    return number


def _table(rows: Sequence[tuple[int, int, _Told]], most: int) -> TokenProbabilities:
    if any(token.logprob is None for _, _, token in rows):
        raise LlmError(
            "rejected",
            "the server gives no log-probability of a text's first token; put a prompt before it",
        )
    # a text's token that is not among the likeliest is told beside them
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
