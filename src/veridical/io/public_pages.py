"""Fetching of public web pages named by foreign text.

Both the page and the text that names it may be hostile. An address is requested only if its host
resolves to public addresses alone. The connection uses the checked address, without a second
lookup. Every redirect is checked again. Time, bytes and content types are bounded. No script,
proxy, cookie or credential is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import anyio
import httpx

from veridical.io.http_body import ACCEPTED, BodyError, read_body
from veridical.io.public_addresses import Resolve, is_public, resolve
from veridical.version import __version__

#: Maximum bytes of a page, compressed and decompressed.
LONGEST = 4 << 20
#: Maximum seconds for a page, including redirects.
SECONDS = 10.0
#: Maximum redirects.
REDIRECTS = 5
#: Maximum addresses tried per host.
_TRIED = 3
_LONGEST_URL = 2048
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Accepted content types; True for HTML.
_TYPES = {"text/html": True, "application/xhtml+xml": True, "text/plain": False}
_CONNECT = (httpx.ConnectError, httpx.ConnectTimeout)


class PageError(Exception):
    """Error: a page cannot be read."""


class Page(NamedTuple):
    """The response of an address.

    Attributes:
        url: the address after redirects.
        body: the decompressed body.
        html: True for HTML, False for plain text.
        charset: encoding given by the headers; None if not given.
    """

    url: str
    body: bytes
    html: bool
    charset: str | None


class PublicPages:
    """Client for public pages; each page uses its own connection.

    Args:
        seconds: maximum time for a page, including redirects.
        longest: maximum bytes of a page, compressed and decompressed.
        may_ask: predicate of address and port, for tests. The default accepts web ports of
            public addresses only.
        find: name resolver, for tests.
        verify: as for ``httpx.AsyncClient``, for tests.
    """

    def __init__(
        self,
        *,
        seconds: float = SECONDS,
        longest: int = LONGEST,
        may_ask: Callable[[str, int], bool] = is_public,
        find: Resolve = resolve,
        verify: object = None,
    ) -> None:
        self._seconds = seconds
        self._longest = longest
        self._may_ask = may_ask
        self._find = find
        # A connection must not be reused for another name at the same address, whose certificate
        # was not shown. The environment's proxy would resolve names itself.
        self._http = httpx.AsyncClient(
            verify=httpx.create_ssl_context() if verify is None else verify,  # type: ignore[arg-type]
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def fetch(self, url: str) -> Page:
        """Fetch the page at ``url``.

        Raises:
            PageError: it may not be fetched, or has no text page within the limits.
        """
        try:
            with anyio.fail_after(self._seconds):
                return await self._followed(_parsed(url))
        except TimeoutError:
            raise PageError(f"no whole page within {self._seconds:g} s") from None
        except BodyError as e:
            raise PageError(str(e)) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as e:
            raise PageError(f"{type(e).__name__}: {e}"[:300]) from None

    async def _followed(self, url: httpx.URL) -> Page:
        for _ in range(REDIRECTS + 1):
            found = await self._asked(url)
            if isinstance(found, Page):
                return found
            url = found
        raise PageError(f"more than {REDIRECTS} redirects")

    async def _asked(self, url: httpx.URL) -> Page | httpx.URL:
        """Return the page at ``url``, or the address of a redirect."""
        addresses = await self._checked(url)
        for address in addresses[:-1]:
            with contextlib.suppress(*_CONNECT):
                return await self._sent(url, address)
        return await self._sent(url, addresses[-1])

    async def _checked(self, url: httpx.URL) -> list[str]:
        """Return the addresses of the host of ``url`` if all are allowed."""
        host, port = url.raw_host.decode("ascii"), _port(url)
        try:
            addresses = await self._find(host, port)
        except (OSError, UnicodeError) as e:
            raise PageError(f"the host {host} is not found: {e}"[:300]) from None
        if not addresses:
            raise PageError(f"the host {host} has no address")
        for address in addresses:
            if not self._may_ask(address, port):
                raise PageError(f"{host} port {port} is not a public web address ({address})")
        return addresses[:_TRIED]

    async def _sent(self, url: httpx.URL, address: str) -> Page | httpx.URL:
        request = httpx.Request(
            "GET",
            url.copy_with(host=address, fragment=None),
            headers={
                "host": url.netloc.decode("ascii"),
                "accept": ", ".join(_TYPES),
                "accept-encoding": ACCEPTED,
                "user-agent": f"veridical/{__version__}",
            },
            extensions={
                "sni_hostname": url.raw_host.decode("ascii"),
                "timeout": httpx.Timeout(self._seconds).as_dict(),
            },
        )
        response = await self._http.send(request, stream=True, follow_redirects=False)
        try:
            status = response.status_code
            if status in _REDIRECTS and "location" in response.headers:
                return _parsed(str(url.join(response.headers["location"])))
            if status != 200:
                raise PageError(f"HTTP {status}")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in _TYPES:
                raise PageError(f"its content is {kind[:80] or 'of no stated type'!s}, not text")
            body = await read_body(response, self._longest)
            return Page(str(url), body, _TYPES[kind], response.charset_encoding)
        finally:
            self._http.cookies.clear()
            await response.aclose()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def _port(url: httpx.URL) -> int:
    default = 443 if url.scheme == "https" else 80
    return default if url.port is None else url.port


def _parsed(text: str) -> httpx.URL:
    """Parse the address of a page.

    Raises:
        PageError: it is not the address of a page.
    """
    if len(text) > _LONGEST_URL:
        raise PageError(f"its address is longer than {_LONGEST_URL} characters")
    try:
        url = httpx.URL(text)
        url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError, ValueError) as e:
        raise PageError(f"not the address of a page: {e}"[:300]) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise PageError("not an http(s) address")
    if not 0 < _port(url) < 65536:
        raise PageError("not the address of a page: invalid port")
    if url.userinfo:
        raise PageError("its address holds credentials")
    return url
