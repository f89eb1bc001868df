"""The HTTP search against a real server in this process, healthy and hostile."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from places import ROOT

from veridical.errors import ModelError, UsageError
from veridical.llm.configuration import CONFIG_VARIABLE
from veridical.retrieval.search import RefusedQuery, SearchService, find_service
from veridical.retrieval.search_http import HttpSearch

HITS = [
    {"title": "Ada", "url": "http://x/ada", "content": "Ada was born in London."},
    {"title": "Bob", "url": "http://x/bob", "content": "Bob was born in Eltham."},
    {"title": "Cleo", "url": "http://x/cleo", "content": "Cleo was born in Alexandria."},
]


class Server:
    """Answers with ``reply(query, attempt)``: status, headers and body."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.reply: Any = lambda query, attempt: (200, {}, json.dumps({"results": HITS}).encode())
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                told = parse_qs(urlsplit(self.path).query)
                self.answer({k: v[0] for k, v in told.items()})

            def do_POST(self) -> None:
                size = int(self.headers["content-length"])
                self.answer(json.loads(self.rfile.read(size)))

            def answer(self, told: dict[str, Any]) -> None:
                query = str(told.get("q"))
                attempt = sum(a["told"].get("q") == query for a in server.asked)
                path = urlsplit(self.path).path
                server.asked.append(
                    {"told": told, "path": path, "headers": dict(self.headers.items())}
                )
                status, headers, body = server.reply(query, attempt)
                self.send_response(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/search"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.http.shutdown()
    found.http.server_close()


def service(server: Server, **settings: Any) -> SearchService:
    told = {"results": "results", "text": ("content",), "timeout": 5.0, **settings}
    return SearchService("web", server.url, **told)


async def ask(server: Server, *queries: str, k: int = 2, **settings: Any) -> Any:
    search = HttpSearch(service(server, **settings))
    try:
        return await search.search(queries, k)
    finally:
        await search.close()


async def test_post(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", "s3cret")
    first, second, again = await ask(
        server,
        "Where was Ada born?",
        "x",
        "x",
        key_env="SEARCH_KEY",
        key_header="X-API-KEY",
        count="num",
        parameters={"gl": "gb"},
    )
    assert [f.text for f in first] == [h["content"] for h in HITS[:2]]
    assert (first[0].id, first[0].source, first[0].title) == ("http://x/ada", "http://x/ada", "Ada")
    assert second == again
    assert len(server.asked) == 2  # equal queries are sent once
    by_query = {a["told"]["q"]: a for a in server.asked}
    asked = by_query["Where was Ada born?"]
    assert asked["told"] == {"q": "Where was Ada born?", "num": 2, "gl": "gb"}
    headers = {k.lower(): v for k, v in asked["headers"].items()}
    assert headers["x-api-key"] == "s3cret"
    assert "authorization" not in headers
    assert {a["path"] for a in server.asked} == {"/search"}  # no page of a result is fetched


async def test_get(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", "s3cret")
    settings = {"method": "GET", "key_env": "SEARCH_KEY", "parameters": {"format": "json"}}
    ((first, *_),) = await ask(server, "É & b=c?", **settings)
    assert first.text == HITS[0]["content"]
    assert server.asked[0]["told"] == {"q": "É & b=c?", "format": "json"}
    assert server.asked[0]["headers"]["Authorization"] == "Bearer s3cret"


async def test_long_queries_are_cut_and_long_results_are_passages(server: Server) -> None:
    long = "A sentence of this result stands here. " * 100
    body = json.dumps({"results": [{"content": long, "url": "http://x/long"}]}).encode()
    server.reply = lambda query, attempt: (200, {}, body)
    (found,) = await ask(server, "y" * 500)
    assert len(server.asked[0]["told"]["q"]) == 400
    text = long.strip()
    assert len(found) > 3
    for f in found:
        assert text[f.start : f.end] == f.text
        assert f.id == f"http://x/long#char={f.start},{f.end}"


@pytest.mark.parametrize(
    ("reply", "settings", "texts"),
    [
        ([{"content": "a"}], {"results": ""}, ["a"]),
        ({"web": {"hits": [{"content": "a"}]}}, {"results": "web.hits"}, ["a"]),
        ([0, {"hits": [{"content": "a"}]}], {"results": "1.hits"}, ["a"]),
        ({"results": [{"a": {"b": ["x", "y"]}}]}, {"text": ("a.b.1", "a.b.0", "no")}, ["y\nx"]),
        ({"results": [{}, None, 7, {"content": None}, {"content": "a"}]}, {}, ["a"]),
        ({"results": [{"content": "\u0000\ud800a"}]}, {}, ["\ufffd?a"]),
        ({"results": []}, {}, []),
        ({"other": 1}, {}, []),
        ({"results": [{"content": "a", "url": ["no"], "title": {}}]}, {}, ["a"]),
    ],
)
async def test_shapes_of_replies(
    server: Server, reply: Any, settings: dict[str, Any], texts: list[str]
) -> None:
    server.reply = lambda query, attempt: (200, {}, json.dumps(reply).encode())
    (found,) = await ask(server, "x", k=9, **settings)
    assert [f.text for f in found] == texts


@pytest.mark.parametrize(
    ("status", "headers", "body", "why"),
    [
        (200, {}, b"<html>", "not JSON"),
        (200, {}, b"[" * 100000, "not readable JSON"),
        (200, {}, b'{"results": {"a": 1}}', "has no list 'results'"),
        (200, {}, b'{"error": "no plan"}', "has no list"),
        (200, {}, b"7", "has no list"),
        (200, {}, b" " * (9 << 20), "longer than"),
        (200, {"content-encoding": "gzip"}, gzip.compress(b" " * (64 << 20)), "longer than"),
        (200, {"content-encoding": "br"}, b"x", "content coding 'br'"),
        (302, {"location": "http://127.0.0.1:1/x"}, b"", "redirects are not followed"),
        (401, {}, b"key s3cret is wrong", "HTTP 401: key .key. is wrong"),
        (404, {}, b"", "HTTP 404"),
        (503, {}, b"busy", "HTTP 503"),
    ],
)
async def test_what_is_no_answer_ends_the_run(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    headers: dict[str, str],
    body: bytes,
    why: str,
) -> None:
    monkeypatch.setenv("SEARCH_KEY", "s3cret")
    server.reply = lambda query, attempt: (status, headers, body)
    with pytest.raises(ModelError, match=why) as error:
        await ask(server, "x", key_env="SEARCH_KEY", attempts=1)
    assert "s3cret" not in str(error.value)


async def test_one_query_may_be_refused(server: Server) -> None:
    server.reply = lambda query, attempt: (
        (422, {}, b"no") if query == "bad" else (200, {}, json.dumps({"results": HITS}).encode())
    )
    with pytest.raises(RefusedQuery, match="search:web: HTTP 422"):
        await ask(server, "good", "bad")


async def test_what_passes_is_tried_again(server: Server) -> None:
    good = (200, {}, json.dumps({"results": HITS}).encode())
    server.reply = lambda query, attempt: [(429, {"retry-after": "0"}, b""), (500, {}, b""), good][
        min(attempt, 2)
    ]
    ((first, _),) = await ask(server, "x")
    assert first.text == HITS[0]["content"]
    assert len(server.asked) == 3


async def test_a_silent_server_is_not_waited_for(server: Server) -> None:
    server.reply = lambda query, attempt: (time.sleep(12), (200, {}, b"{}"))[1]
    started = time.monotonic()
    with pytest.raises(ModelError, match=r"no whole answer within 0\.3 s"):
        await ask(server, "x", timeout=0.3, attempts=1)
    assert time.monotonic() - started < 11
    with pytest.raises(ModelError, match="Connect"):
        search = HttpSearch(
            SearchService("gone", "http://127.0.0.1:9/", "r", ("t",), attempts=1, timeout=2)
        )
        await search.search(["x"], 1)


async def test_no_more_are_under_way_than_allowed(server: Server) -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def reply(query: str, attempt: int) -> Any:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1
        return 200, {}, json.dumps({"results": HITS}).encode()

    server.reply = reply
    found = await ask(server, *[f"q{i}" for i in range(12)], max_concurrency=3)
    assert len(found) == 12 and 1 < most[0] <= 3


CONFIG = """
[search.web]
url = "https://search.example/api"
method = "GET"
results = "web.results"
text = ["title", "snippet"]
key_env = "SEARCH_KEY"
parameters = {format = "json"}
timeout = 5

[search.bad]
url = "%s"
results = "r"
text = "t"
%s
"""


def config(path: Path, monkeypatch: pytest.MonkeyPatch, url: str, more: str = "") -> None:
    (path / "veridical.toml").write_text(CONFIG % (url, more))
    monkeypatch.setenv(CONFIG_VARIABLE, str(path / "veridical.toml"))


def test_services_are_named_in_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config(tmp_path, monkeypatch, "https://x/")
    found = find_service("web")
    assert found.text == ("title", "snippet")
    assert (found.method, found.timeout, found.query, found.source) == ("GET", 5, "q", "url")
    with pytest.raises(UsageError, match="SEARCH_KEY"):
        found.key()
    assert "SEARCH_KEY" not in json.dumps(found.identity())
    with pytest.raises(UsageError, match="did you mean 'web'"):
        find_service("wep")
    monkeypatch.setenv(CONFIG_VARIABLE, "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "veridical.toml").write_text("")
    with pytest.raises(UsageError, match=r"no section \[search.web\]"):
        find_service("web")


def test_every_section_of_the_docs_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "veridical.toml").write_text("\n".join(blocks))
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "veridical.toml"))
    web, own = find_service("web"), find_service("own")
    assert web.source == "link" and web.count == "num"
    assert own.method == "GET" and own.text == ("title", "content")


@pytest.mark.parametrize(
    ("url", "more", "why"),
    [
        ("ftp://x/", "", "not an http"),
        ("https://user:pass@x/", "", "must not contain credentials"),
        ("https://x:99999/", "", "is not a URL"),
        ("https://x/?a=b", 'method = "GET"', "use parameters"),
        ("https://x/", 'method = "PUT"', "GET or POST"),
        ("https://x/", 'key = "s"', "keys are not allowed in files"),
        ("https://x/", "timeout = 0", "positive"),
        ("https://x/", "attempts = 0", "at least 1"),
        ("https://x/", 'key_header = "a: b"', "not a header name"),
        ("https://x/", "fetch = true", "unknown setting"),
        ("https://x/", "timeout = true", "must be"),
    ],
)
def test_bad_sections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, more: str, why: str
) -> None:
    config(tmp_path, monkeypatch, url, more)
    with pytest.raises(UsageError, match=why):
        find_service("bad")
