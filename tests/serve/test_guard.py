"""The guard over HTTP: real NLI, a scripted upstream on loopback, real connections."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from guarding import CUT, STREAMS, Upstream, chat_stream, delivered, served, upstream, whole_of
from servers import running

from veridical.api import reopen
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError
from veridical.llm.endpoints import Endpoint
from veridical.serve.guard.answer_store import RECORDS, AnswerStore
from veridical.serve.guard.app import Guard
from veridical.serve.guard.app import guarded as guarded_app
from veridical.serve.guard.checking import SentenceChecker
from veridical.serve.guard.setup import policy_and_scorers
from veridical.serve.guard.upstream import Upstream as Sender

pytest.importorskip("uvicorn")

SOURCE = "The Nile is a long river in Africa. It is not in South America."
GOOD = "The Nile is a river in Africa."
WRONG = "The Nile is in South America."
TEXT = f"{GOOD} {WRONG} {GOOD}"
QUESTION = "Where is the Nile?"
POLICY = "accept = 0.6\nreject = 0.7\n"


def asked(path: str, **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "any", **more}
    if path == "completions":
        return {"prompt": QUESTION, **body}
    if path == "responses":
        return {"input": QUESTION, **body}
    return {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 64, **body}


def with_source(path: str, **more: Any) -> dict[str, Any]:
    return asked(path, veridical={"contexts": [{"id": "s", "text": SOURCE}]}, **more)


def says(text: str = TEXT) -> Callable[[dict[str, Any], int], tuple[int, str, Any]]:
    """An upstream that gives this answer, streamed where asked."""

    def answer(body: dict[str, Any], number: int) -> tuple[int, str, Any]:
        path = "chat/completions"
        if "input" in body:
            path = "responses"
        elif "prompt" in body:
            path = "completions"
        elif body.get("stop_sequences"):
            path = "messages"
        if body.get("stream"):
            return 200, "text/event-stream", [STREAMS[path](text)]
        return 200, "application/json", [json.dumps(whole_of(path, text)).encode()]

    return answer


@dataclass
class Guarded:
    url: str
    upstream: Upstream
    guard: Guard
    run: Path
    _stack: ExitStack = field(default_factory=ExitStack)

    def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        return httpx.post(f"{self.url}/v1/{path}", json=body, headers=headers, timeout=60)

    def kept(self, count: int) -> list[dict[str, Any]]:
        """The rows of the run, when so many are there with their results."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            lines = (self.run / RECORDS).read_text("utf-8").splitlines()
            done = self.guard.kept.directory.done.count  # type: ignore[union-attr]
            if len(lines) >= count and done >= count:
                return [json.loads(line) for line in lines]
            time.sleep(0.05)
        raise AssertionError("the answers were not kept")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(EngineOptions(store=None, processes=0, age=0.002)) as made:
        yield made


Make = Callable[..., Guarded]


@pytest.fixture
def guarded(engine: Engine, tmp_path: Path) -> Iterator[Make]:
    with ExitStack() as stack:

        def make(
            answer: Any = None,
            mode: Any = "hold",
            policy: str = POLICY,
            on_error: Any = "closed",
            endpoint: dict[str, Any] | None = None,
        ) -> Guarded:
            path = tmp_path / "policy.toml"
            path.write_text(policy, "utf-8")
            file, decided, scorers = policy_and_scorers(path)
            checker = SentenceChecker(engine, scorers, decided, on_error)
            server = stack.enter_context(upstream(answer or says()))
            run = tmp_path / f"run-{mode}"
            kept = AnswerStore(run, checker, {"mode": mode})
            stack.callback(kept.close)
            sender = Sender(Endpoint("up", server.url, "the-model", **(endpoint or {})))
            guard = Guard(sender, checker, file.guard, mode, kept)
            url = stack.enter_context(served(guarded_app(guard)))
            return Guarded(url, server, guard, run)

        yield make


@pytest.mark.parametrize("path", STREAMS)
def test_hold_lets_out_what_passes_streamed_or_not(guarded: Make, path: str) -> None:
    made = guarded()
    more = {"stop_sequences": ["x"]} if path == "messages" else {}
    answer = made.post(path, with_source(path, stream=True, **more))
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert delivered(path, answer.content) == GOOD
    assert "South America" not in answer.text and "content_filter" in answer.text
    answer = made.post(path, with_source(path, **more))
    assert "South America" not in answer.text and GOOD in answer.text
    assert answer.headers["x-veridical-decision"] == "reject"
    assert answer.headers["x-veridical-status"] == "checked"
    found = answer.json()["veridical"]
    assert float(answer.headers["x-veridical-risk"]) == found["risk"] >= 0.7
    assert [s["action"] for s in found["sentences"]] == ["released", "blocked"]
    assert made.upstream.requests[0]["path"] == f"/v1/{path}"
    assert made.upstream.requests[0]["model"] == "the-model"
    assert "veridical" not in made.upstream.requests[0]


@pytest.mark.parametrize("path", STREAMS)
def test_annotate_changes_nothing_and_tells(guarded: Make, path: str) -> None:
    made = guarded(mode="annotate")
    more = {"stop_sequences": ["x"]} if path == "messages" else {}
    answer = made.post(path, with_source(path, stream=True, **more), **{"x-veridical-final": "1"})
    assert delivered(path, answer.content) == TEXT
    told = [
        json.loads(line.removeprefix(": veridical "))
        for line in answer.text.splitlines()
        if line.startswith(": veridical")
    ]
    assert [t["decision"] for t in told] == ["accept", "reject", "accept"]
    assert [TEXT[t["start"] : t["end"]] for t in told] == [GOOD, WRONG, GOOD]
    assert '"veridical": {' in answer.text
    answer = made.post(path, with_source(path, **more))
    assert WRONG in answer.text and answer.headers["x-veridical-decision"] == "reject"


def test_sentence_verdicts_are_those_of_check_one(guarded: Make, engine: Engine) -> None:
    from veridical import check_one

    made = guarded(mode="annotate")
    told = made.post("chat/completions", with_source("chat/completions")).json()["veridical"]
    for sentence, found in zip((GOOD, WRONG), told["sentences"], strict=False):
        result = check_one(sentence, contexts=[SOURCE], question=QUESTION, engine=engine)
        assert (found["verdict"], found["risk"]) == (result.verdict, result.risk)


def block(of: str, qualifier: str, text: str) -> dict[str, Any]:
    """A content block for contextual grounding."""
    if of == "litellm":
        return {"type": qualifier, "text": text}
    return {"guardContent": {"text": {"text": text, "qualifiers": [qualifier]}}}


@pytest.mark.parametrize(
    "where", ["tool", "documents", "anthropic", "function_call_output", "litellm", "bedrock"]
)
def test_evidence_of_the_request(guarded: Make, where: str) -> None:
    made = guarded(says(GOOD), mode="annotate")
    path, body = "chat/completions", asked("chat/completions")
    if where == "tool":
        parts = [{"type": "text", "text": "ok"}, {"type": "text", "text": SOURCE}]
        call = {"id": "c", "type": "function", "function": {"name": "atlas", "arguments": "{}"}}
        body["messages"] += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": parts},
        ]
    elif where == "documents":
        body["documents"] = [{"title": "atlas", "text": SOURCE}]
    elif where in ("litellm", "bedrock"):
        body["messages"] = [
            {
                "role": "user",
                "content": [
                    block(where, "grounding_source", SOURCE),
                    block(where, "query", QUESTION),
                ],
            }
        ]
    elif where == "anthropic":
        path, body = "messages", asked("messages", stop_sequences=["x"])
        result = {"type": "tool_result", "tool_use_id": "t", "content": SOURCE}
        body["messages"] = [{"role": "user", "content": [result]}]
    else:
        path = "responses"
        output = {"type": "function_call_output", "call_id": "c", "output": SOURCE}
        body = {"model": "m", "input": [{"role": "user", "content": QUESTION}, output]}
    answer = made.post(path, body)
    assert answer.headers["x-veridical-status"] == "checked"
    assert answer.headers["x-veridical-decision"] == "accept"
    (row,) = made.kept(1)
    assert row["contexts"][-1]["text"] == SOURCE


def test_no_evidence_is_unchecked_and_the_policy_decides(guarded: Make) -> None:
    made = guarded(says(GOOD))
    answer = made.post("chat/completions", asked("chat/completions"))
    assert answer.headers["x-veridical-status"] == "unchecked"
    assert answer.headers["x-veridical-risk"] == "null"
    assert answer.headers["x-veridical-decision"] == "review"
    assert answer.json()["veridical"]["verdict"] == "unchecked"
    assert answer.json()["choices"][0]["message"]["content"] == GOOD


def test_unscored_reject_holds_what_nothing_speaks_for(guarded: Make) -> None:
    made = guarded(says(GOOD), policy=POLICY + 'unscored = "reject"\n')
    answer = made.post("chat/completions", asked("chat/completions"))
    assert answer.json()["choices"][0]["message"]["content"] == ""
    assert answer.json()["choices"][0]["finish_reason"] == "content_filter"


def test_the_system_prompt_is_evidence_on_request(guarded: Make) -> None:
    body = asked("chat/completions")
    body["messages"].insert(0, {"role": "system", "content": SOURCE})
    made = guarded(says(GOOD), policy=POLICY + "[guard]\nsystem_prompt = true\n")
    assert made.post("chat/completions", body).headers["x-veridical-status"] == "checked"


def test_a_refusal_is_let_out(guarded: Make) -> None:
    body = with_source("chat/completions")
    body["messages"][-1]["content"] = "Who wrote Hamlet?"
    answer = guarded(says("I'm sorry, but I don't know.")).post("chat/completions", body)
    assert "know" in answer.json()["choices"][0]["message"]["content"]
    assert answer.headers["x-veridical-status"] == "unchecked"
    assert answer.headers["x-veridical-decision"] == "review"


def test_a_refusal_although_the_source_answers_is_decided_by_its_risk(guarded: Make) -> None:
    """The risk is that a source answers: the policy rejects it where that is likely."""
    made = guarded(says("I'm sorry, but I don't know."))
    answer = made.post("chat/completions", with_source("chat/completions"))
    assert answer.json()["veridical"]["verdict"] == "unchecked"
    assert float(answer.headers["x-veridical-risk"]) > 0.7
    assert answer.headers["x-veridical-decision"] == "reject"
    assert answer.json()["choices"][0]["message"]["content"] == ""


def test_other_routes_and_methods_are_refused(guarded: Make) -> None:
    made = guarded()
    for path in ("embeddings", "chat/completions/x", "responses/r/cancel"):
        answer = made.post(path, {})
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"
    assert made.post("models", {}).status_code == 405
    assert httpx.get(f"{made.url}/v1/chat/completions").status_code == 405
    assert httpx.get(f"{made.url}/healthz").json()["status"] == "ok"
    assert httpx.get(f"{made.url}/healthz", headers={"host": "evil.example"}).status_code == 421
    assert made.upstream.requests == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"messages": "x"}, "messages"),
        ({"messages": [{"role": "boss"}]}, "messages[0].role"),
        (asked("chat/completions", veridical=3), "veridical"),
        (asked("chat/completions", veridical={"context": "x"}), "veridical"),
        (asked("chat/completions", veridical={"contexts": [3]}), "veridical.contexts[0]"),
        (asked("chat/completions", documents=3), "documents"),
    ],
)
def test_requests_that_cannot_be_read(guarded: Make, body: dict[str, Any], place: str) -> None:
    made = guarded()
    answer = made.post("chat/completions", body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["message"].startswith(place) and error["type"] == "invalid_request_error"
    raw = httpx.post(f"{made.url}/v1/chat/completions", content=b"{nonsense")
    assert raw.status_code == 400 and made.upstream.requests == []


def test_keys_of_clients_stay_and_the_endpoints_own_is_sent(
    guarded: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "sk-mine")
    made = guarded(mode="annotate", endpoint={"key_env": "MINE"})
    made.post("chat/completions", asked("chat/completions"), authorization="Bearer theirs")
    made.post("messages", asked("messages", stop_sequences=["x"]), **{"x-api-key": "theirs"})
    first, second = (r["headers"] for r in made.upstream.requests)
    assert first["authorization"] == "Bearer sk-mine" and second["x-api-key"] == "sk-mine"
    assert "theirs" not in json.dumps([first, second])
    assert first["accept-encoding"] == "identity"


def test_refusals_of_the_upstream_are_passed_on_without_its_key(
    guarded: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "sk-mine")
    bodies = iter([b'{"error": {"message": "slow down"}}', b'{"error": "bad key sk-mine"}'])
    made = guarded(
        lambda body, n: (429 if n == 0 else 401, "application/json", [next(bodies)]),
        endpoint={"key_env": "MINE"},
    )
    answer = made.post("chat/completions", asked("chat/completions"))
    assert answer.status_code == 429 and answer.json()["error"]["message"] == "slow down"
    answer = made.post("chat/completions", asked("chat/completions", stream=True))
    assert answer.status_code == 401 and "sk-mine" not in answer.text


def test_an_upstream_that_is_not_there_or_talks_nonsense(guarded: Make) -> None:
    made = guarded(lambda body, n: (200, "application/json", [f"<html>{WRONG}".encode()]))
    answer = made.post("chat/completions", asked("chat/completions"))
    assert answer.status_code == 502 and WRONG not in answer.text  # nor does the error quote it
    cut = guarded(lambda body, n: (200, "application/json", [b'{"choices"', CUT]), mode="annotate")
    assert cut.post("chat/completions", asked("chat/completions")).status_code == 502
    made.guard.upstream = Sender(Endpoint("gone", "http://127.0.0.1:9/v1", "m"))
    answer = made.post("chat/completions", asked("chat/completions"))
    assert answer.status_code == 502
    assert answer.json()["error"]["type"] == "server_error"


def test_log_probabilities_are_asked_for_where_the_policy_needs_them_and_stripped(
    guarded: Make,
) -> None:
    tokens = [{"token": t, "logprob": -0.01, "top_logprobs": []} for t in ("The ", "Nile", ".")]

    def answer(body: dict[str, Any], number: int) -> tuple[int, str, Any]:
        reply = whole_of("chat/completions", "The Nile.")
        reply["choices"][0]["logprobs"] = {"content": tokens} if body.get("logprobs") else None
        if not body.get("stream"):
            return 200, "application/json", [json.dumps(reply).encode()]
        data = chat_stream("The Nile.").replace(
            b'"finish_reason": null',
            b'"finish_reason": null, "logprobs": {"content": []}',
        )
        return 200, "text/event-stream", [data]

    policy = 'on = "avg_logprob"\naccept = 0.5\nreject = 0.9\n'
    made = guarded(answer, mode="annotate", policy=policy)
    reply = made.post("chat/completions", asked("chat/completions")).json()
    assert made.upstream.requests[0]["logprobs"] is True
    assert reply["choices"][0]["logprobs"] is None
    assert reply["veridical"]["decision"] == "accept"
    streamed = made.post("chat/completions", asked("chat/completions", stream=True))
    assert '"content": []' not in streamed.text
    kept = made.post("chat/completions", asked("chat/completions", logprobs=True)).json()
    assert kept["choices"][0]["logprobs"]["content"] == tokens  # the client asked for them


def test_samples_are_written_beside_the_answer(guarded: Make) -> None:
    started: list[float] = []

    def answer(body: dict[str, Any], number: int) -> tuple[int, str, Any]:
        started.append(time.monotonic())
        if body.get("stream"):
            return 200, "text/event-stream", [0.5, chat_stream(TEXT)]
        return 200, "application/json", [json.dumps(whole_of("chat/completions", GOOD)).encode()]

    policy = 'on = "selfcheck_nli"\naccept = 0.4\nreject = 0.6\n[guard]\nsamples = 2\n'
    made = guarded(answer, policy=policy)
    body = asked("chat/completions", stream=True, temperature=0, seed=5)
    reply = made.post("chat/completions", body)
    assert delivered("chat/completions", reply.content) == GOOD
    samples = [r for r in made.upstream.requests if not r.get("stream")]
    assert len(samples) == 2 and {r["temperature"] for r in samples} == {1.0}
    assert {r["seed"] for r in samples} == {6, 7}
    assert max(started) - min(started) < 0.45  # not after the answer
    (row,) = made.kept(1)
    assert row["samples"] == [GOOD, GOOD]


@pytest.mark.parametrize("how", ["drop", "replace", "repair", "retry"])
def test_what_the_policy_says_of_rejected_sentences(guarded: Make, how: str) -> None:
    def answer(body: dict[str, Any], number: int) -> tuple[int, str, Any]:
        text = TEXT
        if "response_format" in body:
            fixed = {"sentences": [{"id": 1, "text": "The Nile is not in South America."}]}
            text = json.dumps(fixed)
        elif number > 0:
            text = "It is a long river in Africa."
        return says(text)(body, number)

    made = guarded(answer, policy=f'{POLICY}[guard]\non_reject = "{how}"\nreplacement = "[no]"\n')
    body = with_source("chat/completions", stream=True)
    reply = delivered("chat/completions", made.post("chat/completions", body).content)
    assert "is in South America" not in reply and reply.startswith(GOOD)
    if how == "drop":
        assert reply == f"{GOOD} {GOOD}"
    elif how == "replace":
        assert reply == f"{GOOD} [no] {GOOD}"
    elif how == "repair":
        assert reply == f"{GOOD} The Nile is not in South America. {GOOD}"
    else:
        assert reply == f"{GOOD} It is a long river in Africa."
        messages = made.upstream.requests[1]["messages"]
        assert messages[-2] == {"role": "assistant", "content": GOOD}
        assert SOURCE in messages[-1]["content"]
    (row,) = made.kept(1)
    mine = row["meta"]["guard"]
    assert mine["text_delivered"] == reply and row["response"].startswith(GOOD)


def test_monitor_delays_no_byte(guarded: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [chat_stream(TEXT)[i : i + 700] for i in range(0, len(chat_stream(TEXT)), 700)]
    script: list[Any] = [x for piece in pieces for x in (piece, 0.15)]
    made = guarded(lambda body, n: (200, "text/event-stream", script), mode="monitor")
    judging = threading.Event()
    find = SentenceChecker.find

    async def slow(self: SentenceChecker, *arguments: Any) -> Any:
        judging.set()
        return await find(self, *arguments)

    monkeypatch.setattr(SentenceChecker, "find", slow)
    got: list[tuple[float, bytes]] = []
    body = with_source("chat/completions", stream=True)
    with httpx.stream("POST", f"{made.url}/v1/chat/completions", json=body) as reply:
        for piece in reply.iter_raw():
            assert not judging.is_set()  # nothing is judged before the last byte is sent
            got.append((time.monotonic(), piece))
    assert b"".join(p for _, p in got) == b"".join(pieces)
    gaps = [b - a for (a, _), (b, _) in itertools.pairwise(got)]
    assert len(got) >= len(pieces) and max(gaps) < 1.0  # each as it came, not all at the end
    (row,) = made.kept(1)
    assert row["meta"]["guard"]["decision"] == "reject"
    assert row["meta"]["guard"]["delivered"] == len(TEXT)


def test_a_client_that_goes_closes_the_upstream(guarded: Make) -> None:
    data = chat_stream(TEXT * 3)
    half = len(data) // 2
    script = [data[:half], 20.0, data[half:]]
    for mode in ("monitor", "annotate", "hold"):
        made = guarded(lambda body, n: (200, "text/event-stream", script), mode=mode)
        body = with_source("chat/completions", stream=True)
        with (
            contextlib.suppress(httpx.HTTPError),
            httpx.stream("POST", f"{made.url}/v1/chat/completions", json=body) as reply,
        ):
            next(reply.iter_raw())
        end = time.monotonic() + 10
        while not made.upstream.gone:
            assert time.monotonic() < end, mode
            time.sleep(0.02)
        (row,) = made.kept(1)
        assert "the client disconnected before the end" in row["meta"]["guard"]["notes"]


def test_the_upstream_dies_in_the_middle(guarded: Make) -> None:
    data = chat_stream(TEXT)
    script = [data[: len(data) - 300], CUT]
    made = guarded(lambda body, n: (200, "text/event-stream", script), mode="annotate")
    reply = made.post("chat/completions", with_source("chat/completions", stream=True))
    assert '"code": "upstream_broken"' in reply.text
    (row,) = made.kept(1)
    assert "the upstream's answer was interrupted" in row["meta"]["guard"]["notes"]


@pytest.mark.parametrize(("on_error", "text"), [("closed", ""), ("open", TEXT)])
def test_when_judging_fails(
    guarded: Make, monkeypatch: pytest.MonkeyPatch, on_error: str, text: str
) -> None:
    made = guarded(on_error=on_error)

    async def broken(self: SentenceChecker, record: Any) -> bytes:
        raise RuntimeError("the model is gone")

    monkeypatch.setattr(SentenceChecker, "line", broken)
    reply = made.post("chat/completions", with_source("chat/completions"))
    assert reply.json()["choices"][0]["message"]["content"] == text
    assert reply.headers["x-veridical-status"] == "failed"
    counts = httpx.get(f"{made.url}/healthz").json()["answers"]
    assert counts.get("failed open", 0) == (1 if on_error == "open" else 0)


def test_several_choices(guarded: Make) -> None:
    from guarding import whole_chat

    reply = json.dumps(whole_chat(GOOD, WRONG)).encode()
    made = guarded(lambda body, n: (200, "application/json", [reply]))
    answer = made.post("chat/completions", with_source("chat/completions", n=2)).json()
    assert [c["message"]["content"] for c in answer["choices"]] == [GOOD, ""]
    assert [c["finish_reason"] for c in answer["choices"]] == ["stop", "content_filter"]
    decisions = [c["decision"] for c in answer["veridical"]["choices"]]
    assert decisions == ["accept", "reject"]
    assert [r["meta"]["guard"]["choice"] for r in made.kept(2)] == [0, 1]


def test_the_run_is_read_by_report_and_goes_on(
    guarded: Make, tmp_path: Path, engine: Engine
) -> None:
    made = guarded()
    for stream in (True, False):
        made.post("chat/completions", with_source("chat/completions", stream=stream))
    rows = made.kept(2)
    assert rows[1]["response"] == TEXT
    # of a stream that is blocked, no more than came before
    assert TEXT.startswith(rows[0]["response"]) and WRONG in rows[0]["response"]
    mine = rows[1]["meta"]["guard"]
    assert (mine["delivered"], mine["received"]) == (len(GOOD), len(TEXT))
    assert "characters were not checked" in mine["notes"][-1]  # what follows a blocked sentence
    results = reopen(made.run)  # while it grows
    assert [r.decision for r in results] == ["reject", "reject"]
    assert all(r.verdict == "contradicted" for r in results)
    page = tmp_path / "report.html"
    results.report(page)
    assert page.stat().st_size > 10_000
    made.guard.kept.close()  # type: ignore[union-attr]
    again = AnswerStore(made.run, made.guard.checker, {"mode": "hold"})
    made.guard.kept = again
    made.post("chat/completions", with_source("chat/completions"))
    made.kept(3)
    assert len(list(reopen(made.run))) == 3
    again.close()
    with pytest.raises(UsageError, match="holds another run"):
        AnswerStore(made.run, made.guard.checker, {"mode": "buffer"})


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    with upstream(says()) as server:
        (tmp_path / "veridical.toml").write_text(
            f'[llm.up]\nbase_url = "{server.url}"\nmodel = "m"\n', "utf-8"
        )
        words = ["guard", "--upstream", "up", "--policy", "policy.toml", "--port", "0"]
        with running([*words, "--mode", "hold", "--out", "run"], cwd=tmp_path) as guard:
            assert httpx.get(f"{guard.url}/healthz").json()["mode"] == "hold"
            body = with_source("chat/completions", stream=True)
            reply = httpx.post(f"{guard.url}/v1/chat/completions", json=body, timeout=60)
            assert delivered("chat/completions", reply.content) == GOOD
            assert guard.stop() == 0
    (result,) = reopen(tmp_path / "run")  # what was under way is kept before it ends
    assert result.decision == "reject"


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ('accept = 0.5\n[guard]\non_reject = "shout"\n', "guard.on_reject"),
        ("accept = 0.5\n[guard]\non_rejct = 1\n", "guard: unknown field"),
        ('accept = 0.5\non = "selfchek_nli"\n', "unknown scorer"),
        ("accept = 0.5\n[guard]\nretries = 0\n", "guard.retries"),
        ("", "accept"),
    ],
)
def test_policies_that_are_refused(tmp_path: Path, policy: str, says: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(policy, "utf-8")
    with pytest.raises(UsageError, match=says):
        policy_and_scorers(path)


def test_upstreams_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("nobody", "torch:x", "fake:x.json"):
        with pytest.raises(UsageError, match="--upstream"):
            Sender.named(name)
