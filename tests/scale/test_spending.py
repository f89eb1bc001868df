"""Many workers and one budget: together they never spend more, and pay for no call twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paid_chat import PRICE, Paid
from sharding import commands, workers_of

from veridical.errors import UsageError
from veridical.llm.ledger import Ledger
from veridical.scale.place import Folder
from veridical.scale.spending import SPENDING, BorrowedBudget, set_limit, shared_budget


@pytest.fixture
def paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paid]:
    server = Paid(pause=0.05)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "veridical.toml").write_text(
        f'[llm.paid]\nbase_url = "{server.url}"\nmodel = "m"\nmax_concurrency = 2\n'
        f"price_in = {PRICE}\nprice_out = {PRICE}\n"
    )
    rows = [
        {"id": i, "prompt": f"What is {i}?", "response": f"It is {i}.", "contexts": [f"Of {i}."]}
        for i in range(60)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    yield server
    server.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    return commands(monkeypatch)


JUDGED = ("--scorers", "judge", "--llm", "paid")


def test_workers_together_stay_within_the_budget(paid: Paid, run: Any, capsys: Any) -> None:
    assert run("shard", "plan", "in.jsonl", "--rows", 5, "--out", "d") == 0
    assert run("shard", "run", "d", *JUDGED, "--workers", 2, "--budget", 20) == 0
    assert 10 < paid.owed <= 20
    assert sum(paid.asked.values()) < 60  # it did not do for all
    shared = shared_budget(Folder(Path("d")))
    assert shared is not None and not shared.lent
    assert shared.spent == pytest.approx(paid.owed)
    assert run("shard", "merge", "d") in (0, 2)
    told = capsys.readouterr()
    assert "of the budget of 20 is spent" in " ".join((told.out + told.err).split())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_what_is_paid_twice_is_what_lost_workers_had_under_way(
    paid: Paid, run: Any, tmp_path: Path, capsys: Any
) -> None:
    assert run("shard", "plan", "in.jsonl", "--rows", 5, "--out", "d") == 0
    command = [sys.executable, "-m", "veridical", "shard", "run", "d", *JUDGED]
    group = subprocess.Popen(
        [*command, "--workers", "3", "--budget", "200"], stderr=subprocess.PIPE
    )
    assert group.stderr is not None
    group.stderr.readline()
    kills = 0
    end = time.monotonic() + 60
    while kills < 2 and time.monotonic() < end and group.poll() is None:
        time.sleep(random.Random(kills).uniform(0.02, 0.2))
        workers = workers_of(group.pid)
        if len(paid.asked) > 5 and len(workers) > 1:
            os.kill(workers[0], signal.SIGKILL)
            kills += 1
    group.communicate(timeout=200)
    assert run("shard", "run", "d") == 0
    assert kills and len(paid.asked) == 60
    again = sum(paid.asked.values()) - 60
    assert again <= 2 * kills  # what a worker has under way at once
    assert paid.owed <= 200
    shared = shared_budget(Folder(tmp_path / "d"))
    assert shared is not None and shared.spent + sum(shared.lent.values()) >= paid.owed - 1e-9
    assert run("shard", "merge", "d") in (0, 2)
    if shared.lent:
        assert "that were lost: possibly spent" in " ".join(capsys.readouterr().err.split())


def test_a_budget_without_prices_is_refused_before_a_call(
    paid: Paid, run: Any, capsys: Any
) -> None:
    settings = Path("veridical.toml").read_text()
    Path("veridical.toml").write_text(settings.replace("price_", "#"))
    assert run("shard", "plan", "in.jsonl", "--out", "d") == 0
    assert run("shard", "run", "d", *JUDGED, "--budget", 1) == 1
    assert "a budget requires prices" in capsys.readouterr().err and not paid.asked
    assert run("shard", "run", "d", *JUDGED, "--budget", -1) in (1, 2)
    assert run("shard", "run", "d", *JUDGED, "--budget", "nan") in (1, 2)


def test_what_is_lent_is_never_lent_twice(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    set_limit(place, 10.0)
    borrowers = [BorrowedBudget(place) for _ in range(8)]

    async def spend(one: BorrowedBudget) -> float:
        spent = 0.0
        for _ in range(40):
            if await one.reserve(0.25, 1):
                one.settle(0.25, 0.2)
                spent += 0.2
        return spent

    async def all_of_them() -> float:
        return sum(await asyncio.gather(*map(spend, borrowers)))

    spent = asyncio.run(all_of_them())
    assert 6.0 < spent <= 10.0
    shared = shared_budget(place)
    assert shared is not None and sum(shared.lent.values()) <= 10.0 + 1e-9
    lost = next(one for one in borrowers if one.limit)  # one that came too late has nothing
    for one in borrowers:
        if one is not lost:
            one.settle_up()
    shared = shared_budget(place)
    assert shared is not None and list(shared.lent) == [lost.name]
    set_limit(place, 20.0)  # more money: what is spent stays spent
    again = shared_budget(place)
    assert again is not None and (again.spent, again.limit) == (shared.spent, 20.0)


def test_what_a_lost_worker_was_charged_is_not_charged_to_the_next(tmp_path: Path) -> None:
    set_limit(Folder(tmp_path), 1.0)
    one = BorrowedBudget(Folder(tmp_path))
    one.resume(("journal", "run"), Ledger(charged=0.5))
    assert one.spent == 0.0
    with pytest.raises(UsageError, match="the budget cannot be kept"):
        one.resume(("journal", "other"), Ledger(unpriced=1))


@pytest.mark.parametrize("content", ["", "{}", '{"limit": -1}', '{"limit": 1, "spent": "x"}'])
def test_a_damaged_purse_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / SPENDING).write_text(content)
    with pytest.raises(UsageError, match="cannot be read"):
        shared_budget(Folder(tmp_path))
    with pytest.raises(UsageError, match="cannot be read"):
        set_limit(Folder(tmp_path), 1.0)
