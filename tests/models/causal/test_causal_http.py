"""Language models behind a completion server: what is asked, and what is made of the answers."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
import pytest
from causal_checkpoints import read

from veridical.core.tokens import GivenText
from veridical.errors import ModelError
from veridical.llm.endpoints import Endpoint
from veridical.models.causal.http import HttpLanguageModel


class Server:
    """Reads words and the white space before them; word i of a text has log-probability -i."""

    def __init__(self, form: str | None = "echo", most: int = 20) -> None:
        self.form, self.most = form, most
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.asked.append({**body, "key": request.headers.get("authorization")})
        text = body["prompt"]
        words: list[str] = []
        for letter in text:
            if letter == " " or not words:
                words.append("")
            words[-1] += letter
        values = [None, *(-float(i) for i in range(1, len(words)))]
        if (body.get("logprobs") or body.get("prompt_logprobs") or 0) > self.most:
            return httpx.Response(400, json={"error": {"message": "logprobs is too large"}})
        if self.form == "echo" and body.get("echo"):
            tops = [None, *({w: v} for w, v in zip(words[1:], values[1:], strict=True))]
            told = {
                "tokens": [*words, "."],
                "token_logprobs": [*values, -0.1],
                "top_logprobs": [*tops, {".": -0.1}],
            }
            return httpx.Response(200, json={"choices": [{"text": text + ".", "logprobs": told}]})
        choice: dict[str, Any] = {"text": "."}
        if body.get("logprobs"):
            choice["logprobs"] = {"tokens": ["."], "token_logprobs": [-0.1], "top_logprobs": None}
        if self.form == "prompt_logprobs" and body.get("prompt_logprobs"):
            choice["prompt_logprobs"] = [
                None,
                *(
                    {"7": {"logprob": v, "rank": 1, "decoded_token": w}}
                    for w, v in zip(words[1:], values[1:], strict=True)
                ),
            ]
        return httpx.Response(200, json={"choices": [choice]})


def connected(server: Any, **options: Any) -> HttpLanguageModel:
    """A model behind a real server, which answers as ``server`` says."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            request = httpx.Request("POST", self.path, headers=dict(self.headers), content=content)
            reply = server(request)
            self.send_response(reply.status_code)
            self.send_header("content-length", str(len(reply.content)))
            self.end_headers()
            self.wfile.write(reply.content)

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{http.server_port}/v1"
    return HttpLanguageModel(Endpoint("there", address, "m", attempts=1, **options))


@pytest.mark.parametrize("form", ["echo", "prompt_logprobs"])
@pytest.mark.parametrize("most", [20, 5])
def test_the_servers_form_is_found_out(form: str, most: int) -> None:
    server = Server(form, most)
    model = connected(server)
    given = [GivenText("one two", " three four"), GivenText("one", " two"), GivenText("x", "")]
    first, second, empty = read(model, given)
    assert first.logprobs.tolist() == [-2, -3] and second.logprobs.tolist() == [-1]
    assert first.starts.tolist() == [0, 6] and first.ends.tolist() == [6, 11]
    assert first.entropy is None and len(empty) == 0
    asked = server.asked[-1]
    assert asked["model"] == "m" and asked["prompt"] == "one two"
    assert (asked.get("logprobs") or asked.get("prompt_logprobs")) == most
    assert asked["max_tokens"] == 1 and asked["key"] is None


def test_keys_and_further_settings_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    server = Server()
    plain = connected(server)
    model = connected(server, key_env="SOME_KEY", extra_body={"priority": 3})
    read(model, [GivenText("one", " two")])
    assert server.asked[-1]["key"] == "Bearer secret" and server.asked[-1]["priority"] == 3
    assert model.revision != plain.revision


def test_servers_that_tell_nothing_of_given_text_are_refused() -> None:
    with pytest.raises(ModelError, match=r"no probabilities of the given text.*PATH\.gguf"):
        connected(Server(None))
    with pytest.raises(ModelError, match="HTTP 404"):
        connected(lambda _: httpx.Response(404, text="no such route"))


def test_a_bad_answer_fails_its_text_only() -> None:
    server = Server()
    model = connected(server)
    windows = model.windows([GivenText("one", " two"), GivenText("", "first")])
    assert [len(ws) for ws in windows] == [1, 1]
    model.run(windows[0])
    with pytest.raises(ModelError, match="add a prompt before it"):
        model.run(windows[1])


def test_messages_without_a_template() -> None:
    model = connected(Server())
    assert model.chat_prompt([{"role": "user", "content": "Hi"}]) == "Hi\n\n"
    assert np.isfinite(read(model, [GivenText("Hi\n\n", " you there")])[0].logprobs).all()
