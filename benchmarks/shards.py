"""Kill a third of the workers of a sharded run at random moments, and compare with one process.

    python benchmarks/shards.py [--rounds 10] [--workers 3] [--rows 3000] [--seed 0]
                                [--executor local|ray]

Each round plans the shards anew, starts the workers, kills a third of them (one at least) one after
another with SIGKILL, lets the others end, runs the command again for what is left, and merges. Exit
status 1 when the merged lines differ from those of one process in a byte.

    python benchmarks/shards.py --memory 100000 400000

Peak memory of one worker for inputs of so many rows, with --preset fast.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from sharding import children, ray_workers, written

COMMAND = [sys.executable, "-m", "veridical"]
FAST = ["--preset", "fast"]


def call(folder: Path, *arguments: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def victims(group: int, executor: str) -> list[int]:
    """Workers that can be killed."""
    return children(group) if executor == "local" else ray_workers()


def killed(folder: Path, dest: str, workers: int, executor: str, chance: random.Random) -> int:
    """One run of which a third of the workers is killed: how many were."""
    arguments = ["shard", "run", dest, *FAST, "--workers", str(workers), "--executor", executor]
    group = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE)
    assert group.stderr is not None
    group.stderr.readline()  # it has begun
    kills = 0
    while group.poll() is None and kills < max(1, workers // 3):
        time.sleep(chance.uniform(0.1, 3))
        there = victims(group.pid, executor)
        if there:
            os.kill(chance.choice(there), signal.SIGKILL)
            kills += 1
    group.communicate()
    return kills


def rounds(arguments: argparse.Namespace) -> bool:
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        written(folder / "in.jsonl", arguments.rows)
        call(folder, "check", "in.jsonl", *FAST, "--json", "whole.jsonl", "--min-coverage", "0")
        whole = (folder / "whole.jsonl").read_bytes()
        same = 0
        for number in range(arguments.rounds):
            dest, rows = f"shards{number}", str(max(1, arguments.rows // 20))
            call(folder, "shard", "plan", "in.jsonl", "--rows", rows, "--out", dest)
            kills = killed(folder, dest, arguments.workers, arguments.executor, chance)
            left = 21 - len(list((folder / dest / "parts").glob("*.json")))
            call(folder, "shard", "run", dest)
            call(folder, "shard", "merge", dest, "--json", f"{dest}.jsonl")
            alike = (folder / f"{dest}.jsonl").read_bytes() == whole
            same += alike
            print(f"round {number}: {kills} killed, {left} shards left, the same: {alike}")
    print(f"{same} of {arguments.rounds} rounds: merged lines are those of one process to the byte")
    return same == arguments.rounds


def memory(rows: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        written(folder / "in.jsonl", rows, bad="")
        call(folder, "shard", "plan", "in.jsonl", "--rows", "50000", "--out", "d")
        worker = subprocess.Popen([*COMMAND, "shard", "run", "d", *FAST], cwd=folder)
        _, status, usage = os.wait4(worker.pid, 0)
        if status:
            sys.exit(1)
        print(f"{rows} rows: {usage.ru_maxrss / 1024:.0f} MB at most")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--executor", choices=("local", "ray"), default="local")
    parser.add_argument("--memory", type=int, nargs="+")
    arguments = parser.parse_args()
    if arguments.memory:
        for rows in arguments.memory:
            memory(rows)
    elif not rounds(arguments):
        sys.exit(1)


if __name__ == "__main__":
    main()
