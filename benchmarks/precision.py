"""``--precision fast`` and ``exact``: equal verdicts, risk differences, records a second.

    python benchmarks/precision.py RECORDS.jsonl ... [--nli mini]

Records as ``veridical check`` takes them, by the default scorers and without a store. Both engines
are loaded before either is timed, and take turns; the better turn counts.

Needs: this package.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import veridical
from veridical.engine.engine import Engine
from veridical.engine.options import Precision

PRECISIONS: tuple[Precision, ...] = ("exact", "fast")
TURNS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--nli", default="auto")
    arguments = parser.parse_args()
    print(
        "| | records | same verdict | risks apart: mean | 95 % within | most | records a second, "
        "exact | fast |\n|---|---|---|---|---|---|---|---|"
    )
    with ExitStack() as stack:
        engines = {
            p: stack.enter_context(Engine(nli=arguments.nli, precision=p, store=None))
            for p in PRECISIONS
        }
        for path in arguments.records:
            found: dict[str, list[Any]] = {}
            best: dict[str, float] = {}
            for turn in range(1 + TURNS):  # the first loads the models and warms up
                for precision, engine in engines.items():
                    started = time.perf_counter()
                    results = veridical.check(path, engine=engine, out=None, progress=False)
                    found[precision] = list(results)
                    seconds = time.perf_counter() - started
                    if turn:
                        best[precision] = min(best.get(precision, seconds), seconds)
            print(_row(path.stem, found, best))


def _row(name: str, found: dict[str, list[Any]], seconds: dict[str, float]) -> str:
    pairs = list(zip(found["exact"], found["fast"], strict=True))
    same = np.mean([one.verdict == two.verdict for one, two in pairs])
    apart = np.array(
        [abs(one.risk - two.risk) for one, two in pairs if None not in (one.risk, two.risk)]
    )
    rates = [f"{len(pairs) / seconds[p]:.0f}" for p in PRECISIONS]
    figures = (f"{apart.mean():.3f}", f"{np.quantile(apart, 0.95):.3f}", f"{apart.max():.3f}")
    return f"| {name} | {len(pairs)} | {same:.1%} | " + " | ".join([*figures, *rates]) + " |"


if __name__ == "__main__":
    main()
