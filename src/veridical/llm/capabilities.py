"""Server capabilities, inferred from the outcome of requests.

A server that lacks a feature either refuses the request (HTTP 400 and the like) or ignores the
feature. A refused request is sent again without the features that the refusal names, or without
each feature that has not worked before. If that succeeds, the feature is left out from then on.
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
#: ``temperature`` is refused by reasoning models.
Feature: TypeAlias = Literal["n", "logprobs", "schema", "max_tokens", "temperature"]
_OPTIONAL: tuple[Feature, ...] = ("schema", "logprobs", "n")
#: HTTP statuses of requests that a server does not understand.
_NOT_UNDERSTOOD = frozenset({400, 404, 415, 422, 501})
_NAMED: dict[Feature, re.Pattern[str]] = {
    "n": re.compile(r"['\"`]n['\"`]|param: n\)|\bn (?:must|should|is|=|>)|\bbest_of\b"),
    "logprobs": re.compile(r"logprob"),
    "schema": re.compile(r"response_format|schema|structured|grammar|json mode", re.IGNORECASE),
    "max_tokens": re.compile(r"max_completion_tokens"),
    "temperature": re.compile(r"\btemperature\b"),
}
#: Maximum tokens that a reasoning model may spend before the answer, in addition to it.
REASONING_TOKENS = 4096


class Capabilities:
    """Capabilities of one server.

    Args:
        stated: capabilities declared by the user, taken as true.
    """

    def __init__(self, stated: Mapping[str, bool]) -> None:
        self._stated = dict(stated)
        self._found: dict[str, bool] = {}
        self._refused: set[str] = set()

    def knows(self, feature: str) -> bool | None:
        """Return True or False if known to be supported or not; None if unknown."""
        return self._stated.get(feature, self._found.get(feature))

    def learn(self, feature: str, has: bool) -> None:
        """Record if a call with ``feature`` worked."""
        self._found[feature] = has

    def usable(self, request: ChatRequest, count: int) -> frozenset[Feature]:
        """Return the features that a request for ``count`` answers may use."""
        wanted: dict[Feature, bool] = {
            "n": count > 1,
            "logprobs": request.logprobs is not None,
            "schema": request.schema is not None and _dump(request.schema) not in self._refused,
            "max_tokens": request.max_tokens is not None,
            "temperature": True,
        }
        return frozenset(f for f, wish in wanted.items() if wish and self.knows(f) is not False)

    def suspects(self, used: frozenset[Feature], problem: AttemptError) -> list[frozenset[Feature]]:
        """Return the feature sets to leave out, in turn, of a refused request.

        Empty if the request was refused for another reason.
        """
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
        """Return the features of ``used`` that the refusal names."""
        return frozenset(f for f in used if _NAMED[f].search(str(problem)))

    def lacks(self, features: Iterable[Feature], request: ChatRequest) -> None:
        """Record that a refused request succeeded without ``features``."""
        for feature in features:
            if feature == "schema":  # possibly only this schema
                self._refused.add(_dump(request.schema))
            else:
                self._found[feature] = False


def chat_payload(
    endpoint: Endpoint, request: ChatRequest, ordinal: int, count: int, use: frozenset[Feature]
) -> dict[str, Any]:
    """Build the body of a request for ``count`` answers, the first with number ``ordinal``.

    A seed is increased by the ordinal, so that samples requested one by one differ.
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
