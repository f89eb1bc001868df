"""Bodies of HTTP replies, read and parsed within bounds: a server may be broken, or hostile.

No reply takes more memory than its reader has allowed, whatever its headers say and however it is
packed: what is unpacked is counted while it is unpacked.
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

#: The content coding that is offered to servers. A reply in any other, or in several, is refused.
ACCEPTED = "gzip"
#: Bytes of an error's text.
LONGEST_ERROR = 64 * 2**10
#: Levels of lists and objects in a reply.
DEEPEST = 100
#: Bytes of a reply's limit that a value in it stands for: parsed, a value may take ten times as
#: many as it had.
_PER_VALUE = 16
_STEP = 1 << 20  # bytes that are unpacked at once
_SHOWN = 300


def request_headers(**more: str | None) -> dict[str, str]:
    """What a request for JSON says of itself; ``more`` where it is not None."""
    headers = {
        "accept": "application/json",
        "accept-encoding": ACCEPTED,
        "user-agent": f"veridical/{__version__}",
    }
    return headers | {name: value for name, value in more.items() if value is not None}


def bearer(key: str | None) -> str | None:
    """The header ``authorization`` for a key."""
    return f"Bearer {key}" if key else None


def open_http() -> httpx.AsyncClient:
    """Return a client with as many connections as there are calls, by the proxies that the
    environment names. Redirects are not followed."""
    import httpx

    return httpx.AsyncClient(limits=httpx.Limits(max_connections=None), follow_redirects=False)


class BodyError(Exception):
    """Why a reply's body cannot be used."""


async def fetch(
    http: httpx.AsyncClient, request: httpx.Request, *, seconds: float, longest: int
) -> tuple[httpx.Response, bytes]:
    """The reply to ``request``, closed, and its body, unpacked. Redirects are not followed, and a
    server's cookies are not kept.

    Args:
        seconds: for all of it.
        longest: bytes of the body, packed and unpacked. Of a status other than 2xx it is an
            error's text, which is left out where it is too long or unreadable.

    Raises:
        TimeoutError: no whole reply in time.
        httpx.TransportError: no whole reply.
        BodyError: the body of a 2xx is too long, or packed in a way that was not offered.
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
    """The body of a reply that is being streamed, unpacked.

    Raises:
        BodyError: it has more than ``longest`` bytes, packed or unpacked, or is packed in a way
            that was not offered.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity", ACCEPTED):
        raise BodyError(f"the reply is packed as {coding[:40]!r}, which was not asked for")
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 15 or int(declared) > longest):
        raise _too_long(longest)
    decoder: Any = None  # as of zlib.decompressobj
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
            raise BodyError(f"the reply is no readable {ACCEPTED}: it breaks off")
        return bytes(body)
    finally:
        body.clear()  # an error that somebody keeps must not hold it


def _inflate(decoder: Any, chunk: bytes, body: bytearray, longest: int) -> None:
    """Unpack ``chunk`` onto ``body``, a step at a time, and not far past ``longest``."""
    while chunk and len(body) <= longest:
        try:
            body += decoder.decompress(chunk, _STEP)
        except zlib.error as e:
            raise BodyError(f"the reply is no readable {ACCEPTED}: {e}") from None
        if decoder.unused_data:
            raise BodyError(f"the reply goes on after the end of its {ACCEPTED}")
        chunk = decoder.unconsumed_tail


def _too_long(longest: int) -> BodyError:
    return BodyError(f"the reply is longer than {longest:,} bytes")


def parse_json(body: bytes, longest: int) -> Any:
    """What a reply says, which is JSON as of RFC 8259 in UTF-8, whatever its headers say.

    Args:
        longest: the limit that the body was read with: it may hold a value for each 16 bytes.

    Raises:
        BodyError: it is none, or is too large or too deep for this process.
    """
    most = longest // _PER_VALUE
    containers = body.count(b"[") + body.count(b"{")
    if containers + body.count(b",") > most:
        raise BodyError(f"the reply holds more than {most:,} values")
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant)
    except RecursionError:
        raise _too_deep() from None
    except MemoryError:
        raise BodyError("the reply takes more memory than there is") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        shown = body[:_SHOWN].decode("utf-8", "replace")
        raise BodyError(f"the reply is not JSON: {shown}") from None
    except ValueError as e:  # such as a number of 5000 digits
        raise BodyError(f"the reply is not JSON that can be read: {e}") from None
    if containers > DEEPEST:
        _check_depth(value)
    return value


def _check_depth(reply: Any) -> None:
    """Check that a reply can be walked.

    Raises:
        BodyError: it is so deep that whoever walks it could exceed the recursion limit.
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
    return BodyError(f"the reply is not JSON that can be read: more than {DEEPEST} levels deep")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
