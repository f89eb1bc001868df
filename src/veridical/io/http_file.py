"""Piecewise downloads, without decompression."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from veridical.io import blocking
from veridical.version import __version__

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_REDIRECTS = 5
_COUNT = re.compile(r"[0-9]{1,18}")
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)")


class FetchError(Exception):
    """Error: a file cannot be fetched."""


class Fetched:
    """Pieces of a file, in order of arrival.

    Attributes:
        start: bytes of the file before the first piece. These are the bytes to leave out, or 0 if
            the server does not support ranges.
        size: bytes of the whole file as reported by the server; None if not reported.
    """

    def __init__(
        self, pieces: AsyncIterator[bytes], limits: _Limits, start: int, size: int | None
    ) -> None:
        self.start = start
        self.size = size
        self._pieces = pieces
        self._limits = limits

    def read(self, _: int) -> bytes:
        """Return the next piece; empty at the end.

        Raises:
            FetchError: the transfer breaks off, or takes too long.
        """
        return self._limits.run(self._next())

    async def _next(self) -> bytes:
        return await anext(self._pieces, b"")


class _Limits:
    def __init__(self, stall: float, seconds: float) -> None:
        self._stall = stall
        self._ends = time.monotonic() + seconds

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        """Await a step within the limits.

        Raises:
            FetchError: the step failed, or took too long.
        """
        import httpx

        try:
            return blocking.run(self._timed(step))
        except TimeoutError:
            raise FetchError("the transfer did not end in time") from None
        except (httpx.HTTPError, httpx.InvalidURL) as e:
            raise FetchError(f"{type(e).__name__}: {e}".rstrip(": ")) from None

    async def _timed(self, step: Coroutine[Any, Any, T]) -> T:
        import anyio

        with anyio.fail_after(min(self._stall, self._ends - time.monotonic())):
            return await step


@contextmanager
def opened(
    url: str, *, stall: float, seconds: float, connect: float | None = None, start: int = 0
) -> Iterator[Fetched]:
    """Open the file at ``url``. No key or cookie is sent. Redirects are followed, from https only
    to https; their bodies are not read.

    Args:
        stall: maximum seconds without a byte.
        seconds: limit for the whole transfer.
        connect: maximum seconds to reach the server; default: ``stall``.
        start: bytes to leave out at the beginning.

    Raises:
        FetchError: it cannot be fetched, or has a content coding, which was not requested.
    """
    import httpx

    limits = _Limits(stall, seconds)
    timeout = httpx.Timeout(stall, connect=stall if connect is None else connect)
    http = httpx.AsyncClient(follow_redirects=False, timeout=timeout)
    try:
        response = limits.run(_asked(http, url, start))
        yield Fetched(response.aiter_raw(), limits, *_extent(response, start))
    finally:
        blocking.run(http.aclose())


async def _asked(http: httpx.AsyncClient, url: str, start: int) -> httpx.Response:
    import httpx

    address = httpx.URL(url)
    for _ in range(1 + _REDIRECTS):
        headers = {"accept-encoding": "identity", "user-agent": f"veridical/{__version__}"}
        if start:
            headers["range"] = f"bytes={start}-"
        request = httpx.Request("GET", address, headers=headers)
        response = await http.send(request, stream=True)
        http.cookies.clear()
        if response.next_request is None:
            break
        await response.aclose()
        then = response.next_request.url
        if then.scheme not in ("https", address.scheme):
            raise FetchError(f"it redirects from {address.scheme} to {then.scheme}")
        address = then
    else:
        raise FetchError(f"more than {_REDIRECTS} redirects")
    if response.status_code not in ((200, 206) if start else (200,)):
        raise FetchError(f"HTTP {response.status_code}")
    coding = response.headers.get("content-encoding", "identity")
    if coding.strip().lower() not in ("", "identity"):
        raise FetchError(f"it has the content coding {coding[:40]!r}, which was not requested")
    return response


def _extent(response: httpx.Response, start: int) -> tuple[int, int | None]:
    """Return the offset of the response, and the size of the whole file.

    Raises:
        FetchError: the response is another range than the requested one.
    """
    if response.status_code == 200:
        length = response.headers.get("content-length", "")
        return 0, int(length) if _COUNT.fullmatch(length) else None
    sent = _RANGE.fullmatch(response.headers.get("content-range", ""))
    if sent is None or int(sent[1]) != start:
        raise FetchError(f"it does not continue at byte {start}, as requested")
    return start, None if sent[2] == "*" else int(sent[2])
