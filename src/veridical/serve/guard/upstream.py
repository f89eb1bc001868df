"""Upstream of a guard: an endpoint of ``veridical.toml``, or a local model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError
from veridical.io.http_body import LONGEST_ERROR, BodyError, bearer, open_http, parse_json
from veridical.llm.endpoints import Endpoint, find_endpoint
from veridical.serve.problems import Problem

if TYPE_CHECKING:
    import httpx

    from veridical.llm.local import LocalServer

#: Maximum bytes of a whole reply.
LONGEST_REPLY = 64 * 2**20
_CONNECT = 30.0
_ANTHROPIC = "2023-06-01"


class Upstream:
    """Client of one endpoint.

    Redirects are not followed. Keys of clients are never passed on: the endpoint's own key is sent.

    Args:
        endpoint: with an address.
        server: its local server, which is closed with it.
    """

    def __init__(self, endpoint: Endpoint, server: LocalServer | None = None) -> None:
        self.endpoint = endpoint
        self._server = server
        self._http = open_http()

    @classmethod
    def named(cls, name: str) -> Upstream:
        """Open the upstream that ``--upstream`` names.

        That is an endpoint of ``veridical.toml``, or ``local:MODEL``, whose server is started.

        Raises:
            UsageError: it does not exist, is not a server, or its key is not in the environment.
            ModelError: the local model cannot be served.
        """
        try:
            endpoint = find_endpoint(name)
        except UsageError as e:
            raise UsageError(f"--upstream: {e}") from None
        endpoint.key()
        if not endpoint.runs_here:
            return cls(endpoint)
        if not endpoint.llama_cpp:
            raise UsageError(
                f"--upstream must be an endpoint with an address, or local:MODEL, not {name}"
            )
        from veridical.llm.local import LocalServer, check_installed, read_local

        check_installed()
        model = read_local(endpoint.base_url)
        server = LocalServer(model)
        reached = replace(endpoint, base_url=server.url, model=model.name, timeout=900.0)
        return cls(reached, server)

    @asynccontextmanager
    async def send(
        self, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[httpx.Response]:
        """Send a request; yield the reply, whose body is still to be read.

        Args:
            body: None for a request that only reads.

        Raises:
            Problem: 502 if the upstream cannot be reached, 504 if it does not reply in time.
        """
        import httpx

        endpoint = self.endpoint
        timeout = httpx.Timeout(endpoint.timeout, connect=min(_CONNECT, endpoint.timeout))
        content = None
        if body is not None:
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        request = httpx.Request(
            "GET" if body is None else "POST",
            f"{endpoint.base_url.rstrip('/')}/{path}",
            content=content,
            headers={**self._headers(path, headers or {}), **(headers or {})},
            extensions={"timeout": timeout.as_dict()},
        )
        try:
            response = await self._http.send(request, stream=True, follow_redirects=False)
        except httpx.TimeoutException:
            raise Problem(504, "the upstream did not answer in time") from None
        except httpx.TransportError as e:
            raise Problem(502, f"the upstream could not be reached ({type(e).__name__})") from None
        try:
            yield response
        finally:
            self._http.cookies.clear()
            await response.aclose()

    def _headers(self, path: str, given: Mapping[str, str]) -> dict[str, str]:
        key = self.endpoint.key()
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            # compressed content cannot be examined as it passes
            "accept-encoding": "identity",
        }
        if path == "messages" or "anthropic-version" in given:
            headers["anthropic-version"] = _ANTHROPIC
            return headers | ({"x-api-key": key} if key else {})
        authorization = bearer(key)
        return headers | ({"authorization": authorization} if authorization else {})

    async def ask(self, path: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Send a request of the guard's own; return the whole reply, or None."""
        try:
            async with self.send(path, body) as response:
                if response.status_code != 200:
                    return None
                reply = parse_json(await whole(response), LONGEST_REPLY)
        except (Problem, BodyError, OSError):
            return None
        return reply if isinstance(reply, dict) else None

    async def close(self) -> None:
        await self._http.aclose()

    def stop(self) -> None:
        """Stop the local server, if there is one."""
        if self._server is not None:
            self._server.close()


async def pieces_of(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the bytes of a reply as they arrive.

    Raises:
        OSError: the connection broke.
    """
    import httpx

    try:
        async for piece in response.aiter_raw():
            if piece:
                yield piece
    except httpx.HTTPError as e:
        raise OSError(f"{type(e).__name__}") from None


async def whole(response: httpx.Response, longest: int = LONGEST_REPLY) -> bytes:
    """Return the body of a reply.

    Raises:
        BodyError: it is too long.
        OSError: the connection broke.
    """
    body = bytearray()
    async for piece in pieces_of(response):
        body += piece
        if len(body) > longest:
            raise BodyError(f"the reply has over {longest:,} bytes")
    return bytes(body)


async def error_of(response: httpx.Response) -> bytes:
    """Return the text of a refusal; empty if it is too long or incomplete."""
    try:
        return await whole(response, LONGEST_ERROR)
    except (BodyError, OSError):
        return b""
