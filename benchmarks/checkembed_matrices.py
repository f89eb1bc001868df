"""Speed of CheckEmbed's matrices and norms, compared with the published way.

Ours is one matrix product. The published way is written here from its description:

* embeddings are lists, as they are read from JSON;
* the cosine of each of the k * k ordered pairs is one call, which turns both lists into arrays and
  takes both norms;
* Pearson of each pair is one call of ``np.corrcoef``;
* the Frobenius norm and the standard deviation are computed by Python loops over the matrix.

    python benchmarks/checkembed_matrices.py [--samples 20] [--dimensions 4096]

Both sides run in this process on the same embeddings and their results are compared. Exit status
1 below the stated ratio.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable

import numpy as np

from veridical.scorers.consistency.checkembed import frobenius, off_diagonal, similarity_matrices

Summaries = list[float]
FLOOR = 200  # times as fast


def published(embeddings: list[list[float]]) -> tuple[list[list[float]], Summaries]:
    """Compute the cosine matrix; Frobenius norm and deviation of cosine and of Pearson."""

    def cosine(a: list[float], b: list[float]) -> float:
        return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))

    def pearson(a: list[float], b: list[float]) -> float:
        return float(np.corrcoef(a, b)[0, 1])

    k = len(embeddings)
    matrices = [
        [[measure(a, b) for b in embeddings] for a in embeddings] for measure in (cosine, pearson)
    ]
    summaries = []
    for matrix in matrices:
        total = 0.0
        entries = []
        for i in range(k):
            for j in range(k):
                if i != j:
                    total += (matrix[i][j] + 1) ** 2
                    entries.append(matrix[i][j])
        mean = sum(entries) / len(entries)
        deviation = math.sqrt(sum((e - mean) ** 2 for e in entries) / len(entries))
        summaries += [math.sqrt(total / (4 * k * (k - 1))), deviation]
    return matrices[0], summaries


def ours(embeddings: np.ndarray) -> tuple[np.ndarray, Summaries]:
    cosine, pearson = similarity_matrices(embeddings)
    summaries = []
    for matrix in (cosine, pearson):
        entries = off_diagonal(matrix)
        summaries += [frobenius(entries), float(entries.std())]
    return cosine, summaries


def best_seconds(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--dimensions", type=int, default=4096)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    topic = rng.standard_normal(arguments.dimensions)
    noise = rng.standard_normal((arguments.samples, arguments.dimensions))
    embeddings = (topic + 0.5 * noise).astype(np.float32)
    lists = embeddings.tolist()

    matrix, summaries = ours(embeddings)
    expected_matrix, expected_summaries = published(lists)
    np.testing.assert_allclose(matrix, expected_matrix, atol=1e-9)
    np.testing.assert_allclose(summaries, expected_summaries, atol=1e-9)

    slow = best_seconds(lambda: published(lists), 3)
    fast = best_seconds(lambda: ours(embeddings), 50)
    print(f"k={arguments.samples} d={arguments.dimensions}, best of 3 and of 50, same embeddings")
    print(f"published way  {slow * 1e3:9.3f} ms")
    print(f"veridical      {fast * 1e3:9.3f} ms")
    print(f"ratio          {slow / fast:9.0f} x (floor {FLOOR})")
    return 0 if slow / fast >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
