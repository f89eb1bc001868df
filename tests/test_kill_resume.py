"""SIGKILL at random moments, resume, finish: nothing lost, nothing done twice, nobody left over."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killing import differing, in_flight_bound, kill_and_resume, orphans, read_log, repeats, start

from veridical.errors import UsageError
from veridical.files.rundir import RunDirectory
from veridical.models import load_encoder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")

WORDS = ["river", "town", "mayor", "bridge", "market", "school", "temple", "museum", "island"]
N = 480
BATCH = 256  # padded tokens a forward: many small batches


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """480 rows of which 8 are no valid records; texts are shared between neighbouring rows."""
    rng = random.Random(3)

    def text() -> str:
        return " ".join(
            f"The {rng.choice(WORDS)} of the {rng.choice(WORDS)} was seen in {rng.randint(1, 9999)}"
            for _ in range(2)
        )

    texts = [text() for _ in range(N + 4)]
    path = tmp_path_factory.mktemp("killed") / "answers.jsonl"
    with path.open("w", encoding="utf-8") as f:
        for i in range(N):
            row = {"id": f"é{i}", "response": texts[i], "samples": texts[i + 1 : i + 3]}
            f.write(json.dumps(row if i % 60 != 30 else {"id": i}) + "\n")
    return path


def test_killed_ten_times_and_resumed_equals_unbroken(answers: Path, tmp_path: Path) -> None:
    scorers = "exact_match, ngram, support, cosine, checkembed"

    def command(name: str) -> list[str]:
        settings = f"--out {name} --store {name}.store --json {name}.jsonl --min-coverage 0.9"
        return ["check", str(answers), "--scorers", scorers, *settings.split(), "--processes", "2"]

    child = start(tmp_path / "whole.log", command("whole"), tmp_path, BATCH)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    whole = read_log(tmp_path / "whole.log")
    killed = kill_and_resume(
        command("broken"),
        tmp_path / "broken",
        tmp_path,
        len(whole.started),
        seed=11,
        batch_tokens=BATCH,
    )
    assert killed.kills == 10
    assert killed.with_workers > 0 and killed.orphans == 0

    assert differing(tmp_path / "whole.jsonl", tmp_path / "broken.jsonl") == []
    rows = [
        json.loads(line)["row"]
        for name in ("results.jsonl", "errors.jsonl")
        for line in (tmp_path / "broken" / name).read_text("utf-8").splitlines()
    ]
    assert sorted(rows) == list(range(N))

    counts = repeats(killed.logs)
    assert counts.distinct == sum(map(len, whole.started)) == repeats([whole]).forwards
    assert counts.within_a_life == 0
    assert sum(len(life.kept) for life in killed.logs) >= counts.distinct
    assert counts.kept_again == 0
    # what is sent again was under way at a kill; each batch is a small part of the work
    assert len(whole.started) > 5 * in_flight_bound(load_encoder().workers)
    assert max(counts.lost_batches) <= in_flight_bound(load_encoder().workers)


def test_workers_end_with_a_killed_parent(answers: Path, tmp_path: Path) -> None:
    """Also idle ones, and ones that are in the middle of a chunk."""
    import psutil

    many = tmp_path / "many.jsonl"
    many.write_bytes(answers.read_bytes() * 60)
    command = ["check", str(many), "--preset", "fast", "--out", "o", "--processes", "3"]
    child = subprocess.Popen(
        [sys.executable, "-m", "veridical", *command, "--store", "none"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    workers: list[psutil.Process] = []
    deadline = time.monotonic() + 30
    results = tmp_path / "o" / "results.jsonl"
    while time.monotonic() < deadline and child.poll() is None:
        workers = psutil.Process(child.pid).children()
        if len(workers) == 3 and results.stat().st_size > 1_000_000:
            break
        time.sleep(0.01)
    assert len(workers) == 3 and child.poll() is None
    child.kill()
    child.wait()
    assert orphans(workers, 3.0) == 0


def test_killed_while_the_manifest_was_written(tmp_path: Path) -> None:
    """The folder then holds a lock, perhaps a draft, and no manifest: a run that has not begun."""
    identity = {"inputs": "a"}
    (tmp_path / "run.lock").touch()
    (tmp_path / ".manifest.json.0123456789abcdef.tmp").write_text('{"ident')
    run = RunDirectory(tmp_path, identity, {})
    assert run.manifest()["identity"] == identity
    run.close()
    assert not list(tmp_path.glob("*.tmp"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    with pytest.raises(UsageError, match="notes"):
        RunDirectory(tmp_path / "other", identity, {})
