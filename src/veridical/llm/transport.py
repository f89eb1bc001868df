"""HTTP calls to an OpenAI-compatible server."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NoReturn

import httpx

from veridical.core.messages import Trouble
from veridical.io.http_body import (
    BodyError,
    bearer,
    fetch,
    open_http,
    parse_json,
    request_headers,
)
from veridical.llm.endpoints import Endpoint
from veridical.llm.redact import excerpt, redact
from veridical.llm.retries import NO_MONEY, AttemptError, may_be_paid, retry_after, trouble_of

#: Maximum bytes of a reply, compressed and decompressed.
LONGEST_BODY = 64 * 2**20
#: Maximum seconds to connect to the server, within the attempt's timeout.
_LONGEST_CONNECT = 30.0


class Transport:
    """HTTP client of one endpoint. Redirects are not followed. No message contains the key.

    Args:
        http: for tests; by default a client of its own, which reads proxies from the environment.
        longest_body: maximum bytes of a reply, compressed and decompressed.
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
        self._http = http or open_http()
        connect = min(endpoint.timeout, _LONGEST_CONNECT)
        self._timeout = httpx.Timeout(None, connect=connect).as_dict()
        self._urls: dict[str, httpx.URL] = {}

    async def post(self, path: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Post ``payload`` and return the JSON object that the server replies.

        Args:
            path: after the base address, such as ``chat/completions``.

        Raises:
            AttemptError: there is no JSON object, for any other reason than the next.
            UsageError: the endpoint's key is not in the environment.
        """
        key = self.endpoint.key()
        request = self._request(path, payload, key)
        try:
            response, body = await fetch(
                self._http, request, seconds=self.endpoint.timeout, longest=self._longest
            )
        except TimeoutError:
            message = f"no complete answer within {self.endpoint.timeout:g} s"
            self._fail("timeout", message, key, possibly_paid=1)
        except httpx.TransportError as e:
            # Up to here nothing can have been answered; from here on it may have been.
            reached = not isinstance(e, (httpx.ConnectError, httpx.ConnectTimeout))
            again = not isinstance(e, (httpx.UnsupportedProtocol, httpx.LocalProtocolError))
            self._fail(
                "connection" if again else "rejected",
                f"{type(e).__name__}: {e}",
                key,
                possibly_paid=int(reached and again),
            )
        except BodyError as e:
            self._fail("malformed", str(e), key, possibly_paid=1, again=False)
        if not 200 <= response.status_code < 300:
            self._refuse(response, body, key)
        return self._object(response, body, key)

    def redact(self, text: str) -> str:
        """Remove the endpoint's key from ``text``."""
        return redact(text, os.environ.get(self.endpoint.key_env or "", "").strip())

    async def close(self) -> None:
        """Close the connections."""
        if self._own:
            await self._http.aclose()

    def _request(self, path: str, payload: Mapping[str, Any], key: str | None) -> httpx.Request:
        headers = request_headers(authorization=bearer(key))
        headers["content-type"] = "application/json"
        try:
            content = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
            if path not in self._urls:
                self._urls[path] = httpx.URL(f"{self._base}/{path}")
            # Not by the client's build_request: it would send back a server's cookies.
            return httpx.Request(
                "POST",
                self._urls[path],
                content=content,
                headers=headers,
                extensions={"timeout": self._timeout},
            )
        except (ValueError, TypeError, RecursionError, httpx.InvalidURL) as e:
            self._fail("rejected", f"the request cannot be sent: {type(e).__name__}: {e}", key)

    def _refuse(self, response: httpx.Response, body: bytes, key: str | None) -> NoReturn:
        """Raise the error that a reply other than 2xx stands for."""
        status = response.status_code
        if 300 <= status < 400:
            message = (
                f"HTTP {status}: redirects are not followed; set base_url to the final address"
            )
            self._fail("rejected", message, key, status=status)
        code, message = _error_of(body)
        self._refused(response, code, f"HTTP {status}: {message}", key, status, may_be_paid(status))

    def _refused(
        self,
        response: httpx.Response,
        code: str,
        message: str,
        key: str | None,
        status: int,
        paid: bool,
    ) -> NoReturn:
        trouble, again = trouble_of(status, code)
        self._fail(
            trouble,
            message,
            key,
            status=status,
            retry_after=retry_after(response.headers),
            possibly_paid=int(paid),
            again=again,
        )

    def _object(self, response: httpx.Response, body: bytes, key: str | None) -> dict[str, Any]:
        if key and key.encode() in body:
            message = "the reply contains the endpoint's key"
            self._fail("malformed", message, key, possibly_paid=1, again=False)
        try:
            reply = parse_json(body, self._longest)
        except BodyError as e:
            self._fail("malformed", str(e), key, possibly_paid=1)
        if not isinstance(reply, dict):
            self._fail("malformed", "the reply is not a JSON object", key, possibly_paid=1)
        if reply.get("error") and not reply.get("choices") and not reply.get("data"):
            # An error under status 200: from a proxy that had already begun to answer.
            code, error = _error_of(body)
            status = int(code) if code.isdecimal() and len(code) == 3 else 500
            message = f"HTTP {response.status_code} with an error: {error}"
            self._refused(response, code, message, key, status, paid=True)
        return reply

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
        raise AttemptError(
            trouble,
            excerpt(message, key),
            status=status,
            retry_after=retry_after,
            possibly_paid=possibly_paid,
            again=again,
        ) from None


def _error_of(body: bytes) -> tuple[str, str]:
    """Return the code and the message of an error body, in servers' various forms."""
    text = body.decode("utf-8", "replace")
    try:
        reply = parse_json(text.encode(), LONGEST_BODY)
    except BodyError:
        return "", text
    if isinstance(reply, list) and reply:  # Gemini
        reply = reply[0]
    error = reply.get("error", reply) if isinstance(reply, dict) else reply
    if not isinstance(error, dict):
        return "", str(error)
    kinds = (error.get("code"), error.get("type"))
    code = next((str(k) for k in kinds if isinstance(k, (str, int)) and str(k) in NO_MONEY), "")
    code = code or next((str(k) for k in kinds if isinstance(k, (str, int))), "")
    param = f" (param: {error['param']})" if isinstance(error.get("param"), str) else ""
    return code, f"{error.get('message', error.get('detail', text))}{param}"
