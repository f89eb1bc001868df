"""HTTP client of search services."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import httpx

from veridical.core.messages import Trouble
from veridical.core.records import clean_text
from veridical.errors import ModelError
from veridical.io.http_body import (
    BodyError,
    bearer,
    fetch,
    open_http,
    parse_json,
    request_headers,
)
from veridical.llm.redact import excerpt
from veridical.llm.retries import AttemptError, Attempts, retry_after, trouble_of
from veridical.retrieval.corpus.pieces import pieces
from veridical.retrieval.search import Found, RefusedQuery, SearchService

#: Maximum bytes of a reply, compressed and decompressed.
LONGEST_BODY = 8 * 2**20
#: Maximum code points of a result's text; a longer one is not a search passage.
LONGEST_TEXT = 200_000
_LONGEST_ID = 500
#: Statuses of a rejected query; others may succeed.
_OF_THE_QUERY = frozenset({400, 413, 414, 422, 451})


class HttpSearch:
    """A :class:`~veridical.retrieval.search.Retriever` over a search service.

    Args:
        http: client for tests; by default a new one, with proxies from the environment.
    """

    def __init__(self, service: SearchService, http: httpx.AsyncClient | None = None) -> None:
        self.name = f"search:{service.name}"
        self.service = service
        self.asked = 0  # queries sent, without repeated attempts
        self._own = http is None
        self._http = http
        self._free: asyncio.Semaphore | None = None

    def identity(self) -> dict[str, Any]:
        """Return the service's identity, which all passages depend on."""
        return {"kind": "search", **self.service.identity()}

    async def search(self, queries: Sequence[str], k: int) -> list[list[Found]]:
        """Return at most ``k`` results for each query; equal queries are sent once."""
        if self._http is None:
            self._http = open_http()
        if self._free is None:
            self._free = asyncio.Semaphore(self.service.max_concurrency)
        distinct = list(dict.fromkeys(q[: self.service.longest_query] for q in queries))
        tasks = [asyncio.ensure_future(self._one(q, k)) for q in distinct]
        try:
            results = dict(zip(distinct, await asyncio.gather(*tasks), strict=True))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        return [results[q[: self.service.longest_query]] for q in queries]

    async def _one(self, query: str, k: int) -> list[Found]:
        assert self._free is not None
        attempts = Attempts(self.service.attempts)
        async with self._free:
            self.asked += 1
            while True:
                try:
                    return self._passages(await self._reply(query, k), k)
                except AttemptError as e:
                    wait = attempts.wait(e)
                    if wait is None and e.status in _OF_THE_QUERY:
                        raise RefusedQuery(f"{self.name}: {e}") from None
                    if wait is None:
                        raise ModelError(f"{self.name}: {e}") from None
                await asyncio.sleep(wait)

    async def _reply(self, query: str, k: int) -> Any:
        """Return the service's reply as JSON."""
        service, http = self.service, self._http
        assert http is not None
        key = service.key()
        request = self._request(query, k, key)
        try:
            response, body = await fetch(
                http, request, seconds=service.timeout, longest=LONGEST_BODY
            )
        except TimeoutError:
            self._fail("timeout", f"no whole answer within {service.timeout:g} s", key)
        except httpx.TransportError as e:
            self._fail("connection", f"{type(e).__name__}: {e}", key)
        except BodyError as e:
            self._fail("rejected", str(e), key)
        status = response.status_code
        if status != 200:
            message = body.decode("utf-8", "replace")
            if 300 <= status < 400:
                message = "redirects are not followed; set url to the final address"
            trouble, _ = trouble_of(status)
            self._fail(trouble, f"HTTP {status}: {message}", key, status, response.headers)
        try:
            return parse_json(body, LONGEST_BODY)
        except BodyError as e:
            self._fail("malformed", str(e), key)

    def _request(self, query: str, k: int, key: str | None) -> httpx.Request:
        service = self.service
        fields: dict[str, Any] = {**service.parameters, service.query: query}
        if service.count is not None:
            fields[service.count] = k
        bears = service.key_header.lower() == "authorization"
        headers = request_headers(**{service.key_header: bearer(key) if bears else key})
        get = service.method == "GET"
        connect = min(service.timeout, 10.0)
        try:
            return httpx.Request(
                service.method,
                service.url,
                params=fields if get else None,
                json=None if get else fields,
                headers=headers,
                extensions={"timeout": httpx.Timeout(None, connect=connect).as_dict()},
            )
        except (ValueError, TypeError, httpx.InvalidURL) as e:
            self._fail("rejected", f"the query cannot be sent: {type(e).__name__}: {e}", key, 400)

    def _passages(self, reply: Any, k: int) -> list[Found]:
        service = self.service
        results = _at(reply, service.results)
        if results is None and isinstance(reply, dict) and not reply.get("error"):
            return []  # services omit an empty list
        if not isinstance(results, list):
            self._fail("rejected", f"the reply has no list {service.results!r}", None)
        passages: list[Found] = []
        for result in results[:k]:
            parts = [t for p in service.text if (t := _text(_at(result, p)))]
            text = "\n".join(parts)[:LONGEST_TEXT]
            source = _text(_at(result, service.source))[:_LONGEST_ID]
            title = _text(_at(result, service.title))[:_LONGEST_ID]
            name = _text(_at(result, service.id))[:_LONGEST_ID] or source or title
            for start, end in pieces(text):
                place = f"{name}#char={start},{end}" if end - start < len(text) else name
                passages.append(Found(place, text[start:end], source, start, end, None, title))
        return passages

    def _fail(
        self,
        trouble: Trouble,
        message: str,
        key: str | None,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> NoReturn:
        wait = None if headers is None else retry_after(headers)
        raise AttemptError(
            trouble, excerpt(message, key), status=status, retry_after=wait
        ) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._own and self._http is not None:
            await self._http.aclose()
            self._http = None


def _at(value: Any, path: str | None) -> Any:
    """Return the value at ``path``, such as ``web.results`` or ``0.hits``, or None."""
    if path is None:
        return None
    for name in path.split(".") if path else ():
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isascii() and name.isdecimal():
            value = value[int(name)] if len(name) < 6 and int(name) < len(value) else None
        else:
            return None
    return value


def _text(value: Any) -> str:
    """Return a text that a record can hold, or an empty one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return ""
    try:
        return clean_text(value).strip()
    except ValueError:
        return value.encode("utf-8", "replace").decode().replace("\x00", "\ufffd").strip()
