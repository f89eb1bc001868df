"""Who is answered, and how much of a request is taken."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import httpx
import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.serve.problems import Message, Problem, Receive, Scope, Send
from veridical.serve.security import (
    Limits,
    Secured,
    bearer_key,
    depth_of,
    hash_of,
    host_name,
    is_loopback,
    names_for,
    same,
)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


async def ask(app: Any, method: str = "POST", **arguments: Any) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:80") as client:
        return await client.request(method, "/", **arguments)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:1", "LOCALHOST."])
async def test_names_of_this_computer_are_answered(host: str) -> None:
    assert (await ask(Secured(echo), headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "localhost@evil.example",
        "localhost:80:80",
        "",
        "a b",
        "10.0.0.1",
        "[::1",
        "[::2]",
        "0x7f000001",
    ],
)
async def test_a_foreign_host_is_refused(host: str) -> None:
    answer = await ask(Secured(echo), headers={"host": host})
    assert answer.status_code == 421
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 421 and answer.json()["title"] == "Misdirected Request"


async def test_two_hosts_are_refused() -> None:
    headers = [("host", "localhost"), ("host", "evil.example")]
    assert (await ask(Secured(echo), headers=headers)).status_code == 421


def test_a_server_at_every_address_is_called_by_addresses_and_named_names() -> None:
    known = names_for("0.0.0.0", ["Checks.example"])
    assert known("10.1.2.3") and known("checks.example") and known("localhost")
    assert not known("evil.example")
    assert names_for("10.1.2.3")("10.1.2.3") and not names_for("10.1.2.3")("10.1.2.4")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://localhost"}, 200),
        ({"origin": "http://localhost:81"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"origin": "https://app.example"}, 200),
    ],
)
async def test_pages_elsewhere_change_nothing(headers: dict[str, str], status: int) -> None:
    app = Secured(echo, origins=("https://app.example",))
    assert (await ask(app, headers={"host": "localhost", **headers})).status_code == status
    assert (await ask(app, "GET", headers={"host": "localhost", **headers})).status_code == 200


async def test_every_answer_keeps_browsers_from_using_it() -> None:
    for app in (Secured(echo), Secured(echo, admit=_nobody)):
        headers = (await ask(app)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "access-control-allow-origin" not in headers


def _nobody(scope: Scope) -> None:
    raise Problem(401, "no key", headers={"www-authenticate": "Bearer"})


async def test_nobody_is_read_who_is_not_admitted() -> None:
    read = False

    async def body() -> Any:
        nonlocal read
        read = True
        yield b"x"

    answer = await ask(Secured(echo, admit=_nobody), content=body())
    assert answer.status_code == 401 and answer.headers["connection"] == "close"
    assert not read


async def test_a_body_is_bounded_declared_or_not_and_unpacked() -> None:
    app = Secured(echo, limits=Limits(body=100, unpacked=1000))

    async def pieces() -> Any:
        for _ in range(20):
            yield b"x" * 10

    assert (await ask(app, content=b"x" * 100)).content == b"x" * 100
    assert (await ask(app, content=b"x" * 101)).status_code == 413
    assert (await ask(app, content=pieces())).status_code == 413
    packed = {"content-encoding": "gzip"}
    small = gzip.compress(b"y" * 1000)
    assert (await ask(app, content=small, headers=packed)).content == b"y" * 1000
    bomb = gzip.compress(b"y" * 50_000)
    assert len(bomb) <= 100 < 1000
    assert (await ask(app, content=bomb, headers=packed)).status_code == 413
    assert (await ask(app, content=small[:-4], headers=packed)).status_code == 400
    assert (await ask(app, content=small + b"z", headers=packed)).status_code == 400
    assert (await ask(app, content=b"z", headers={"content-encoding": "br"})).status_code == 415
    assert app._held == 0


async def test_bodies_together_are_bounded() -> None:
    app = Secured(echo, limits=Limits(together=150))

    async def slow() -> Any:
        yield b"x" * 100
        await asyncio.sleep(0.2)

    first = asyncio.create_task(ask(app, content=slow()))
    await asyncio.sleep(0.05)
    answer = await ask(app, content=b"x" * 100)
    assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
    assert (await first).status_code == 200
    assert (await ask(app, content=b"x" * 100)).status_code == 200


async def test_a_slow_body_is_not_waited_for() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(0.06)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}
    await Secured(echo, limits=Limits(seconds=0.1))(scope, receive, send)
    assert sent[0]["status"] == 408


async def test_an_app_that_fails_tells_nothing() -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("a secret")

    answer = await ask(Secured(failing))
    assert answer.status_code == 500 and "secret" not in answer.text


def test_depth_counts_what_is_outside_of_strings() -> None:
    assert depth_of(b'{"a": [1, [2]], "b": "[[[[", "c\\"": "\\\\"}') == 3
    assert depth_of(b"") == 0


async def test_deep_json_is_refused_before_it_is_parsed() -> None:
    app = Secured(echo, limits=Limits(depth=64))
    assert (await ask(app, content=b"[" * 64 + b"]" * 64)).status_code == 200
    assert (await ask(app, content=b"[" * 65 + b"]" * 65)).status_code == 422


@pytest.mark.parametrize("piece", ['"\\', '\\"', "[", '"['])
def test_depth_of_hostile_bodies_takes_linear_time(piece: str) -> None:
    assert growth(lambda text: depth_of(text.encode()), repeated(piece)) < MOST


def test_keys_are_compared_and_found() -> None:
    assert same("a", "a") and not same("a", "b") and same("\ud800", "\ud800")
    assert len(hash_of("k")) == 64
    scope: Scope = {"headers": [(b"authorization", b"bearer abc")]}
    assert bearer_key(scope) == "abc"
    assert bearer_key({"headers": [(b"x-api-key", b"k")]}) == "k"
    assert bearer_key({"headers": [(b"authorization", b"Basic eA==")]}) is None
    assert host_name("a_b:80") == "a_b" and host_name("a:x") is None
    assert is_loopback("127.0.0.2") and is_loopback("::1") and not is_loopback("0.0.0.0")
