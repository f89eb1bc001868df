"""Inputs and commands for tests of shards."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from places import ROOT

from veridical.cli import main

ANSWERS = ROOT / "examples" / "answers.jsonl"
BAD = '{"response": 7}\n{broken\n'


def commands(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs ``veridical ARGUMENTS`` in this process: its exit code."""

    def run(*arguments: Any) -> int:
        monkeypatch.setattr(sys, "argv", ["veridical", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return int(stopped.value.code or 0)

    return run


def written(path: Path, rows: int, bad: str = BAD) -> Path:
    """A file of so many example answers, with bad rows in the middle."""
    lines = ANSWERS.read_text("utf-8").splitlines(keepends=True)
    some = [lines[i % len(lines)] for i in range(rows)]
    path.write_text("".join(some[: rows // 2]) + bad + "".join(some[rows // 2 :]))
    return path


def parquet(path: Path, rows: int, group: int) -> Path:
    """A Parquet file of so many example answers, each with words of its own, in row groups of
    ``group`` rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    examples = [json.loads(line) for line in ANSWERS.read_text("utf-8").splitlines()]
    some = [{**examples[i % len(examples)], "id": f"r{i}"} for i in range(rows)]
    columns = {name: [row.get(name) for row in some] for name in ("id", "prompt", "response")}
    columns["contexts"] = [[str(row.get("contexts") or row["prompt"])] for row in some]
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


def workers_of(parent: int) -> list[int]:
    """Process ids of the workers of a process: forks of the one that it has started for them."""
    try:
        started = psutil.Process(parent).children()
        return [worker.pid for process in started for worker in process.children()]
    except psutil.NoSuchProcess:
        return []


def ray_workers() -> list[int]:
    """Process ids of Ray's workers that score."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            title = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if entry.name.isdigit() and b"MapWorker" in title:
            found.append(int(entry.name))
    return found
