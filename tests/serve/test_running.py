"""Servers in processes of their own: where they listen, and how they end."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path

import httpx
import pytest
from servers import running

from veridical.errors import UsageError
from veridical.serve.running import address_of, open_socket

pytest.importorskip("uvicorn")

SERVER = """
import asyncio, sys
from veridical.serve.running import open_socket, run_app
from veridical.serve.security import Secured

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": kind + ".complete"})
            if kind == "lifespan.shutdown":
                return
    if scope["path"] == "/slow":
        await asyncio.sleep(1)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})

sys.exit(run_app(Secured(app), open_socket("127.0.0.1", 0, guarded=False), patience=0.5))
"""


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    (tmp_path / "server.py").write_text(SERVER)
    return ["server.py"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_answers_under_way_end(
    script: list[str], tmp_path: Path, number: int
) -> None:
    with running(script, cwd=tmp_path) as server, httpx.Client() as client:
        import threading

        answers: list[str] = []
        asking = threading.Thread(
            target=lambda: answers.append(client.get(f"{server.url}/slow").text)
        )
        asking.start()
        time.sleep(0.4)
        assert server.stop(number) == 0
        asking.join()
        assert answers == ["done"]


def test_a_connection_that_sends_no_request_is_closed(script: list[str], tmp_path: Path) -> None:
    with running(script, cwd=tmp_path) as server:
        host, port = server.url.removeprefix("http://").split(":")
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-"):
            with socket.create_connection((host, int(port))) as connection:
                connection.sendall(sent)
                connection.settimeout(5)
                assert connection.recv(100) == b""
        with httpx.Client() as client:  # one that works goes on
            assert client.get(f"{server.url}/slow").text == "done"


def test_a_port_in_use_is_a_clear_error() -> None:
    first = open_socket("127.0.0.1", 0, guarded=False)
    port = first.getsockname()[1]
    assert address_of(first) == f"http://127.0.0.1:{port}"
    with pytest.raises(UsageError, match=rf"cannot listen on 127.0.0.1:{port}: Address already"):
        open_socket("127.0.0.1", port, guarded=False)
    first.close()


def test_other_computers_need_keys() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(UsageError, match="--keys"):
            open_socket(host, 0, guarded=False)
    open_socket("0.0.0.0", 0, guarded=True).close()
    with pytest.raises(UsageError, match=r"--host no\.such"):
        open_socket("no.such.name.invalid", 0, guarded=True)
