"""Access tokens of pages: only visitors with a link are admitted.

A link carries a token in its fragment, which browsers do not send. The page exchanges it once for a
cookie that no other site's request carries (``SameSite=Strict``). Without a token only an empty
shell and its parts are served.
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

#: Content-Security-Policy of the shell: own files only, and no text interpreted as markup.
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


class PageAccess:
    """Tokens of a page, with the name of each visitor.

    Args:
        people: names of the visitors.
    """

    def __init__(self, people: Iterable[str]) -> None:
        self.tokens = {name: secrets.token_urlsafe(32) for name in people}
        self._cookie = f"veridical_{secrets.token_hex(4)}"  # cookies are shared by all ports

    def link(self, address: str, name: str) -> str:
        """Return the link for a visitor."""
        return f"{address}/#token={self.tokens[name]}"

    def who(self, token: str) -> str | None:
        """Return the name that belongs to a token, or None."""
        found = None
        for name, right in self.tokens.items():
            if same(token, right):
                found = name
        return found

    def visitor(self, scope: Scope) -> str | None:
        """Return the sender of a request, or None."""
        token = bearer_key(scope)
        if token is None:
            try:
                cookie = SimpleCookie(header(scope, "cookie") or "").get(self._cookie)
            except CookieError:
                return None
            token = None if cookie is None else cookie.value
        return None if token is None else self.who(token)

    def admit(self, scope: Scope) -> None:
        """Admit a request.

        Raises:
            Problem: a request for data has no token.
        """
        path = scope["path"]
        if path in _OPEN or path.startswith("/static/"):
            return
        if self.visitor(scope) is None:
            raise Problem(401, "no valid token; open the link that the command printed")

    def name(self, request: Request) -> str:
        """Return the sender of an admitted request."""
        found = self.visitor(request.scope)
        assert found is not None
        return found

    def cookie(self, token: str) -> str:
        return f"{self._cookie}={token}; Path=/; HttpOnly; SameSite=Strict"


def page_app(access: PageAccess, shell: str, static: Mapping[str, str], title: str) -> FastAPI:
    """Build an app with the shell at ``/``, its files and the token exchange.

    Routes of data are added to it.

    Args:
        shell: name of the template.
        static: file names with their texts.
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
            raise Problem(404, "file not found")
        kind = _TYPES[name[name.rindex(".") :]]
        return Response(static[name], media_type=f"{kind}; charset=utf-8")

    async def session(request: Request) -> Response:
        body = await json_body(request)
        token = body.get("token")
        if not isinstance(token, str) or access.who(token) is None:
            raise Problem(
                401, "the token belongs to another server; open the link that this one printed"
            )
        return Response(status_code=204, headers={"set-cookie": access.cookie(token)})

    app.add_route("/", root, methods=["GET"])
    app.add_route("/healthz", healthz, methods=["GET"])
    app.add_route("/static/{name}", file, methods=["GET"])
    app.add_route("/api/session", session, methods=["POST"])
    return app


async def json_body(request: Request) -> dict[str, Any]:
    """Return the object that a request sends.

    Raises:
        Problem: it is not a JSON object.
    """
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not JSON") from None
    if not isinstance(body, dict):
        raise Problem(422, "the body must be a JSON object")
    return body


def whole_number(request: Request, name: str, default: int) -> int:
    """Return a number of the query.

    Raises:
        Problem: it is not a whole number.
    """
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise Problem(422, f"{name} must be a whole number")
    return int(text)


def asset(name: str) -> str:
    """Return a file of the folder ``static``."""
    return (files("veridical.serve.pages") / "static" / name).read_text("utf-8")


def template(name: str, **values: Any) -> str:
    """Render a template of the folder ``static``, with everything escaped."""
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
    """Open a socket for pages, which require a token for all data.

    Raises:
        UsageError: the extra is not installed, or the address is not available.
    """
    need_extra()
    return open_socket(host, port, guarded=True)


def serve_pages(
    app: FastAPI,
    access: PageAccess,
    listener: socket.socket,
    host: str,
    started: Callable[[str], None],
) -> int:
    """Serve until a signal arrives; see :func:`veridical.serve.running.run_app`."""
    secured = Secured(app, known_host=names_for(host), admit=access.admit, csp=CSP)
    return run_app(secured, listener, drain=3, started=started)


__all__ = [
    "CSP",
    "PageAccess",
    "address_of",
    "asset",
    "json_body",
    "listen",
    "page_app",
    "serve_pages",
    "template",
    "whole_number",
]
