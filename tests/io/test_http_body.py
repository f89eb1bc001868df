"""Bodies of replies: what is within bounds comes whole, what is not is told apart."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from veridical.io import blocking, http_file
from veridical.io.http_body import DEEPEST, BodyError, fetch, parse_json


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, headers, body = self.server.reply  # type: ignore[attr-defined]
        if self.path == "/away":
            status, headers = 302, {"Location": "/", "Set-Cookie": "a=b"}
        self.server.cookies.append(self.headers.get("Cookie"))  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.cookies = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def get(server: ThreadingHTTPServer, longest: int = 1000) -> tuple[int, bytes]:
    async def ask() -> tuple[int, bytes]:
        async with httpx.AsyncClient() as http:
            for _ in range(2):
                request = http.build_request("GET", f"http://127.0.0.1:{server.server_port}/")
                response, body = await fetch(http, request, seconds=5, longest=longest)
            return response.status_code, body

    return asyncio.run(ask())


def packed(body: bytes, **more: str) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Encoding": "gzip", **more}, gzip.compress(body)


@pytest.mark.parametrize("body", [b"", b"x", b"x" * 1000, bytes(range(250)) * 4])
def test_what_is_within_bounds_comes_whole(server: ThreadingHTTPServer, body: bytes) -> None:
    for reply in (
        (200, {}, body),
        packed(body),
        (201, {"Content-Encoding": " GZIP "}, packed(body)[2]),
    ):
        server.reply = reply  # type: ignore[attr-defined]
        status, found = get(server)
        assert (status, found) == (reply[0], body)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ((200, {}, b"x" * 1001), "longer than 1,000 bytes"),
        (packed(b"x" * 1001), "longer than 1,000 bytes"),
        ((200, {"Content-Encoding": "deflate"}, zlib.compress(b"x")), "content coding 'deflate'"),
        ((200, {"Content-Encoding": "gzip, gzip"}, b""), "content coding 'gzip, gzip'"),
        ((200, {"Content-Encoding": "gzip"}, gzip.compress(b"x")[:-1]), "is incomplete"),
        ((200, {"Content-Encoding": "gzip"}, gzip.compress(b"x") + b"y"), "continues after"),
        ((200, {"Content-Encoding": "gzip"}, b"plain"), "not valid gzip"),
    ],
)
def test_what_is_not_is_told_apart(
    server: ThreadingHTTPServer, reply: tuple[int, dict[str, str], bytes], told: str
) -> None:
    server.reply = reply  # type: ignore[attr-defined]
    with pytest.raises(BodyError, match=told):
        get(server)
    server.reply = (500, *reply[1:])  # type: ignore[attr-defined]
    assert get(server)[0] == 500  # an error's text is not needed


def test_a_servers_cookies_are_not_sent_back(server: ThreadingHTTPServer) -> None:
    server.reply = (200, {"Set-Cookie": "mark=1"}, b"")  # type: ignore[attr-defined]
    get(server)
    assert server.cookies == [None, None]  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [None, 1.5, "é", [[1, {"a": []}]] * 300, {"a": "[" * 300}])
def test_json_comes_as_it_was_sent(value: object) -> None:
    for encoded in json.dumps(value), "\ufeff" + json.dumps(value, ensure_ascii=False):
        assert parse_json(encoded.encode(), 1 << 20) == value


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "not JSON"),
        (b"<html>\xff", "not JSON: <html>"),
        (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "more than 100 levels"),
        (b'{"a":' * 150 + b"1" + b"}" * 150, "more than 100 levels"),
        (b"[" * 60_000, "more than 100 levels"),
        (b"[" + b"1," * 70_000 + b"1]", "more than 65,536 values"),
        (b"9" * 5000, "Exceeds the limit"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        ('{"a": 1}'.encode("utf-16"), "not JSON"),
        (b"\xff[]", "not JSON"),
    ],
)
def test_json_that_is_none_or_too_much_is_told(body: bytes, told: str) -> None:
    with pytest.raises(BodyError, match=told):
        parse_json(body, 1 << 20)


def test_a_blocking_call_works_beside_a_running_loop_and_hands_errors_on() -> None:
    async def fail() -> None:
        raise ValueError("of the call")

    async def main() -> None:
        assert blocking.run(asyncio.sleep(0, "here")) == "here"
        with pytest.raises(ValueError, match="of the call"):
            blocking.run(fail())

    asyncio.run(main())


def read(server: ThreadingHTTPServer, path: str) -> bytes:
    found = b""
    url = f"http://127.0.0.1:{server.server_port}{path}"
    with http_file.opened(url, stall=5, seconds=5) as file:
        while piece := file.read(1):
            found += piece
    return found


def test_a_file_is_fetched_behind_a_redirect_without_cookies(server: ThreadingHTTPServer) -> None:
    server.reply = (200, {}, b"x" * 300_000)  # type: ignore[attr-defined]
    assert read(server, "/away") == b"x" * 300_000
    assert server.cookies == [None, None]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ((404, {}, b""), "HTTP 404"),
        (packed(b"x"), "content coding 'gzip'"),
        ((302, {"Location": "/"}, b""), "more than 5 redirects"),
        ((302, {"Location": "ftp://127.0.0.1/"}, b""), "from http to ftp"),
        ((302, {"Location": "http://\x80/"}, b""), "Error"),
    ],
)
def test_a_file_that_cannot_be_fetched(
    server: ThreadingHTTPServer, reply: tuple[int, dict[str, str], bytes], told: str
) -> None:
    server.reply = reply  # type: ignore[attr-defined]
    with pytest.raises(http_file.FetchError, match=told):
        read(server, "/")


@pytest.mark.parametrize(
    ("status", "headers", "start", "size"),
    [
        (200, {}, 0, 3),
        (206, {"Content-Range": "bytes 7-9/10"}, 7, 10),
        (206, {"Content-Range": "bytes 7-9/*"}, 7, None),
    ],
)
def test_a_file_may_be_asked_for_from_its_middle_on(
    server: ThreadingHTTPServer,
    status: int,
    headers: dict[str, str],
    start: int,
    size: int | None,
) -> None:
    server.reply = status, headers, b"abc"  # type: ignore[attr-defined]
    url = f"http://127.0.0.1:{server.server_port}/"
    with http_file.opened(url, stall=5, seconds=5, connect=5, start=7) as file:
        assert (file.start, file.size, file.read(1)) == (start, size, b"abc")


@pytest.mark.parametrize("sent", ["", "bytes 8-9/10", "bytes 7-9/x", "7-9/10"])
def test_another_range_than_was_asked_for_is_an_error(
    server: ThreadingHTTPServer, sent: str
) -> None:
    server.reply = 206, {"Content-Range": sent}, b"abc"  # type: ignore[attr-defined]
    url = f"http://127.0.0.1:{server.server_port}/"
    with (
        pytest.raises(http_file.FetchError, match="does not continue at byte 7"),
        http_file.opened(url, stall=5, seconds=5, start=7),
    ):
        pass
    with (
        pytest.raises(http_file.FetchError, match="HTTP 206"),
        http_file.opened(url, stall=5, seconds=5),
    ):
        pass
