"""What went wrong is told once, with a count and an example, by real runs and real servers."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.cli.errors_shown import error_lines
from veridical.engine.causes import alike, of_rows
from veridical.errors import RowError

Answer = Callable[[int], tuple[int, Any]]


@contextlib.contextmanager
def server(answer: Answer) -> Iterator[str]:
    """A chat server on this machine; the address of ``answer``, which gives status and body."""

    class Handler(BaseHTTPRequestHandler):
        calls = 0

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            type(self).calls += 1
            status, body = answer(self.calls)
            if status == 0:
                time.sleep(1)
                return
            data = json.dumps(body).encode()
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/v1"
    finally:
        http.shutdown()
        http.server_close()


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Declares an endpoint in the folder's configuration; gives its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERIDICAL_CONFIG", str(tmp_path / "veridical.toml"))
    monkeypatch.setenv("VERIDICAL_LLM_KEY_TEST", "s3cret-key-of-the-test")

    def declare(address: str, **settings: Any) -> str:
        lines = {"base_url": address, "model": "tiny-1", "key_env": "VERIDICAL_LLM_KEY_TEST"}
        lines |= {"attempts": 1, **settings}
        text = "".join(f"{k} = {json.dumps(v)}\n" for k, v in lines.items())
        (tmp_path / "veridical.toml").write_text(f"[llm.judge_api]\n{text}")
        return "judge_api"

    return declare


FAULTS: dict[str, tuple[Answer, list[str]]] = {
    "key": (
        lambda n: (401, {"error": {"message": f"Incorrect API key (request {n})"}}),
        ["the key in VERIDICAL_LLM_KEY_TEST was not accepted", "HTTP 401"],
    ),
    "rights": (
        lambda n: (403, {"error": "no"}),
        ["VERIDICAL_LLM_KEY_TEST lacks permission for this"],
    ),
    "payment": (lambda n: (402, {"error": "pay"}), ["the account has no quota or money left"]),
    "quota": (
        lambda n: (429, {"error": {"code": "insufficient_quota", "message": "quota"}}),
        ["the account has no quota or money left", "HTTP 429"],
    ),
    "rate": (lambda n: (429, {"error": f"wait {n} s"}), ["too many calls (rate limit)"]),
    "model": (
        lambda n: (404, {"error": {"message": "model not found"}}),
        ["it has no model 'tiny-1'; check model and base_url", "HTTP 404"],
    ),
    "busy": (lambda n: (503, {"error": "busy"}), ["the server is overloaded"]),
    "broken": (lambda n: (500, {"error": "oh"}), ["the server failed: HTTP 500"]),
    "hang": (lambda n: (0, None), ["timeout: no complete answer within 0.3 s"]),
}
ROWS = [{"prompt": f"Question {i}?", "response": f"Answer {i}."} for i in range(6)]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_judges_failure_is_told_once_as_what_it_is(
    fault: str, endpoint: Callable[..., str]
) -> None:
    answer, words = FAULTS[fault]
    with server(answer) as address:
        name = endpoint(address, timeout=0.3 if fault == "hang" else 10)
        results = veridical.check(ROWS, "judge, verbalized", llm=name)
    lines = error_lines(results)
    told = " ".join(" ".join(lines).split())
    assert lines[0] == "12 scores failed:"
    assert told.count("12 x judge_api: ") == 1 and "of judge, verbalized" in told
    for part in words:
        assert part in told
    assert "s3cret" not in told and "Error:" not in told and "--retry-failed" in told
    assert all(len(line) <= 80 for line in lines) and len(lines) <= 7


def test_nobody_answers(endpoint: Callable[..., str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    name = endpoint(f"http://127.0.0.1:{port}/v1")
    told = " ".join(error_lines(veridical.check(ROWS, "judge", llm=name)))
    assert f"no server responds at http://127.0.0.1:{port}/v1" in " ".join(told.split())


def test_prompts_without_an_answer_are_no_bad_rows(endpoint: Callable[..., str]) -> None:
    rows: list[dict[str, Any]] = [{"prompt": f"Question {i}?"} for i in range(3)]
    rows += [{"prompt": " "}, {"prompt": "a", "label": "high"}, {"prompt": "b", "label": "low"}]
    with server(lambda n: (401, {"error": f"bad key {n}"})) as address:
        name = endpoint(address)
        results = veridical.check(rows, "ngram", llm=name, samples=2, out="run")
    lines = error_lines(results)
    assert lines[0] == "3 rows are no valid records:"
    assert "3 prompts have no answer:" in lines
    told = " ".join(" ".join(lines).split())
    assert "2 x label: must be a number from 0 (right) to 1" in told and "example row 4" in told
    assert "1 x prompt: is blank: there is nothing to ask for example row 3" in told
    assert "3 x judge_api: the key in VERIDICAL_LLM_KEY_TEST was not accepted" in told
    assert "all of them: run/errors.jsonl" in told
    assert all(len(line) <= 80 for line in lines)


def test_bad_rows_of_a_file_by_cause_with_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        *('{"response": "a"}\n' for _ in range(2)),
        *(f'{{"response": "a", "label": "odd {i}"}}\n' for i in range(40)),
        *(f'{{"response": "a", "label": {i}}}\n' for i in range(2, 5)),
        *(f'{{"respons": "a", "x": {i}}}\n' for i in range(7)),
        *('{"response": 3}\n', "[1]\n", '{"response\n', '{"response": "\\u0000"}\n'),
        '{"response": "a", "contexts": "\\u001b[31m"}\n',
        '{"response": "a", "contexts": {"\\u001b[31m": 1}}\n',
    ]
    Path("a.jsonl").write_text("".join(rows))
    lines = error_lines(veridical.check("a.jsonl", "ngram"))
    assert lines[0] == "55 rows are no valid records:"
    assert lines[1].startswith("  43 x label: must be a number from 0 (right) to 1 (hallucinated)")
    assert lines[3:5] == ["    good/bad, got 'odd 0'", "    for example a.jsonl:3"]
    assert (
        "  7 x response: is missing; the row has 'respons', 'x'; did you mean 'respons'?" in lines
    )
    assert lines[-1] == "  2 more, for 2 other reasons"
    assert all(len(line) <= 80 and line.isprintable() for line in lines)
    assert error_lines(veridical.check([{"response": "a"}], "ngram")) == []


def test_causes_of_many_rows_and_of_those_that_are_only_counted() -> None:
    errors = [RowError(i, "f", i, "x", f"got {i}") for i in range(5)]
    first, other = of_rows(errors, {"got 77": 4, "not JSON": 2})
    assert (first.reason, first.count, first.column) == ("got 0", 9, "x")
    assert first.example == errors[0]
    assert (other.reason, other.count, other.example) == ("not JSON", 2, None)
    letters = [chr(97 + i // 26 % 26) + chr(97 + i % 26) + "z" * (i // 676) for i in range(1200)]
    causes = of_rows([RowError(i, "f", i, None, text) for i, text in enumerate(letters)], {})
    assert len(causes) == 1001 and causes[0].reason == "for other reasons"
    assert causes[0].count == 200 and sum(c.count for c in causes) == 1200
    assert alike("row 3: got 'a b' (req_12)") == alike("row 14: got 'c' (req_7b)")
