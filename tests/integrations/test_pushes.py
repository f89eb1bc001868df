"""Scores pushed to Langfuse and Phoenix: their real clients, and a server that notes what comes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical import UsageError

SOURCE = "The tower is 57 m tall."
ROWS = [
    {"answer": SOURCE, "context": SOURCE, "trace_id": "a" * 32, "span_id": "1" * 16},
    {"answer": "It is 70 m tall.", "context": SOURCE, "trace_id": "b" * 32, "span_id": "2" * 16},
    {"answer": SOURCE, "trace_id": "c" * 32, "span_id": "3" * 16},
    {"answer": SOURCE, "context": SOURCE},
]


class Noting(ThreadingHTTPServer):
    """Answers everything, and keeps the bodies of what was posted."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Noting

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            self.server.posted.append((self.path, json.loads(body)))
        except ValueError:  # spans, which are no JSON
            self.server.posted.append((self.path, None))
        self.reply()

    def do_GET(self) -> None:
        self.reply()

    def reply(self) -> None:
        payload = {"successes": [], "errors": [], "data": [{"id": "U3Bhbg=="}]}
        data = json.dumps(payload).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def noting() -> Iterator[Noting]:
    server = Noting()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def results(tmp_path: Path, name: str = "run") -> Any:
    return veridical.check(ROWS, out=tmp_path / name, store=None)


def test_langfuse(noting: Noting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    langfuse = pytest.importorskip("langfuse")
    from veridical.integrations.langfuse import push_to_langfuse

    client = langfuse.Langfuse(
        public_key="pk", secret_key="sk", host=noting.address, tracing_enabled=True
    )
    assert push_to_langfuse(results(tmp_path), client) == 3
    first = sent(noting)
    assert push_to_langfuse(results(tmp_path, "again"), client) == 3
    again = sent(noting)
    assert [s["id"] for s in first] == [s["id"] for s in again] and len(first) == 5
    by = {(s["traceId"][0], s["name"]): s for s in first}
    assert by["a", "veridical_verdict"]["value"] == "supported"
    assert by["b", "veridical_verdict"]["value"] == "contradicted"
    assert by["b", "veridical"]["value"] > 0.5 and "70 m" in by["b", "veridical"]["comment"]
    assert by["c", "veridical_verdict"]["value"] == "unchecked" and ("c", "veridical") not in by
    client.shutdown()


def sent(noting: Noting) -> list[Any]:
    """The scores that came since the last look."""
    bodies = [body for path, body in noting.posted if path.endswith("/scores")]
    noting.posted.clear()
    scores = [score for body in bodies for score in (body if isinstance(body, list) else [body])]
    return sorted(scores, key=lambda s: (s["traceId"], s["name"]))


def test_phoenix(noting: Noting, tmp_path: Path) -> None:
    phoenix = pytest.importorskip("phoenix.client")
    from veridical.integrations.phoenix import push_to_phoenix

    client = phoenix.Client(base_url=noting.address)
    told = []
    for name in ("run", "again"):
        assert push_to_phoenix(results(tmp_path, name), client) == 3
        told.append([body["data"][0] for _, body in noting.posted])
        noting.posted.clear()
    assert told[0] == told[1]
    good, wrong, unchecked = told[0]
    assert good["span_id"] == "1" * 16 and good["annotator_kind"] == "CODE"
    assert good["result"]["label"] == "supported" and good["result"]["score"] < 0.5
    assert wrong["result"]["label"] == "contradicted" and "70 m" in wrong["result"]["explanation"]
    assert unchecked["result"]["label"] == "unchecked" and "score" not in unchecked["result"]
    assert len({t["identifier"] for t in told[0]}) == 3


def test_a_run_that_names_no_trace(tmp_path: Path) -> None:
    from veridical.integrations.pushing import pushes

    with pytest.raises(UsageError, match="'meta_id'"):
        next(pushes(results(tmp_path), "meta_id"))


def test_places_may_lie_deeper(tmp_path: Path) -> None:
    from veridical.integrations.pushing import pushes

    rows = [{"answer": SOURCE, "context": SOURCE, "span": {"id": "x"}, "other": 5}]
    found = veridical.check(rows, out=tmp_path / "run", store=None)
    (push,) = pushes(found, "span.id", "other")
    assert push.places == {"span.id": "x"} and push.judgement.passed
    assert push.id("a") != push.id("b")
