"""Whole-process seconds of ``veridical check`` on one record, warm.

    python benchmarks/start_up.py [--runs 9] [--against FOLDER]

Each run is a process of its own, which imports, loads the NLI model, scores and prints. Its files
are in the page cache and its modules are compiled. FOLDER has another version of the package
(``src`` of another checkout), which takes turns with this one.

Needs: this package.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import veridical

RECORD = {
    "contexts": ["Rome is the capital of Italy. It lies on the Tiber."],
    "response": "Rome is in Italy. It lies on the Rhine.",
}
COMMAND = ("-m", "veridical", "check", "one.jsonl", "--store", "none", "--fresh")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--against", type=Path)
    arguments = parser.parse_args()
    places = {"this": Path(str(veridical.__file__)).parent.parent}
    if arguments.against is not None:
        places["other"] = arguments.against.resolve()
    took: dict[str, list[float]] = {name: [] for name in places}
    busy: dict[str, list[float]] = {name: [] for name in places}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "one.jsonl").write_text(json.dumps(RECORD) + "\n")
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        for run in range(1 + arguments.runs):  # the first warms up
            for name, place in places.items():
                before, started = _busy(), time.perf_counter()
                subprocess.run(
                    [sys.executable, *COMMAND],
                    cwd=folder,
                    env={**environment, "PYTHONPATH": str(place)},
                    check=True,
                    capture_output=True,
                )
                if run:
                    took[name].append(time.perf_counter() - started)
                    busy[name].append(_busy() - before)
    print("| | median s | least s | of processors, median s |\n|---|---|---|---|")
    for name, seconds in took.items():
        cells = (statistics.median(seconds), min(seconds), statistics.median(busy[name]))
        print(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    if "other" in took:
        for what, found in (("seconds", took), ("of processors", busy)):
            ratios = [a / b for a, b in zip(found["this"], found["other"], strict=True)]
            print(f"this / other, run by run, {what}: median {statistics.median(ratios):.2f}")


def _busy() -> float:
    """Processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
