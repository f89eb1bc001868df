"""The HTTP encoder against a real local server, which serves the embedded model's vectors."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical
from veridical.core.model_names import ModelName
from veridical.core.protocols import Encoded, Encoder
from veridical.errors import ModelError, UsageError
from veridical.models import http as encoding
from veridical.models import json_client as back_end
from veridical.models import load_encoder
from veridical.models.http import HttpEncoder, split_characters

TEXTS = ["Paris is in France.", "The sky is blue.", "", "I do not know.", "Paris is in France?"]


class Server(ThreadingHTTPServer):
    """Both protocols over the embedded model. ``faults`` are replies to give first, in turn;
    ``change`` alters the list of OpenAI entries before it is sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.encoder = load_encoder("minilm", threads=1)
        self.faults: list[tuple[int, dict[str, str], bytes]] = []
        self.change: Callable[[list[dict[str, Any]]], Any] = lambda entries: entries
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [v.vector.tolist() for v in encode(self.encoder, texts)]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        if self.server.faults:
            return self.reply(*self.server.faults.pop(0))
        if self.path == "/embed":
            answer: Any = self.server.embed(body["inputs"])
        elif self.path == "/v1/embeddings":
            rows = self.server.embed(body["input"])
            entries = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
            answer = {"object": "list", "data": self.server.change(entries)}
        else:
            return self.reply(404, {}, b"no such path")
        return self.reply(200, {"Content-Type": "application/json"}, json.dumps(answer).encode())

    def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    running.faults.clear()
    running.seen.clear()
    running.change = lambda entries: entries
    monkeypatch.setattr(back_end, "_wait", lambda attempt, retry_after: 0.0)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return running


def encode(encoder: Encoder, texts: list[str]) -> list[Encoded]:
    windows = encoder.windows(texts)
    outputs = iter(encoder.run([w for per_text in windows for w in per_text], False))
    return [encoder.assemble(ws, [next(outputs) for _ in ws], False) for ws in windows]


def vectors(encoder: Encoder, texts: list[str]) -> Any:
    return np.stack([e.vector for e in encode(encoder, texts)])


def openai(server: Server, **options: Any) -> HttpEncoder:
    return HttpEncoder(f"{server.address}/v1", "minilm", **options)


@pytest.mark.parametrize("form", ["{}/v1#minilm", "tei:{}"])
def test_gives_the_vectors_of_the_model_behind_the_server(server: Server, form: str) -> None:
    remote = load_encoder(form.format(server.address))
    expected = vectors(server.encoder, [t or " " for t in TEXTS])
    np.testing.assert_allclose(vectors(remote, TEXTS), expected, atol=1e-6)
    assert not remote.has_tokens
    with pytest.raises(ModelError, match="no token vectors"):
        remote.run(remote.windows(["a"])[0], True)


def test_order_is_by_index_not_by_arrival(server: Server) -> None:
    server.change = lambda entries: random.Random(1).sample(entries, len(entries))
    np.testing.assert_allclose(
        vectors(openai(server), TEXTS[:2]), vectors(server.encoder, TEXTS[:2]), atol=1e-6
    )


def test_batches_are_bounded(server: Server) -> None:
    texts = [f"text {i}" for i in range(70)]
    found = vectors(openai(server), texts)
    assert [len(body["input"]) for _, _, body in server.seen] == [32, 32, 6]
    np.testing.assert_allclose(found[69], vectors(server.encoder, ["text 69"])[0], atol=1e-5)


def test_retries_what_may_pass_and_then_succeeds(server: Server) -> None:
    server.faults = [(429, {"Retry-After": "1"}, b"slow down"), (503, {}, b""), (500, {}, b"")]
    assert vectors(openai(server), TEXTS).shape == (5, 384)
    assert len(server.seen) == 4


def test_gives_up_after_the_stated_attempts(server: Server) -> None:
    server.faults = [(500, {}, b"broken")] * 9
    with pytest.raises(ModelError, match=r"HTTP 500: broken \(after 3 attempts\)"):
        vectors(openai(server, attempts=3), TEXTS)
    assert len(server.seen) == 3


@pytest.mark.parametrize("status", [400, 401, 413, 302])
def test_refusals_and_redirects_are_not_retried_or_followed(server: Server, status: int) -> None:
    server.faults = [(status, {"Location": f"{server.address}/embed"}, b"input\x1b too long")]
    with pytest.raises(ModelError, match=rf"HTTP {status}: input\? too long"):
        vectors(openai(server), TEXTS)
    assert len(server.seen) == 1


INFINITE = [{"index": 0, "embedding": [3.5e38] * 384}]
LARGE = [{"index": 0, "embedding": [10**4000] * 384}]
NAN = [{"index": 0, "embedding": [float("nan")] * 384}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda entries: entries[:-1], "4 vectors for 5 texts"),
        (lambda entries: [*entries[:-1], entries[0]], "indices are not 0..4"),
        (lambda entries: [*entries[1:], *NAN], "NaN is not a JSON number"),
        (lambda entries: [*entries[1:], *INFINITE], "not finite"),
        (lambda entries: [*entries[1:], *LARGE], "not a list of numbers"),
        (lambda entries: [*entries[:-1], {"index": [], "embedding": [1.0]}], "indices are not"),
        (lambda entries: [*entries[:-1], {"index": 4, "embedding": [0.1, 0.2]}], "2 values"),
        (lambda entries: [*entries[:-1], {"index": 4, "embedding": "AAAA"}], "list of numbers"),
        (lambda entries: [*entries[:-1], {"index": 4}], "list of numbers|not finite"),
        (lambda entries: "none", "no list 'data'"),
        (lambda entries: [1, 2, 3, 4, 5], "no list 'data'"),
    ],
)
def test_unusable_replies_are_errors(
    server: Server, change: Callable[[list[dict[str, Any]]], Any], message: str
) -> None:
    server.change = change
    with pytest.raises(ModelError, match=message):
        vectors(openai(server), TEXTS)


def test_a_page_instead_of_json_is_an_error(server: Server) -> None:
    server.faults = [(200, {"Content-Type": "text/html"}, b"<html>Log in</html>")]
    with pytest.raises(ModelError, match="not JSON: <html>Log in</html>"):
        vectors(openai(server), TEXTS)


def test_tei_object_instead_of_list_is_an_error(server: Server) -> None:
    server.faults = [(200, {}, b'{"error": "overloaded"}')]
    with pytest.raises(ModelError, match="0 vectors for 5 texts"):
        vectors(load_encoder(f"tei:{server.address}"), TEXTS)


def test_no_server_is_an_error(server: Server) -> None:
    with pytest.raises(ModelError, match="ConnectError"):
        vectors(HttpEncoder("http://127.0.0.1:9/v1", "m", attempts=2), TEXTS)


def test_key_goes_in_the_header_and_nowhere_else(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    server.faults = [(401, {}, b"bad key")]
    encoder = openai(server)
    with pytest.raises(ModelError) as error:
        vectors(encoder, TEXTS)
    assert server.seen[0][1]["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in str(error.value) + repr(vars(encoder))
    vectors(load_encoder(f"tei:{server.address}"), TEXTS)  # another service, another key
    assert "authorization" not in server.seen[1][1]


def test_long_texts_are_windowed_at_spaces_and_nothing_is_lost(server: Server) -> None:
    text = " ".join(f"word{i}" for i in range(400))
    windows = split_characters(text, 500)
    assert all(len(w.content) <= 500 for w in windows)
    assert all(w.content.startswith("word") for w in windows)
    assert {x for w in windows for x in w.content.split()} == set(text.split())
    assert "".join(w.content for w in split_characters("x" * 1000, 500)).count("x") >= 1000
    encoder = openai(server, max_characters=500)
    expected = vectors(server.encoder, [w.content for w in windows])
    weights = np.array([w.length - w.overlap for w in windows])
    mean = weights @ expected
    (found,) = vectors(encoder, [text])
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean), atol=1e-5)


def test_waits_as_the_server_asks_or_longer_each_time() -> None:
    assert back_end._wait(1, 7.0) == 7
    assert all(1 <= back_end._wait(3, None) <= 2 for _ in range(20))


def test_a_date_to_wait_for_is_understood(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []
    monkeypatch.setattr(back_end, "_wait", lambda attempt, asked: waits.append(asked) or 0.0)
    later = {"Date": formatdate(1e9, usegmt=True), "Retry-After": formatdate(1e9 + 9, usegmt=True)}
    server.faults = [(503, later, b""), (529, {"Retry-After": "soon"}, b"")]
    vectors(openai(server), TEXTS)
    assert waits[0] is not None and 0 <= waits[0] <= 9  # http.server adds a Date of its own
    assert waits[1:] == [None]


def test_a_wait_of_hours_is_not_waited(server: Server) -> None:
    server.faults = [(429, {"Retry-After": "7200"}, b"come back later")]
    with pytest.raises(ModelError, match="HTTP 429: come back later"):
        vectors(openai(server), TEXTS)
    assert len(server.seen) == 1


def test_a_reply_without_end_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "LONGEST_REPLY", 1000)
    with pytest.raises(ModelError, match="longer than 1,000 bytes"):
        vectors(openai(server), TEXTS)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_server_that_repeats_the_key_does_not_give_it_away(
    server: Server, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    server.faults = [(status, {}, b"Incorrect API key: Bearer sk-secret")]
    with pytest.raises(ModelError, match=r"Incorrect API key: Bearer \[key\]"):
        vectors(openai(server, attempts=1), TEXTS)


def test_the_key_of_openai_is_for_openai(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.delenv("VERIDICAL_LLM_KEY", raising=False)
    vectors(load_encoder(f"{server.address}/v1#minilm"), TEXTS)
    assert "authorization" not in server.seen[0][1]
    monkeypatch.setenv("VERIDICAL_LLM_KEY", "sk-other")
    vectors(load_encoder(f"{server.address}/v1#minilm"), TEXTS)
    assert server.seen[1][1]["authorization"] == "Bearer sk-other"
    for spec in ("https://api.openai.com/v1#m", "https://api.openai.com.evil.example/v1#m"):
        made = HttpEncoder.from_name(ModelName.parse(spec))
        variable = vars(vars(made)["_client"])["_key_variable"]
        assert (variable == "OPENAI_API_KEY") == ("evil" not in spec)


@pytest.fixture
def configuration(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "veridical.toml"
    path.write_text(
        f"""
        [llm.vectors]
        base_url = "{server.address}/v1"
        model = "minilm"
        key_env = "MY_KEY"
        max_concurrency = 2
        attempts = 2
        extra_body = {{dimensions = 384}}

        [llm.here]
        base_url = "local:"
        """
    )
    monkeypatch.setenv("VERIDICAL_CONFIG", str(path))
    monkeypatch.setenv("MY_KEY", "sk-mine")
    return path


def test_an_endpoint_of_the_configuration_embeds(server: Server, configuration: Path) -> None:
    encoder = load_encoder("vectors")
    expected = vectors(server.encoder, [t or " " for t in TEXTS])
    np.testing.assert_allclose(vectors(encoder, TEXTS), expected, atol=1e-6)
    path, headers, body = server.seen[0]
    assert (path, headers["authorization"]) == ("/v1/embeddings", "Bearer sk-mine")
    assert (body["model"], body["dimensions"]) == ("minilm", 384)
    assert encoder.workers == 2 and not encoder.has_tokens
    assert encoder.revision != load_encoder(f"{server.address}/v1#minilm").revision
    server.seen.clear()
    server.faults = [(500, {}, b"broken")] * 9
    with pytest.raises(ModelError, match="after 2 attempts"):
        vectors(encoder, TEXTS)


def test_a_run_scores_with_the_vectors_of_an_endpoint(configuration: Path, tmp_path: Path) -> None:
    row = {"response": "Paris is in France.", "samples": ["Paris is in France?", "I see."]}
    scores = []
    for name in ("minilm", "vectors"):
        out = tmp_path / name
        found = veridical.check([row], "cosine", embedder=name, store=None, processes=0, out=out)
        scores.append([r.scores["cosine"].risk for r in found])
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
    with pytest.raises(ModelError, match="minilm has no token vectors"):
        veridical.check([row], "bert_score", token_encoder="vectors", store=None, processes=0)


def test_what_cannot_embed_says_so(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="'here' gives no embeddings"):
        load_encoder("here")
    with pytest.raises(UsageError, match=r"section \[llm.NAME\]"):
        load_encoder("nowhere")
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(UsageError, match="MY_KEY"):
        load_encoder("vectors")


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://h/v1", {}),
        ("http://u:p@h/v1", {"model": "m"}),
        ("http://h", {"protocol": "soap"}),
        ("http://h", {"model": "m", "max_characters": 2}),
    ],
)
def test_wrong_requests_are_usage_errors(url: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        HttpEncoder(url, **options)


def test_revision_names_the_model_not_the_host() -> None:
    first = HttpEncoder("http://a/v1", "m").revision
    assert first == HttpEncoder("http://b/v1", "m").revision
    assert first != HttpEncoder("http://a/v1", "n").revision


def test_a_plan_asks_the_server_nothing_and_a_check_once(server: Server) -> None:
    row = {"response": "It is 5 km.", "samples": ["It is 5 km long.", "About 9 km.", "5 km"]}
    chosen: Any = {"embedder": f"{server.address}/v1#minilm", "store": None, "processes": 0}
    (model,) = veridical.plan([row], "cosine", **chosen)["models"]
    assert model["requests"] == 4 and model["seconds"] is None
    assert server.seen == []
    veridical.check([row], "cosine", **chosen)
    assert len(server.seen) == model["batches"] == 1
