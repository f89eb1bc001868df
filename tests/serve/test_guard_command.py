"""``veridical guard`` as an operator runs it, without a policy: real NLI, a scripted upstream."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from guarding import STREAMS, Upstream, chunk, delivered, served, sse, upstream, whole_of
from servers import Running, running

from veridical.llm.endpoints import Endpoint
from veridical.serve.guard import answers
from veridical.serve.guard.answers import LONGEST_ANSWER
from veridical.serve.guard.app import Guard as App
from veridical.serve.guard.app import guarded
from veridical.serve.guard.upstream import Upstream as Sender

pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

SOURCE = "The Nile is a long river in Africa. It is not in South America."
GOOD = "The Nile is a river in Africa."
WRONG = "The Nile is in South America."
MODELS = {"object": "list", "data": [{"id": "big", "object": "model"}]}
CALL = {"index": 0, "id": "t", "function": {"name": "f", "arguments": "{}"}}


def answer(body: dict[str, Any], number: int) -> tuple[int, str, Any]:
    """Return the reply of the upstream, by a mark in the question."""
    asked = json.dumps(body.get("messages", body))
    text = f"{GOOD} {WRONG}"
    if "#call" in asked:
        events = [chunk({"content": GOOD}), chunk({"tool_calls": [CALL]}), chunk({}, "tool_calls")]
        return 200, "text/event-stream", [sse(*events, "[DONE]")]
    if "#long" in asked:
        text = (GOOD + " ") * (LONGEST_ANSWER // len(GOOD))
        return 200, "text/event-stream", [sse(chunk({"content": text}), chunk({}, "stop"))]
    if "#failed" in asked:
        error = {"message": "no such tool", "code": "tool", "failed_generation": WRONG}
        return 400, "application/json", [json.dumps({"error": error}).encode()]
    if body.get("stream"):
        return 200, "text/event-stream", [STREAMS["chat/completions"](text)]
    return 200, "application/json", [json.dumps(whole_of("chat/completions", text)).encode()]


@dataclass
class Guard:
    server: Running
    upstream: Upstream
    folder: Path

    @property
    def url(self) -> str:
        return self.server.url

    def ask(self, text: str, **more: Any) -> httpx.Response:
        body = {"messages": [{"role": "user", "content": text}], **more}
        return httpx.post(f"{self.url}/v1/chat/completions", json=body, timeout=120)

    def lines(self) -> list[dict[str, Any]]:
        """The log so far."""
        return [json.loads(line) for line in self.server.errors if line.startswith("{")]

    def line(self, wanted: str) -> dict[str, Any]:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            for line in self.lines():
                if wanted in line["message"]:
                    return line
            time.sleep(0.05)
        raise AssertionError(f"{wanted!r} is not in {self.server.errors}")

    def metric(self, name: str) -> float:
        text = httpx.get(f"{self.url}/metrics").text
        found = re.findall(rf"^veridical_{name} (\S+)$", text, re.MULTILINE)
        return sum(map(float, found))


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    folder = tmp_path_factory.mktemp("guard")
    with upstream(answer) as server:
        (folder / "veridical.toml").write_text(
            f'[llm.up]\nbase_url = "{server.url}"\nmodel = "m"\n', "utf-8"
        )
        words = ["guard", "--upstream", "up", "--mode", "hold", "--port", "0", "--nli", "mini"]
        words += ["--log-format", "json"]
        with running(words, cwd=folder) as process:
            yield Guard(process, server, folder)


def test_without_a_policy_what_the_verdicts_speak_against_is_rejected(guard: Guard) -> None:
    reply = guard.ask("Where is the Nile?", veridical={"contexts": [SOURCE]}).json()
    assert reply["choices"][0]["message"]["content"] == GOOD
    decided = [(s["decision"], s["verdict"]) for s in reply["veridical"]["sentences"]]
    assert decided == [("accept", "supported"), ("reject", "contradicted")]
    line = guard.line("an answer was blocked")
    assert (line["verdict"], line["start"]) == ("contradicted", len(GOOD) + 1)
    assert WRONG not in json.dumps(guard.lines())  # no text of answers in logs


@pytest.mark.parametrize("streamed", [True, False])
def test_sources_in_the_prompt_are_read(guard: Guard, streamed: bool) -> None:
    reply = guard.ask(f"Context:\n{SOURCE}\n\nQuestion: Where is the Nile?", stream=streamed)
    assert GOOD in reply.text and WRONG not in reply.text
    assert "content_filter" in reply.text


def test_where_no_source_is_found_it_is_said_once_and_counted(guard: Guard) -> None:
    before = guard.metric("guard_no_sources_total")
    for _ in range(2):
        reply = guard.ask("Where is the Nile?")
        assert reply.json()["veridical"]["status"] == "unchecked"
    assert guard.metric("guard_no_sources_total") == before + 2
    guard.line("a request has no sources")
    told = [line for line in guard.lines() if "has no sources" in line["message"]]
    assert len(told) == 1 and told[0]["level"] == "warning"


def test_tool_calls_are_left_out_and_the_operator_is_told(guard: Guard) -> None:
    reply = guard.ask(f"<context>{SOURCE}</context> #call", stream=True)
    assert delivered("chat/completions", reply.content) == GOOD
    assert "arguments" not in reply.text and "content_filter" in reply.text
    line = guard.line("--pass-unchecked tool_calls")
    assert line["level"] == "warning"
    assert guard.metric(r'guard_withheld_total\{kind="tool_calls"\}') == 1


def test_models_of_the_upstream() -> None:
    seen: list[str] = []

    async def models(scope: Any, receive: Any, send: Any) -> None:
        seen.append(f"{scope['method']} {scope['path']}")
        good = scope["path"] == "/v1/models"
        body = json.dumps(MODELS if good else {"error": {"message": WRONG}}).encode()
        kind = [(b"content-type", b"application/json")]
        status = 200 if good else 404
        await send({"type": "http.response.start", "status": status, "headers": kind})
        await send({"type": "http.response.body", "body": body})

    class Checker:
        engine = type("Engine", (), {"work": staticmethod(dict)})()

    async def ready(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        await models(scope, receive, send)

    with served(ready) as url:
        app: Any = App(Sender(Endpoint("up", f"{url}/v1", "m")), Checker(), None)  # type: ignore[arg-type]
        with served(guarded(app)) as mine:
            assert httpx.get(f"{mine}/v1/models").json() == MODELS
            missing = httpx.get(f"{mine}/v1/models/other")
            assert missing.status_code == 404 and WRONG not in missing.text
            assert httpx.get(f"{mine}/v1/models/../x").status_code == 404
    assert seen == ["GET /v1/models", "GET /v1/models/other"]


def test_errors_are_in_the_shape_of_the_route(guard: Guard) -> None:
    found = httpx.post(f"{guard.url}/v1/chat/completions", content=b"{").json()["error"]
    assert found == {
        "message": "the body is not JSON",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
    anthropic = httpx.post(f"{guard.url}/v1/messages", json={"messages": 3}).json()
    assert anthropic["type"] == "error"
    assert anthropic["error"]["type"] == "invalid_request_error"
    foreign = httpx.get(f"{guard.url}/v1/models", headers={"host": "evil.example"})
    assert foreign.status_code == 421 and foreign.json()["error"]["message"]
    missing = httpx.post(f"{guard.url}/v1/embeddings", json={})
    assert missing.status_code == 404 and missing.json()["error"]["code"] == "not_found"
    own = httpx.post(f"{guard.url}/healthz")
    assert own.headers["content-type"] == "application/problem+json"  # a route of its own
    many = guard.ask("Where?", n=129)
    assert many.status_code == 400 and "129" not in many.text and "128" in many.text


def test_of_an_upstreams_refusal_what_the_model_wrote_is_left_out(guard: Guard) -> None:
    reply = guard.ask("#failed")
    assert reply.status_code == 400 and reply.json()["error"]["message"] == "no such tool"
    assert WRONG not in reply.text


def test_a_huge_delta_is_bounded(guard: Guard) -> None:
    begun = time.monotonic()
    reply = guard.ask(f"<context>{SOURCE}</context> #long", stream=True)
    assert delivered("chat/completions", reply.content) == ""
    assert "content_filter" in reply.text and time.monotonic() - begun < 10
    assert guard.line("an answer was blocked")


def test_metrics_and_logs(guard: Guard) -> None:
    guard.ask(f"<context>{SOURCE}</context> Where?")
    assert guard.metric(r'guard_answers_total\{decision="reject",status="checked"\}') >= 1
    assert guard.metric(r'guard_sentences_total\{action="blocked",verdict="contradicted"\}') >= 1
    seconds = r'request_seconds_count\{code="200",route="/v1/chat/completions"\}'
    assert guard.metric(seconds) >= 1
    line = guard.line("POST /v1/chat/completions")
    assert line["status"] in (200, 400) and line["seconds"] >= 0 and line["level"] == "info"
    assert not [entry for entry in guard.lines() if "/metrics" in entry["message"]]


def test_the_reason_of_a_stop_is_logged(tmp_path: Path, guard: Guard) -> None:
    (tmp_path / "veridical.toml").write_text(
        (guard.folder / "veridical.toml").read_text("utf-8"), "utf-8"
    )
    words = ["guard", "--upstream", "up", "--port", "0", "--nli", "mini"]
    with running(words, cwd=tmp_path) as mine:
        httpx.get(f"{mine.url}/healthz")
        httpx.get(f"{mine.url}/v1/nothing")
        assert mine.stop() == 0
    text = "".join(mine.errors)
    assert "info veridical.serve: stopping on SIGTERM" in text
    assert "info veridical.serve: stopped" in text
    assert "GET /v1/nothing status=404" in text and "/healthz" not in text


def test_kinds_that_are_not_known_are_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "veridical",
            "guard",
            "--upstream",
            "x",
            "--pass-unchecked",
            "tools",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "--pass-unchecked" in done.stderr
    assert "tool_calls" in done.stderr


def test_an_answer_of_many_sentences_is_judged_a_few_at_a_time() -> None:
    import asyncio

    from flights import flight

    made = flight()
    asyncio.run(made.answer((0,)).take("BAD one. " * 5000, last=True))
    assert len(made.judge.seen) <= answers._TOGETHER  # type: ignore[attr-defined]


def test_an_answer_that_is_too_long_fails_in_every_mode() -> None:
    from flights import flight, sent

    text = "It rains. " * (LONGEST_ANSWER // 10 + 1)
    data = sse(chunk({"content": text}), chunk({}, "stop"), "[DONE]")
    for mode in ("hold", "buffer", "annotate"):
        made = flight(mode=mode)
        out = delivered("chat/completions", sent(made, [data]))
        assert out == (text if mode == "annotate" else "")
        assert (made.document()["decision"], made.document()["status"]) == ("reject", "failed")
