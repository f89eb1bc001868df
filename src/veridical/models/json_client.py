"""Client of model servers with JSON over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veridical.errors import ModelError, UsageError
from veridical.io import blocking
from veridical.io.http_body import (
    BodyError,
    bearer,
    fetch,
    open_http,
    parse_json,
    request_headers,
)
from veridical.llm.endpoints import key_from
from veridical.llm.redact import excerpt
from veridical.llm.retries import LONGEST_ASKED, backoff, retry_after, trouble_of
from veridical.llm.wording import explained, meaning

if TYPE_CHECKING:
    import httpx

    from veridical.core.messages import Trouble

#: Maximum bytes of a reply, compressed and decompressed.
LONGEST_REPLY = 64 * 2**20


class JsonClient:
    """A client of one address. Redirects are not followed. Thread-safe.

    Args:
        key_variable: environment variable with the bearer token; unset sends none.
        timeout: timeout in seconds per attempt.
        attempts: attempts per request. 429, 5xx and connection errors are retried after the
            server's Retry-After, or else after a jittered, doubling delay. A Retry-After of over
            five minutes ends the retries.
        longest: maximum bytes of a reply, compressed and decompressed.

    Raises:
        UsageError: the address contains credentials.
    """

    def __init__(
        self,
        url: str,
        key_variable: str,
        *,
        timeout: float,
        attempts: int,
        longest: int = LONGEST_REPLY,
    ) -> None:
        if "@" in url:
            raise UsageError(
                "a model's address must not contain credentials; use an environment variable"
            )
        self.url = url
        self._key_variable = key_variable
        self._attempts = attempts
        self._timeout = timeout
        self._longest = longest
        self._mutex = threading.Lock()
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def post(self, payload: Mapping[str, Any]) -> Any:
        """Send ``payload`` and return the parsed reply.

        Raises:
            ModelError: the server cannot be reached, refuses, or does not return JSON.
            UsageError: the variable has no valid key.
        """
        import httpx

        has_key = os.environ.get(self._key_variable, "").strip()
        key = key_from(self._key_variable, self.url) or "" if has_key else ""
        headers = request_headers(authorization=bearer(key))
        headers["content-type"] = "application/json"
        try:
            content = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
            request = httpx.Request(
                "POST", self.url, content=content, headers=headers, extensions={"timeout": {}}
            )
        except (ValueError, TypeError, RecursionError, httpx.InvalidURL) as e:
            raise self._error(f"the request cannot be sent: {e}", key) from None
        for attempt in range(1, self._attempts + 1):
            retry_seconds = None
            try:
                response, body = blocking.run(self._fetch(request))
                if response.status_code == 200:
                    return parse_json(body, self._longest)
            except TimeoutError:
                problem = f"timeout: no whole answer within {self._timeout:g} s"
            except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, BodyError) as e:
                raise self._error(str(e), key) from None
            except httpx.TransportError as e:
                problem = self._told("connection", None, f"{type(e).__name__}: {e}")
            else:
                status = response.status_code
                trouble, again = trouble_of(status)
                words = f"HTTP {status}: {body.decode('utf-8', 'replace')}"
                problem = self._told(trouble, status, words)
                retry_seconds = retry_after(response.headers)
                if not again or (retry_seconds or 0) > LONGEST_ASKED:
                    raise self._error(problem, key)
            if attempt < self._attempts:
                time.sleep(_wait(attempt, retry_seconds))
        raise self._error(problem, key, f" (after {self._attempts} attempts)")

    def _told(self, trouble: Trouble, status: int | None, message: str) -> str:
        """Describe a failed attempt and the server's message."""
        named = os.environ.get(self._key_variable, "").strip()
        words = meaning(
            trouble,
            status,
            message,
            key=self._key_variable if named else None,
            address=self.url,
        )
        return explained(words, message)

    async def _fetch(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        return await fetch(self._opened(), request, seconds=self._timeout, longest=self._longest)

    def _opened(self) -> httpx.AsyncClient:
        with self._mutex:
            running = asyncio.get_running_loop()
            if self._http is None or self._loop is not running:  # a forked process needs its own
                self._http, self._loop = open_http(), running
            return self._http

    def _error(self, words: str, key: str, after: str = "") -> ModelError:
        """Return an error with the message on one line, without the key."""
        return ModelError(f"{self.url}: {excerpt(words, key)}{after}")

    def close(self) -> None:
        """Close the connections."""
        with self._mutex:
            http, self._http = self._http, None
        if http is not None and self._loop is blocking.loop():
            blocking.run(http.aclose())


class HttpBackEnd:
    """A model on a server, with the arguments of :class:`JsonClient`. Thread-safe."""

    scripts: frozenset[str] | None = None
    languages: frozenset[str] | None = None
    local = False  # a forward is a request, which may cost money

    def __init__(self, url: str, key_variable: str, **options: Any) -> None:
        self._client = JsonClient(url, key_variable, **options)
        self._url = self._client.url

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _wait(attempt: int, retry_seconds: float | None) -> float:
    """Return the seconds before the next attempt.

    They are those requested by the server, or else a jittered, doubling delay.
    """
    return backoff(attempt) if retry_seconds is None else retry_seconds
