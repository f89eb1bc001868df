"""``veridical serve``: what is refused before anything is loaded, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from commands import run_command
from servers import running

pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")


def serve(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run_command("serve", *options, cwd=folder)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "--keys"),
        (["--host", "::"], "--keys"),
        (["--port", "70000"], "--port"),
        (["--keys", "none.json"], "No such file"),
        (["--new-key", "a"], "--keys FILE"),
        (["--nli", "nothing-like-it", "--port", "0"], "nothing-like-it"),
        (["--llm", "nothing-like-it", "--port", "0"], "nothing-like-it"),
        (["--data", "file", "--port", "0"], "--data file"),
        (["--offers", "x"], "--offers"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, options: list[str], says: str) -> None:
    (tmp_path / "file").write_text("")
    done = serve(tmp_path, *options)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert says in " ".join(done.stderr.split()), done.stderr


def test_a_port_in_use_is_a_clear_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = serve(tmp_path, "--port", str(port))
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in done.stderr


def test_sigterm_lets_checks_under_way_end(tmp_path: Path) -> None:
    options = ["serve", "--port", "0", "--nli", "mini"]
    record = {"response": "It is so. " * 12, "contexts": ["It was so, then. " * 200]}
    answers: list[httpx.Response] = []
    with running(options, cwd=tmp_path, ready=True) as server:
        body = {"records": [record] * 4, "scorers": "nli_grounding"}
        asking = threading.Thread(
            target=lambda: answers.append(
                httpx.post(f"{server.url}/v1/check", json=body, timeout=60)
            )
        )
        asking.start()
        time.sleep(0.3)
        assert server.stop(signal.SIGTERM) == 0
        asking.join()
    assert answers[0].status_code == 200 and len(answers[0].json()["results"]) == 4


def test_names_are_offered_by_the_server_alone(tmp_path: Path) -> None:
    template = tmp_path / "mine.toml"
    template.write_text("")
    options = ["serve", "--port", "0", "--nli", "mini", "--offer", "hhem"]
    with running(options, cwd=tmp_path, ready=True) as server:

        def asked(scorers: str) -> str:
            body = {"records": [{"response": "a", "contexts": ["b"]}], "scorers": scorers}
            return httpx.post(f"{server.url}/v1/check", json=body, timeout=60).text

        assert "does not offer" in asked("judge(template='mine.toml')")
        assert "not offered" not in asked("nli_grounding")
        assert "minicheck-flan-t5" in asked("minicheck")


def test_it_runs_under_granian(tmp_path: Path) -> None:
    pytest.importorskip("granian")
    (tmp_path / "served.py").write_text(
        "from veridical import Engine\n"
        "from veridical.serve.app import secured\n"
        "from veridical.serve.service import ScoringServer\n"
        "engine = Engine(fair=True, age=0.002, processes=0, store=None, named_only=True,"
        " nli='mini')\n"
        "app = secured(ScoringServer(engine), '127.0.0.1')\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["granian", "--interface", "asgi", "--port", str(port), "served:app"]
    process = subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=tmp_path,
        env=os.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if httpx.get(f"{url}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.2)
        body = {"records": [{"response": "A bridge.", "contexts": ["A bridge."]}]}
        answer = httpx.post(f"{url}/v1/check", json=body, timeout=60)
        assert answer.status_code == 200 and len(answer.json()["results"]) == 1
        assert httpx.get(f"{url}/healthz", headers={"host": "evil.example"}).status_code == 421
    finally:
        process.terminate()
        process.wait(30)
