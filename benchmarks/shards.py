"""Sharded runs with killed workers, compared with one process.

    python benchmarks/shards.py [--rounds 10] [--workers 3] [--rows 3000] [--seed 0]
                                [--executor local|ray] [--paid]

Each round plans the shards again and starts the workers. It kills a third of them (one at least)
one after another with SIGKILL, at random moments, and lets the others end. Then it runs the command
again for the rest, and merges. Exit status 1 if the merged lines differ from those of one process
in a byte. With --paid the answers are judged by an LLM that keeps accounts. The exit status is also
1 if it got more calls twice than killed workers had under way, or costs more than the budget.

    python benchmarks/shards.py --memory 100000 5000000

Peak memory of one worker, and of the merge, for inputs of this many short rows, all different, by
exact_match. Exit status 1 when a worker's differs by more than a tenth.

    python benchmarks/shards.py --models DATA/begin/dev_wow.tsv

Two workers that share the cores are compared with one process that has them all, by the default
scorers with the embedded models. They take turns, and the better turn of each counts.

    python benchmarks/shards.py --efficiency 2 8 32

The speed of N workers, as a share of N times the speed of one worker, on a device that is not this
computer. The device is an LLM that takes a second for a call. Each worker sends one call at a time,
with rows for two minutes. Starting the workers counts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from paid_chat import PRICE, Paid
from sharding import ray_workers, workers_of, written

COMMAND = [sys.executable, "-m", "veridical"]
FAST = ["--preset", "fast"]
JUDGED = ["--scorers", "judge", "--llm", "paid"]
AT_ONCE = 4  # calls of a worker
BUDGET = 2000.0  # of a round; its calls cost less
ROWS_EACH = 120  # of a worker
TURNS = 3


def call(folder: Path, *arguments: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def endpoint(folder: Path, server: Paid, at_once: int) -> None:
    (folder / "veridical.toml").write_text(
        f'[llm.paid]\nbase_url = "{server.url}"\nmodel = "m"\nmax_concurrency = {at_once}\n'
        f"price_in = {PRICE}\nprice_out = {PRICE}\n"
    )


def victims(group: int, executor: str) -> list[int]:
    """List the workers that can be killed."""
    return workers_of(group) if executor == "local" else ray_workers()


def killed(folder: Path, dest: str, a: argparse.Namespace, chance: random.Random) -> int:
    """Run once and kill a third of the workers; return the number of kills."""
    workers, executor = a.workers, a.executor
    arguments = ["shard", "run", dest, "--workers", str(workers), "--executor", executor]
    arguments += [*JUDGED, "--budget", str(BUDGET)] if a.paid else FAST
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
    scored = JUDGED if arguments.paid else FAST
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        written(folder / "in.jsonl", arguments.rows)
        server = Paid(pause=0.1)
        endpoint(folder, server, AT_ONCE)
        call(folder, "check", "in.jsonl", *scored, "--json", "whole.jsonl", "--min-coverage", "0")
        whole = (folder / "whole.jsonl").read_bytes()
        good = 0
        for number in range(arguments.rounds):
            server.asked.clear()
            server.owed = 0.0
            dest, rows = f"shards{number}", str(max(1, arguments.rows // 20))
            call(folder, "shard", "plan", "in.jsonl", "--rows", rows, "--out", dest)
            kills = killed(folder, dest, arguments, chance)
            left = 21 - len(list((folder / dest / "parts").glob("*.json")))
            call(folder, "shard", "run", dest)
            call(folder, "shard", "merge", dest, "--json", f"{dest}.jsonl")
            alike = (folder / f"{dest}.jsonl").read_bytes() == whole
            line = f"round {number}: {kills} killed, {left} shards left, the same: {alike}"
            if arguments.paid:
                # Equal rows of different shards are requested once each.
                twice = sum(server.asked.values()) - asked_by_shards(folder, dest)
                alike = alike and twice <= kills * AT_ONCE and server.owed <= BUDGET
                line += f", {sum(server.asked.values())} calls, {twice} of them twice"
                line += f", {server.owed:.1f} due of {BUDGET:g}"
            good += alike
            print(line, flush=True)
        server.close()
    print(f"{good} of {arguments.rounds} rounds: merged lines are those of one process to the byte")
    return good == arguments.rounds


def asked_by_shards(folder: Path, dest: str) -> int:
    """Count the answers that the shards rest on: the requests of an undisturbed run."""
    parts = [json.loads(p.read_text()) for p in (folder / dest / "parts").glob("*.json")]
    return sum(part["ledger"]["answered"] for part in parts)


def efficiency(counts: list[int]) -> None:
    rates: dict[int, float] = {}
    server = Paid(pause=1.0)
    for workers in [1, *counts]:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            endpoint(folder, server, 1)
            with (folder / "in.jsonl").open("w") as lines:
                for i in range(ROWS_EACH * workers):
                    row = {"id": i, "prompt": f"What is {i}?", "response": f"It is {i}."}
                    lines.write(json.dumps(row) + "\n")
            call(folder, "shard", "plan", "in.jsonl", "--rows", str(ROWS_EACH // 4), "--out", "d")
            began = time.perf_counter()
            call(folder, "shard", "run", "d", *JUDGED, "--workers", str(workers))
            seconds = time.perf_counter() - began
        rates[workers] = ROWS_EACH * workers / seconds
        share = rates[workers] / rates[1] / workers
        print(
            f"{workers} workers: {rates[workers]:.2f} rows a second, {share:.3f} of N", flush=True
        )
    server.close()


def models(begin: Path) -> None:
    """Print the seconds of one process and of two workers for the same rows, by real models."""
    best: dict[int, float] = {}
    for _ in range(TURNS):
        for workers in (1, 2):
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                plan = ["shard", "plan", str(begin.resolve()), "--reader", "begin"]
                call(folder, *plan, "--rows", "100", "--out", "d")
                began = time.perf_counter()
                call(folder, "shard", "run", "d", "--nli", "mini", "--workers", str(workers))
                seconds = time.perf_counter() - began
            best[workers] = min(best.get(workers, seconds), seconds)
            print(f"{workers} workers: {seconds:.1f} s", flush=True)
    print(f"two workers reach {best[1] / best[2]:.3f} of the speed of one process")


def memory(rows: int) -> float:
    """Peak memory of a worker in MB."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with (folder / "in.jsonl").open("w", encoding="utf-8") as file:
            for i in range(rows):
                row = {
                    "id": f"r{i}",
                    "response": f"It is {i} m tall.",
                    "samples": ["It is 57 m tall."],
                }
                file.write(json.dumps(row) + "\n")
        call(folder, "shard", "plan", "in.jsonl", "--rows", "50000", "--out", "d")
        started = time.perf_counter()
        worker = peak(folder, "shard", "run", "d", "--scorers", "exact_match")
        wall = time.perf_counter() - started
        merged = peak(folder, "shard", "merge", "d")
        print(
            f"{rows:,} rows: worker {worker:.0f} MB at most, {wall:.0f} s; merge {merged:.0f} MB",
            flush=True,
        )
        return worker


def peak(folder: Path, *arguments: str) -> float:
    """Run a command of this package; return its peak memory in MB."""
    process = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(1)
    return float(usage.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--executor", choices=("local", "ray"), default="local")
    parser.add_argument("--paid", action="store_true")
    parser.add_argument("--memory", type=int, nargs="+")
    parser.add_argument("--efficiency", type=int, nargs="+")
    parser.add_argument("--models", type=Path)
    arguments = parser.parse_args()
    if arguments.memory:
        peaks = [memory(rows) for rows in arguments.memory]
        if max(peaks) > 1.1 * min(peaks):
            sys.exit(1)
    elif arguments.models:
        models(arguments.models)
    elif arguments.efficiency:
        efficiency(arguments.efficiency)
    elif not rounds(arguments):
        sys.exit(1)


if __name__ == "__main__":
    main()
