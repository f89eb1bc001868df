"""Single checkers of claims, and votes of three, on labelled pairs.

    python benchmarks/checkers.py --data DATA/nli --repc repc.json --proxy smollm2 [--limit 200]

Each pair of the evaluation files is a claim (the hypothesis) and its passage (the premise). The
checkers are two NLI models, ``nli_words`` with the small one, and RepC; ``veridical-nli-base`` must
be installed, and ``repc.json`` trained (``veridical train repc``). Printed are the macro-F1 of
three classes for each file, and that of the best constant answer. The paired difference of the vote
and the checker that is best in the mean has a 95 % interval over resampled pairs.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import veridical
from veridical.core.protocols import LABELS
from veridical.stats.metrics.classification import macro_f1

FILES = (
    *("cad_snli_dev", "lingnli_baseline_dev", "textfooler_snli", "textfooler_mnli_matched"),
    *("conjnli_dev", "control_dev"),
)
SINGLE = ("nli_words|mini", "nli|mini", "nli|base", "repc")
VOTES = ("nli_words|mini, nli|mini, repc", "nli|base, nli_words|mini, repc")


def figure(truth: NDArray[np.int64], said: NDArray[np.int64]) -> float:
    """Compute macro-F1."""
    table = np.zeros((len(LABELS), len(LABELS)))
    np.add.at(table, (truth, said), 1)
    return float(macro_f1(table))


def labels(pairs: list[dict[str, str]], repc: str, proxy: str) -> dict[str, NDArray[np.int64]]:
    """Label the pairs by each checker and each vote."""
    rows = [{"response": p["hypothesis"], "contexts": [p["premise"]]} for p in pairs]
    scorer = f"claims(extractor=given, checker={', '.join(SINGLE)!r}, model={repc!r})"
    for row in rows:
        row["claims"] = [row["response"]]
    found: dict[str, list[int]] = {checker: [] for checker in (*SINGLE, *VOTES)}
    for result in veridical.check(rows, scorer, proxy=proxy, store="none"):
        (score,) = result.scores.values()
        ((claim,),) = (score.raw["claims"],)
        said = {vote["checker"]: vote["label"] for vote in claim["votes"]}
        for checker, column in found.items():  # of a vote by three: as the four were asked
            votes = Counter(said[name] for name in checker.split(", "))
            column.append(LABELS.index(votes.most_common(1)[0][0]))
    return {checker: np.array(column) for checker, column in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repc", required=True)
    parser.add_argument("--proxy", default="smollm2")
    parser.add_argument("--limit", type=int, default=200, help="pairs a file")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    truths, said = [], []
    for file in FILES:
        lines = (arguments.data / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
        chosen = rng.permutation(len(lines))[: arguments.limit]
        pairs = [json.loads(lines[i]) for i in chosen]
        truth = np.array([LABELS.index(p["label"]) for p in pairs])
        found = labels(pairs, arguments.repc, arguments.proxy)
        truths.append(truth)
        said.append(found)
        constant = max(figure(truth, np.full(len(truth), c)) for c in range(len(LABELS)))
        print(file, *(f"{k}: {figure(truth, v):.3f}" for k, v in found.items()), sep=" | ")
        print(f"{'':8}constant: {constant:.3f}", flush=True)

    def mean(checker: str, taken: list[NDArray[np.int64]]) -> float:
        parts = zip(truths, said, taken, strict=True)
        return float(np.mean([figure(t[i], s[checker][i]) for t, s, i in parts]))

    whole = [np.arange(len(t)) for t in truths]
    means = {checker: mean(checker, whole) for checker in (*SINGLE, *VOTES)}
    print("mean", *(f"{k}: {v:.3f}" for k, v in means.items()), sep=" | ")
    for vote in VOTES:
        best = max((c for c in SINGLE if c in vote.split(", ")), key=means.__getitem__)
        gains = []
        for _ in range(1000):
            taken = [rng.integers(len(t), size=len(t)) for t in truths]
            gains.append(mean(vote, taken) - mean(best, taken))
        low, high = np.percentile(gains, [2.5, 97.5])
        print(f"{vote} - {best}: {means[vote] - means[best]:+.3f} [{low:+.3f}, {high:+.3f}]")


if __name__ == "__main__":
    main()
