"""What stands before every server and page of the package: whom it answers, and how much it takes.

:class:`Secured` wraps an ASGI app. Before the app sees a request, its Host and Origin are checked,
its sender by ``admit``, and its body is read within bounds of time and size, unpacked, and checked
for JSON that is nested too deeply. An answer leaves with headers that keep browsers from
embedding, caching or sniffing it.
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

from veridical.serve.patience import in_time
from veridical.serve.problems import App, Message, Problem, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: Seconds that a client may take for the rest of its request, and for a piece of the answer.
PATIENCE = 30.0
#: Bytes of a body as sent, and unpacked.
LONGEST_BODY = 2 * 2**20
LONGEST_UNPACKED = 8 * 2**20
#: Bytes of all bodies that are being read at a time.
LONGEST_TOGETHER = 128 * 2**20
#: Lists and objects in each other, in a body of JSON.
DEEPEST = 64
#: What pages may load unless they say otherwise: nothing.
CSP = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_SAFE = ("GET", "HEAD", "OPTIONS")
_STEP = 1 << 16

_log = logging.getLogger("veridical.serve")


def same(given: str, right: str) -> bool:
    """Whether two secrets are equal, in a time that tells nothing about either."""
    return hmac.compare_digest(_digest(given), _digest(right))


def hash_of(key: str) -> str:
    """What a file of keys has in the place of ``key``: its SHA-256 in hexadecimal. Keys are drawn
    at random with 256 bits, so that a slow hash would add nothing."""
    return _digest(key).hex()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def header(scope: Scope, name: str) -> str | None:
    """The value of a request's header; of several with this name, the first."""
    wanted = name.lower().encode("latin-1")
    for key, value in scope["headers"]:
        if key == wanted:
            return str(value.decode("latin-1"))
    return None


def bearer_key(scope: Scope) -> str | None:
    """The key that a request carries: ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``."""
    scheme, _, key = (header(scope, "authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return header(scope, "x-api-key")


def is_loopback(host: str) -> bool:
    """Whether an address or name is this computer's own, reached by nobody else."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def host_name(value: str) -> str | None:
    """The name in a ``Host`` header, in lower case and without its port; None where it is none.

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
    """Which names a request may call a server by that listens at ``host``: those of this
    computer's loopback, ``host`` itself, and ``more``. A server that listens at every address
    (``0.0.0.0``, ``::``) is also called by any of them: a page that rebinds a name of its own to
    it has a name, not an address, in the Host header."""
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
    """How much a server takes of a request.

    Args:
        body: bytes of a body as sent.
        unpacked: bytes of a body without its compression.
        together: bytes of all bodies that are being read at a time.
        depth: lists and objects in each other, in a body of JSON.
        seconds: for the body to arrive, and for a client to take a piece of the answer.
    """

    body: int = LONGEST_BODY
    unpacked: int = LONGEST_UNPACKED
    together: int = LONGEST_TOGETHER
    depth: int = DEEPEST
    seconds: float = PATIENCE


@dataclass
class Secured:
    """An ASGI app behind the checks that this module describes.

    Args:
        app: what answers the requests that pass.
        known_host: whether a request may call the server by this name (see :func:`names_for`).
        admit: whom to answer. It looks at a request's method, path and headers, before any of its
            body is read, and raises the :class:`~veridical.serve.problems.Problem` of one that is
            refused. None answers everybody who passes the other checks.
        limits: of bodies and time.
        limits_of: the limits of requests that have others, by their method and path.
        csp: the Content-Security-Policy of answers that have none of their own.
        origins: web pages elsewhere (``https://HOST``) whose scripts may send requests that
            change something.
        shape: makes the answer of a request that is refused.
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
        answer = _Answer(send, self.csp, limits.seconds)
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
            # what is left of the body is not read: the connection cannot go on
            await self.shape(scope, _closing(problem))(scope, receive, answer)
        except _Gone:
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
        """Refuse by method and headers.

        Raises:
            Problem: the request is not for this server, comes from a page elsewhere, or is not
                admitted.
        """
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        name = host_name(hosts[0].decode("latin-1")) if len(hosts) == 1 else None
        if name is None or not self.known_host(name):
            raise Problem(421, "this server has no such name; allow it with --allow-host")
        if scope["method"] not in _SAFE:
            origin = header(scope, "origin")
            if origin is not None and origin not in self.origins:
                where = origin.partition("://")[2]
                if where.lower() != hosts[0].decode("latin-1").lower():
                    raise Problem(403, "a page elsewhere may not send this request")
            if origin is None and header(scope, "sec-fetch-site") == "cross-site":
                raise Problem(403, "a page elsewhere may not send this request")
        if self.admit is not None:
            self.admit(scope)

    async def _read(self, scope: Scope, receive: Receive, body: bytearray, limits: Limits) -> None:
        """Read the body as it was sent, within bounds. What was read is counted as held.

        Raises:
            Problem: it is too long, or late.
        """
        declared = header(scope, "content-length") or "0"
        if not (declared.isascii() and declared.isdigit()):
            raise Problem(400, "content-length is no number")
        if len(declared) > 15 or int(declared) > limits.body:
            raise _too_long(limits)
        end = time.monotonic() + limits.seconds
        try:
            while True:
                left = end - time.monotonic()
                try:
                    message = await in_time(_one(receive), max(left, 0))
                except TimeoutError:
                    raise Problem(408, f"the body took over {limits.seconds:g} s") from None
                if message["type"] == "http.disconnect":
                    raise _Gone
                piece = message.get("body", b"")
                if len(body) + len(piece) > limits.body:
                    raise _too_long(limits)
                if self._held + len(piece) > limits.together:
                    raise Problem(
                        503, "too many bodies are being read", headers={"retry-after": "1"}
                    )
                self._held += len(piece)
                body += piece
                if not message.get("more_body", False):
                    return
        except BaseException:
            self._held -= len(body)
            raise


def _unpacked(scope: Scope, body: bytearray, limits: Limits) -> bytes:
    """The body without its compression, which its headers then do not name any more.

    Raises:
        Problem: it is too long, or packed in a way that is not read.
    """
    coding = (header(scope, "content-encoding") or "identity").strip().lower()
    if coding == "identity":
        return bytes(body)
    if coding != "gzip":
        raise Problem(415, "content-encoding may be gzip only", headers={"accept-encoding": "gzip"})
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
    plain, rest = bytearray(), bytes(body)
    while rest:
        try:
            plain += decoder.decompress(rest, _STEP)
        except zlib.error:
            raise Problem(400, "the body is no readable gzip") from None
        if len(plain) > limits.unpacked:
            raise Problem(413, f"unpacked, the body is over {limits.unpacked:,} bytes")
        rest = decoder.unconsumed_tail
    if not decoder.eof or decoder.unused_data:
        raise Problem(400, "the body is no readable gzip")
    dropped = (b"content-encoding", b"content-length")
    scope["headers"] = [
        *((name, value) for name, value in scope["headers"] if name not in dropped),
        (b"content-length", str(len(plain)).encode("ascii")),
    ]
    return bytes(plain)


def _too_long(limits: Limits) -> Problem:
    return Problem(413, f"the body is over {limits.body:,} bytes")


class _Gone(Exception):
    """The client went before its request was whole."""


class _Answer:
    """Sends an answer with the headers that every one has. A client that does not take a piece in
    time loses its connection."""

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
            await in_time(_give(self._send, message), self._seconds)
        except TimeoutError:
            raise TimeoutError("the client stopped reading") from None


async def _one(receive: Receive) -> Message:
    return await receive()


async def _give(send: Send, message: Message) -> None:
    await send(message)


def _closing(problem: Problem) -> Problem:
    """The problem, after which the connection ends."""
    headers: Mapping[str, str] = {**problem.headers, "connection": "close"}
    return Problem(problem.status, problem.detail, headers=headers, **problem.more)


def _replay(body: bytes, receive: Receive) -> Receive:
    """What the app receives: the body that was read, and then what the server says, which is that
    the client has gone."""
    given = False

    async def once() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


def _check_depth(body: bytes, most: int) -> None:
    """Refuse JSON that is nested so deeply that whoever walks it may run out of stack.

    Raises:
        Problem: it is.
    """
    if body.count(b"[") + body.count(b"{") > most and depth_of(body) > most:
        raise Problem(422, f"the body is nested more than {most} levels deep")


def depth_of(body: bytes) -> int:
    """How many lists and objects of a JSON text are in each other, at most. Linear in its length,
    whatever it is."""
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = np.frombuffer(b"".join(plain.split(b'"')[::2]), dtype=np.uint8)
    steps = np.isin(outside, list(b"[{")).astype(np.int32)
    steps -= np.isin(outside, list(b"]}")).astype(np.int32)
    return int(np.cumsum(steps).max(initial=0))
