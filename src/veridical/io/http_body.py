"""HTTP reply bodies, read and parsed within limits.

A server may be broken or hostile: no reply takes more memory than allowed, whatever its headers or
compression. Decompressed bytes are counted during decompression.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, NoReturn, cast

from veridical.version import __version__

if TYPE_CHECKING:
    import httpx

#: Content coding offered to servers. A reply with any other coding, or several, is refused.
ACCEPTED = "gzip"
#: Maximum bytes of an error text.
LONGEST_ERROR = 64 * 2**10
#: Maximum levels of lists and objects in a reply.
DEEPEST = 100
#: Bytes of a reply's limit per value in it: parsed, a value may take ten times its size.
_PER_VALUE = 16
_STEP = 1 << 20  # bytes decompressed at once
_SHOWN = 300


def request_headers(**more: str | None) -> dict[str, str]:
    """Return the headers of a request for JSON, with the items of ``more`` that are not None."""
    headers = {
        "accept": "application/json",
        "accept-encoding": ACCEPTED,
        "user-agent": f"veridical/{__version__}",
    }
    return headers | {name: value for name, value in more.items() if value is not None}


def bearer(key: str | None) -> str | None:
    """Return the ``authorization`` header of a key."""
    return f"Bearer {key}" if key else None


def open_http() -> httpx.AsyncClient:
    """Open a client with unlimited connections that uses the environment's proxies. Redirects are
    not followed."""
    import httpx

    return httpx.AsyncClient(limits=httpx.Limits(max_connections=None), follow_redirects=False)


class BodyError(Exception):
    """Error: a reply's body cannot be used."""


async def fetch(
    http: httpx.AsyncClient, request: httpx.Request, *, seconds: float, longest: int
) -> tuple[httpx.Response, bytes]:
    """Return the closed reply to ``request`` and its decompressed body. Redirects are not followed,
    and cookies are not stored.

    Args:
        seconds: limit for the whole exchange.
        longest: maximum bytes of the body, compressed and decompressed. For a status other than
            2xx the body is an error text, omitted if it is too long or unreadable.

    Raises:
        TimeoutError: there was no complete reply in time.
        httpx.TransportError: there was no complete reply.
        BodyError: the body of a 2xx reply is too long, or has a coding that was not offered.
    """
    import anyio

    with anyio.fail_after(seconds):
        response = await http.send(request, stream=True, follow_redirects=False)
        try:
            if 200 <= response.status_code < 300:
                return response, await read_body(response, longest)
            try:
                return response, await read_body(response, LONGEST_ERROR)
            except BodyError:
                return response, b""
        finally:
            http.cookies.clear()
            await response.aclose()


async def read_body(response: httpx.Response, longest: int) -> bytes:
    """Return the decompressed body of a reply that is being streamed.

    Raises:
        BodyError: it has more than ``longest`` bytes, compressed or decompressed, or a coding
            that was not offered.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity", ACCEPTED):
        raise BodyError(
            f"the reply has the content coding {coding[:40]!r}, which was not requested"
        )
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 15 or int(declared) > longest):
        raise _too_long(longest)
    decoder: Any = None  # as from zlib.decompressobj
    if coding == ACCEPTED:
        decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
    body, received = bytearray(), 0
    pieces = cast("AsyncGenerator[bytes, None]", response.aiter_raw())
    try:
        async with aclosing(pieces) as chunks:
            async for chunk in chunks:
                received += len(chunk)
                if decoder is None:
                    body += chunk
                else:
                    _inflate(decoder, chunk, body, longest)
                if max(len(body), received) > longest:
                    raise _too_long(longest)
        if received and decoder is not None and not decoder.eof:
            raise BodyError(f"the reply is not valid {ACCEPTED}: it is incomplete")
        return bytes(body)
    finally:
        body.clear()  # a stored error must not keep it in memory


def _inflate(decoder: Any, chunk: bytes, body: bytearray, longest: int) -> None:
    """Decompress ``chunk`` onto ``body`` in steps, stopping soon after ``longest``."""
    while chunk and len(body) <= longest:
        try:
            body += decoder.decompress(chunk, _STEP)
        except zlib.error as e:
            raise BodyError(f"the reply is not valid {ACCEPTED}: {e}") from None
        if decoder.unused_data:
            raise BodyError(f"the reply continues after the end of its {ACCEPTED} data")
        chunk = decoder.unconsumed_tail


def _too_long(longest: int) -> BodyError:
    return BodyError(f"the reply is longer than {longest:,} bytes")


def parse_json(body: bytes, longest: int) -> Any:
    """Parse a reply as JSON (RFC 8259) in UTF-8, whatever its headers say.

    Args:
        longest: size limit with which the body was read: one value per 16 bytes is allowed.

    Raises:
        BodyError: it is not JSON, or is too large or too deep for this process.
    """
    most = longest // _PER_VALUE
    containers = body.count(b"[") + body.count(b"{")
    if containers + body.count(b",") > most:
        raise BodyError(f"the reply contains more than {most:,} values")
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant)
    except RecursionError:
        raise _too_deep() from None
    except MemoryError:
        raise BodyError("the reply exceeds the available memory") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        shown = body[:_SHOWN].decode("utf-8", "replace")
        raise BodyError(f"the reply is not JSON: {shown}") from None
    except ValueError as e:  # such as a number with 5000 digits
        raise BodyError(f"the reply is not readable JSON: {e}") from None
    if containers > DEEPEST:
        _check_depth(value)
    return value


def _check_depth(reply: Any) -> None:
    """Check that a reply can be traversed.

    Raises:
        BodyError: it is so deep that traversal could exceed the recursion limit.
    """
    level = [reply]
    for _ in range(DEEPEST):
        level = [
            value
            for container in level
            for value in (container.values() if type(container) is dict else container)
            if type(value) is dict or type(value) is list
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> BodyError:
    return BodyError(f"the reply is not readable JSON: more than {DEEPEST} levels deep")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
