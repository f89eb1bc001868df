"""``veridical.Client`` and ``veridical.AClient`` against a server, and against faults."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from mixed_records import mixed_records
from servers import Running

import veridical
from veridical.errors import UsageError, VeridicalError

ANSWER = "The bridge was finished in 1951. It is 2 km long."
CONTEXTS = ["The bridge was finished in 1932. It is 2 km long."]


def test_it_has_the_shape_of_check_one(server: Running) -> None:
    local = veridical.check_one(ANSWER, contexts=CONTEXTS, store=None, nli="mini")
    with veridical.Client(server.url) as client:
        assert client.ready()
        result = client.check_one(ANSWER, contexts=CONTEXTS, question=None)
        assert result == local
        assert result.verdict == "contradicted" and result.worst == local.worst
        policy = {"accept": 0.1, "reject": 0.5}
        decided = client.check_one(
            ANSWER, contexts=(veridical.Context(text=CONTEXTS[0]),), policy=policy
        )
        assert decided.decision == "reject"


def test_many_records_go_in_several_requests(server: Running) -> None:
    rows = mixed_records(70, seed=8)
    with veridical.Client(server.url) as client:
        found = client.check(rows, preset="fast")
    assert found == list(veridical.check(rows, preset="fast", store=None, processes=0))


async def test_the_async_client_does_the_same(server: Running) -> None:
    async with veridical.AClient(server.url) as client:
        assert await client.ready()
        results = await asyncio.gather(
            *(client.check_one(ANSWER, contexts=CONTEXTS) for _ in range(3))
        )
        assert {r.verdict for r in results} == {"contradicted"}
        events = [e async for e in client.stream([{"response": ANSWER, "contexts": CONTEXTS}])]
    assert [e.result is None for e in events] == [True, True, False]


def test_events_are_streamed(server: Running) -> None:
    with veridical.Client(server.url) as client:
        events = list(client.stream([{"response": ANSWER, "contexts": CONTEXTS}]))
        assert events[-1].result is not None and events[-1].result.verdict == "contradicted"
        # as they are judged, side by side
        assert sorted(e.unit.text for e in events if e.unit) == [
            "It is 2 km long.",
            "The bridge was finished in 1951.",
        ]
        with pytest.raises(UsageError, match=r"records\[0\]"):
            list(client.stream([{"x": 1}]))


def test_what_does_not_fit_is_a_usage_error(server: Running) -> None:
    with veridical.Client(server.url) as client:
        with pytest.raises(UsageError, match="ngramm"):
            client.check_one(ANSWER, scorers="ngramm")
        with pytest.raises(UsageError, match="nothing"):
            client.check_one(ANSWER, nothing=1)
    for url in ("localhost:8000", "file:///etc/passwd"):
        with pytest.raises(UsageError, match="url"):
            veridical.Client(url)
    with pytest.raises(UsageError, match="timeout"):
        veridical.Client("http://localhost", timeout=0)


@contextmanager
def scripted(replies: list[tuple[int, dict[str, str], bytes]]) -> Iterator[tuple[str, list[float]]]:
    """A server that gives these replies, and when it was asked."""
    times: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status, headers, body = replies[min(len(times), len(replies) - 1)]
            times.append(time.monotonic())
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_port}", times
    finally:
        http.shutdown()
        http.server_close()


BUSY = (429, {"retry-after": "1"}, b'{"detail": "busy"}')
DONE = (200, {}, b'{"results": [{"id": 0, "row": 0, "risk": null, "by": null, "scores": {}}]}')


def test_a_busy_server_is_asked_again_when_it_said() -> None:
    with scripted([BUSY, DONE]) as (url, times), veridical.Client(url) as client:
        assert client.check_one("a").risk is None
    assert len(times) == 2 and 0.9 < times[1] - times[0] < 3


async def test_a_server_that_stays_busy_is_given_up() -> None:
    replies = [(503, {}, b"no json")]
    with scripted(replies) as (url, times):
        async with veridical.AClient(url, retries=2) as client:
            with pytest.raises(VeridicalError, match="503: no reason given"):
                await client.check_one("a")
    assert len(times) == 3


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"{}"), (200, b"x"), (200, b'{"results": [1]}'), (401, b"[]")]
)
def test_a_strange_reply_is_an_error_and_not_repeated(status: int, body: bytes) -> None:
    with (
        scripted([(status, {}, body)]) as (url, times),
        veridical.Client(url) as client,
        pytest.raises(VeridicalError),
    ):
        client.check_one("a")
    assert len(times) == 1


def test_no_server_is_an_error() -> None:
    with veridical.Client("http://127.0.0.1:9", retries=0) as client:
        assert not client.ready()
        with pytest.raises(VeridicalError, match="does not respond"):
            client.check_one("a")
