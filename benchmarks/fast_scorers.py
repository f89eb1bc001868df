"""CPU microseconds per record of each model-free scorer, and of all together.

    python benchmarks/fast_scorers.py INPUT [--scorers ...] [--records 200] [--repeat 9]

"alone" is the time of the scorer by itself, "added" its additional time after those above it, which
share words and n-grams with it. Every record is scored ``--repeat`` times and its fastest run
counts. The unit is CPU time of this thread, which other work on the machine disturbs least.
Sentence splitting is counted in; reading, and JSON text of the scores, are not. Records are warm:
pieces of text that are met for the first time cost a little more.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence

from veridical.core.evidence import score_locally
from veridical.core.records import Record
from veridical.core.registry import BoundScorer
from veridical.core.resolving import resolve
from veridical.io import open_source


def microseconds(records: Sequence[Record], scorers: Sequence[BoundScorer], repeat: int) -> float:
    """Compute the mean over ``records`` of the fastest of ``repeat`` runs."""
    total = 0
    for record in records:
        runs = []
        for _ in range(repeat):
            record.__dict__.pop("sentences", None)  # computed once a record, then kept
            start = time.thread_time_ns()
            score_locally(record, scorers)
            runs.append(time.thread_time_ns() - start)
        total += min(runs)
    return total / len(records) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input")
    parser.add_argument("--scorers")
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=9)
    given = parser.parse_args()
    rows = (row for row in open_source(given.input).rows() if isinstance(row, Record))
    records = list(itertools.islice(rows, given.records))
    scorers = resolve(given.scorers, "fast")
    microseconds(records, scorers, 1)  # warm
    print(f"{'µs a record':24}{'alone':>8}{'added':>8}{'together':>10}")
    before = 0.0
    for i, scorer in enumerate(scorers, start=1):
        alone = microseconds(records, [scorer], given.repeat)
        together = microseconds(records, scorers[:i], given.repeat)
        print(f"{scorer.key:24}{alone:8.0f}{together - before:8.0f}{together:10.0f}")
        before = together


if __name__ == "__main__":
    main()
