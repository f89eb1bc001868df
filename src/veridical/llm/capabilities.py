"""What a server can do, found out by what becomes of calls that ask for it.

A request that uses what a server lacks is either refused (HTTP 400 and the like), or the wish is
ignored. A refused request is made again without what the refusal names, or without each of what
has not worked before; if that goes through, it is left out from then on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from veridical.core.messages import ChatRequest
from veridical.llm.endpoints import Endpoint
from veridical.llm.retries import AttemptError

#: ``max_tokens`` is the parameter of that name: some servers want ``max_completion_tokens``.
#: ``temperature`` is one that reasoning models refuse.
Feature: TypeAlias = Literal["n", "logprobs", "schema", "max_tokens", "temperature"]
_OPTIONAL: tuple[Feature, ...] = ("schema", "logprobs", "n")
#: Statuses of requests that a server does not understand.
_NOT_UNDERSTOOD = frozenset({400, 404, 415, 422, 501})
_NAMED: dict[Feature, re.Pattern[str]] = {
    "n": re.compile(r"['\"`]n['\"`]|param: n\)|\bn (?:must|should|is|=|>)|\bbest_of\b"),
    "logprobs": re.compile(r"logprob"),
    "schema": re.compile(r"response_format|schema|structured|grammar|json mode", re.IGNORECASE),
    "max_tokens": re.compile(r"max_completion_tokens"),
    "temperature": re.compile(r"\btemperature\b"),
}
#: Tokens that a model that reasons before it answers may spend on that, besides the answer's.
REASONING_TOKENS = 4096


class Capabilities:
    """What one server can do.

    Args:
        stated: by its user, who is not doubted.
    """

    def __init__(self, stated: Mapping[str, bool]) -> None:
        self._stated = dict(stated)
        self._found: dict[str, bool] = {}
        self._refused: set[str] = set()

    def knows(self, feature: str) -> bool | None:
        """Whether the server has it; None where that has not come up."""
        return self._stated.get(feature, self._found.get(feature))

    def learn(self, feature: str, has: bool) -> None:
        """What became of a call with ``feature``."""
        self._found[feature] = has

    def usable(self, request: ChatRequest, count: int) -> frozenset[Feature]:
        """What a call for ``count`` answers may ask for, of what it could use."""
        wanted: dict[Feature, bool] = {
            "n": count > 1,
            "logprobs": request.logprobs is not None,
            "schema": request.schema is not None and _dump(request.schema) not in self._refused,
            "max_tokens": request.max_tokens is not None,
            "temperature": True,
        }
        return frozenset(f for f, wish in wanted.items() if wish and self.knows(f) is not False)

    def suspects(self, used: frozenset[Feature], problem: AttemptError) -> list[frozenset[Feature]]:
        """What to leave out, in turn, of a request that was refused; nothing where it was refused
        for another reason."""
        if problem.status not in _NOT_UNDERSTOOD:
            return []
        named = self.named(used, problem)
        if named:
            return [named]
        unproved = [f for f in _OPTIONAL if f in used and not self.knows(f)]
        every = [frozenset({f}) for f in unproved]
        return [*every, frozenset(unproved)] if len(every) > 1 else every

    @staticmethod
    def named(used: frozenset[Feature], problem: AttemptError) -> frozenset[Feature]:
        """Features of ``used`` that the refusal speaks of."""
        return frozenset(f for f in used if _NAMED[f].search(str(problem)))

    def lacks(self, features: Iterable[Feature], request: ChatRequest) -> None:
        """A request went through without ``features`` that was refused with them."""
        for feature in features:
            if feature == "schema":  # perhaps only this one
                self._refused.add(_dump(request.schema))
            else:
                self._found[feature] = False


def chat_payload(
    endpoint: Endpoint, request: ChatRequest, ordinal: int, count: int, use: frozenset[Feature]
) -> dict[str, Any]:
    """The body of a request for ``count`` answers, of which the first has number ``ordinal``.

    A seed is moved on by the number, so that samples asked for one by one differ.
    """
    longest = "max_tokens" if "max_tokens" in use else "max_completion_tokens"
    payload: dict[str, Any] = {
        "model": endpoint.model,
        "messages": list(request.messages),
    }
    if "temperature" in use:
        payload["temperature"] = request.temperature
    optional = {
        longest: request.max_tokens,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "seed": None if request.seed is None else request.seed + ordinal,
        "stop": list(request.stop) or None,
    }
    payload |= {name: value for name, value in optional.items() if value is not None}
    if "n" in use:
        payload["n"] = count
    if "logprobs" in use:
        payload["logprobs"] = True
        payload["top_logprobs"] = request.logprobs
    if "schema" in use:
        payload["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": request.schema, "strict": True},
        }
    return {**payload, **endpoint.extra_body}


def _dump(schema: Any) -> str:
    return json.dumps(schema, sort_keys=True, default=str)
