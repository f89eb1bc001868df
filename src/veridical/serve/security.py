"""Request validation: authentication, origin checks and body limits.

:class:`Secured` wraps an ASGI app. Before the app sees a request, its Host and Origin are checked,
and its sender by ``admit``. Its body is read within limits of time and size, decompressed, and
checked for JSON that is nested too deeply. Responses get headers that keep browsers from embedding,
caching or sniffing them.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from veridical.serve.problems import App, Message, Problem, Receive, Scope, Send
from veridical.serve.timeouts import with_timeout

LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: Seconds that a client may take to send the rest of its request, or accept a part of the answer.
PATIENCE = 30.0
#: Maximum bytes of a body as sent, and decompressed.
LONGEST_BODY = 2 * 2**20
LONGEST_UNPACKED = 8 * 2**20
#: Maximum bytes of all bodies that are being read at a time.
LONGEST_TOGETHER = 128 * 2**20
#: Maximum depth of nested lists and objects in a JSON body.
DEEPEST = 64
#: Default Content-Security-Policy of pages: load nothing.
CSP = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_SAFE = ("GET", "HEAD", "OPTIONS")
_STEP = 1 << 16

_log = logging.getLogger("veridical.serve")


def same(given: str, right: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(_digest(given), _digest(right))


def hash_of(key: str) -> str:
    """Return the SHA-256 of a key in hexadecimal, as stored in a file of keys.

    Keys are drawn at random with 256 bits, so a slow hash would add nothing.
    """
    return _digest(key).hex()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def header(scope: Scope, name: str) -> str | None:
    """Return the value of a request's header, the first if there are several."""
    wanted = name.lower().encode("latin-1")
    for key, value in scope["headers"]:
        if key == wanted:
            return str(value.decode("latin-1"))
    return None


def bearer_key(scope: Scope) -> str | None:
    """Return the key of a request: ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``."""
    scheme, _, key = (header(scope, "authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return header(scope, "x-api-key")


def is_loopback(host: str) -> bool:
    """Return True if an address or name is reachable only from this computer."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def host_name(value: str) -> str | None:
    """Return the name in a ``Host`` header, in lower case and without port; None if invalid.

    >>> host_name("LocalHost:8000"), host_name("[::1]:80"), host_name("a b")
    ('localhost', '::1', None)
    """
    if value.startswith("["):
        name, closed, port = value[1:].partition("]")
        port = port.removeprefix(":") if closed else "?"
    else:
        name, _, port = value.partition(":")
    if port and not (port.isascii() and port.isdigit()):
        return None
    name = name.lower().removesuffix(".")
    if not name or not name.isascii() or not all(c.isalnum() or c in "-._:" for c in name):
        return None
    return name


def names_for(host: str, more: Iterable[str] = ()) -> Callable[[str], bool]:
    """Return a predicate of the names under which requests may address a server at ``host``.

    These are the loopback names, ``host`` itself, and ``more``. A server that listens on every
    address (``0.0.0.0``, ``::``) accepts any address too. This is safe: a page that rebinds a name
    of its own sends a name, not an address, in the Host header.
    """
    names = {*LOOPBACK, host.lower(), *(name.lower().removesuffix(".") for name in more)}
    everywhere = host in ("0.0.0.0", "::")

    def known(name: str) -> bool:
        if name in names:
            return True
        if not everywhere:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    return known


@dataclass(frozen=True)
class Limits:
    """Limits of a request.

    Args:
        body: maximum bytes of a body as sent.
        unpacked: maximum bytes of a decompressed body.
        together: maximum bytes of all bodies that are being read at a time.
        depth: maximum depth of nested lists and objects in a JSON body.
        seconds: for the body to arrive, and for a client to accept a part of the answer.
    """

    body: int = LONGEST_BODY
    unpacked: int = LONGEST_UNPACKED
    together: int = LONGEST_TOGETHER
    depth: int = DEEPEST
    seconds: float = PATIENCE


@dataclass
class Secured:
    """ASGI app behind the checks of this module.

    Args:
        app: answers the requests that pass.
        known_host: whether a request may address the server by this name (see :func:`names_for`).
        admit: admits a request by its method, path and headers, before any of its body is read.
            Raises the :class:`~veridical.serve.problems.Problem` of a refused one. None admits
            every request that passes the other checks.
        limits: of bodies and time.
        limits_of: returns other limits for some requests, by method and path.
        csp: default Content-Security-Policy of answers.
        origins: foreign web origins (``https://HOST``) whose scripts may send requests that change
            something.
        shape: builds the answer to a refused request.
    """

    app: App
    known_host: Callable[[str], bool] = field(default_factory=lambda: names_for("127.0.0.1"))
    admit: Callable[[Scope], None] | None = None
    limits: Limits = field(default_factory=Limits)
    limits_of: Callable[[Scope], Limits] | None = None
    csp: str = CSP
    origins: Collection[str] = ()
    shape: Callable[[Scope, Problem], App] = lambda scope, problem: problem
    _held: int = field(default=0, init=False)  # bytes of bodies that are being read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limits = self.limits if self.limits_of is None else self.limits_of(scope)
        answer = _Response(send, self.csp, limits.seconds)
        taken = 0
        try:
            self._check(scope)
            body = bytearray()
            await self._read(scope, receive, body, limits)
            taken = len(body)
            plain = _unpacked(scope, body, limits)
            _check_depth(plain, limits.depth)
            await self.app(scope, _replay(plain, receive), answer)
        except Problem as problem:
            if answer.begun:
                raise
            # the rest of the body is not read, so the connection cannot continue
            await self.shape(scope, _closing(problem))(scope, receive, answer)
        except _Disconnected:
            return
        except TimeoutError:
            if not answer.begun:
                raise
            _log.warning("%s: the client stopped reading", scope["path"])
            raise
        except Exception:
            if answer.begun:
                raise
            _log.exception("%s %r failed", scope["method"], scope["path"])
            failed = Problem(500, "the server failed; its log says why")
            await self.shape(scope, failed)(scope, receive, answer)
        finally:
            self._held -= taken

    def _check(self, scope: Scope) -> None:
        """Check method and headers.

        Raises:
            Problem: the request is not for this server, comes from a foreign page, or is not
                admitted.
        """
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        name = host_name(hosts[0].decode("latin-1")) if len(hosts) == 1 else None
        if name is None or not self.known_host(name):
            raise Problem(421, "unknown host name; allow it with --allow-host")
        if scope["method"] not in _SAFE:
            origin = header(scope, "origin")
            if origin is not None and origin not in self.origins:
                where = origin.partition("://")[2]
                if where.lower() != hosts[0].decode("latin-1").lower():
                    raise Problem(403, "requests from a foreign web page are not allowed")
            if origin is None and header(scope, "sec-fetch-site") == "cross-site":
                raise Problem(403, "requests from a foreign web page are not allowed")
        if self.admit is not None:
            self.admit(scope)

    async def _read(self, scope: Scope, receive: Receive, body: bytearray, limits: Limits) -> None:
        """Read the body as sent, within limits. The bytes read count as held.

        Raises:
            Problem: it is too long, or late.
        """
        declared = header(scope, "content-length") or "0"
        if not (declared.isascii() and declared.isdigit()):
            raise Problem(400, "content-length is not a number")
        if len(declared) > 15 or int(declared) > limits.body:
            raise _too_long(limits)
        end = time.monotonic() + limits.seconds
        try:
            while True:
                left = end - time.monotonic()
                try:
                    message = await with_timeout(_one(receive), max(left, 0))
                except TimeoutError:
                    raise Problem(408, f"the body took over {limits.seconds:g} s") from None
                if message["type"] == "http.disconnect":
                    raise _Disconnected
                piece = message.get("body", b"")
                if len(body) + len(piece) > limits.body:
                    raise _too_long(limits)
                if self._held + len(piece) > limits.together:
                    raise Problem(
                        503,
                        "too many bodies are being read; try again",
                        headers={"retry-after": "1"},
                    )
                self._held += len(piece)
                body += piece
                if not message.get("more_body", False):
                    return
        except BaseException:
            self._held -= len(body)
            raise


def _unpacked(scope: Scope, body: bytearray, limits: Limits) -> bytes:
    """Decompress the body and remove the headers of its compression.

    Raises:
        Problem: it is too long, or its compression is not supported.
    """
    coding = (header(scope, "content-encoding") or "identity").strip().lower()
    if coding == "identity":
        return bytes(body)
    if coding != "gzip":
        raise Problem(
            415, "content-encoding must be gzip or absent", headers={"accept-encoding": "gzip"}
        )
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
    plain, rest = bytearray(), bytes(body)
    while rest:
        try:
            plain += decoder.decompress(rest, _STEP)
        except zlib.error:
            raise Problem(400, "the body is not valid gzip") from None
        if len(plain) > limits.unpacked:
            raise Problem(413, f"the decompressed body is over {limits.unpacked:,} bytes")
        rest = decoder.unconsumed_tail
    if not decoder.eof or decoder.unused_data:
        raise Problem(400, "the body is not valid gzip")
    dropped = (b"content-encoding", b"content-length")
    scope["headers"] = [
        *((name, value) for name, value in scope["headers"] if name not in dropped),
        (b"content-length", str(len(plain)).encode("ascii")),
    ]
    return bytes(plain)


def _too_long(limits: Limits) -> Problem:
    return Problem(413, f"the body is over {limits.body:,} bytes")


class _Disconnected(Exception):
    """Disconnection of a client before its request was complete."""


class _Response:
    """Answer with the headers common to all.

    A client that does not accept a part in time loses its connection.
    """

    def __init__(self, send: Send, csp: str, seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self._defaults = {
            b"x-content-type-options": b"nosniff",
            b"referrer-policy": b"no-referrer",
            b"cross-origin-resource-policy": b"same-origin",
            b"x-frame-options": b"DENY",
            b"cache-control": b"no-store",
            b"content-security-policy": csp.encode("ascii"),
        }
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = list(message.get("headers", ()))
            present = {name.lower() for name, _ in headers}
            headers += [pair for pair in self._defaults.items() if pair[0] not in present]
            message = {**message, "headers": headers}
        try:
            await with_timeout(_give(self._send, message), self._seconds)
        except TimeoutError:
            raise TimeoutError("the client stopped reading") from None


async def _one(receive: Receive) -> Message:
    return await receive()


async def _give(send: Send, message: Message) -> None:
    await send(message)


def _closing(problem: Problem) -> Problem:
    """Return the problem, after which the connection is closed."""
    headers: Mapping[str, str] = {**problem.headers, "connection": "close"}
    return Problem(problem.status, problem.detail, headers=headers, **problem.more)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receive function: the body that was read, then the server's messages.

    The latter report that the client has disconnected.
    """
    given = False

    async def once() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


def _check_depth(body: bytes, most: int) -> None:
    """Refuse JSON nested so deeply that recursion could overflow the stack.

    Raises:
        Problem: it is.
    """
    if body.count(b"[") + body.count(b"{") > most and depth_of(body) > most:
        raise Problem(422, f"the body is nested more than {most} levels deep")


def depth_of(body: bytes) -> int:
    """Return the maximum depth of nested lists and objects in a JSON text.

    Takes linear time for any input.
    """
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = np.frombuffer(b"".join(plain.split(b'"')[::2]), dtype=np.uint8)
    steps = np.isin(outside, list(b"[{")).astype(np.int32)
    steps -= np.isin(outside, list(b"]}")).astype(np.int32)
    return int(np.cumsum(steps).max(initial=0))
