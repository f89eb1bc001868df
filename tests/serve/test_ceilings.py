"""Ceilings of one request, a server's logs, and unused columns that are named."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from servers import Running, running

from veridical.serve.admission import Admission, tokens_of
from veridical.serve.problems import Problem
from veridical.serve.request_options import records_of, unused_in

pytest.importorskip("uvicorn")

SENTENCES = " ".join(f"River number {i} flows into lake {i + 1}." for i in range(1000))
LONG = {"response": SENTENCES, "contexts": ["The river flows into the lake. " * 40]}
SMALL = {"response": "It rains.", "contexts": ["It rains."]}


def test_a_request_that_takes_too_much_is_refused_at_once() -> None:
    (long, small) = records_of([LONG, SMALL])
    assert tokens_of(long) > 1000 * 300 > 1000 * tokens_of(small)
    admission = Admission(32_768, largest=262_144)
    with pytest.raises(Problem, match="are allowed") as refused, admission.room([long]):
        pass
    assert refused.value.status == 413 and admission.tokens == 0
    with admission.room([small]):
        assert admission.tokens == tokens_of(small)


def test_an_answer_against_a_book_is_not_too_much() -> None:
    book = "The river flows into the lake. " * 32_000  # 1 MB, of which a part is selected
    (record,) = records_of([{"response": "It rains. " * 4, "contexts": [book]}])
    assert 50_000 < tokens_of(record) < 262_144


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("bounded")
    words = ["serve", "--port", "0", "--nli", "mini", "--deadline", "2"]
    words += ["--request-tokens", "1000000", "--queue-tokens", "2000000", "--log-format", "json"]
    with running(words, cwd=folder, ready=True) as server:
        yield server


def check(server: Running, *records: object, **more: object) -> httpx.Response:
    body = {"records": list(records), **more}
    return httpx.post(f"{server.url}/v1/check", json=body, timeout=120)


@pytest.mark.parametrize("more", [{}, {"deadline_ms": 600_000}])
def test_the_servers_deadline_holds_whatever_a_request_asks_for(
    bounded: Running, more: dict[str, int]
) -> None:
    begun = time.monotonic()
    (result,) = check(bounded, LONG, scorers="nli_grounding", **more).json()["results"]
    assert time.monotonic() - begun < 20
    score = result["scores"]["nli_grounding"]
    assert (score["status"], score["reason"]) == ("failed", "deadline")
    assert result["verdict"] == "unchecked" and result["risk"] is None


def test_a_default_check_that_is_cut_short_gives_no_verdict(bounded: Running) -> None:
    (result,) = check(bounded, LONG).json()["results"]
    assert result["verdict"] == "unchecked"


def test_a_repair_ends_in_time(bounded: Running) -> None:
    begun = time.monotonic()
    reply = httpx.post(f"{bounded.url}/v1/repair", json={"records": [LONG]}, timeout=120)
    assert reply.status_code == 413 and "2 s" in reply.json()["detail"]
    assert time.monotonic() - begun < 20


def test_columns_that_are_not_used_are_named(bounded: Running) -> None:
    reply = check(bounded, {"response": "It rains.", "ctx": "It rains in Paris all day."}).json()
    assert len(reply["results"]) == 1
    (text,) = reply["unused"]
    assert "ctx" in text and "did you mean contexts? Call it contexts" in text
    assert "unused" not in check(bounded, SMALL).json()
    # one without a meaning is named where nothing was scored
    rows = [{"response": "It rains.", "colour": "blue"}]
    line = check(bounded, *rows).json()["results"][0]
    assert unused_in(rows, [json.dumps(line).encode()]) == ["column 'colour' is not used"]
    scored = json.dumps({**line, "risk": 0.5}).encode()
    assert unused_in(rows, [scored]) == []


def test_a_stream_names_them_too(bounded: Running) -> None:
    body = {"records": [{"response": "It rains.", "ctx": "It rains in Paris."}]}
    headers = {"accept": "text/event-stream"}
    text = httpx.post(f"{bounded.url}/v1/check", json=body, headers=headers, timeout=60).text
    done = text.split("event: done\ndata: ")[1]
    assert "ctx" in json.loads(done)["unused"][0]


def test_requests_and_the_reason_of_a_stop_are_logged(tmp_path: Path) -> None:
    words = ["serve", "--port", "0", "--nli", "mini", "--log-format", "json"]
    with running(words, cwd=tmp_path, ready=True) as server:
        httpx.get(f"{server.url}/v1/scorers?secret=1", headers={"authorization": "Bearer secret"})
        assert server.stop() == 0
    lines = [json.loads(line) for line in server.errors if line.startswith("{")]
    messages = [line["message"] for line in lines]
    assert "GET /v1/scorers" in messages and "secret" not in json.dumps(lines)
    (stop,) = [i for i, m in enumerate(messages) if m.startswith("stopping on SIGTERM")]
    assert "stopped" in messages[stop:]
    assert not any("/readyz" in message for message in messages)
    (asked,) = [line for line in lines if line["message"] == "GET /v1/scorers"]
    assert asked["status"] == 200 and asked["level"] == "info" and asked["bytes"] > 100


def test_a_level_leaves_out_what_is_less_severe(tmp_path: Path) -> None:
    words = ["serve", "--port", "0", "--nli", "mini", "--log-level", "warning"]
    with running(words, cwd=tmp_path, ready=True) as server:
        httpx.get(f"{server.url}/v1/scorers")
        assert server.stop() == 0
    assert [line for line in server.errors if "veridical." in line] == []
