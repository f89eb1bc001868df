"""Hostile requests: nothing leaks, nothing hangs, memory is bounded, and others are served on."""

from __future__ import annotations

import gzip
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from servers import Running, running

psutil = pytest.importorskip("psutil")
pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")

REQUESTS = 500
#: Megabytes that the server may grow by. Its models and their work areas take some themselves.
GROWTH = 400
SECRET = "xyzzy-secret-of-the-server"


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("victim")
    (folder / "secret.toml").write_text(SECRET)
    options = ["serve", "--port", "0", "--nli", "mini", "--data", "data"]
    with running(options, cwd=folder, ready=True, env={"MY_SECRET": SECRET}) as server:
        yield server


def address(server: Running) -> tuple[str, int]:
    host, _, port = server.url.removeprefix("http://").partition(":")
    return host, int(port)


def raw(server: Running, request: bytes, seconds: float = 10) -> bytes:
    """What the server answers to these bytes, until it closes or the answer is whole."""
    with socket.create_connection(address(server), timeout=seconds) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


def post(body: bytes, *headers: str, path: str = "/v1/check", host: str = "localhost") -> bytes:
    head = [
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        "Connection: close",
        *headers,
    ]
    if not any("ransfer-encoding" in h or "ontent-length" in h.lower() for h in headers):
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


def nested(depth: int) -> bytes:
    deep = b"[" * depth + b"]" * depth
    return b'{"records": [{"response": "a", "meta": ' + deep + b"}]}"


def check(record: object, **more: object) -> bytes:
    return json.dumps({"records": [record], **more}).encode()


ATTACKS: tuple[Callable[[random.Random], bytes], ...] = (
    lambda r: post(gzip.compress(b"[" * r.randint(1, 9) * 10**6), "Content-Encoding: gzip"),
    lambda r: post(gzip.compress(b" " * 20_000_000), "Content-Encoding: gzip"),
    lambda r: post(b"x" * 50, f"Content-Encoding: {r.choice(['br', 'zstd', 'gzip, gzip'])}"),
    lambda r: post(nested(r.choice([70, 1000, 100_000]))),
    lambda r: post(b"[" * r.randint(1, 500_000)),
    lambda r: post(b"x", "Content-Length: 99999999999"),
    lambda r: post(b"x", f"Content-Length: {r.choice(['-1', '1e9', '0x10', '5, 6'])}"),
    lambda r: post(b"0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 5"),
    lambda r: post(b"fffffffff\r\n", "Transfer-Encoding: chunked"),
    lambda r: post(b"{}", host=r.choice(["evil.example", "localhost@evil", "127.0.0.1.evil.io"])),
    lambda r: post(b"{}", "Host: evil.example"),
    lambda r: post(b"{}", "Origin: https://evil.example"),
    lambda r: post(b"{}", "Sec-Fetch-Site: cross-site"),
    lambda r: post(b"{}", "X-A: b\rX-Injected: 1"),
    lambda r: post(b"{}", "X-A: " + "a" * r.choice([10_000, 100_000])),
    lambda r: post(check({"response": "a"}), path="/v1/check\r\nX-Injected: 1"),
    lambda r: b"GET /v1/jobs/%0d%0aX-Injected:%201 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    lambda r: b"GET /../../secret.toml HTTP/1.1\r\nHost: localhost\r\n\r\n",
    lambda r: b"GET http://169.254.169.254/latest HTTP/1.1\r\nHost: localhost\r\n\r\n",
    lambda r: bytes(r.randrange(256) for _ in range(r.randint(1, 300))),
    lambda r: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    lambda r: post(check({"response": "\ud800"})),
    lambda r: post(b'{"records": [{"response": "a", "label": NaN}]}'),
    lambda r: post(b'{"records": [{"response": "a", "id": ' + b"9" * 5000 + b"}]}"),
    lambda r: post(b'{"records": [{"response": "a", "id": 1e999}]}'),
    lambda r: post(b"\xff\xfe" + check({"response": "a"})),
    lambda r: post(check({"response": "a"}, scorers="ensemble(file='secret.toml')")),
    lambda r: post(check({"response": "a"}, scorers="(" * r.randint(1, 4000))),
    lambda r: post(check({"response": "a"}, scorers="judge(template='secret.toml')")),
    lambda r: post(check({"response": "a"}, scorers="avg_logprob(proxy='http://127.0.0.1:1')")),
    lambda r: post(check({"response": "a"}, policy={"ensemble": "secret.toml"})),
    lambda r: post(check({"response": "a"}, policy={"rules": [{}] * 5000})),
    lambda r: post(check({"response": "a" * 10**6}, preset="fast", deadline_ms=200)),
    lambda r: post(check({"response": "a. " * 10**5, "contexts": ["b. "] * 99}, deadline_ms=100)),
    lambda r: post(check({f"k{i}": i for i in range(50_000)})),
    lambda r: post(b"{}", path="/v1/jobs", host="localhost"),
    lambda r: post(b"a\n" * 10_000, path="/v1/jobs?scorers=ensemble(file=%22secret.toml%22)"),
)


def test_hostile_requests_leave_the_server_as_it_was(victim: Running) -> None:
    process = psutil.Process(victim.process.pid)
    warm = {"records": [{"response": "A bridge.", "contexts": ["A bridge."]}]}
    for _ in range(3):
        assert httpx.post(f"{victim.url}/v1/check", json=warm, timeout=60).status_code == 200
    before = process.memory_info().rss
    rng = random.Random(0)
    left = [ATTACKS[i % len(ATTACKS)] for i in range(REQUESTS)]
    rng.shuffle(left)
    slowest = 0.0
    lock = threading.Lock()
    problems: list[str] = []

    def attack() -> None:
        nonlocal slowest
        while True:
            with lock:
                if not left:
                    return
                request = left.pop()(rng)
            begun = time.monotonic()
            try:
                answer = raw(victim, request, 30)
            except (ConnectionError, BrokenPipeError):
                continue  # the server closed without reading all
            except TimeoutError:
                problems.append(f"no end to {request[:200]!r}")
                continue
            slowest = max(slowest, time.monotonic() - begun)
            head = answer.partition(b"\r\n\r\n")[0]
            status = head[9:12]
            if status.startswith(b"5") and status != b"503":
                problems.append(f"{head[:100]!r} to {request[:200]!r}")
            if b"x-injected" in head.lower() or SECRET.encode() in answer:
                problems.append(f"leak by {request[:200]!r}")
            if b"Traceback" in answer or b"site-packages" in answer:
                problems.append(f"a trace by {request[:200]!r}")

    attackers = [threading.Thread(target=attack) for _ in range(4)]
    for attacker in attackers:
        attacker.start()
    for attacker in attackers:
        attacker.join()
    assert not problems, "\n".join(problems[:5])
    assert slowest < 25
    assert victim.process.poll() is None
    assert httpx.post(f"{victim.url}/v1/check", json=warm, timeout=60).status_code == 200
    assert (process.memory_info().rss - before) / 2**20 < GROWTH
    assert "Traceback" not in "".join(victim.errors), "".join(victim.errors)[-3000:]


def test_slow_clients_keep_nobody_out(victim: Running) -> None:
    sent = post(check({"response": "a"}))
    slow = [socket.create_connection(address(victim)) for _ in range(150)]
    try:
        for i, connection in enumerate(slow):
            connection.sendall(sent[: 20 + i])
        warm = {"records": [{"response": "A bridge.", "contexts": ["A bridge."]}]}
        begun = time.monotonic()
        assert httpx.post(f"{victim.url}/v1/check", json=warm, timeout=60).status_code == 200
        assert time.monotonic() - begun < 5
    finally:
        for connection in slow:
            connection.close()


def test_clients_that_go_in_the_middle_leave_nothing_behind(victim: Running) -> None:
    rng = random.Random(1)
    for i in range(60):
        record = {"response": f"Nobody reads {i}. " * 5, "contexts": [f"Text {i}. " * 200]}
        request = post(check(record))
        with socket.create_connection(address(victim)) as connection:
            connection.sendall(request if i % 2 else request[: rng.randint(1, len(request))])
            time.sleep(rng.random() * 0.05)
    end = time.monotonic() + 30
    while "veridical_requests_in_flight 0.0" not in httpx.get(f"{victim.url}/metrics").text:
        assert time.monotonic() < end
        time.sleep(0.1)
