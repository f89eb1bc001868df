"""Keys: made once, kept as hashes, and held to their limits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers import running

from veridical.errors import UsageError
from veridical.serve import keys as serve_keys
from veridical.serve.keys import KEY, Key, Keys, new_key, read_keys
from veridical.serve.problems import Problem
from veridical.serve.security import hash_of


def scope(key: str | None, path: str = "/v1/check") -> dict[str, Any]:
    headers = [] if key is None else [(b"authorization", f"Bearer {key}".encode())]
    return {"path": path, "headers": headers}


def entry(**more: Any) -> Key:
    return Key(name="a", sha256=hash_of("secret"), **more)


def test_a_key_is_printed_once_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    first, second = new_key(file, "web"), new_key(file, "batch")
    assert first != second and first.startswith("vk-")
    text = file.read_text()
    assert first not in text and hash_of(first) in text
    assert file.stat().st_mode & 0o077 == 0
    assert [key.name for key in read_keys(file)] == ["web", "batch"]
    with pytest.raises(UsageError, match=r"already has a key 'web"):
        new_key(file, "web")
    new_key(file, "we\x1bb")
    with pytest.raises(UsageError, match=r"already has a key 'we\\x1bb';"):  # escaped once
        new_key(file, "we\x1bb")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x", "not JSON"),
        ('{"keys": []}', "no key"),
        ('{"keys": [{"name": "a"}]}', r"keys\[0\]\.sha256"),
        ('{"keys": [{"name": "a", "sha256": "' + "0" * 64 + '", "skorers": []}]}', "skorers"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(UsageError, match=says):
        read_keys(tmp_path / "keys.json")
    with pytest.raises(UsageError, match="No such file"):
        read_keys(tmp_path / "none.json")


def test_only_known_keys_are_let_in() -> None:
    keys = Keys([entry()])
    known = scope("secret")
    keys.admit(known)
    assert known[KEY].name == "a"
    for wrong in (None, "", "secre", "secret2", hash_of("secret")):
        with pytest.raises(Problem) as refused:
            keys.admit(scope(wrong))
        assert refused.value.status == 401
    keys.admit(scope(None, "/healthz"))
    with pytest.raises(Problem):
        keys.admit(scope(None, "/metrics"))


def test_requests_a_minute_are_counted() -> None:
    keys = Keys([entry(requests_per_minute=3)])
    for _ in range(3):
        keys.admit(scope("secret"))
    with pytest.raises(Problem) as refused:
        keys.admit(scope("secret"))
    assert refused.value.status == 429 and 1 <= int(refused.value.headers["retry-after"]) <= 20


async def test_money_of_a_day_is_counted_over_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "spent.json"
    key = entry(usd_per_day=1.0)
    keys = Keys([key], file)
    budget = keys.budget(key)
    assert budget is not None and budget.left() == 1.0
    assert await budget.reserve(0.25, 5) == 4
    budget.settle(0.5, 0.25)
    keys.save()
    again = Keys([key], file)  # what is under way may be paid although nobody will know
    left = again.budget(key)
    assert left is not None and left.left() == 0.25
    left.settle(0.0, 0.25)
    with pytest.raises(Problem) as refused:
        again.budget(key)
    assert refused.value.status == 429 and int(refused.value.headers["retry-after"]) > 0
    again.save()
    with pytest.raises(Problem):
        Keys([key], file).budget(key)
    today = serve_keys._today()
    monkeypatch.setattr(serve_keys, "_today", lambda: today + 1)
    assert again.budget(key) is left and left.left() == 1.0
    tomorrow = Keys([key], file).budget(key)
    assert tomorrow is not None and tomorrow.left() == 1.0
    assert Keys([entry()]).budget(entry()) is None
    file.write_text("{}")
    with pytest.raises(UsageError, match=r"spent\.json"):
        Keys([key], file)


def test_a_server_with_keys(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    words = ["serve", "--new-key", "web", "--keys", "keys.json"]
    made = subprocess.run(
        [sys.executable, "-m", "veridical", *words], cwd=tmp_path, capture_output=True, text=True
    )
    key = made.stdout.strip()
    assert made.returncode == 0 and key.startswith("vk-")
    table = json.loads((tmp_path / "keys.json").read_text())
    table["keys"][0]["scorers"] = ["support", "quantile_mean"]
    other = {"name": "other", "sha256": hash_of("other")}
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [*table["keys"], other]}))
    options = ["serve", "--port", "0", "--keys", "keys.json", "--data", "data", "--host", "0.0.0.0"]
    record = {"response": "a b", "contexts": ["a b"]}
    with running(options, cwd=tmp_path, ready=True) as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")

        def ask(path: str, given: str | None, body: Any = None) -> httpx.Response:
            headers = {} if given is None else {"authorization": f"Bearer {given}"}
            method = "GET" if body is None else "POST"
            return httpx.request(method, url + path, json=body, headers=headers, timeout=60)

        body = {"records": [record], "scorers": "support"}
        assert ask("/v1/check", None, body).status_code == 401
        assert ask("/v1/check", "vk-wrong", body).status_code == 401
        assert ask("/metrics", None).status_code == 401
        assert ask("/healthz", None).status_code == 200
        assert ask("/v1/check", key, body).status_code == 200
        assert ask("/v1/check", key, {"records": [record]}).status_code == 403
        job = ask("/v1/jobs", key, body).json()["id"]
        assert ask(f"/v1/jobs/{job}", key).status_code == 200
        assert ask(f"/v1/jobs/{job}", "other").status_code == 404
        assert ask("/v1/jobs", "other").json() == {"jobs": []}
        headers = {"host": "evil.example", "authorization": f"Bearer {key}"}
        assert httpx.get(url + "/healthz", headers=headers).status_code == 421
        assert server.stop() == 0
    assert key not in "".join(server.errors)
