"""Check of the promised share of hallucinated answers, over 1 000 splits.

    python benchmarks/guarantees.py [--splits 1000]

Each split draws n graded answers from a world whose true shares are known, and chooses a threshold.
Then it looks up the true share of hallucinated answers among those that the threshold accepts. A
promise with delta is broken in at most that share of splits. The limit printed allows for the
chance of the splits (one line in a thousand passes it by accident). Conformal risk control promises
the mean of a loss, so that is printed with its standard error.

The worlds:

* a risk that ranks (``rising``);
* a useless one whose every threshold is just too high;
* one where the share among the accepted crosses alpha several times (``dips``);
* one with five distinct risks (``tied``).
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from veridical.stats.conformal import guarantee, least_n

Floats = NDArray[np.float64]
CELLS = 50_000


class World(NamedTuple):
    """Equally likely answers: their ascending risks, and how likely each is hallucinated."""

    name: str
    risk: Floats
    rate: Floats

    def truth(self, threshold: float) -> tuple[float, float]:
        """Share of all that is accepted, and of all that is accepted and hallucinated."""
        k = int(np.searchsorted(self.risk, threshold, side="right"))
        return k / len(self.risk), float(self.rate[:k].sum()) / len(self.risk)

    def most(self, alpha: float, of_all: bool) -> float:
        """Compute the largest share that could be accepted if all rates were known.

        At most alpha of the accepted answers, or of all, is hallucinated.
        """
        ends = np.append(self.risk[1:] > self.risk[:-1], True)
        n = len(self.rate)
        safe = ends & (np.cumsum(self.rate) <= alpha * (n if of_all else np.arange(1, n + 1)))
        return float(np.flatnonzero(safe)[-1] + 1) / len(self.risk) if safe.any() else 0.0


def made(alpha: float) -> Iterator[World]:
    at = (np.arange(CELLS) + 0.5) / CELLS
    fifth = np.floor(at * 5) / 5
    yield World("rising", at, 4 * alpha * at**2)
    yield World("useless", at, np.full(CELLS, 1.01 * alpha))
    dips = np.select([at < 0.1, at < 0.45, at < 0.5], [2 * alpha, 0.5 * alpha, 4 * alpha])
    yield World("dips", at, np.where(at < 0.5, dips, 0.3 * alpha))
    yield World("tied", fifth, 3 * alpha * fifth)


def run(world: World, alpha: float, delta: float | None, n: int, splits: int) -> str:
    broken = promised = 0
    accepted, spent = np.zeros(splits), np.zeros(splits)
    for split in range(splits):
        rng = np.random.default_rng(split)
        drawn = rng.integers(0, len(world.risk), n)
        labels = (rng.random(n) < world.rate[drawn]).astype(np.float64)
        if delta is None:
            found = guarantee(world.risk[drawn], labels, alpha, method="crc")
        else:
            found = guarantee(world.risk[drawn], labels, alpha, delta, seed=split)
        if found.threshold is not None:
            promised += 1
            accepted[split], spent[split] = world.truth(found.threshold)
            broken += spent[split] > alpha * accepted[split]
    head = f"{world.name:8} {alpha:5g} {'-' if delta is None else delta:>5} {n:5}"
    head += (
        f" {promised / splits:8.1%} {accepted.mean():8.1%} {world.most(alpha, delta is None):8.1%}"
    )
    if delta is None:
        error = float(spent.std()) / math.sqrt(splits)
        kept = spent.mean() <= alpha + 3 * error
        return f"{head}   loss {spent.mean():.4f} +- {error:.4f} {'' if kept else 'NOT KEPT'}"
    limit = int(binom.ppf(0.999, splits, delta)) / splits
    return f"{head}   broken {broken / splits:6.1%} limit {limit:.1%} " + (
        "" if broken <= limit * splits else "NOT KEPT"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--splits", type=int, default=1000)
    options = parser.parse_args()
    print("world    alpha delta     n promised accepted possible")
    for alpha, n in itertools.product((0.05, 0.1, 0.2, 0.3), (60, 200, 1000)):
        for world in made(alpha):
            for delta in (0.05, 0.1):
                if n >= least_n(alpha, delta):
                    print(run(world, alpha, delta, n, options.splits), flush=True)
            print(run(world, alpha, None, n, options.splits), flush=True)


if __name__ == "__main__":
    main()
