"""Speed and memory of ``veridical check --preset fast`` on 100-word answers with five samples.

    python benchmarks/fast_preset.py --data PATH/wikibio_gpt3 [--records 10000]
    python benchmarks/fast_preset.py --data PATH/wikibio_gpt3 --memory    # 10 000, then 1 000 000

Answers and samples are the first 100 words of WikiBio GPT-3 passages and samples. Each record has
another five of the twenty samples and its number in the texts, so that no two records are alike.
Processes are watched from outside every 20 ms (Linux). Wall and CPU seconds include the whole
command, with start and summary. The exit status is 1 under 1 500 records a second. It is also 1 if
the peak memory of the long run is over 1.1 times that of the short one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import psutil

WORDS = 100
SAMPLES = 5
FLOOR = 1_500  # records a second on two idle cores
GROWTH = 1.1
EVERY = 0.02


class Measured(NamedTuple):
    """Seconds, and peak memory in MiB: ``peak`` of all processes together at one moment."""

    records: int
    wall: float
    parent: float
    workers: float
    n_workers: int
    peak: float
    parent_peak: float


def records(folder: Path) -> Iterator[str]:
    """Record lines without end."""
    passages = []
    with (folder / "wikibio_gpt3.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            texts = [item["gpt3_text"], *item["gpt3_text_samples"]]
            passages.append([t.split()[:WORDS] for t in texts])
    for i in count():
        response, *samples = passages[i % len(passages)]
        start = i // len(passages)
        chosen = [samples[(start + j * 4) % len(samples)] for j in range(SAMPLES)]
        texts = [" ".join([*words, f"({i})"]) for words in (response, *chosen)]
        yield json.dumps({"id": i, "response": texts[0], "samples": texts[1:]}) + "\n"


def write(folder: Path, n: int, path: Path) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(islice(records(folder), n))


def measure(rows: Path, n: int, arguments: list[str]) -> Measured:
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "veridical", "check", str(rows), "--preset", "fast"]
        command += ["--store", "none", "--out", f"{out}/run", *arguments]
        started = time.perf_counter()
        child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        parent = psutil.Process(child.pid)
        seen: dict[int, psutil.Process] = {}
        spent: dict[int, float] = {}
        peak = parent_peak = 0.0
        looked = 0.0
        while child.poll() is None:
            if time.perf_counter() - looked > 1 or len(seen) < 3:
                looked = time.perf_counter()
                seen.update({p.pid: p for p in [parent, *parent.children(recursive=True)]})
            now = {}
            for pid, process in seen.items():
                try:
                    with process.oneshot():
                        times = process.cpu_times()
                        now[pid] = process.memory_info().rss / 2**20
                        spent[pid] = times.user + times.system
                except psutil.NoSuchProcess:
                    continue
            peak = max(peak, sum(now.values()))
            parent_peak = max(parent_peak, now.get(child.pid, 0.0))
            time.sleep(EVERY)
        wall = time.perf_counter() - started
        assert child.stderr is not None
        errors = child.stderr.read()
        if child.returncode:
            sys.exit(errors)
        with (Path(out) / "run" / "results.jsonl").open("rb") as lines:
            found = sum(1 for _ in lines)
    if found != n:
        sys.exit(f"{found} results for {n} records")
    own = spent.pop(child.pid)
    return Measured(n, wall, own, sum(spent.values()), len(spent), peak, parent_peak)


def show(m: Measured) -> None:
    per = 1000 / m.records
    print(f"{m.records:,} records: {m.records / m.wall:,.0f} records/s, {m.wall:.1f} s")
    print(
        f"  CPU ms a record: {(m.parent + m.workers) * per:.3f} = {m.parent * per:.3f} parent + "
        f"{m.workers * per:.3f} in {m.n_workers} workers"
    )
    print(f"  peak memory: {m.peak:.0f} MiB, of which the parent {m.parent_peak:.0f} MiB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--memory", action="store_true", help="then --many records")
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, help="worker processes; default: as check does")
    arguments = parser.parse_args()
    extra = [] if arguments.processes is None else ["--processes", str(arguments.processes)]
    print(f"{psutil.cpu_count()} processors, load {psutil.getloadavg()[0]:.1f}")
    measured = []
    for n in [arguments.records, *([arguments.many] if arguments.memory else [])]:
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows.jsonl"
            write(arguments.data, n, rows)
            measured.append(measure(rows, n, extra))
        show(measured[-1])
    fine = all(m.records / m.wall >= FLOOR for m in measured)
    if arguments.memory:
        growth = measured[1].peak / measured[0].peak
        print(f"peak memory, {measured[1].records:,} to {measured[0].records:,}: {growth:.3f}")
        fine &= growth <= GROWTH
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
