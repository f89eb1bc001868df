"""One HTTP call to an OpenAI-compatible server: JSON out, a JSON object in, or an error."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, NoReturn, cast

import anyio
import httpx

from veridical.llm.endpoints import Endpoint
from veridical.llm.lanes import open_http
from veridical.llm.messages import Trouble
from veridical.llm.retries import AttemptError, retry_after
from veridical.version import __version__

#: Bytes, unpacked: of a reply, and of an error's text.
LONGEST_BODY = 64 * 2**20
LONGEST_ERROR = 64 * 2**10
#: Seconds to reach the server, where the endpoint allows as many for the whole attempt.
_LONGEST_CONNECT = 30.0
#: Statuses of go-betweens that have lost what may have been an answer.
_LOST = frozenset({408, 502, 504, 520, 522, 524})
#: Words for an account that is empty: to wait does not help.
_NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_SHOWN = 300


class Transport:
    """Posts to one endpoint. Redirects are not followed. No message holds the key.

    Args:
        http: for tests; by default one of its own, which takes proxies from the environment.
        longest_body: most bytes of a reply, unpacked.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        http: httpx.AsyncClient | None = None,
        *,
        longest_body: int = LONGEST_BODY,
    ) -> None:
        self.endpoint = endpoint
        self._base = endpoint.base_url.rstrip("/")
        self._longest = longest_body
        self._own = http is None
        self._http = http or open_http(self._base)
        connect = min(endpoint.timeout, _LONGEST_CONNECT)
        self._timeout = httpx.Timeout(None, connect=connect).as_dict()
        self._urls: dict[str, httpx.URL] = {}

    async def post(self, path: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the server answers to ``payload``.

        Args:
            path: after the base address, such as ``chat/completions``.

        Raises:
            AttemptError: there is none, for whatever reason but the following.
            UsageError: the endpoint's key is not in the environment.
        """
        key = self.endpoint.key()
        request = self._request(path, payload, key)
        try:
            with anyio.fail_after(self.endpoint.timeout):
                response = await self._http.send(request, stream=True, follow_redirects=False)
                try:
                    ok = 200 <= response.status_code < 300
                    body = await read_body(response, self._longest if ok else LONGEST_ERROR)
                finally:
                    await response.aclose()
        except TimeoutError:
            message = f"no whole answer within {self.endpoint.timeout:g} s"
            self._fail("timeout", message, key, possibly_paid=1)
        except httpx.TransportError as e:
            # Up to here nothing can have been answered; later, something may have.
            reached = not isinstance(e, (httpx.ConnectError, httpx.ConnectTimeout))
            again = not isinstance(e, (httpx.UnsupportedProtocol, httpx.LocalProtocolError))
            self._fail(
                "connection" if again else "rejected",
                f"{type(e).__name__}: {e}",
                key,
                possibly_paid=int(reached and again),
            )
        if body is None:
            if ok:
                message = f"the reply is longer than {self._longest} bytes, or packed unreadably"
                self._fail("malformed", message, key, possibly_paid=1, again=False)
            body = b""
        if not ok:
            self._refuse(response, body, key)
        return self._object(response, body, key)

    async def close(self) -> None:
        """Close the connections."""
        if self._own:
            await self._http.aclose()

    def _request(self, path: str, payload: Mapping[str, Any], key: str | None) -> httpx.Request:
        headers = {
            "accept": "application/json",
            "accept-encoding": "gzip, deflate",
            "content-type": "application/json",
            "user-agent": f"veridical/{__version__}",
        }
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        try:
            content = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
            if path not in self._urls:
                self._urls[path] = httpx.URL(f"{self._base}/{path}")
            # Not by the client's build_request: that would send back a server's cookies.
            return httpx.Request(
                "POST",
                self._urls[path],
                content=content,
                headers=headers,
                extensions={"timeout": self._timeout},
            )
        except (ValueError, TypeError, RecursionError, httpx.InvalidURL) as e:
            self._fail("rejected", f"this cannot be sent: {type(e).__name__}: {e}", key)

    def _refuse(self, response: httpx.Response, body: bytes, key: str | None) -> NoReturn:
        """Raise what a reply other than 2xx means."""
        status = response.status_code
        if 300 <= status < 400:
            message = f"HTTP {status}: redirects are not followed; give the final address"
            self._fail("rejected", message, key, status=status)
        text = body.decode("utf-8", "replace")
        code, told = _error_of(text)
        trouble, again = _classify(status, code)
        self._fail(
            trouble,
            f"HTTP {status}: {told}",
            key,
            status=status,
            retry_after=retry_after(response.headers),
            possibly_paid=int(status in _LOST),
            again=again,
        )

    def _object(self, response: httpx.Response, body: bytes, key: str | None) -> dict[str, Any]:
        try:
            found = json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            shown = body[:_SHOWN].decode("utf-8", "replace")
            self._fail("malformed", f"the reply is not JSON: {shown}", key, possibly_paid=1)
        if not isinstance(found, dict):
            self._fail("malformed", "the reply is not a JSON object", key, possibly_paid=1)
        error = found.get("error")
        if error and not found.get("choices") and not found.get("data"):
            # An error under 200: what a go-between says when it had begun to answer.
            code, told = _error_of(json.dumps(found))
            status = int(code) if code.isdecimal() and len(code) == 3 else 500
            trouble, again = _classify(status, code)
            self._fail(
                trouble,
                f"HTTP {response.status_code} with an error: {told}",
                key,
                status=status,
                retry_after=retry_after(response.headers),
                again=again,
            )
        return found

    def _fail(
        self,
        trouble: Trouble,
        message: str,
        key: str | None,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        possibly_paid: int = 0,
        again: bool = True,
    ) -> NoReturn:
        if key:
            message = message.replace(key, "[key]")
        raise AttemptError(
            trouble,
            excerpt(message),
            status=status,
            retry_after=retry_after,
            possibly_paid=possibly_paid,
            again=again,
        ) from None


def excerpt(text: str) -> str:
    """The start of a server's words, on one line, printable."""
    flat = " ".join(text.split())[:_SHOWN]
    return "".join(c if c.isprintable() else "?" for c in flat)


async def read_body(response: httpx.Response, longest: int) -> bytes | None:
    """The body, unpacked; None where it is too long or packed in a way that was not offered."""
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "", "gzip", "deflate"):
        return None
    decoder: Any = None  # as of zlib.decompressobj
    if packing in ("gzip", "deflate"):
        decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)  # finds out which of the two
    body = bytearray()
    pieces = cast("AsyncGenerator[bytes, None]", response.aiter_raw())
    async with aclosing(pieces) as chunks:
        async for chunk in chunks:
            if decoder is not None:
                try:
                    chunk = decoder.decompress(chunk, longest - len(body) + 1)
                except zlib.error:
                    return None
            body += chunk
            if len(body) > longest or (decoder is not None and decoder.unconsumed_tail):
                return None
    return bytes(body)


def _classify(status: int, code: str) -> tuple[Trouble, bool]:
    """The class of an error, and whether another attempt may help."""
    if status == 429:
        return "rate_limited", code not in _NO_MONEY
    if status == 408:
        return "timeout", True
    if status in (409, 425) or (status >= 500 and status not in (501, 505)):
        return "server", True
    return ("refused" if code in ("content_filter", "content_policy_violation") else "rejected"), (
        False
    )


def _error_of(text: str) -> tuple[str, str]:
    """The code and the message in an error's body, in the forms that servers have for it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "", text
    if isinstance(found, list) and found:  # Gemini
        found = found[0]
    error = found.get("error", found) if isinstance(found, dict) else found
    if not isinstance(error, dict):
        return "", str(error)
    kinds = (error.get("code"), error.get("type"))
    code = next((str(k) for k in kinds if isinstance(k, (str, int)) and str(k) in _NO_MONEY), "")
    code = code or next((str(k) for k in kinds if isinstance(k, (str, int))), "")
    param = f" (param: {error['param']})" if isinstance(error.get("param"), str) else ""
    return code, f"{error.get('message', error.get('detail', text))}{param}"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
