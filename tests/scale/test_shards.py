"""Shards give what one process gives, whoever is killed on the way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sharding import commands, workers_of, written

from veridical.scale.spending import added
from veridical.serve.pages.run_index import RunIndex


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    return commands(monkeypatch)


def parts_of(folder: Path) -> set[str]:
    return {path.name for path in (folder / "parts").iterdir()}


@pytest.mark.parametrize("workers", [1, 2])
def test_merged_lines_are_those_of_one_process(workers: int, run: Any, tmp_path: Path) -> None:
    written(tmp_path / "in.jsonl", 50)
    check = ("check", "in.jsonl", "--preset", "fast", "--min-coverage", 0)
    assert run(*check, "--json", "whole.jsonl", "--out", "r") == 0
    assert run("shard", "plan", "in.jsonl", "--rows", 20, "--out", "d") == 0
    assert run("shard", "run", "d", "--preset", "fast", "--workers", workers) == 0
    numbers = range(3)
    assert parts_of(tmp_path / "d") == {
        f"part-{i:06d}.{kind}" for i in numbers for kind in ("json", "parquet")
    }
    assert run("shard", "merge", "d", "--json", "merged.jsonl") == 0
    assert (tmp_path / "merged.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    errors = [
        [json.loads(line)["error"] for line in (folder / "errors.jsonl").read_text().splitlines()]
        for folder in (tmp_path / "r", tmp_path / "d" / "run")
    ]
    assert errors[0] == errors[1] and len(errors[0]) == 2


def test_parts_are_one_table_without_a_merge(run: Any, tmp_path: Path) -> None:
    dataset = pytest.importorskip("pyarrow.dataset").dataset
    written(tmp_path / "in.jsonl", 50)
    assert run("shard", "plan", "in.jsonl", "--rows", 20, "--out", "d") == 0
    assert run("shard", "run", "d", "--preset", "fast") == 0
    assert run("shard", "merge", "d", "--json", "merged.jsonl") == 0
    parts = dataset(str(tmp_path / "d" / "parts"), format="parquet", exclude_invalid_files=True)
    table = parts.to_table().to_pydict()
    merged = [json.loads(line) for line in (tmp_path / "merged.jsonl").read_text().splitlines()]
    for column in ("id", "risk", "verdict"):
        assert table[column] == [result[column] for result in merged]
    assert [json.loads(line)["row"] for line in table["line"]] == table["row"]
    assert table["row"] == sorted(table["row"]) and len(table["row"]) == len(merged)


def test_no_row_is_lost_where_rows_cannot_be_told_by_lines(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mark of inches opens no quoted cell, and of a large file rows are only estimated."""
    lengths = ['5" long', "long", '7" or 9" long'] * 7
    (tmp_path / "in.csv").write_text(
        "response,contexts\n" + "".join(f"It is {length}.,It is.\n" for length in lengths)
    )
    long_first = ["It is so. " * 50, *(f"It is {i}." for i in range(40))]
    (tmp_path / "in.jsonl").write_text(
        "".join(
            json.dumps({"response": text, "contexts": ["It is."]}) + "\n" for text in long_first
        )
    )
    monkeypatch.setattr("veridical.io.counting._LARGE", 100)
    for name, rows in (("in.csv", 21), ("in.jsonl", 41)):
        folder = name.removeprefix("in.")
        assert run("shard", "plan", name, "--rows", 10, "--out", folder) == 0
        assert run("shard", "run", folder, "--preset", "fast") == 0
        assert run("shard", "merge", folder, "--json", "merged.jsonl") == 0
        assert len((tmp_path / "merged.jsonl").read_text().splitlines()) == rows


def test_a_merged_run_is_a_run_like_any_other(run: Any, tmp_path: Path, capsys: Any) -> None:
    written(tmp_path / "in.jsonl", 12, bad="")
    assert run("shard", "plan", "in.jsonl", "--rows", 5, "--out", "d") == 0
    assert run("shard", "run", "d", "--index", 1) == 0
    assert parts_of(tmp_path / "d") == {"part-000001.json", "part-000001.parquet"}
    assert run("shard", "merge", "d") == 1
    assert "2 of 3 shards are not done (0, 2); run veridical shard run d" in capsys.readouterr().err
    assert run("shard", "run", "d") == 0
    assert run("shard", "merge", "d", "--json", "merged.jsonl") == 0
    assert run("check", "in.jsonl", "--json", "whole.jsonl", "--store", "none") == 0
    one, many = (
        [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        for name in ("whole.jsonl", "merged.jsonl")
    )
    assert [r["verdict"] for r in one] == [r["verdict"] for r in many]
    assert [r["risk"] for r in one] == pytest.approx([r["risk"] for r in many], abs=1e-5)
    assert run("report", "d/run", "--out", "report.html") == 0
    assert run("explain", "d/run", 7) == 0
    assert run("shard", "merge", "d") == 0  # again is harmless
    # and what one process would be told to go on with is there already
    assert run("check", "in.jsonl", "--out", "d/run", "--store", "none") == 0
    assert "resumed: 12 records" in capsys.readouterr().err


def test_view_and_tune_take_a_merged_run(run: Any, tmp_path: Path) -> None:
    with (tmp_path / "in.jsonl").open("w") as lines:
        for i in range(40):
            colour = "red" if i % 3 == 0 else "blue"
            answers = [f"Tower {i} is {c} and {i + 30} metres high." for c in (colour, "blue")]
            row = {"response": answers[0], "samples": answers[1:], "label": int(colour == "red")}
            lines.write(json.dumps(row) + "\n")
    scorers = "ngram, exact_match"
    assert run("shard", "plan", "in.jsonl", "--rows", 15, "--out", "d") == 0
    assert run("shard", "run", "d", "--scorers", scorers) == 0
    assert run("shard", "merge", "d") in (0, 2)
    results = tmp_path / "d/run/results.jsonl"
    before = results.read_bytes(), results.stat().st_mtime_ns
    tuned = ("tune", "in.jsonl", "--scorers", scorers, "--run", "d/run", "--out", "e.json")
    assert run(*tuned) == 0
    assert (results.read_bytes(), results.stat().st_mtime_ns) == before  # nothing scored again
    run_index = RunIndex([tmp_path / "d/run"])
    (entry,) = run_index.entries()
    assert entry["kind"] == "run"
    assert "Tower 39 is red" in json.dumps(run_index.run(entry["key"]).record(39))


def test_the_first_run_settles_how_shards_are_scored(run: Any, tmp_path: Path, capsys: Any) -> None:
    written(tmp_path / "in.jsonl", 6)
    assert run("shard", "plan", "in.jsonl", "--rows", 4, "--out", "d") == 0
    assert run("shard", "run", "d", "--scorers", "no_such_scorer") == 1
    assert run("shard", "run", "d", "--nli", "no/such/model", "--preset", "fast") in (0, 1)
    assert run("shard", "plan", "in.jsonl", "--rows", 4, "--out", "e") == 0
    assert run("shard", "run", "e", "--preset", "fast", "--index", 0) == 0
    capsys.readouterr()
    assert run("shard", "run", "e", "--preset", "auto") == 1
    assert "preset 'auto': the first run of e was scored with preset 'fast'" in (
        capsys.readouterr().err
    )
    assert run("shard", "run", "e", "--scorers", "ngram") == 1
    assert "without scorers" in capsys.readouterr().err
    assert run("shard", "run", "e") == 0  # as it was settled
    assert run("shard", "run", "e", "--preset", "fast") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", "absent.jsonl", "--out", "d"), "absent.jsonl"),
        (("plan", "-", "--out", "d"), "standard input cannot be split"),
        (("plan", "empty.jsonl", "--out", "d"), "no rows"),
        (("plan", "in.jsonl"), "give --out DEST, the folder"),
        (("plan", "in.jsonl", "--out", "full"), "is not empty (it contains 'other')"),
        (("plan", "in.jsonl", "--out", "in.jsonl"), "in.jsonl"),
        (("plan", "in.jsonl", "--out", "d", "--map", "response"), "field=column"),
        (("plan", "in.jsonl", "--out", "d", "--map", "response=nowhere"), "nowhere"),
        (("plan", "in.jsonl", "--out", "d", "--reader", "nobody"), "nobody"),
        (("run", "d"), "contains no shards; run veridical shard plan INPUT --out d"),
        (("run", "planned", "--index", "9"), "--index must be from 0 to 1, not 9"),
        (("run", "planned", "--index", "0", "--workers", "2"), "cannot be combined with --workers"),
        (
            ("run", "planned", "--executor", "ray", "--index", "0"),
            "cannot be combined with --executor",
        ),
        (
            ("plan", "in.jsonl", "--out", "gs://bucket/d"),
            "not a supported address; use s3://BUCKET/NAME",
        ),
        (("run", "planned", "--preset", "fast", "--against", "reference", "--prior", "7"), "prior"),
        (("merge", "d"), "contains no shards"),
        (("merge", "planned"), "2 of 2 shards are not done (0, 1)"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: tuple[str, ...], message: str, run: Any, tmp_path: Path, capsys: Any
) -> None:
    written(tmp_path / "in.jsonl", 6)
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other").touch()
    assert run("shard", "plan", "in.jsonl", "--rows", 4, "--out", "planned") == 0
    assert run("shard", *arguments) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert message in told and "internal error" not in told
    assert not (tmp_path / "d").exists() and not (tmp_path / "planned" / "options.json").exists()


def test_changed_inputs_and_damaged_parts_are_refused(
    run: Any, tmp_path: Path, capsys: Any
) -> None:
    path = written(tmp_path / "in.jsonl", 6, bad="")
    assert run("shard", "plan", "in.jsonl", "--rows", 3, "--out", "d") == 0
    assert run("shard", "run", "d", "--preset", "fast") == 0
    part = tmp_path / "d" / "parts" / "part-000001.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[:-1] + b"x")
    assert run("shard", "merge", "d") == 1
    assert "part-000001.parquet is damaged; remove it" in capsys.readouterr().err
    part.unlink()
    assert run("shard", "run", "d") == 0 and run("shard", "merge", "d") == 0
    other = json.loads((tmp_path / "d/parts/part-000000.json").read_text())
    other["identity"]["models"] = {"nli": "another"}
    (tmp_path / "d/parts/part-000000.json").write_text(json.dumps(other))
    capsys.readouterr()
    assert run("shard", "merge", "d") == 1
    assert "shards 0 and 1 were scored by different models" in " ".join(
        capsys.readouterr().err.split()
    )
    path.write_text(path.read_text() + '{"response": "more"}\n')
    assert run("shard", "run", "d") == 1
    assert "the input has changed since its shards were planned" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_workers_that_are_killed_lose_nothing(run: Any, tmp_path: Path) -> None:
    """Two of three workers, then the whole group: the merged lines are those of one process."""
    written(tmp_path / "in.jsonl", 400)
    check = ("check", "in.jsonl", "--preset", "fast", "--min-coverage", 0)
    assert run(*check, "--json", "whole.jsonl") == 0
    assert run("shard", "plan", "in.jsonl", "--rows", 15, "--out", "d") == 0
    command = [sys.executable, "-m", "veridical", "shard", "run", "d", "--preset", "fast"]
    chance = random.Random(0)
    for kills in (2, 3):
        group = subprocess.Popen([*command, "--workers", "3"], stderr=subprocess.PIPE)
        assert group.stderr is not None
        group.stderr.readline()  # it has begun
        for _ in range(kills):
            time.sleep(chance.uniform(0.5, 1.5))
            workers = workers_of(group.pid)
            if workers:
                os.kill(chance.choice(workers), signal.SIGKILL)
        if kills == 3:
            group.send_signal(signal.SIGKILL)
        group.communicate(timeout=300)
    assert run("shard", "run", "d") == 0
    assert run("shard", "merge", "d", "--json", "merged.jsonl") == 0
    assert (tmp_path / "merged.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_ledgers_add_up_and_unknown_stays_unknown() -> None:
    one = {"calls": 3, "cost": 0.5, "tokens": 10}
    assert added([one, one]) == {"calls": 6, "cost": 1.0, "tokens": 20}
    assert added([one, {"calls": 1, "cost": None, "tokens": 1}, one])["cost"] is None
