"""Who may ask a guard: everybody on this computer, or whoever has a key."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from guarding import upstream, whole_chat
from servers import running

from veridical.serve.security import hash_of

pytest.importorskip("uvicorn")

POLICY = "accept = 0.6\nreject = 0.7\n"
ASKED = {
    "messages": [{"role": "user", "content": "Where is the Nile?"}],
    "veridical": {"contexts": ["The Nile is a long river in Africa."]},
}
REPLY = json.dumps(whole_chat("The Nile is in Africa.")).encode()


@pytest.fixture
def words(tmp_path: Path) -> Iterator[list[str]]:
    """How a guard is started in this folder, before an upstream."""
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    with upstream(lambda body, number: (200, "application/json", [REPLY])) as server:
        (tmp_path / "veridical.toml").write_text(
            f'[llm.up]\nbase_url = "{server.url}"\nmodel = "m"\n', "utf-8"
        )
        yield ["guard", "--upstream", "up", "--policy", "policy.toml", "--port", "0"]


def keys_file(folder: Path, **limits: Any) -> None:
    entry = {"name": "a", "sha256": hash_of("secret"), **limits}
    (folder / "keys.json").write_text(json.dumps({"keys": [entry]}))


def test_without_keys_it_is_for_this_computer_alone(tmp_path: Path, words: list[str]) -> None:
    def refused(*more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "veridical", *words, *more],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 1, done.stderr
        return done.stderr

    assert "add --keys FILE" in refused("--host", "0.0.0.0")
    assert "No such file" in refused("--keys", "none.json")
    keys_file(tmp_path, usd_per_day=1.0)
    assert "which a guard does not support" in refused("--keys", "keys.json")


def test_keys_of_a_guard(tmp_path: Path, words: list[str]) -> None:
    keys_file(tmp_path, requests_per_minute=4)
    options = ["--host", "0.0.0.0", "--keys", "keys.json", "--allow-host", "guard.example"]
    with running([*words, *options], cwd=tmp_path) as guard:
        url = guard.url.replace("0.0.0.0", "127.0.0.1")

        def ask(**headers: str) -> int:
            where = f"{url}/v1/chat/completions"
            return httpx.post(where, json=ASKED, headers=headers, timeout=60).status_code

        assert httpx.get(f"{url}/healthz").status_code == 200
        assert ask() == 401 and ask(authorization="Bearer wrong") == 401
        assert ask(authorization="Bearer secret") == 200
        assert ask(**{"x-api-key": "secret"}) == 200
        named = {"authorization": "Bearer secret"}
        assert ask(host="guard.example", **named) == 200
        assert ask(host="evil.example", **named) == 421
        assert ask(**named) == 200
        assert ask(**named) == 429
        assert guard.stop() == 0


def test_a_key_for_another_upstream(tmp_path: Path, words: list[str]) -> None:
    keys_file(tmp_path, llms=["other"])
    with running([*words, "--keys", "keys.json"], cwd=tmp_path) as guard:
        reply = httpx.post(
            f"{guard.url}/v1/chat/completions",
            json=ASKED,
            headers={"authorization": "Bearer secret"},
        )
        assert reply.status_code == 403 and "LLM up" in reply.text
