"""The clients that people have, against the guard before a real llama.cpp server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers import Running, running

from veridical.errors import ModelError
from veridical.llm.local import read_local

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")
pytest.importorskip("uvicorn")
pytest.importorskip("xllamacpp")

pytestmark = pytest.mark.local

SOURCE = {"id": "atlas", "text": "The capital of France is Paris. Paris lies on the Seine."}
MESSAGES: Any = [{"role": "user", "content": "What is the capital of France? One sentence."}]
#: Rejects everything, so that it can be seen that nothing leaves; and nothing.
POLICIES = {"none": "accept = 1\n", "all": "accept = 0\nreject = 0\n"}


@pytest.fixture(scope="module", params=["none", "all"])
def guard(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Running, Path]]:
    try:
        read_local("local:smollm2")
    except ModelError as e:
        pytest.skip(str(e))
    folder = tmp_path_factory.mktemp("guard")
    (folder / "policy.toml").write_text(POLICIES[request.param], "utf-8")
    words = ["guard", "--upstream", "local:smollm2", "--policy", "policy.toml", "--port", "0"]
    words += ["--mode", "hold", "--out", "run"]
    with running(words, cwd=folder, seconds=240) as server:
        yield request.param, server, folder


def test_openai(guard: tuple[str, Running, Path]) -> None:
    rejects, server, _ = guard
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120)
    extra = {"veridical": {"contexts": [SOURCE]}}
    asked: Any = {
        "model": "any",
        "messages": MESSAGES,
        "max_tokens": 40,
        "temperature": 0,
        "extra_body": extra,
    }
    whole = client.chat.completions.with_raw_response.create(**asked)
    reply = whole.parse()
    assert reply.model_extra["veridical"]["mode"] == "hold"
    text = ""
    error = None
    finish = None
    try:
        for event in client.chat.completions.create(**asked, stream=True):
            for choice in event.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
    except openai.APIError as e:
        error = e
    if rejects == "none":
        assert whole.headers["x-veridical-decision"] in ("accept", "review")
        assert text == reply.choices[0].message.content and text.strip() and error is None
    else:
        assert whole.headers["x-veridical-decision"] == "reject"
        assert reply.choices[0].message.content == text == ""
        assert reply.choices[0].finish_reason == finish == "content_filter"
        assert error is not None and error.code == "content_filter"


def test_openai_completions(guard: tuple[str, Running, Path]) -> None:
    rejects, server, _ = guard
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120)
    asked: Any = {
        "model": "any",
        "prompt": "The capital of France is",
        "max_tokens": 12,
        "temperature": 0,
        "extra_body": {"veridical": {"contexts": [SOURCE]}},
    }
    whole = client.completions.create(**asked)
    text = ""
    try:
        for event in client.completions.create(**asked, stream=True):
            text += "".join(c.text for c in event.choices)
    except openai.APIError:
        assert rejects == "all"
    assert text == whole.choices[0].text
    assert bool(text) == (rejects == "none")


def test_anthropic(guard: tuple[str, Running, Path]) -> None:
    rejects, server, _ = guard
    client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, timeout=120)
    asked: Any = {
        "model": "any",
        "messages": MESSAGES,
        "max_tokens": 40,
        "extra_body": {"veridical": {"contexts": [SOURCE]}, "temperature": 0},
    }
    whole = client.messages.create(**asked)
    text = ""
    try:
        with client.messages.stream(**asked) as stream:
            for piece in stream.text_stream:
                text += piece
    except anthropic.APIError:
        assert rejects == "all"
    assert text == "".join(b.text for b in whole.content if b.type == "text")
    assert bool(text) == (rejects == "none")
    if rejects == "all":
        assert whole.stop_reason == "refusal"


def test_openai_responses(guard: tuple[str, Running, Path]) -> None:
    rejects, server, _ = guard
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120)
    asked: Any = {
        "model": "any",
        "input": "What is the capital of France? One sentence.",
        "max_output_tokens": 40,
        "temperature": 0,
        "extra_body": {"veridical": {"contexts": [SOURCE]}},
    }
    whole = client.responses.create(**asked)
    text, last = "", None
    try:
        for event in client.responses.create(**asked, stream=True):
            if event.type == "response.output_text.delta":
                text += event.delta
            if event.type in ("response.completed", "response.incomplete"):
                last = event.response
    except openai.APIError:
        assert rejects == "all"
    assert text == whole.output_text and bool(text) == (rejects == "none")
    assert last is not None and last.output_text == text
    assert last.status == ("completed" if rejects == "none" else "incomplete")


def test_evidence_of_a_tool_and_the_run(guard: tuple[str, Running, Path]) -> None:
    _, server, folder = guard
    call = {"id": "c", "type": "function", "function": {"name": "atlas", "arguments": "{}"}}
    messages = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": SOURCE["text"]},
    ]
    body = {"model": "m", "messages": messages, "max_tokens": 24, "temperature": 0}
    reply = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=120)
    assert reply.status_code == 200, reply.text
    assert reply.headers["x-veridical-status"] == "checked"
    rows = (folder / "run" / "records.jsonl").read_text("utf-8").splitlines()
    assert any(json.loads(r)["contexts"] for r in rows)
