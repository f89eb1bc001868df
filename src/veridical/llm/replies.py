"""Replies of a chat server, read strictly: what is not as the protocol says is ``malformed``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from pydantic import TypeAdapter, ValidationError

from veridical.llm.messages import Reply, Usage
from veridical.llm.retries import AttemptError
from veridical.records import TokenLogprob, clean_text

_TOKENS = TypeAdapter(tuple[TokenLogprob, ...])
_LONGEST_NAME = 200


def read_replies(body: dict[str, Any], wanted: int) -> list[Reply]:
    """The choices in ``body``, of chat or of completions, by their index.

    Args:
        wanted: most replies; what a server sends beyond that is left out. There may be fewer.

    Raises:
        AttemptError: ``malformed``: none, two of one index, or any that is not as it should be.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        _malformed("no list 'choices'")
    numbered = [(_index(choice, i), choice) for i, choice in enumerate(choices)]
    if len({i for i, _ in numbered}) < len(numbered):
        _malformed("two choices have the same index")
    numbered.sort(key=lambda pair: pair[0])
    model = body.get("model")
    if not isinstance(model, str) or len(model) > _LONGEST_NAME or not _is_clean(model):
        model = None
    kept = [choice for _, choice in numbered[:wanted]]
    return [
        _reply(choice, usage, model)
        for choice, usage in zip(kept, _usages(body.get("usage"), len(kept)), strict=True)
    ]


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
        _malformed("a finish_reason is no word")
    refusal = message.get("refusal")
    if refusal is not None and not isinstance(refusal, str):
        _malformed("a refusal is no text")
    return Reply(
        text=_clean(_content(message.get("content"))),
        finish_reason=None if reason is None else _clean(reason),
        logprobs=_logprobs(choice.get("logprobs")),
        usage=usage,
        model=model,
        refusal=_clean(refusal) if refusal else None,
    )


def _content(content: Any) -> str:
    """Text, or the text parts of a list; null is what comes with a refusal, or with nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part.get("text") for part in content if part.get("type") == "text"]
        if all(isinstance(text, str) for text in texts):
            return "".join(texts)
    _malformed("a message's content is no text")


def _logprobs(given: Any) -> tuple[TokenLogprob, ...] | None:
    """Chat's form or that of the old completions; None where the server gave none."""
    if given is None:
        return None
    if not isinstance(given, dict):
        _malformed("logprobs are in no known form")
    if given.get("tokens") is not None:
        rows = _legacy(given)
    elif given.get("content") is None:  # there may be those of a refusal instead
        return None
    else:
        rows = _entries(given["content"], "top_logprobs")
    try:
        "".join(
            t for row in rows for t in (row["token"], *(top["token"] for top in row["top"]))
        ).encode()
        return _TOKENS.validate_python(rows)
    except UnicodeEncodeError:
        _malformed("a token has a lone surrogate")
    except ValidationError as e:
        _malformed(f"logprobs: {e.errors(include_url=False, include_input=False)[0]['msg']}")


def _entries(given: Any, below: str | None = None) -> tuple[dict[str, Any], ...]:
    if not isinstance(given, list):
        _malformed("logprobs are no list of tokens")
    rows = []
    for entry in given:
        token = entry.get("token") if isinstance(entry, dict) else None
        if not isinstance(token, str):
            _malformed("logprobs have no token")
        row: dict[str, Any] = {"token": token, "logprob": _number(entry.get("logprob"))}
        if below is not None:
            row["top"] = _entries(entry.get(below) or [])
        rows.append(row)
    return tuple(rows)


def _legacy(given: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    tokens, values = given["tokens"], given.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        _malformed("tokens and token_logprobs do not go together")
    tops = given.get("top_logprobs")
    if tops is None:
        tops = [None] * len(tokens)
    if not isinstance(tops, list) or len(tops) != len(tokens):
        _malformed("tokens and top_logprobs do not go together")
    rows = []
    for token, value, top in zip(tokens, values, tops, strict=True):
        if not isinstance(token, str) or not isinstance(top or {}, dict):
            _malformed("logprobs are in no known form")
        others = tuple({"token": t, "logprob": _number(v)} for t, v in (top or {}).items())
        rows.append({"token": token, "logprob": _number(value), "top": others})
    return tuple(rows)


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        _malformed("a log-probability is no number")
    return value


def _usages(usage: Any, parts: int) -> list[Usage]:
    """A server's count, shared out so that the shares add up to it."""
    if not isinstance(usage, dict):
        return [Usage()] * parts
    prompts = _shares(usage.get("prompt_tokens"), parts)
    completions = _shares(usage.get("completion_tokens"), parts)
    return [Usage(p, c) for p, c in zip(prompts, completions, strict=True)]


def _shares(total: Any, parts: int) -> Sequence[int | None]:
    if not isinstance(total, int) or isinstance(total, bool) or not 0 <= total < 2**53:
        return [None] * parts
    return [total // parts + (i < total % parts) for i in range(parts)]


def _clean(text: str) -> str:
    try:
        return clean_text(text)
    except ValueError as e:
        _malformed(str(e))


def _is_clean(text: str) -> bool:
    return text.isprintable()


def _malformed(why: str) -> NoReturn:
    raise AttemptError("malformed", f"the server's reply is malformed: {why}", possibly_paid=1)
