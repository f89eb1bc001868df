"""Strict parsing of a chat server's replies; deviations are ``malformed``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from pydantic import TypeAdapter, ValidationError

from veridical.core.messages import Reply, Usage
from veridical.core.records import TokenLogprob, clean_text
from veridical.llm.retries import AttemptError

_TOKENS = TypeAdapter(tuple[TokenLogprob, ...])
_LONGEST_NAME = 200


def read_replies(body: dict[str, Any], wanted: int) -> list[Reply]:
    """Return the choices in ``body``, of chat or of completions, by their index.

    Args:
        wanted: maximum number of replies; further ones are left out. There may be fewer.

    Raises:
        AttemptError: ``malformed``: no choice, two with one index, or an invalid one.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        _malformed("the list 'choices' is missing")
    numbered = [(_index(choice, i), choice) for i, choice in enumerate(choices)]
    if len({i for i, _ in numbered}) < len(numbered):
        _malformed("two choices have the same index")
    numbered.sort(key=lambda pair: pair[0])
    model = body.get("model")
    if not isinstance(model, str) or len(model) > _LONGEST_NAME or not model.isprintable():
        model = None
    wanted_choices = [choice for _, choice in numbered[:wanted]]
    usages = _usages(body.get("usage"), len(wanted_choices))
    pairs = zip(wanted_choices, usages, strict=True)
    replies = [_reply(choice, usage, model) for choice, usage in pairs]
    if any(r.text for r in replies) and not any(r.usage.completion for r in replies):
        # words without tokens: the count is meaningless
        return [replace(r, usage=replace(r.usage, completion=None)) for r in replies]
    return replies


def _index(choice: Any, place: int) -> int:
    index = choice.get("index", place) if isinstance(choice, dict) else None
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        _malformed("a choice has no index")
    return index


def _reply(choice: dict[str, Any], usage: Usage, model: str | None) -> Reply:
    message = choice.get("message")
    if message is None and isinstance(choice.get("text"), str):
        message = {"content": choice["text"]}
    if not isinstance(message, dict):
        _malformed("a choice has no message")
    reason = choice.get("finish_reason")
    if reason is not None and not (isinstance(reason, str) and len(reason) <= _LONGEST_NAME):
        _malformed("a finish_reason is not a text")
    refusal = message.get("refusal")
    if refusal is not None and not isinstance(refusal, str):
        _malformed("a refusal is not a text")
    return Reply(
        text=_clean(_content(message.get("content"))),
        finish_reason=None if reason is None else _clean(reason),
        logprobs=_logprobs(choice.get("logprobs")),
        usage=usage,
        model=model,
        refusal=_clean(refusal) if refusal else None,
    )


def _content(content: Any) -> str:
    """Return the text, or the text parts of a list; null (with a refusal or nothing) is empty."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part.get("text") for part in content if part.get("type") == "text"]
        if all(isinstance(text, str) for text in texts):
            return "".join(texts)
    _malformed("a message's content is not a text")


def _logprobs(given: Any) -> tuple[TokenLogprob, ...] | None:
    """Return log-probabilities in chat's or completions' form; None if the server gave none."""
    if given is None:
        return None
    if not isinstance(given, dict):
        _malformed("logprobs have an unknown form")
    if given.get("tokens") is not None:
        rows = _columns(given)
    elif given.get("content") is None:  # there may be those of a refusal instead
        return None
    else:
        content = given["content"]
        if not isinstance(content, list) or not all(isinstance(e, dict) for e in content):
            _malformed("logprobs are not a list of tokens")
        rows = [(e.get("token"), e.get("logprob"), e.get("top_logprobs") or ()) for e in content]
    if any(value is None for _, value, _ in rows):
        _malformed("a log-probability is null")
    named = [{"token": token, "logprob": value, "top": top} for token, value, top in rows]
    try:
        tokens = _TOKENS.validate_python(named)
        "".join(text for t in tokens for text in (t.token, *(a.token for a in t.top))).encode()
        return tokens
    except UnicodeEncodeError:
        _malformed("a token has a lone surrogate")
    except ValidationError as e:
        _malformed(f"logprobs: {e.errors(include_url=False, include_input=False)[0]['msg']}")


def _columns(given: dict[str, Any]) -> list[tuple[Any, Any, Any]]:
    """Return tokens, log-probabilities and alternatives in the form of completions."""
    parts: list[Any] = [given.get(k) for k in ("tokens", "token_logprobs", "top_logprobs")]
    tokens, values, tops = parts
    if tops is None and isinstance(tokens, list):
        tops = [None] * len(tokens)
    columns = (tokens, values, tops)
    if not all(isinstance(c, list) and len(c) == len(tokens) for c in columns):
        _malformed("tokens and log-probabilities differ in number")
    if not all(isinstance(top or {}, dict) for top in tops):
        _malformed("logprobs have an unknown form")
    named = ([{"token": t, "logprob": v} for t, v in (top or {}).items()] for top in tops)
    return list(zip(tokens, values, named, strict=True))


def _usages(usage: Any, parts: int) -> list[Usage]:
    """Divide a server's token count, so that the shares add up to it.

    A count that cannot be divided, such as a prompt without tokens, is None.
    """
    if not isinstance(usage, dict):
        return [Usage()] * parts
    prompt = _count(usage.get("prompt_tokens"))
    completion = _count(usage.get("completion_tokens"))
    total = _count(usage.get("total_tokens"))
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is not None and (prompt is None or cached > prompt):
        cached = None
    if prompt is not None and completion is not None and total is not None:
        completion = max(completion, total - prompt)  # reasoning may be in the total only
    if not prompt:
        prompt = cached = None
    counts = (_shares(count, parts) for count in (prompt, completion, cached))
    return [Usage(*shares) for shares in zip(*counts, strict=True)]


def _count(tokens: Any) -> int | None:
    whole = isinstance(tokens, int) and not isinstance(tokens, bool)
    return tokens if whole and 0 <= tokens < 2**53 else None


def _shares(total: int | None, parts: int) -> Sequence[int | None]:
    if total is None:
        return [None] * parts
    return [total // parts + (i < total % parts) for i in range(parts)]


def _clean(text: str) -> str:
    try:
        return clean_text(text)
    except ValueError as e:
        _malformed(str(e))


def _malformed(why: str) -> NoReturn:
    raise AttemptError("malformed", f"the server's reply is malformed: {why}", possibly_paid=1)
