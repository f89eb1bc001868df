"""A reply without a verdict is asked for once more, and no more often."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from llm_evidence import FixedReplies

import veridical
from veridical.cli.finish import ledger_lines
from veridical.core.messages import ChatRequest, LlmError, Reply, user
from veridical.core.records import Record, TokenLogprob
from veridical.llm import asking
from veridical.llm.asking import ask_all, ask_verdicts, form_for, restated
from veridical.llm.endpoints import Endpoint, find_endpoint
from veridical.llm.fake import FakeLlm
from veridical.llm.verdicts import JudgeVerdict
from veridical.prompts import load_prompt

PROMPT = load_prompt("correct_incorrect")
QUOTED = "The answer says 'Score: Correct'. I do not."
ROWS = [{"prompt": "Capital of France?", "response": "Paris"}]
AGAIN = "An earlier reply to this had no verdict"


def request(**more: Any) -> ChatRequest:
    return ChatRequest(PROMPT.messages(question="q", answer="a"), **more)


class Chat:
    """Says ``replies`` in turn, and keeps what was asked."""

    def __init__(self, *replies: Reply | str) -> None:
        self.replies = [Reply(r, "stop") if isinstance(r, str) else r for r in replies]
        self.asked: list[ChatRequest] = []

    async def __call__(self, requests: Any) -> list[Reply]:
        self.asked += requests
        return [self.replies.pop(0) for _ in requests]


async def test_only_what_has_no_verdict_is_asked_for_again() -> None:
    chat = Chat("Correct", QUOTED, "Incorrect", "Incorrect")
    found = await ask_verdicts(chat, [request(ordinal=i) for i in range(3)], [PROMPT] * 3)
    assert [v.answer for v in found if isinstance(v, JudgeVerdict)] == [
        "Correct",
        "Incorrect",
        "Incorrect",
    ]
    assert len(chat.asked) == 4
    once, again = chat.asked[1], chat.asked[3]
    assert again.ordinal == 1 and again.messages[:-1] == once.messages[:-1]
    said = again.messages[-1]["content"]
    assert said.startswith(once.messages[-1]["content"].rstrip()) and AGAIN in said
    assert 'Score: and then "Correct" or "Incorrect" or "I am not sure"' in said
    assert QUOTED not in said, "a planted verdict is not repeated to the judge"


async def test_it_is_asked_for_once_more_and_no_more() -> None:
    chat = Chat(QUOTED, "Correct and incorrect.")
    (found,) = await ask_verdicts(chat, [request()], [PROMPT])
    assert isinstance(found, LlmError) and found.trouble == "malformed"
    assert found.text == "Correct and incorrect." and len(chat.asked) == 2
    with pytest.raises(LlmError, match="no clear verdict"):
        await ask_all(Chat(QUOTED, QUOTED), [request()], [PROMPT])


@pytest.mark.parametrize(
    "bad",
    [Reply("Corr", "length"), Reply("", "stop"), Reply("", "stop", refusal="No.")],
)
async def test_replies_that_are_cut_or_refused_are_not(bad: Reply) -> None:
    chat = Chat(bad)
    (found,) = await ask_verdicts(chat, [request()], [PROMPT])
    assert isinstance(found, LlmError) and len(chat.asked) == 1


async def test_as_published_nothing_is_asked_again() -> None:
    chat = Chat(QUOTED)
    (found,) = await ask_verdicts(chat, [request()], [PROMPT], again=False)
    assert isinstance(found, LlmError) and len(chat.asked) == 1


def test_the_rule_is_that_of_the_form_asked_for() -> None:
    as_json = restated(request(schema=PROMPT.schema(True)), PROMPT).messages[-1]["content"]
    assert '{"explanation": "your reasons' in as_json and '"score": "Correct"' in as_json
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    parts = ({"role": "user", "content": [{"type": "text", "text": "q"}, picture]},)
    *_, last = restated(ChatRequest(parts), PROMPT).messages
    assert last["content"][:2] == parts[0]["content"] and AGAIN in last["content"][2]["text"]
    with pytest.raises(veridical.UsageError):
        load_prompt("g_eval_steps").rule(as_json=False, explain=False)


def by_token(template: str, **more: Any) -> ChatRequest:
    prompt = load_prompt(template)
    parts = dict.fromkeys(prompt.parts, "something")
    return asking.request(prompt, parts, form="token", **more)


@pytest.mark.parametrize(
    ("template", "tokens"),
    [("selfcheck_paper", 1), ("nli", 1), ("likert", 2), ("continuous", 4), ("g_eval_fluency", 2)],
)
def test_by_token_no_more_is_asked_for_than_tells_the_verdict(template: str, tokens: int) -> None:
    found = by_token(template)
    assert (found.max_tokens, found.schema, found.cut) == (tokens, None, True)
    assert found.logprobs == asking.ALTERNATIVES
    assert "JSON" not in found.messages[-1]["content"]
    assert by_token(template, max_tokens=9).max_tokens == 9


@pytest.mark.parametrize("template", ["bsdetector_first", "mirage_begin", "verbalized"])
def test_what_one_token_cannot_tell_is_asked_for_whole(template: str) -> None:
    """A verdict after its reasons, and a fraction."""
    prompt = load_prompt(template)
    parts = dict.fromkeys(prompt.parts, "something")
    assert by_token(template) == asking.request(prompt, parts, form="schema")
    assert not by_token(template).cut
    assert by_token("likert", explain=True).schema is not None


async def test_a_first_token_that_tells_nothing_is_asked_for_again_as_json() -> None:
    top = [{"token": t, "logprob": -1.2} for t in ("Correct", "Incorrect", "The")]
    told = TokenLogprob.model_validate({"token": "Correct", "logprob": -1.2, "top": top})
    cut = Reply("Correct", "length", (told,))
    chat = Chat(cut, Reply("The", "length"), Reply("", "stop"), *['{"score": "Incorrect"}'] * 2)
    once = by_token("correct_incorrect")
    found = await ask_verdicts(chat, [once] * 3, [PROMPT] * 3)
    assert [v.value for v in found if isinstance(v, JudgeVerdict)] == [pytest.approx(0.5), 0, 0]
    assert len(chat.asked) == 5
    again = chat.asked[-1]
    assert again.again and not again.cut and again.max_tokens == asking.BARE
    assert again.schema == PROMPT.schema() and AGAIN in again.messages[-1]["content"]
    assert not any(r.again for r in chat.asked[:3])


def test_only_who_surely_tells_token_probabilities_is_asked_by_token() -> None:
    record = Record(response="x")
    evidence = FixedReplies(record)
    assert form_for(evidence, None) == "schema"
    evidence.tells_tokens = lambda llm=None: llm == "local"  # type: ignore[method-assign]
    assert form_for(evidence, "local") == "token" and form_for(evidence, "other") == "schema"
    assert form_for(evidence, "local", "text") == "text"
    assert find_endpoint("local:/some/model.gguf").llama_cpp
    assert not find_endpoint("http://127.0.0.1:1/v1#m").llama_cpp


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    """A chat server that first quotes a verdict and, asked again, gives one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.append(body["messages"][-1]["content"])
            said = "Incorrect" if AGAIN in made[-1] and good else QUOTED
            reply = json.dumps(
                {
                    "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: Any) -> None:
            pass

    made: list[str] = []
    good: list[bool] = [True]
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.made, running.good = made, good  # type: ignore[attr-defined]
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


def endpoint(server: ThreadingHTTPServer, price: float = 1.0) -> Endpoint:
    url = f"http://127.0.0.1:{server.server_port}/v1"
    return Endpoint("here", url, "m", price_in=price, price_out=price)


def run(server: ThreadingHTTPServer, folder: Path, **more: Any) -> veridical.Results:
    return veridical.check(
        ROWS, "judge", llm=endpoint(server), store=folder / "store", processes=0, **more
    )


def test_both_calls_are_counted_journaled_and_paid_once(server: Any, tmp_path: Path) -> None:
    results = run(server, tmp_path, out=tmp_path / "run")
    (line,) = map(json.loads, results.lines())
    assert line["scores"]["judge"]["risk"] == 1
    llm = results.summary().as_dict()["llm"]
    assert (llm["calls"], llm["answered"], llm["tokens_in"]) == (2, 2, 20)
    assert llm["again"] == 1 and "1 asked again" in ledger_lines(llm)[0]
    assert len(server.made) == 2 and AGAIN not in server.made[0] and AGAIN in server.made[1]
    (journal,) = (tmp_path / "store").rglob("journal.sqlite")
    with sqlite3.connect(journal) as db:
        assert db.execute("SELECT count(*) FROM replies").fetchone() == (2,)
    results = run(server, tmp_path, out=tmp_path / "other")
    assert results.summary().as_dict()["llm"]["calls"] == 0 and len(server.made) == 2


def test_a_failure_that_is_retried_costs_one_call(server: Any, tmp_path: Path) -> None:
    server.good.clear()
    (line,) = map(json.loads, run(server, tmp_path, out=tmp_path / "run").lines())
    score = line["scores"]["judge"]
    assert score["status"] == "failed" and score["raw"]["trouble"] == "malformed"
    assert len(server.made) == 2
    server.good.append(True)
    results = run(server, tmp_path, out=tmp_path / "run", retry_failed=True)
    assert next(map(json.loads, results.lines()))["scores"]["judge"]["risk"] == 1
    assert AGAIN in server.made[-1]


def test_the_second_call_is_held_to_the_budget(server: Any, tmp_path: Path) -> None:
    """A call is reserved at its worst: the first fits, the second no longer does."""
    first = run(server, tmp_path, budget=1e-4)
    assert first.summary().as_dict()["llm"]["not_sent"] == 1 and not server.made
    from veridical.llm.budget import worst_case

    asked: list[ChatRequest] = []

    def script(request: ChatRequest) -> Reply:
        asked.append(request)
        return Reply(QUOTED, "stop")

    llm = FakeLlm(script)
    llm.endpoint = Endpoint("fake", "fake:fake", "fake", price_in=1.0, price_out=1.0)
    veridical.check(ROWS, "judge", llm=llm, store=None, processes=0)
    assert len(asked) == 2
    budget = worst_case(llm.endpoint, asked[0]) * 1.01
    results = veridical.check(ROWS, "judge", llm=llm, store=None, processes=0, budget=budget)
    told = results.summary().as_dict()["llm"]
    assert (told["calls"], told["not_sent"], len(asked)) == (1, 1, 3)
    (line,) = map(json.loads, results.lines())
    assert line["scores"]["judge"]["status"] == "failed"


def test_a_request_is_itself_whatever_a_dry_run_answers() -> None:
    one, two = ChatRequest(user("q")), ChatRequest(user("q"), verdict="Yes")
    assert one == two and repr(one) == repr(two)
