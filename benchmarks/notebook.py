"""RAG answers checked as in a notebook: seconds and model tokens.

    python benchmarks/notebook.py --data DATA [--rows 200] [--before PATH_TO_OTHER_SRC]

Rows are HaluEval QA questions with their passage as context, answered rightly and wrongly in turn.
Each measurement runs in a fresh process in a fresh folder. Timed are ``veridical.check(list)`` with
loading, the same again in that process (a cell run twice), and ``check_one`` on a warm engine. The
last has the median of distinct answers, and of one answer again. With ``--before`` the same is done
with another checkout's ``src`` first, as far as it can.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

ALONE = 60  # answers that are checked one at a time


def load(data: Path, count: int) -> list[dict[str, Any]]:
    path = data / "halueval" / "dataset_halueval_qa.jsonl"
    with path.open(encoding="utf-8") as lines:
        items = [json.loads(line) for line in islice(lines, count)]
    return [
        {
            "question": item["question"],
            "contexts": [item["knowledge"]],
            "response": item["hallucinated_answer" if i % 2 else "right_answer"],
        }
        for i, item in enumerate(items)
    ]


def measure(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Measure the time and tokens of this process."""
    import veridical
    from veridical.engine.engine import Engine

    tokens = {"n": 0}
    close = Engine.close

    def counting(self: Engine) -> None:
        if not self._closed:
            tokens["n"] += sum(work.tokens for work in self.work().values())
        close(self)

    Engine.close = counting  # type: ignore[method-assign]
    figures: dict[str, Any] = {}
    for name in ("check", "check again"):
        tokens["n"], started, processor = 0, time.perf_counter(), time.process_time()
        results = veridical.check(rows)
        figures[f"{name}, s"] = time.perf_counter() - started
        figures[f"{name}, processor s"] = time.process_time() - processor
        figures[f"{name}, tokens"] = tokens["n"]
    verdicts = getattr(results.summary(), "verdicts", {})
    figures["verdicts"] = dict(verdicts)
    if not hasattr(veridical, "check_one"):
        return figures
    options: dict[str, Any] = {"store": None}
    veridical.check_one(**rows[0], **options)
    seconds = [_timed(lambda r=row: veridical.check_one(**r, **options)) for row in rows[:ALONE]]
    again = [_timed(lambda: veridical.check_one(**rows[0])) for _ in range(ALONE)]
    figures["check_one, new answer, ms (p50)"] = 1000 * statistics.median(seconds)
    figures["check_one, same answer with store, ms (p50)"] = 1000 * statistics.median(again[1:])
    return figures


def _timed(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def in_a_process(source: Path | None, data: Path, count: int) -> dict[str, Any]:
    """Run :func:`measure` by the package in ``source``, in a new folder."""
    environment = dict(os.environ)
    if source is not None:
        environment["PYTHONPATH"] = str(source.resolve())
    command = [sys.executable, str(Path(__file__).resolve()), "--data", str(data.resolve())]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, "--rows", str(count), "--measure"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--before", type=Path, help="the src folder of another checkout")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(load(arguments.data, arguments.rows))))
        return
    sides = {"before": arguments.before} if arguments.before is not None else {}
    for name, source in {**sides, "now": None}.items():
        print(f"{name}:")
        for what, value in in_a_process(source, arguments.data, arguments.rows).items():
            print(
                f"  {what:<45} {value:,.1f}"
                if isinstance(value, float)
                else f"  {what:<45} {value}"
            )


if __name__ == "__main__":
    main()
