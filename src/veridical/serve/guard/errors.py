"""Errors of the guard in the formats of the proxied APIs."""

from __future__ import annotations

import json
from typing import Any

from veridical.serve.problems import App, Problem, Receive, Scope, Send
from veridical.serve.security import header

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}
_CODES = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}


def shaped(scope: Scope, problem: Problem) -> App:
    """Return the answer to a refused request, in the format of its route's API.

    At the guard's own routes it is a problem document.
    """
    path = scope["path"]
    if not path.startswith("/v1/"):
        return problem
    anthropic = path.startswith("/v1/messages") or header(scope, "anthropic-version") is not None

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        document = _of_anthropic(problem) if anthropic else _of_openai(problem)
        body = json.dumps(document).encode("ascii")
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **problem.headers,
        }
        raw = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in headers.items()]
        await send({"type": "http.response.start", "status": problem.status, "headers": raw})
        await send({"type": "http.response.body", "body": body})

    return answer


def _of_openai(problem: Problem) -> dict[str, Any]:
    status = problem.status
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if status in (403, 429):
        kind = _TYPES[status]
    return {
        "error": {
            "message": problem.detail,
            "type": kind,
            "param": None,
            "code": _CODES.get(status),
        }
    }


def _of_anthropic(problem: Problem) -> dict[str, Any]:
    status = problem.status
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": problem.detail}}
