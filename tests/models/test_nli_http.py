"""The HTTP NLI model against a real local server with a scripted model behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from fake_models import FakeNli
from nli_checkpoints import judge

from veridical.errors import ModelError, UsageError
from veridical.models import json_client as requests
from veridical.models import load_nli
from veridical.models.nli.http import HttpNli
from veridical.models.nli.labels import PLAIN

SURE = {
    "entailment": (0.9, 0.06, 0.04),
    "neutral": (0.1, 0.8, 0.1),
    "contradiction": (0.03, 0.05, 0.92),
}
SCRIPT = {tuple(pair): SURE[label] for pair, label in PLAIN}
PAIRS = [("Paris is in France.", "Paris is a town."), ("It rains.", "It does not rain."), ("", "")]
LABELS = ("entailment", "neutral", "contradiction")


class Server(ThreadingHTTPServer):
    """``/predict`` as text-embeddings-inference has it: classes of each pair, surest first.

    ``names`` are the labels of entailment, neutral, contradiction; ``faults`` are replies to give
    first; ``change`` alters the answer before it is sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model = FakeNli(SCRIPT, max_length=4096)
        self.reset()

    def reset(self) -> None:
        self.names = LABELS
        self.faults: list[tuple[int, bytes]] = []
        self.change: Callable[[list[list[dict[str, Any]]]], Any] = lambda answer: answer
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def predict(self, pairs: list[list[str]]) -> Any:
        answer = []
        for row in judge(self.model, [(p, h) for p, h in pairs]).tolist():
            entries = [{"score": s, "label": n} for s, n in zip(row, self.names, strict=True) if n]
            total = sum(e["score"] for e in entries)
            entries = [{**e, "score": e["score"] / total} for e in entries]
            answer.append(sorted(entries, key=lambda e: -e["score"]))
        return self.change(answer)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        if self.server.faults:
            return self.reply(*self.server.faults.pop(0))
        if self.path != "/predict":
            return self.reply(404, b"no such path")
        return self.reply(200, json.dumps(self.server.predict(body["inputs"])).encode())

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
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
    running.reset()
    monkeypatch.setattr(requests, "_wait", lambda attempt, retry_after: 0.0)
    monkeypatch.delenv("TEI_API_KEY", raising=False)
    return running


def test_gives_the_probabilities_of_the_model_behind_the_server(server: Server) -> None:
    model: Any = load_nli(f"tei:{server.address}")
    assert model.contradicts and len(server.seen) == 1
    expected = judge(server.model, PAIRS)
    np.testing.assert_allclose(judge(model, PAIRS), expected, atol=1e-6)
    path, headers, body = server.seen[-1]
    assert (path, body["truncate"], body["raw_scores"]) == ("/predict", False, False)
    assert body["inputs"] == [list(p) for p in PAIRS]
    assert "authorization" not in headers
    model.close()


def test_requests_are_bounded(server: Server) -> None:
    model = HttpNli(server.address)
    pairs = [(f"text {i}", "text") for i in range(70)]
    np.testing.assert_allclose(judge(model, pairs), judge(server.model, pairs), atol=1e-6)
    assert [len(body["inputs"]) for _, _, body in server.seen] == [6, 32, 32, 6]


def test_numbered_labels_are_told_by_the_answers(server: Server) -> None:
    server.names = ("LABEL_2", "LABEL_0", "LABEL_1")
    model = HttpNli(server.address)
    np.testing.assert_allclose(judge(model, PAIRS), judge(server.model, PAIRS), atol=1e-6)


def test_labels_that_do_not_fit_are_refused(server: Server) -> None:
    server.names = ("contradiction", "neutral", "entailment")
    with pytest.raises(ModelError, match="do not fit its answers"):
        HttpNli(server.address)


@pytest.mark.parametrize("names", [("LABEL_2", "LABEL_0", "LABEL_1"), LABELS])
def test_a_stated_order_needs_no_request(server: Server, names: tuple[str, ...]) -> None:
    server.names = names
    model = load_nli(f"tei:{server.address}?labels=neutral,contradiction,entailment")
    assert not server.seen and model.contradicts
    np.testing.assert_allclose(judge(model, PAIRS), judge(server.model, PAIRS), atol=1e-6)


def test_two_way_heads(server: Server) -> None:
    server.names = ("entailment", "", "contradiction")  # the empty one is left out
    model = HttpNli(server.address)
    rows = judge(server.model, PAIRS)
    expected = rows[:, [0, 2]] / rows[:, [0, 2]].sum(axis=1, keepdims=True)
    found = judge(model, PAIRS)
    np.testing.assert_allclose(found[:, [0, 2]], expected, atol=1e-6)
    assert (found[:, 1] == 0).all()
    server.names = ("LABEL_0", "LABEL_1", "")
    rest = HttpNli(server.address, labels="entailment,not_entailment")
    assert not rest.contradicts
    expected = rows[:, :2] / rows[:, :2].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(judge(rest, PAIRS)[:, :2], expected, atol=1e-6)


def of(score: Any = 0.5, label: Any = "entailment") -> dict[str, Any]:
    return {"score": score, "label": label}


FULL = [of(0.2), of(0.3, "neutral"), of(0.5, "contradiction")]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([FULL, FULL], "2 predictions for 3 pairs"),
        ({"error": "overloaded"}, "0 predictions for 3 pairs"),
        ([FULL, FULL, "x"], "one probability for each class"),
        ([FULL, FULL, []], "one probability for each class"),
        ([FULL, FULL, [1, 2, 3]], "not a label with its score"),
        ([FULL, FULL, [of(0.2, 7), *FULL[1:]]], "not a label with its score"),
        ([FULL, FULL, [of(True), *FULL[1:]]], "not a label with its score"),
        ([FULL, FULL, [of(float("nan")), *FULL[1:]]], "NaN is not a JSON number"),
        ([FULL, FULL, [of(float("inf")), *FULL[1:]]], "Infinity is not a JSON number"),
        ([FULL, FULL, [of(-0.2), *FULL[1:]]], "score -0.2 is not a probability"),
        ([FULL, FULL, [of(7.1), *FULL[1:]]], "score 7.1 is not a probability"),
        ([FULL, FULL, [of("high"), *FULL[1:]]], "score 'high' is not a probability"),
        ([FULL, FULL, [of(0.9), *FULL[1:]]], "summing to 1"),
        ([FULL, FULL, [of(0.2), *FULL[:2], of(0.3, "neutral")]], "one probability for each"),
        ([FULL, FULL, [of(0.5), of(0.5, "neutral")]], "labels .* are not one each for"),
        ([FULL, FULL, [*FULL[:2], of(0.5, "other")]], "'other'.* are not one each for"),
    ],
)
@pytest.mark.parametrize("stated", [False, True])
def test_unusable_replies_are_errors(
    server: Server, answer: Any, message: str, stated: bool
) -> None:
    model = HttpNli(server.address, labels=",".join(LABELS) if stated else None)
    server.change = lambda _: answer
    with pytest.raises(ModelError, match=message):
        judge(model, PAIRS)


def test_labels_that_change_are_errors(server: Server) -> None:
    server.change = lambda answer: [[of(1.0)], *answer[1:]]
    with pytest.raises(ModelError, match="differ from pair to pair"):
        HttpNli(server.address)
    server.change = lambda answer: answer
    model = HttpNli(server.address, labels="entailment,contradiction")
    server.names = ("LABEL_0", "LABEL_1", "LABEL_2")
    with pytest.raises(ModelError, match="not one each for entailment, contradiction"):
        judge(model, PAIRS)


def test_retries_and_keys_as_for_embeddings(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    server.faults = [(503, b""), (429, b"slow down")]
    model = HttpNli(server.address)
    assert [h["authorization"] for _, h, _ in server.seen] == ["Bearer sk-secret"] * 3
    server.faults = [(413, b"input too long")]
    with pytest.raises(ModelError, match="HTTP 413: input too long") as error:
        judge(model, PAIRS)
    assert "sk-secret" not in str(error.value) + repr(vars(model))
    with pytest.raises(ModelError, match="ConnectError"):
        HttpNli("http://127.0.0.1:9", attempts=2)


def test_long_pairs_are_windowed_by_characters(server: Server) -> None:
    model = HttpNli(server.address, max_characters=300)
    premise = " ".join(f"Sentence number {i} says thing {i}." for i in range(40))
    assert [len(ws) for ws in model.windows([("short", "one")])] == [1]
    (windows,) = model.windows([(premise, "Sentence number 17 says thing 17.")])
    assert len(windows) > 3
    for window in windows:
        piece = window.content
        assert len(piece.premise) + len(piece.hypothesis) <= 300
        assert piece.premise.startswith("Sentence") and piece.premise.rstrip().endswith(".")
    most = max(windows, key=lambda w: w.content.about)
    assert "17" in most.content.premise
    (row,) = judge(model, [(premise, "Sentence number 17 says thing 17.")])
    assert row.sum() == pytest.approx(1, abs=1e-6) and row[0] > 0.9


def test_wrong_requests_are_usage_errors(server: Server) -> None:
    for wrong in ({"labels": "a,b"}, {"max_characters": 2}):
        with pytest.raises(UsageError):
            HttpNli(server.address, **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="credentials"):
        HttpNli("http://u:p@h")
    with pytest.raises(UsageError, match="no option 'precision'"):
        load_nli("tei:http://h?precision=int8")


def test_revision_tells_labels_and_windows_apart() -> None:
    def revision(**options: Any) -> str:
        return HttpNli("http://h", **{"labels": ",".join(LABELS), **options}).revision

    assert revision() == revision()
    assert revision() != revision(labels="entailment,contradiction")
    assert revision() != revision(max_characters=400)
