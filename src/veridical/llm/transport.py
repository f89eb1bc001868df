"""One HTTP call to an OpenAI-compatible server: JSON out, a JSON object in, or an error."""

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

#: Bytes of a reply, packed and unpacked.
LONGEST_BODY = 64 * 2**20
#: Seconds to reach the server, where the endpoint allows as many for the whole attempt.
_LONGEST_CONNECT = 30.0


class Transport:
    """Posts to one endpoint. Redirects are not followed. No message holds the key.

    Args:
        http: for tests; by default one of its own, which takes proxies from the environment.
        longest_body: most bytes of a reply, packed and unpacked.
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
            response, body = await fetch(
                self._http, request, seconds=self.endpoint.timeout, longest=self._longest
            )
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
        except BodyError as e:
            self._fail("malformed", str(e), key, possibly_paid=1, again=False)
        if not 200 <= response.status_code < 300:
            self._refuse(response, body, key)
        return self._object(response, body, key)

    def redact(self, text: str) -> str:
        """``text`` without the endpoint's key."""
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
            message = "the reply holds the endpoint's key"
            self._fail("malformed", message, key, possibly_paid=1, again=False)
        try:
            reply = parse_json(body, self._longest)
        except BodyError as e:
            self._fail("malformed", str(e), key, possibly_paid=1)
        if not isinstance(reply, dict):
            self._fail("malformed", "the reply is not a JSON object", key, possibly_paid=1)
        if reply.get("error") and not reply.get("choices") and not reply.get("data"):
            # An error under 200: what a go-between says when it had begun to answer.
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
    """The code and the message in an error's body, in the forms that servers have for it."""
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
