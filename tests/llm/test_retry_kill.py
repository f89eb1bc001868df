"""SIGKILL while failed prompts are asked again: in the end the table of a run without failures."""

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
from places import HELPERS

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL"),
]

SLOW = HELPERS / "slow_sampling.py"
N, EVERY, KILLS = 120, 9, 3
COMMAND = (
    "check p.jsonl --llm fake:s.json --n 3 --scorers exact_match,rouge_l --processes 0 "
    "--min-coverage 0"
)


def start(folder: Path, name: str, seconds: float, fails: int, *more: str) -> subprocess.Popen[str]:
    """A run in ``name``, with a store of its own, whose calls take up to ``seconds``."""
    arguments = [*COMMAND.split(), "--out", name, "--store", f"{name}-store", *more]
    return subprocess.Popen(
        [sys.executable, str(SLOW), f"{name}.log", str(seconds), *arguments],
        cwd=folder,
        env={**os.environ, "FAILS": str(fails)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(child: subprocess.Popen[str]) -> list[str]:
    out, errors = child.communicate(timeout=300)
    assert child.returncode == 0, errors
    return out.splitlines()


def ends(log: Path) -> int:
    return log.read_bytes().count(b'["end"')


def test_killed_while_failed_prompts_are_asked_again(tmp_path: Path) -> None:
    rows = [{"id": f"é{i}", "prompt": f"question {i}"} for i in range(N)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "s.json").write_text('[{"text": "x"}]')
    rng = random.Random(3)
    whole = finished(start(tmp_path, "whole", 0, 0, "--json", "-"))
    assert len(whole) == N

    part = finished(start(tmp_path, "run", 0, EVERY, "--json", "-"))
    failed = [i for i in range(N) if i % EVERY == 3]
    assert [json.loads(x)["row"] for x in part] == sorted(set(range(N)) - set(failed))
    log = tmp_path / "run.log"
    begun = ends(log)
    for _ in range(KILLS):
        goal = ends(log) + rng.randint(1, 3)
        child = start(tmp_path, "run", 0.5, 0, "--retry-failed")
        while child.poll() is None and ends(log) < goal:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))
        assert child.poll() is None, "it was to be killed at work"
        child.send_signal(signal.SIGKILL)
        child.communicate()
    between = finished(start(tmp_path, "run", 0, 0, "--json", "-"))
    assert [x for x in whole if x in set(between)] == between, "what is there is right, in order"
    assert finished(start(tmp_path, "run", 0, 0, "--retry-failed", "--json", "-")) == whole
    assert (tmp_path / "run" / "errors.jsonl").read_text() == ""
    # One draw of each was missing; what was there for a moment when it died may be asked again.
    assert len(failed) <= ends(log) - begun <= len(failed) * (1 + KILLS)
