"""``veridical bench`` under the quick protocol: public offline suites, all scorers.

    python benchmarks/quick_protocol.py --data DATA [--out FOLDER]

One command is run three times. The first run starts from nothing. The second is in the same folder,
where everything is scored. The third is in a new folder with the store of the first, where only the
model-free scorers compute. Prints
wall-clock and CPU seconds of each. Give the machine nothing else to do.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITES = {
    "wikibio": "wikibio_gpt3",
    "begin": "begin",
    "halueval": "halueval",
    "refchecker": "refchecker",
    "ragtruth": "ragtruth_test",
}


def run(data: Path, folder: Path, out: str, *more: str) -> None:
    """Run one benchmark, timed."""
    command = [sys.executable, "-m", "veridical", "bench", *SUITES]
    for suite, place in SUITES.items():
        command += ["--data", f"{suite}={data / place}"]
    command += ["--out", str(folder / out), "--store", str(folder / "store"), *more]
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime
    print(f"{out}: {wall:.0f} s, {used:.0f} s of CPU", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("--out", type=Path, help="keep everything here; default: temporary")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.out or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        data = given.data.resolve()
        reports = ("--report", "report.html", "--report", "report.md")
        run(data, folder, "cold", *reports)
        run(data, folder, "cold", *reports)
        run(data, folder, "warm")


if __name__ == "__main__":
    main()
