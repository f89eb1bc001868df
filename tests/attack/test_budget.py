"""A budget against servers that misbehave, over lives that are killed: by the server's own count it
is never overspent."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from budget_lives import BUDGET, RUN
from paid_server import MODES, PRICE_IN, PRICE_OUT, PaidServers, paid_servers

from veridical.llm.journal import JOURNAL, Journal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")

LIVES = 5
_SMALL = 0.3  # money for two attempts
_LIFE = Path(__file__).parent / "budget_lives.py"


def life(folder: Path, app: PaidServers, port: int, calls: int | None) -> None:
    """One process: killed after ``calls`` more calls, where it has not ended before."""
    child = subprocess.Popen([sys.executable, str(_LIFE), str(folder), str(port)])
    try:
        goal = app.calls + (calls or 0)
        until = time.monotonic() + 300
        while child.poll() is None and (calls is None or app.calls < goal):
            assert time.monotonic() < until, "it does not end"
            time.sleep(0.005)
        if calls is None:
            assert child.returncode == 0
        elif child.poll() is None:
            child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait()


def test_no_fault_over_five_lives_spends_more_than_the_budget(tmp_path: Path) -> None:
    assert len(MODES) >= 30
    rng = random.Random(7)
    with paid_servers() as (app, port):
        for number in range(LIVES):
            life(tmp_path, app, port, rng.randint(100, 350) if number < LIVES - 1 else None)
        paid = {mode: server.paid for mode, server in app.by_mode.items()}
        calls = {mode: server.calls for mode, server in app.by_mode.items()}
    over = {mode: money for mode, money in paid.items() if money > BUDGET}
    assert not over
    for number, mode in enumerate(MODES):
        journal = Journal(tmp_path / str(number) / JOURNAL)
        totals = journal.totals(RUN)
        journal.close()
        # More than that where a process was killed before it could write a smaller cost down.
        assert totals.charged >= paid[mode] - 1e-9, mode
        assert totals.unpriced == 0
        assert calls[mode] or mode == "nobody", mode
    spent = [money for money in paid.values() if money]
    assert len(spent) > 30 and sum(spent) > 0.2 * BUDGET * len(spent), "it was put to the test"


def prepare(folder: Path, mode: str, port: int, more: str = "") -> None:
    """Prompts, and the configuration of the endpoint ``e``."""
    (folder / "p.jsonl").write_text(
        "".join(json.dumps({"prompt": f"question {i}?"}) + "\n" for i in range(12))
    )
    (folder / "veridical.toml").write_text(
        f'[llm.e]\nbase_url = "http://127.0.0.1:{port}/{MODES.index(mode)}/v1"\nmodel = "m"\n'
        f"price_in = {PRICE_IN}\nprice_out = {PRICE_OUT}\nmax_concurrency = 2\n{more}"
    )


def sample(folder: Path, budget: float = _SMALL) -> subprocess.CompletedProcess[str]:
    """The same command every time."""
    command = "sample p.jsonl --llm e --n 0 --max-tokens 20 --out a.jsonl --budget"
    return subprocess.run(
        [sys.executable, "-m", "veridical", *command.split(), str(budget)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_CONFIG_HOME": str(folder), "VERIDICAL_CONFIG": ""},
    )


@pytest.mark.parametrize("mode", ["three malformed, one good", "three cut, one good"])
def test_repeated_attempts_are_paid_from_the_budget_too(mode: str, tmp_path: Path) -> None:
    """It was .1967 of .05, and .2965."""
    with paid_servers() as (app, port):
        prepare(tmp_path, mode, port)
        done = sample(tmp_path)
        server = app.by_mode[mode]
        assert 0 < server.paid <= _SMALL and server.calls == 2
    assert done.returncode == 1 and "of the budget of 0.3 is spent" in done.stderr
    assert "Traceback" not in done.stderr


def test_calls_without_a_count_stay_paid_when_the_command_runs_again(tmp_path: Path) -> None:
    """It was 47 calls more each time."""
    with paid_servers() as (app, port):
        prepare(tmp_path, "no usage", port)
        server = app.by_mode["no usage"]
        calls = []
        for _ in range(3):
            assert sample(tmp_path).returncode == 1
            calls.append(server.calls)
        assert calls == [2, 2, 2]
        assert 0 < server.paid <= _SMALL


def test_an_extra_body_does_not_get_past_what_is_reserved(tmp_path: Path) -> None:
    """It was .7704; and 640 answers, of which the ledger knew 47."""
    with paid_servers() as (app, port):
        server = app.by_mode["healthy"]
        for body, said in (
            ("n = 14", "extra_body.n would change"),
            ('max_tokens = "many"', "extra_body.max_tokens must be a whole number"),
            ('service_tier = "priority"', "extra_body.service_tier may change the cost of a call"),
            ("since = 2024-05-01", "extra_body.since is a date"),
        ):
            prepare(tmp_path, "healthy", port, f"extra_body = {{ {body} }}\n")
            done = sample(tmp_path)
            assert done.returncode == 1 and said in " ".join(done.stderr.split()), done.stderr
            assert "[llm.e]" in done.stderr or "LLM 'e'" in done.stderr
            assert "Traceback" not in done.stderr and "internal error" not in done.stderr
        assert not server.calls
        prepare(tmp_path, "healthy", port, "extra_body = { max_tokens = 300 }\n")
        assert sample(tmp_path).returncode == 1
        assert not server.calls, "one answer of 300 tokens may cost more than there is"
        assert sample(tmp_path, 1.6).returncode == 1
        assert server.seen[0]["max_tokens"] == 300
        assert 0 < server.paid <= 1.6


@pytest.mark.parametrize("same", [True, False])
def test_two_runs_at_once_pay_for_an_answer_once(same: bool, tmp_path: Path) -> None:
    """One of the same prompts is refused; one of others waits for what the first has asked."""
    with paid_servers() as (app, port):
        prepare(tmp_path, "slow", port)
        rows = (tmp_path / "p.jsonl").read_text()
        (tmp_path / "q.jsonl").write_text(rows if same else rows + '{"prompt": "another"}\n')
        server = app.by_mode["slow"]

        def start(prompts: str, out: str) -> subprocess.Popen[str]:
            command = f"sample {prompts} --llm e --n 0 --max-tokens 20 --out {out}"
            return subprocess.Popen(
                [sys.executable, "-m", "veridical", *command.split()],
                cwd=tmp_path,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "VERIDICAL_CONFIG": ""},
            )

        first = start("p.jsonl", "a.jsonl")
        while not server.calls:
            time.sleep(0.005)
        first.send_signal(signal.SIGSTOP)  # until the second is as far
        second = start("p.jsonl" if same else "q.jsonl", "b.jsonl")
        while second.poll() is None and server.calls < 3:
            time.sleep(0.005)
        first.send_signal(signal.SIGCONT)
        told = [child.communicate(timeout=300)[1] for child in (first, second)]
        assert first.returncode == 0, told[0]
        assert server.calls == 12 + (not same)
        assert max(server.answered.values()) == 1
    if same:
        assert second.returncode == 1 and "active in another process" in told[1]
    else:
        assert second.returncode == 0, told[1]
        assert len((tmp_path / "b.jsonl").read_text().splitlines()) == 13
