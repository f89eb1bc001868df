"""Shards and data sets on a real Ray cluster of this computer."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from object_store import BUCKET, object_store
from sharding import commands, parquet, ray_workers, written

import veridical
from veridical.errors import UsageError, VeridicalError

pytestmark = pytest.mark.ray

CPUS = 4  # said to Ray: actors wait for one another on a machine with fewer


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray.data")
    from veridical.scale.ray import load_ray, start

    ray = load_ray()
    try:
        start(ray, CPUS)
    except VeridicalError as e:
        if "timed out during startup" in str(e):  # Ray's own limit, on a busy computer
            pytest.skip(f"RAY IS TOO SLOW HERE: {e}")
        raise
    yield ray
    ray.shutdown()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    return commands(monkeypatch)


def test_its_reports_to_its_makers_are_off(cluster: Any) -> None:
    usage = pytest.importorskip("ray._common.usage.usage_lib")
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    assert not usage.usage_stats_enabled()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds workers in /proc")
def test_shards_on_ray_are_those_of_one_process_whoever_is_killed(
    cluster: Any, run: Any, tmp_path: Path, capfd: Any
) -> None:
    written(tmp_path / "in.jsonl", 300)
    check = ("check", "in.jsonl", "--preset", "fast", "--min-coverage", 0)
    assert run(*check, "--json", "whole.jsonl") == 0
    assert run("shard", "plan", "in.jsonl", "--rows", 10, "--out", "d") == 0
    killed = []
    over = threading.Event()

    def kill() -> None:
        chance = random.Random(0)
        while not over.wait(chance.uniform(1, 2)) and len(killed) < 3:
            there = ray_workers()
            if there:
                pid = chance.choice(there)
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        command = ("shard", "run", "d", "--preset", "fast", "--executor", "ray", "--workers", 3)
        assert run(*command) == 0
    finally:
        over.set()
        killer.join()
    assert killed
    assert "30 of 31 shards done" not in capfd.readouterr().err.splitlines()[-1]
    assert run("shard", "merge", "d", "--json", "merged.jsonl") == 0
    assert (tmp_path / "merged.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert run(*command) == 0  # again is harmless


def test_ray_from_s3_to_s3(
    cluster: Any, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_store(monkeypatch) as store:
        # workers that run already have not the environment of this test
        environment = {name: os.environ[name] for name in os.environ if name.startswith("AWS_")}
        monkeypatch.setattr(cluster.data.Dataset, "map_batches", with_environment(environment))
        address = store.put("in.parquet", parquet(tmp_path / "in.parquet", 30, group=10))
        dest = f"s3://{BUCKET}/shards"
        assert run("check", "in.parquet", "--preset", "fast", "--json", "whole.jsonl") == 0
        assert run("shard", "plan", address, "--rows", 10, "--out", dest) == 0
        command = ("shard", "run", dest, "--preset", "fast", "--executor", "ray", "--workers", 2)
        assert run(*command) == 0
        assert run("shard", "merge", dest, "--json", "merged.jsonl") == 0
    assert (tmp_path / "merged.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def with_environment(environment: dict[str, str]) -> Any:
    """``map_batches`` whose actors have an environment."""
    import ray.data

    plain = ray.data.Dataset.map_batches

    def mapped(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return plain(self, *arguments, runtime_env={"env_vars": environment}, **keywords)

    return mapped


def test_what_a_worker_says_is_what_is_told(
    cluster: Any, run: Any, tmp_path: Path, capsys: Any
) -> None:
    written(tmp_path / "in.jsonl", 6, bad="")
    assert run("shard", "plan", "in.jsonl", "--rows", 3, "--out", "d") == 0
    # known only where the model is loaded
    (tmp_path / "model").mkdir()
    options = ("--scorers", "entailment", "--nli", str(tmp_path / "model"))
    assert run("shard", "run", "d", *options, "--executor", "ray") == 1
    told = capsys.readouterr().err
    assert "error: " in told and str(tmp_path / "model") in "".join(told.split("\n"))
    assert "Traceback" not in told and "internal error" not in told


def test_a_data_set_is_scored_to_ids_and_scores(cluster: Any, tmp_path: Path) -> None:
    from veridical.scale.ray import score

    path = parquet(tmp_path / "in.parquet", 40, group=10)
    scored = score(cluster.data.read_parquet(str(path)), "ngram_presence, support", batch_size=16)
    rows = {row["id"]: row for row in scored.take_all()}
    whole = veridical.check(str(path), "ngram_presence, support", store=None)
    assert len(rows) == 40
    for result in whole:
        row = rows[str(result.id)]
        assert row["risk"] == result.risk and row["verdict"] == result.verdict
        names = ("ngram_presence", "support")
        assert [row[name] for name in names] == [result.scores[name].risk for name in names]
        assert set(row) == {"id", "verdict", "risk", "error", *names}  # and no text of the row


def test_a_data_set_that_does_not_fit_is_refused(cluster: Any) -> None:
    from veridical.scale.ray import score

    rows = cluster.data.from_items([{"response": "It is.", "n": 1}])
    with pytest.raises(UsageError, match="requires a column of ids"):
        score(rows, "support")
    with pytest.raises(UsageError, match="workers must be"):
        score(rows, "support", workers=0)
    with pytest.raises(UsageError, match="out is not supported for a data set"):
        score(rows, "support", out="d")
    with pytest.raises(UsageError, match=r"must be a ray\.data\.Dataset"):
        score([{"response": "It is."}], "support")
    with pytest.raises(UsageError, match="no_such"):
        score(rows, "no_such_scorer")
    named = score(rows, "support", mapping={"id": "n", "response": "response"})
    assert [row["n"] for row in named.take_all()] == [1]


def test_without_ray_the_message_names_the_extra(
    run: Any, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    written(tmp_path / "in.jsonl", 6)
    assert run("shard", "plan", "in.jsonl", "--out", "d") == 0
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run("shard", "run", "d", "--executor", "ray") == 1
    assert "pip install 'ray[data]'" in capsys.readouterr().err
    assert not (tmp_path / "d" / "options.json").exists()
