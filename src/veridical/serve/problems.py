"""HTTP errors as problem documents (RFC 9457, ``application/problem+json``)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError
from veridical.text.display import printable

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.responses import Response

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Key in a request's scope of the route for metrics, without a framework.
ROUTE = "veridical.route"
MEDIA_TYPE = "application/problem+json"
#: Maximum characters of a detail, which may quote a client.
_LONGEST = 2000


class Problem(Exception):
    """Response that explains why a request was refused. Raised, or sent as an ASGI app.

    Args:
        status: of HTTP, 400 to 599.
        detail: one sentence for the sender of the request.
        headers: further headers of the response.
        more: further members of the document, such as ``errors``.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = printable(detail)[:_LONGEST]
        self.headers = dict(headers or {})
        self.more = more

    def document(self) -> dict[str, Any]:
        """Return the members of the document."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def body(self) -> bytes:
        """Return the document as JSON. Invalid Unicode in a client's text is escaped."""
        return json.dumps(self.document()).encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = self.body()
        headers = {
            "content-type": MEDIA_TYPE,
            "content-length": str(len(body)),
            **self.headers,
        }
        raw = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": raw})
        await send({"type": "http.response.body", "body": body})

    def response(self) -> Response:
        """Return it as Starlette's response."""
        from starlette.responses import Response

        return Response(self.body(), self.status, self.headers, MEDIA_TYPE)


def place(parts: Sequence[Any]) -> str:
    """Format the position of a value in a body.

    >>> place(("records", 3, "response"))
    'records[3].response'
    """
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def answer_problems(app: FastAPI) -> None:
    """Turn every error of ``app`` into a problem document.

    This covers its own errors, those of Starlette and of FastAPI's validation, and
    :class:`UsageError`, which a client's request caused.
    """
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import Request

    async def own(request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return error.response()

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return Problem(
            error.status_code, str(error.detail), headers=dict(error.headers or {})
        ).response()

    async def usage(request: Request, error: Exception) -> Response:
        return Problem(422, str(error)).response()

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return invalid_request(error.errors()).response()

    async def unforeseen(request: Request, error: Exception) -> Response:
        return Problem(500, "the server failed; its log says why").response()

    app.add_exception_handler(Problem, own)
    app.add_exception_handler(Exception, unforeseen)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(UsageError, usage)
    app.add_exception_handler(RequestValidationError, invalid)


def invalid_request(errors: Sequence[Mapping[str, Any]], *, most: int = 20) -> Problem:
    """Return the problem of a request that pydantic rejects.

    Each error is listed in ``errors`` with the position of its value (``field``). Values are not
    repeated.
    """
    found = [
        {"field": printable(_field(error)), "error": printable(str(error.get("msg", "")))}
        for error in errors[:most]
    ]
    if any(error.get("type") == "json_invalid" for error in errors):
        return Problem(400, f"the body is not JSON: {found[0]['error']}")
    first = found[0]
    return Problem(422, f"{first['field']}: {first['error']}", errors=found)


def _field(error: Mapping[str, Any]) -> str:
    where = tuple(error.get("loc", ()))
    if len(where) > 1 and where[0] in ("body", "query", "path", "header"):
        where = where[1:]
    return place(where)[:200]
