"""Clients of a server: ``veridical.Client`` and ``veridical.AClient``."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from veridical.core.scores import Result, Unit
from veridical.errors import UsageError, VeridicalError
from veridical.notices import warn_once
from veridical.text.display import printable
from veridical.version import __version__

if TYPE_CHECKING:
    import httpx

#: Maximum records per request; more are sent in several requests.
AT_ONCE = 32
_RETRIED = (429, 502, 503, 504)
#: Maximum notices of a reply that are printed.
_MOST_NOTICES, _MOST_NOTICE_CHARACTERS = 5, 300
_LONGEST_WAIT = 30.0


class Event(BaseModel):
    """Event of a stream. Either ``unit`` or ``result`` is set.

    Attributes:
        index: of the record.
        unit: a sentence that ``scorer`` has judged; a preview.
        result: the record's result.
    """

    index: int
    scorer: str | None = None
    unit: Unit | None = None
    result: Result | None = None


@dataclass(frozen=True)
class _Settings:
    """Settings of both clients, with their requests and replies."""

    url: str
    key: str | None
    timeout: float
    retries: int

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise UsageError(f"url must begin with http:// or https://, not {self.url!r}")
        if self.timeout <= 0 or self.retries < 0:
            raise UsageError("timeout must be over 0, and retries at least 0")

    def http(self) -> dict[str, Any]:
        headers = {"user-agent": f"veridical/{__version__}"}
        if self.key is not None:
            headers["authorization"] = f"Bearer {self.key}"
        return {"base_url": self.url.rstrip("/"), "headers": headers, "timeout": self.timeout}

    def wait(self, attempt: int, reply: httpx.Response | None) -> float | None:
        """Return the seconds until the next attempt; None if the reply is final."""
        if attempt >= self.retries or (reply is not None and reply.status_code not in _RETRIED):
            return None
        wait = "" if reply is None else reply.headers.get("retry-after", "")
        seconds = float(wait) if wait.isdecimal() and len(wait) < 6 else 0.2 * 2**attempt
        return min(seconds, _LONGEST_WAIT)


def _row(
    response: str,
    contexts: Any,
    question: Any,
    samples: Any,
    reference: Any,
) -> dict[str, Any]:
    row = {
        "response": response,
        "contexts": contexts,
        "prompt": question,
        "samples": samples,
        "reference": reference,
    }
    return {name: _plain(value) for name, value in row.items() if value is not None}


def _plain(value: Any) -> Any:
    """Convert to JSON types: records' own types to objects, and other collections to lists."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [_plain(v) for v in value]
    return value


def _body(records: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    return {"records": [_plain(r) for r in records], **options}


def _results(reply: httpx.Response) -> list[Result]:
    """Read the results of a reply.

    Raises:
        UsageError: the server reports that the request is invalid.
        VeridicalError: it refuses, fails, or is not a veridical server.
    """
    _check(reply)
    try:
        found = reply.json()
        results = [Result.model_validate(r) for r in found["results"]]
        for text in found.get("unused", ())[:_MOST_NOTICES]:
            warn_once(str(text)[:_MOST_NOTICE_CHARACTERS])
        return results
    except (ValidationError, ValueError, KeyError, TypeError):
        raise VeridicalError("the server's reply has no results; check the URL") from None


def _check(reply: httpx.Response) -> None:
    if reply.status_code == 200:
        return
    try:
        detail = str(reply.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = "no reason given"
    detail = printable(detail)[:2000]
    if reply.status_code == 422:
        raise UsageError(detail)
    raise VeridicalError(f"the server answers {reply.status_code}: {detail}")


class _Events:
    """Parser of server-sent events, line by line."""

    def __init__(self) -> None:
        self._name = ""

    def line(self, line: str) -> Event | None:
        """Return the event that a line completes.

        Raises:
            VeridicalError: the server had to stop.
        """
        field, _, value = line.partition(": ")
        if field == "event":
            self._name = value
        if field != "data" or self._name == "done":
            return None
        try:
            data = json.loads(value)
            if self._name == "problem":
                raise VeridicalError(f"the server stopped: {printable(str(data['detail']))}")
            return Event.model_validate(data)
        except (ValidationError, ValueError, KeyError, TypeError):
            raise VeridicalError("the server sent an unreadable event") from None


class Client:
    """Client of ``veridical serve``.

    Args:
        url: of the server, such as ``http://127.0.0.1:8000``.
        key: the server's key, if it requires one.
        timeout: seconds to wait for a reply, or for the next piece of one.
        retries: maximum repetitions of a request that was refused for now (429, 503) or did not
            arrive; the server's ``Retry-After`` is heeded.

    Use as a context manager, or call :meth:`close`.

    Raises:
        UsageError: the address or a number is invalid.
    """

    def __init__(
        self, url: str, *, key: str | None = None, timeout: float = 60, retries: int = 3
    ) -> None:
        import httpx

        self._settings = _Settings(url, key, timeout, retries)
        self._http = httpx.Client(**self._settings.http())

    def check_one(
        self,
        response: str,
        *,
        contexts: Any = None,
        question: Any = None,
        samples: Any = None,
        reference: Any = None,
        **options: Any,
    ) -> Result:
        """Check one answer, as :func:`veridical.check_one` does.

        Args:
            options: of the request: ``scorers``, ``preset``, ``claims``, ``policy``,
                ``strictness``, ``deadline_ms``, ``offsets``, ``units``.

        Raises:
            UsageError: the server reports that an argument is invalid.
            VeridicalError: it refuses, fails, or cannot be reached.
        """
        row = _row(response, contexts, question, samples, reference)
        return self.check([row], **options)[0]

    def check(self, records: Iterable[Any], **options: Any) -> list[Result]:
        """Check records, as :func:`veridical.check` reads them; return results in their order."""
        rows = list(records)
        found: list[Result] = []
        for i in range(0, len(rows), AT_ONCE):
            results = _results(self._post(_body(rows[i : i + AT_ONCE], options)))
            found += (r.model_copy(update={"row": r.row + i}) for r in results)
        return found

    def stream(self, records: Iterable[Any], **options: Any) -> Iterator[Event]:
        """Yield sentences as they are judged, and results as they are completed."""
        events = _Events()
        headers = {"accept": "text/event-stream"}
        body = _body(list(records), options)
        with self._http.stream("POST", "/v1/check", json=body, headers=headers) as reply:
            if reply.status_code != 200:
                reply.read()
            _check(reply)
            for line in reply.iter_lines():
                if (event := events.line(line)) is not None:
                    yield event

    def ready(self) -> bool:
        """Return True if the server's models are loaded and judge correctly."""
        import httpx

        try:
            return self._http.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def _post(self, body: Any) -> httpx.Response:
        import httpx

        attempt = 0
        while True:
            reply, failed = None, ""
            try:
                reply = self._http.post("/v1/check", json=body)
            except httpx.TransportError as e:
                failed = f"{type(e).__name__}: {e}"
            wait = self._settings.wait(attempt, reply)
            if wait is None:
                return _arrived(reply, failed)
            time.sleep(wait)
            attempt += 1

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AClient:
    """:class:`Client` for callers with an event loop. Cancelling stops the server's work."""

    def __init__(
        self, url: str, *, key: str | None = None, timeout: float = 60, retries: int = 3
    ) -> None:
        import httpx

        self._settings = _Settings(url, key, timeout, retries)
        self._http = httpx.AsyncClient(**self._settings.http())

    async def check_one(
        self,
        response: str,
        *,
        contexts: Any = None,
        question: Any = None,
        samples: Any = None,
        reference: Any = None,
        **options: Any,
    ) -> Result:
        """See :meth:`Client.check_one`."""
        row = _row(response, contexts, question, samples, reference)
        return (await self.check([row], **options))[0]

    async def check(self, records: Iterable[Any], **options: Any) -> list[Result]:
        """See :meth:`Client.check`."""
        rows = list(records)
        found: list[Result] = []
        for i in range(0, len(rows), AT_ONCE):
            results = _results(await self._post(_body(rows[i : i + AT_ONCE], options)))
            found += (r.model_copy(update={"row": r.row + i}) for r in results)
        return found

    async def stream(self, records: Iterable[Any], **options: Any) -> AsyncIterator[Event]:
        """See :meth:`Client.stream`."""
        events = _Events()
        headers = {"accept": "text/event-stream"}
        body = _body(list(records), options)
        async with self._http.stream("POST", "/v1/check", json=body, headers=headers) as reply:
            if reply.status_code != 200:
                await reply.aread()
            _check(reply)
            async for line in reply.aiter_lines():
                if (event := events.line(line)) is not None:
                    yield event

    async def ready(self) -> bool:
        """See :meth:`Client.ready`."""
        import httpx

        try:
            return (await self._http.get("/readyz")).status_code == 200
        except httpx.TransportError:
            return False

    async def _post(self, body: Any) -> httpx.Response:
        import httpx

        attempt = 0
        while True:
            reply, failed = None, ""
            try:
                reply = await self._http.post("/v1/check", json=body)
            except httpx.TransportError as e:
                failed = f"{type(e).__name__}: {e}"
            wait = self._settings.wait(attempt, reply)
            if wait is None:
                return _arrived(reply, failed)
            await asyncio.sleep(wait)
            attempt += 1

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _arrived(reply: httpx.Response | None, failed: str) -> httpx.Response:
    """Return the reply.

    Raises:
        VeridicalError: there is no reply.
    """
    if reply is None:
        raise VeridicalError(f"the server does not respond: {printable(failed)}")
    return reply
