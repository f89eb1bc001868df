"""Who takes over a shard of another computer does not pay for its LLM calls again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from object_store import BUCKET, ObjectStore, object_store
from paid_chat import PRICE, Paid
from sharding import commands

DEST = f"s3://{BUCKET}/shards"
ROWS = 60
SHARDS = ("shard", "run", DEST, "--scorers", "judge", "--llm", "paid", "--lease", "2")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with object_store(monkeypatch) as running:
        yield running


@pytest.fixture
def paid(tmp_path: Path) -> Iterator[Paid]:
    server = Paid(pause=0.2)
    for computer in ("one", "two"):
        (tmp_path / computer).mkdir()
        (tmp_path / computer / "veridical.toml").write_text(
            f'[llm.paid]\nbase_url = "{server.url}"\nmodel = "m"\nmax_concurrency = 2\n'
            f"price_in = {PRICE}\nprice_out = {PRICE}\n"
        )
    yield server
    server.close()


@pytest.fixture
def lost(
    store: ObjectStore, paid: Paid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, int]:
    """How often what was asked, after a computer was lost in the middle of a shard."""
    monkeypatch.chdir(tmp_path / "one")
    row = {"prompt": "What is it?", "contexts": ["It is."]}
    rows = "".join(
        json.dumps({"id": i, "response": f"It is {i}.", **row}) + "\n" for i in range(ROWS)
    )
    address = store.put("in.jsonl", rows.encode())
    assert commands(monkeypatch)("shard", "plan", address, "--rows", ROWS, "--out", DEST) == 0
    command = [sys.executable, "-m", "veridical", *SHARDS, "--budget", "100"]
    owner = subprocess.Popen(command, env={**os.environ}, stderr=subprocess.PIPE)
    end = time.monotonic() + 120
    while len(paid.asked) < ROWS // 2 and owner.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    owner.kill()
    assert owner.wait() == -signal.SIGKILL, owner.communicate()[1]
    assert store.names("shards/journals/000000/")
    return dict(paid.asked)


def test_the_next_computer_goes_on(
    store: ObjectStore, paid: Paid, lost: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "two")
    run = commands(monkeypatch)
    assert run(*SHARDS) == 0
    assert len(paid.asked) == ROWS
    again = sum(n - 1 for n in paid.asked.values())
    assert again < len(lost) - 10  # those of the last second or two, and none before
    assert store.names("shards/journals/") == []
    assert run("shard", "merge", DEST, "--json", "all.jsonl") == 0
    lines = [json.loads(line) for line in (tmp_path / "two" / "all.jsonl").open()]
    assert len(lines) == ROWS and {line["scores"]["judge"]["risk"] for line in lines} == {0}
    (part,) = (json.loads(store.get(n)) for n in store.names("shards/parts/") if n.endswith("json"))
    # what the lost computer had copied is on the bill
    assert ROWS <= part["ledger"]["calls"] <= ROWS + again


def test_a_computer_with_another_secret_asks_again_and_says_so(
    store: ObjectStore, paid: Paid, lost: Any, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "veridical", *SHARDS],
        env={**os.environ, "VERIDICAL_SECRET": "the secret of another computer"},
        cwd=tmp_path / "two",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "set the same VERIDICAL_SECRET on all" in done.stderr and "000000" in done.stderr
    assert sum(paid.asked.values()) == ROWS + sum(lost.values())
