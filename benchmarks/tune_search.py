"""The search for weights beside a grid, and on problems whose optimum is known.

    python benchmarks/tune_search.py [--rows 238,1000] [--large] [--seed 0]

Part 1: three components; a grid of all weights in steps of 0.01 (5 151 points), in bare numpy
and, as tuners in use have it, with scikit-learn's metrics, timed on a part of the points; for F1
every point also tries thresholds in steps of 0.01. Processor time of one thread, least of three.
Part 2: labels that some weights of 2, 3 or 12 components part without error, exact risks or ones of
few levels, where many tie; the highest value is then 1. Two components of few levels, labels at
random: the optimum by exact fractions. ``--large`` adds 5 000 rows of 12 components.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, pairwise

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # waiting threads would count as work

import numpy as np
from numpy.typing import NDArray

from veridical.decide.objectives import OBJECTIVES
from veridical.decide.weights import combine, search

Floats = NDArray[np.float64]


def timed(work: Callable[[], float], times: int = 3) -> tuple[float, float]:
    """Result and processor seconds, the least of so many runs."""
    spent = []
    for _ in range(times):
        began = time.process_time()
        result = work()
        spent.append(time.process_time() - began)
    return result, min(spent)


def noisy(rng: np.random.Generator, n: int, k: int) -> tuple[Floats, Floats]:
    """Risks of k components, each a little right, and labels."""
    labels = (rng.random(n) < 0.4).astype(np.float64)
    shift = rng.uniform(0.02, 0.1, k) * (2 * labels[:, None] - 1)
    return np.clip(0.5 + 0.15 * rng.normal(size=(n, k)) + shift, 0, 1), labels


def grid() -> Floats:
    return np.array([(i, j, 100 - i - j) for i in range(101) for j in range(101 - i)]) / 100


def numpy_auroc(positive: NDArray[np.bool_], risk: Floats) -> float:
    low, high = np.sort(risk[~positive]), risk[positive]
    below = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
    return float(below.sum()) / (2 * len(low) * len(high))


def grid_f1(positive: NDArray[np.bool_], risk: Floats) -> float:
    """The best F1 over thresholds 0, 0.01 .. 1, all at once."""
    cuts = np.arange(101) / 100
    true, false = np.sort(risk[positive]), np.sort(risk[~positive])
    found = len(true) - np.searchsorted(true, cuts)
    wrong = len(false) - np.searchsorted(false, cuts)
    return float(np.max(2 * found / (len(true) + found + wrong)))


def library_f1(labels: Floats, risk: Floats) -> float:
    from sklearn.metrics import f1_score

    return max(f1_score(labels, risk > cut, zero_division=0) for cut in np.arange(101) / 100)


def beside_a_grid(n: int, seed: int) -> None:
    from sklearn.metrics import roc_auc_score

    risks, labels = noisy(np.random.default_rng(seed), n, 3)
    points = grid()
    for name, bare, library, every in (
        ("auroc", numpy_auroc, roc_auc_score, 25),
        ("f1", grid_f1, library_f1, 1000),
    ):
        joint = name == "f1"
        ours, own_time = timed(lambda: search(risks, labels, name, joint=joint).value)  # noqa: B023
        value, grid_time = timed(lambda: max(bare(labels > 0, risks @ w) for w in points))  # noqa: B023
        part = points[::every]
        _, spent = timed(lambda: max(library(labels, risks @ w) for w in part), 1)  # noqa: B023
        spent *= len(points) / len(part)
        print(
            f"n={n} {name}{' joint' if joint else ''}: search {ours:.6f} in {own_time:.3f} s; "
            f"grid {value:.6f}, in numpy {grid_time:.3f} s ({grid_time / own_time:.1f} times), "
            f"with scikit-learn {spent:.1f} s ({spent / own_time:.0f} times)",
            flush=True,
        )


def known(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for k in (2, 3, 12):
        for levels in (None, 5):
            risks = rng.random((300, k))
            if levels:
                risks = np.round(risks * levels) / levels
            true = combine(risks, rng.dirichlet(np.ones(k)))
            labels = (true > np.quantile(true, 0.7)).astype(np.float64)
            for name in ("auroc", "average_precision", "f1", "balanced_accuracy"):
                joint = OBJECTIVES[name].needs_threshold
                value, spent = timed(lambda: search(risks, labels, name, joint=joint).value)  # noqa: B023
                print(
                    f"k={k} {'levels of 0.2' if levels else 'no ties'} {name}: {value:.6f} of 1 "
                    f"in {spent:.2f} s"
                )


def exact_two(seed: int) -> None:
    """AUROC of two components at the ends, at every crossing and between, in exact fractions."""
    rng = np.random.default_rng(seed)
    for levels in (3, 10):
        risks = np.round(rng.random((40, 2)) * levels)
        labels = (rng.random(40) < 0.4).astype(np.float64)
        rows = [[Fraction(int(v)) for v in row] for row in risks]
        places = {Fraction(0), Fraction(1)}
        for (a, b), (c, d) in combinations(rows, 2):
            if (slope := a - b - c + d) and 0 < (t := (d - b) / slope) < 1:
                places.add(t)
        ordered = sorted(places)
        best = 0.0
        for t in ordered + [(low + high) / 2 for low, high in pairwise(ordered)]:
            exact = [t * a + (1 - t) * b for a, b in rows]
            rank = {v: i for i, v in enumerate(sorted(set(exact)))}
            risk = np.array([rank[v] for v in exact], dtype=np.float64)
            best = max(best, numpy_auroc(labels > 0, risk))
        found = search(risks / levels, labels, "auroc").value
        print(f"k=2 {levels + 1} levels, auroc: {found:.6f}, by exact fractions {best:.6f}")


def large(seed: int) -> None:
    risks, labels = noisy(np.random.default_rng(seed), 5000, 12)
    for name in ("auroc", "f1", "average_precision", "brier"):
        joint = OBJECTIVES[name].needs_threshold
        value, spent = timed(lambda: search(risks, labels, name, joint=joint).value, 1)  # noqa: B023
        print(f"n=5000 k=12 {name}: {value:.6f} in {spent:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", default="238,1000")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warm, labels = noisy(np.random.default_rng(args.seed), 30, 3)
    search(warm, labels, "auroc")  # imports what it needs
    for n in args.rows.split(","):
        beside_a_grid(int(n), args.seed)
    known(args.seed)
    exact_two(args.seed)
    if args.large:
        large(args.seed)


if __name__ == "__main__":
    main()
