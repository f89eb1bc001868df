"""The demo repository of examples/ci: its pipeline from end to end, with comments by real HTTP."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

CI = ROOT / "examples" / "ci"
TOKEN = "secret-of-the-test"
MARK = "<!-- veridical: answers compared -->"


class Host:
    """Comments of one pull request, as GitHub's and GitLab's interfaces have them."""

    def __init__(self, author: dict[str, Any]) -> None:
        self.author = author
        self.comments: list[dict[str, Any]] = []
        self.calls: list[tuple[str, str]] = []
        self.forbidden = False

    def answer(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, Any]:
        self.calls.append((method, path))
        if path.endswith("/user"):
            return 200, {"username": "project-bot"}
        if method == "GET":
            page = int(path.partition("&page=")[2] or 1)
            return 200, self.comments[100 * (page - 1) : 100 * page]
        if self.forbidden:
            return 403, {"message": "Resource not accessible by integration"}
        assert body is not None
        if method == "POST":
            self.comments.append({"id": 1000 + len(self.comments), **self.author, **body})
            return 201, self.comments[-1]
        wanted = int(path.rpartition("/")[2])
        (comment,) = [c for c in self.comments if c["id"] == wanted]
        comment.update(body)
        return 200, comment


@pytest.fixture
def host() -> Iterator[tuple[Host, str]]:
    found = Host({"user": {"login": "github-actions[bot]"}})

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            tokens = (self.headers.get("Authorization"), self.headers.get("PRIVATE-TOKEN"))
            assert f"Bearer {TOKEN}" in tokens or TOKEN in tokens
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, reply = found.answer(self.command, self.path, body)
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_PUT = handle_any

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield found, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


def on_github(url: str) -> dict[str, str]:
    return {
        **os.environ,
        "GITHUB_API_URL": url,
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_TOKEN": TOKEN,
        "PULL_REQUEST": "7",
    }


def comment(path: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CI / "comment.py"), str(path)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_pipeline_of_the_demo(tmp_path: Path, host: tuple[Host, str]) -> None:
    """The good change passes; the bad one fails, by a comment that is updated in place."""
    found, url = host
    tools = tmp_path / "tools"
    tools.mkdir()
    python = shlex.quote(sys.executable)
    for name, words in (("python", ""), ("veridical", "-m veridical")):
        (tools / name).write_text(f'#!/bin/sh\nexec {python} {words} "$@"\n', "utf-8")
        (tools / name).chmod(0o755)
    environment = {**on_github(url), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    folder = tmp_path / "repository"
    done = subprocess.run(
        ["sh", str(CI / "pipeline.sh"), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not in the cache" in done.stdout and "from the cache" in done.stdout
    assert "good change: exit code 0" in done.stdout and "bad change: exit code 4" in done.stdout
    good = (folder / ".veridical-ci" / "good.md").read_text("utf-8")
    assert good.startswith("**No rise") or good.startswith("**Not shown to be worse")
    assert [m for m, _ in found.calls] == ["GET", "POST", "GET", "PATCH"]
    (posted,) = found.comments
    body = posted["body"]
    assert body.startswith(f"{MARK}\n**Worse; unsupported, contradicted or inconsistent answers")
    first, rest = body.index("Changed answers: "), body.index("### Figures")
    shown = re.search(
        r"worse: `(.+)` .*\n\n- before: `(.+)`\n- now: `(.+)`\n- context 1: `(.+)`",
        body[first:rest],
    )
    assert shown is not None
    lines = (CI / "repository" / "questions.jsonl").read_text("utf-8").splitlines()
    (asked,) = [row for row in map(json.loads, lines) if row["question"] == shown[1]]
    assert shown[2] != shown[3] and shown[4] in asked["contexts"][0]
    named = re.findall(r"next: veridical explain (\S+) \d+\n", done.stdout + done.stderr)
    assert named and all((folder / place).is_dir() for place in named)  # it is still there
    assert "next:" not in body
    assert TOKEN not in done.stdout + done.stderr + body


def test_only_its_own_comment_is_touched(tmp_path: Path, host: tuple[Host, str]) -> None:
    found, url = host
    (tmp_path / "s.md").write_text("new", "utf-8")
    found.comments = [
        {"id": i, "user": {"login": "somebody"}, "body": f"{MARK}\nmine?"} for i in range(150)
    ]
    assert comment(tmp_path / "s.md", on_github(url)).stdout == "comment written\n"
    assert comment(tmp_path / "s.md", on_github(url)).stdout == "comment updated\n"
    assert len(found.comments) == 151
    assert all(c["body"].endswith("mine?") for c in found.comments[:150])


def test_gitlab(tmp_path: Path, host: tuple[Host, str]) -> None:
    found, url = host
    found.author = {"author": {"username": "project-bot"}}
    (tmp_path / "s.md").write_text("x" * 100 + "\n" + "y" * 70_000, "utf-8")
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("GITHUB")},
        "CI_API_V4_URL": url,
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "4",
        "GITLAB_TOKEN": TOKEN,
    }
    assert comment(tmp_path / "s.md", environment).stdout == "comment written\n"
    assert comment(tmp_path / "s.md", environment).stdout == "comment updated\n"
    assert found.calls[-1] == ("PUT", "/projects/3/merge_requests/4/notes/1000")
    assert len(found.comments) == 1 and len(found.comments[0]["body"]) < 65_536


def test_a_fork_gets_the_summary_only(tmp_path: Path, host: tuple[Host, str]) -> None:
    found, url = host
    found.forbidden = True
    (tmp_path / "s.md").write_text("text", "utf-8")
    done = comment(tmp_path / "s.md", on_github(url))
    assert done.returncode == 0 and "may not write" in done.stdout and TOKEN not in done.stdout


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.github-workflows", "repository/.github/workflows/answers.yml"),
        ("vendor.gitlab-ci", "gitlab.yml"),
        ("vendor.gitlab-ci", "repository/.gitlab-ci.yml"),
    ],
)
def test_definitions_fit_their_schemas(schema: str, file: str) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    done = subprocess.run([*command, str(CI / file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_hook_of_pre_commit(tmp_path: Path) -> None:
    """Its definition is valid, and its entry fails a file with a wrong answer."""
    hooks = ROOT / ".pre-commit-hooks.yaml"
    clientlib = pytest.importorskip("pre_commit.clientlib")
    (hook,) = clientlib.load_manifest(str(hooks))
    right = {"response": "The tower is 70 m tall.", "contexts": ["The tower is 70 m tall."]}
    wrong = {**right, "response": "The tower is 90 m tall."}
    for name, row, code in (("right", right, 0), ("wrong", wrong, 3)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        words = shlex.split(hook["entry"])
        assert words[0] == "veridical"
        command = [sys.executable, "-m", *words, *hook["args"], f"{name}.jsonl"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
