"""The search for weights: values on fitted and held-out rows; time.

    python benchmarks/weight_search.py [--data DATA] [--save FILE] [--compare FILE] [--sets 20]

Synthetic sets of 100, 200 and 1000 rows have 3, 6 or 12 components of various worth. Some are
nearly copies, some are silent on a fifth of the rows; 4000 more rows are held out. ``known`` sets
have labels that some weights part without error, so the highest value is 1. With ``DATA``, answers
of BEGIN and GSM8K are scored by scorers without models, and halves of their groups are fitted to in
turn.

``--save`` keeps the figures. ``--compare`` compares them with kept ones, set by set. It prints the
mean difference and its standard error, so that two versions of the search can be distinguished.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # waiting threads would count as work

import numpy as np
from numpy.typing import NDArray

from veridical.stats.objectives import OBJECTIVES
from veridical.stats.weights import combine, search

Floats = NDArray[np.float64]

SCORERS = {
    "begin": "knowledge_f1, support, rouge_l(against=contexts), sacrebleu(against=contexts), "
    "ngram(n=2)",
    "gsm8k": "exact_match, ngram, ngram_presence, support, rouge_l(against=samples)",
}


class Case(NamedTuple):
    """One set: rows fitted to, and others."""

    kind: str
    risks: Floats
    labels: Floats
    other_risks: Floats
    other_labels: Floats


def synthetic(n: int, k: int, number: int) -> Iterator[Case]:
    for seed in range(number):
        rng = np.random.default_rng([n, k, seed])
        rows = n + 4000
        labels = (rng.random(rows) < 0.4).astype(np.float64)
        shift = rng.uniform(-0.01, 0.1, k) * (2 * labels[:, None] - 1)
        noise = rng.normal(size=(rows, k))
        noise[:, k // 2 :] = 0.6 * noise[:, : k - k // 2] + 0.8 * noise[:, k // 2 :]
        risks = np.clip(0.5 + 0.15 * noise + shift, 0, 1)
        if seed % 2:
            risks[rng.random((rows, k)) < 0.2] = np.nan
        yield Case(f"n={n} k={k}", risks[:n], labels[:n], risks[n:], labels[n:])


def known(number: int) -> Iterator[Case]:
    for k in (3, 12):
        for seed in range(number):
            rng = np.random.default_rng([k, seed])
            risks = rng.random((1300, k))
            true = combine(risks, rng.dirichlet(np.ones(k)))
            labels = (true > np.quantile(true, 0.7)).astype(np.float64)
            yield Case(f"known k={k}", risks[:300], labels[:300], risks[300:], labels[300:])


def real(data: Path, number: int) -> Iterator[Case]:
    import veridical
    from ensembles import gsm8k, rows_of, usable
    from veridical.ensembles.graded import gather
    from veridical_lab.bench.datasets import begin
    from veridical_lab.bench.datasets.suite import Options

    sets = {
        f"begin {part}": rows
        for part, rows in rows_of(
            begin.SUITE.load(data / "begin", Options()), lambda item: True
        ).items()
    }
    sets["gsm8k"] = gsm8k(data / "qa" / "gsm8k_example_model_solutions.jsonl", 300)
    with veridical.Engine(store=None) as engine:
        for name, rows in sets.items():
            results = veridical.check(rows, SCORERS[name.split()[0]], engine=engine)
            graded = usable(gather(results)[0])
            for seed in range(number):
                units = np.unique(graded.groups)
                chosen = np.random.default_rng(seed).permutation(units)[: len(units) // 2]
                own = np.isin(graded.groups, chosen)
                one, other = graded.take(own), graded.take(~own)
                yield Case(name, one.risks, one.labels, other.risks, other.labels)


def measured(case: Case, name: str, seed: int) -> tuple[float, float, float]:
    """Compute the objective on the rows fitted to and on the others, and processor seconds."""
    objective = OBJECTIVES[name]
    began = time.process_time()
    found = search(case.risks, case.labels, name, joint=objective.needs_threshold, seed=seed)
    seconds = time.process_time() - began
    risk = np.nan_to_num(combine(case.other_risks, found.weights), nan=0.5)
    held_out = objective.value(case.other_labels, risk, found.threshold)
    return found.value, held_out, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--objectives", default="auroc,average_precision,f1,brier,log_loss")
    args = parser.parse_args()
    cases = [*known(max(2, args.sets // 4))]
    for n, k in ((100, 3), (200, 6), (1000, 6), (200, 12)):
        cases += synthetic(n, k, args.sets)
    if args.data is not None:
        cases += real(args.data, max(2, args.sets // 4))
    search(cases[0].risks[:60], cases[0].labels[:60], "auroc")  # imports what it needs
    figures: dict[str, list[tuple[float, float, float]]] = {}
    for name in args.objectives.split(","):
        for seed, case in enumerate(cases):
            figures.setdefault(f"{case.kind} {name}", []).append(measured(case, name, seed))
    if args.save is not None:
        args.save.write_text(json.dumps(figures), encoding="utf-8")
    before = {} if args.compare is None else json.loads(args.compare.read_text(encoding="utf-8"))
    print("| set and objective | fitted | held out | seconds |\n|---|---|---|---|")
    for key, rows in figures.items():
        table = np.array(rows)
        cells = [f"{mean:.4f}" for mean in table.mean(axis=0)]
        if key in before and len(before[key]) == len(rows):
            difference = table - np.array(before[key])
            error = difference.std(axis=0, ddof=1) / np.sqrt(len(rows))
            for i in (0, 1):
                cells[i] += f" ({difference[:, i].mean():+.4f} ± {error[i]:.4f})"
            cells[2] += f" (was {np.mean([row[2] for row in before[key]]):.4f})"
        print(f"| {key} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
