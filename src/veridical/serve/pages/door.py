"""Whom a page answers: whoever has its link.

A link carries a token in its fragment, which browsers send to nobody. The page hands it in once,
and a cookie that no other site's request carries (``SameSite=Strict``) keeps it. What lies open
without one is an empty shell and its parts.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from veridical.serve.problems import Problem, Scope, answer_problems
from veridical.serve.running import address_of, need_extra, open_socket, run_app
from veridical.serve.security import Secured, bearer_key, header, names_for, same

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from fastapi import FastAPI
    from starlette.requests import Request

#: Of the shell and its parts: own files alone, and nothing that turns a text into markup.
CSP = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
_OPEN = ("/", "/healthz", "/api/session")
_TYPES = {".css": "text/css", ".js": "text/javascript"}


class Door:
    """The tokens of a page, and who comes with each.

    Args:
        people: names of those who may come.
    """

    def __init__(self, people: Iterable[str]) -> None:
        self.tokens = {name: secrets.token_urlsafe(32) for name in people}
        self._cookie = f"veridical_{secrets.token_hex(4)}"  # cookies are shared by all ports

    def link(self, address: str, name: str) -> str:
        """What somebody opens."""
        return f"{address}/#token={self.tokens[name]}"

    def who(self, token: str) -> str | None:
        """Whose token this is."""
        found = None
        for name, right in self.tokens.items():
            if same(token, right):
                found = name
        return found

    def visitor(self, scope: Scope) -> str | None:
        """Who sends a request."""
        token = bearer_key(scope)
        if token is None:
            try:
                cookie = SimpleCookie(header(scope, "cookie") or "").get(self._cookie)
            except CookieError:
                return None
            token = None if cookie is None else cookie.value
        return None if token is None else self.who(token)

    def admit(self, scope: Scope) -> None:
        """
        Raises:
            Problem: a request for data has no token.
        """
        path = scope["path"]
        if path in _OPEN or path.startswith("/static/"):
            return
        if self.visitor(scope) is None:
            raise Problem(401, "open the link that the command printed: it carries a token")

    def name(self, request: Request) -> str:
        """Who sends a request that was admitted."""
        found = self.visitor(request.scope)
        assert found is not None
        return found

    def cookie(self, token: str) -> str:
        return f"{self._cookie}={token}; Path=/; HttpOnly; SameSite=Strict"


def page_app(door: Door, shell: str, static: Mapping[str, str], title: str) -> FastAPI:
    """An app with the shell at ``/``, its files, and what takes a token; routes of data are added.

    Args:
        shell: name of the template.
        static: name of each file -> its text.
    """
    need_extra()
    from fastapi import FastAPI
    from starlette.responses import JSONResponse, Response

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    answer_problems(app)
    page = template(shell, title=title)

    async def root(request: Request) -> Response:
        return Response(page, media_type="text/html")

    async def healthz(request: Request) -> Response:
        return JSONResponse({"ok": True})

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in static:
            raise Problem(404, "there is no such file")
        kind = _TYPES[name[name.rindex(".") :]]
        return Response(static[name], media_type=f"{kind}; charset=utf-8")

    async def session(request: Request) -> Response:
        body = await json_body(request)
        token = body.get("token")
        if not isinstance(token, str) or door.who(token) is None:
            raise Problem(401, "that token is not this server's: open the link it printed last")
        return Response(status_code=204, headers={"set-cookie": door.cookie(token)})

    app.add_route("/", root, methods=["GET"])
    app.add_route("/healthz", healthz, methods=["GET"])
    app.add_route("/static/{name}", file, methods=["GET"])
    app.add_route("/api/session", session, methods=["POST"])
    return app


async def json_body(request: Request) -> dict[str, Any]:
    """The object that a request sends.

    Raises:
        Problem: it is none.
    """
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Problem(400, "the body is no JSON") from None
    if not isinstance(body, dict):
        raise Problem(422, "the body must be an object")
    return body


def whole_number(request: Request, name: str, default: int) -> int:
    """A number of the query.

    Raises:
        Problem: it is none.
    """
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise Problem(422, f"{name} must be a whole number")
    return int(text)


def asset(name: str) -> str:
    """A file of the folder ``static``."""
    return (files("veridical.serve.pages") / "static" / name).read_text("utf-8")


def template(name: str, **values: Any) -> str:
    """A template of the folder ``static``, filled in, everything escaped."""
    import jinja2

    env = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return env.get_template(name).render(**values)


def listen(host: str, port: int) -> socket.socket:
    """A socket for pages, which need a token for everything.

    Raises:
        UsageError: the extra is not installed, or the address cannot be had.
    """
    need_extra()
    return open_socket(host, port, guarded=True)


def serve_pages(
    app: FastAPI,
    door: Door,
    listener: socket.socket,
    host: str,
    started: Callable[[str], None],
) -> int:
    """Answer until a signal comes; see :func:`veridical.serve.running.run_app`."""
    secured = Secured(app, known_host=names_for(host), admit=door.admit, csp=CSP)
    return run_app(secured, listener, drain=3, started=started)


__all__ = [
    "CSP",
    "Door",
    "address_of",
    "asset",
    "json_body",
    "listen",
    "page_app",
    "serve_pages",
    "template",
    "whole_number",
]
