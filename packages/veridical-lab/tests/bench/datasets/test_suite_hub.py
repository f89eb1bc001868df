"""Fetching a data set by its hub id, against a local server that answers as the hub does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"

#: Prints the folder and what the suite reads from it, or the error, as one JSON line.
SCRIPT = """
import json, sys
from veridical.errors import UsageError
from veridical_lab.bench.datasets import find_suite, locate
from veridical_lab.bench.datasets.suite import Item
suite = find_suite(sys.argv[1])
try:
    path = locate(suite, sys.argv[2])
    files = sorted(str(p.relative_to(path)) for p in path.rglob("*") if p.is_file())
    items = [i for i in suite.load(path) if isinstance(i, Item)]
    told = {"files": files, "items": [[i.part, i.record.response, i.record.label] for i in items]}
except UsageError as e:
    told = {"error": str(e)}
print(json.dumps(told))
"""


class Hub:
    """Data sets by id, each a folder; ``asked`` are the paths requested so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                pass

            def do_HEAD(self) -> None:
                hub.answer(self)

            def do_GET(self) -> None:
                hub.answer(self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(request.path).path)
        self.asked.append(path)
        status, body, headers = 404, b"", {"X-Error-Code": "RepoNotFound"}
        for identity in self.identities():
            api, resolve = f"/api/datasets/{identity}", f"/datasets/{identity}/resolve/"
            files = self.folder / identity
            if path.startswith(f"{api}/tree/"):
                status, headers = 200, {"Content-Type": "application/json"}
                body = json.dumps([self.entry(p, files) for p in self.listing(files)]).encode()
            elif path == api or path.startswith(f"{api}/revision/"):
                status, headers = 200, {"Content-Type": "application/json"}
                names = [{"rfilename": str(p.relative_to(files))} for p in self.listing(files)]
                told = {"id": identity, "sha": COMMIT, "siblings": names, "private": False}
                body = json.dumps({**told, "tags": [], "downloads": 0, "likes": 0}).encode()
            elif path.startswith(resolve):
                name = path.removeprefix(resolve).split("/", 1)[1]
                body = (files / name).read_bytes()
                etag = f'"{hashlib.sha1(body).hexdigest()}"'
                status, headers = 200, {"ETag": etag, "X-Repo-Commit": COMMIT}
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(body)

    def identities(self) -> list[str]:
        return [str(p.relative_to(self.folder)) for p in self.folder.glob("*/*")]

    def listing(self, files: Path) -> list[Path]:
        return sorted(p for p in files.rglob("*") if p.is_file())

    def entry(self, path: Path, files: Path) -> dict[str, Any]:
        body = path.read_bytes()
        name = str(path.relative_to(files))
        oid = hashlib.sha1(body).hexdigest()
        return {"type": "file", "path": name, "size": len(body), "oid": oid}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    server = Hub(tmp_path / "hub")
    server.folder.mkdir()
    thread = threading.Thread(target=server.server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.server.shutdown()
    server.server.server_close()
    thread.join()


@pytest.fixture
def ask(hub: Hub, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Locates and reads data in a process of its own, whose hub is the local one."""

    def asking(suite: str, data: str, **environment: str) -> dict[str, Any]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
        own = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "NO_PROXY": "*"}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, suite, data],
            env=kept | own | {"HF_HUB_DISABLE_PROGRESS_BARS": "1"} | environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    return asking


def test_fetched_once_then_from_the_cache(
    hub: Hub, ask: Callable[..., dict[str, Any]], published: Any, write: Any
) -> None:
    identity = "potsawee/wiki_bio_gpt3_hallucination"
    _, row = published["wikibio"]
    write(f"hub/{identity}/data/evaluation-00000-of-00001.parquet", [row])
    write(f"hub/{identity}/dataset_v3.json", [row])
    (hub.folder / identity / "README.md").write_text("a card")
    expected = {
        "files": ["data/evaluation-00000-of-00001.parquet"],
        "items": [["wikibio", row["gpt3_text"], 0.5]],
    }
    assert ask("wikibio", identity) == expected
    assert hub.asked and not any("dataset_v3" in p or "README" in p for p in hub.asked)
    hub.asked.clear()
    assert ask("wikibio", identity, HF_HUB_OFFLINE="1") == expected
    assert hub.asked == []


def test_any_data_set_with_the_right_rows(
    hub: Hub, ask: Callable[..., dict[str, Any]], write: Any
) -> None:
    write("hub/me/answers/train.csv", [{"response": "a", "label": 1}])
    write("hub/me/answers/more/test.jsonl", [{"response": "b", "label": 0}])
    (hub.folder / "me/answers/model.bin").write_bytes(b"\x00" * 99)
    told = ask("graded", "me/answers")
    assert told["files"] == ["more/test.jsonl", "train.csv"]
    assert told["items"] == [["all", "b", 0.0], ["all", "a", 1.0]]
    wrong = ask("begin", "me/answers")["error"]
    assert "no file in the folder" in wrong and "'train.csv'" in wrong and "begin_label" in wrong


def test_what_is_said_when_it_cannot_be(hub: Hub, ask: Callable[..., dict[str, Any]]) -> None:
    unknown = ask("halueval", "some/where")["error"]
    assert "no such file or folder" in unknown and "no public data set of that name" in unknown
    assert "qa_data.json" in unknown and "pminervini/HaluEval" in unknown
    hub.asked.clear()
    offline = ask("halueval", "pminervini/HaluEval", HF_HUB_OFFLINE="1")["error"]
    assert "HF_HUB_OFFLINE is set" in offline and "qa_data.json" in offline
    assert hub.asked == []
    unreachable = ask("halueval", "some/where", HF_ENDPOINT="http://127.0.0.1:9")["error"]
    assert "no such file or folder" in unreachable and "qa_data.json" in unreachable
    assert "refused" in unreachable
