"""False alarms and power of ``veridical diff`` on simulated runs.

    python benchmarks/diff_null.py [--repetitions 1000] [--json FILE]

Two runs answer the same questions. Questions differ in how often an answer to them is bad, so the
two answers to one question are alike more often than chance. Under the null both runs have the same
shares. The unpaired tests are Fisher's exact test of the two shares, and a permutation test of the
two mean risks. They take the same runs as if their answers were to different questions. All tests
are one-sided at 5 %.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import fisher_exact, ttest_ind

from veridical.stats.paired import Flips, detectable_share, share_rises, sign_flip
from veridical.stats.proportions import wilson

SHAPE = (0.6, 2.4)  # of the Beta distribution of a question's share of bad answers: mean 20 %
LEVEL = 0.05


class Runs(NamedTuple):
    """Bad answers and risks of two runs, (n,) each."""

    bad_a: np.ndarray
    bad_b: np.ndarray
    risk_a: np.ndarray
    risk_b: np.ndarray


def runs(n: int, rise: float, rng: np.random.Generator) -> Runs:
    """Simulate two runs of n questions.

    In the second some of the answers that are not bad turn bad: the share rises by ``rise`` on
    average.
    """
    hard = rng.beta(*SHAPE, n)
    bad_a = rng.random(n) < hard
    mean = SHAPE[0] / sum(SHAPE)
    bad_b = rng.random(n) < hard + (1 - hard) * rise / (1 - mean)

    def risk(bad: np.ndarray) -> np.ndarray:
        return np.clip(0.15 + 0.3 * hard + 0.4 * bad + rng.normal(0, 0.1, n), 0, 1)

    return Runs(bad_a, bad_b, risk(bad_a), risk(bad_b))


def paired_share(r: Runs) -> float:
    return share_rises(Flips.of(r.bad_b.astype(float) - r.bad_a))


def unpaired_share(r: Runs) -> float:
    n, a, b = len(r.bad_a), int(r.bad_a.sum()), int(r.bad_b.sum())
    return float(fisher_exact([[b, n - b], [a, n - a]], alternative="greater").pvalue)


def paired_risk(r: Runs) -> float:
    n = len(r.risk_a)
    return sign_flip(
        r.risk_b - r.risk_a, np.arange(n), permutations=999, seed=0, alternative="greater"
    )


def unpaired_risk(r: Runs) -> float:
    return float(ttest_ind(r.risk_b, r.risk_a, alternative="greater", equal_var=False).pvalue)


def paired_tolerating(r: Runs) -> float:
    return share_rises(Flips.of(r.bad_b.astype(float) - r.bad_a), 0.05)


TESTS: dict[str, Callable[[Runs], float]] = {
    "share, paired (McNemar)": paired_share,
    "share, unpaired (Fisher)": unpaired_share,
    "risk, paired (sign flips)": paired_risk,
    "risk, unpaired (Welch)": unpaired_risk,
}


def alarms(n: int, rise: float, repetitions: int, tests: dict[str, Callable[[Runs], float]]):
    """Share of repetitions in which each test is under 5 %, with the time it took each."""
    rng = np.random.default_rng([n, round(1000 * rise)])
    drawn = [runs(n, rise, rng) for _ in range(repetitions)]
    for name, test in tests.items():
        start = time.perf_counter()
        share = sum(test(r) < LEVEL for r in drawn) / repetitions
        seconds = time.perf_counter() - start
        low, high = wilson(share, repetitions)
        yield {
            "n": n, "rise": rise, "test": name, "alarms": share, "low": low, "high": high,
            "ms": 1000 * seconds / repetitions,
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    for n in (50, 200, 1_000):
        for rise in (0.0, 0.05, 0.1):
            found += alarms(n, rise, options.repetitions, TESTS)
        tolerating = {"share, paired, 5 points tolerated (Tango)": paired_tolerating}
        found += alarms(n, 0.05, options.repetitions, tolerating)
    print("| n | true rise | test | alarms (95 % interval) | ms a test |\n|---|---|---|---|---|")
    for f in found:
        print(
            f"| {f['n']} | {100 * f['rise']:.0f} | {f['test']} | {100 * f['alarms']:.1f} % "
            f"[{100 * f['low']:.1f}, {100 * f['high']:.1f}] | {f['ms']:.2f} |"
        )
    rng = np.random.default_rng(0)
    print("\n| n | smallest rise shown in 8 of 10 cases |\n|---|---|")
    for n in (50, 200, 1_000):
        r = runs(n, 0.0, rng)
        least = detectable_share(Flips.of(r.bad_b.astype(float) - r.bad_a))
        print(f"| {n} | {'none' if least is None else f'{100 * least:.1f} points'} |")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
