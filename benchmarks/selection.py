"""Accuracy of the answer selected among several.

    python benchmarks/selection.py --data DATA [--questions 200] [--nli mini] [--store PATH]

The data are GSM8K's published solutions: four models' answers to a question, each graded. As whole
solutions, and as their final answers alone, they are a response (the first model's) and its three
samples, in the published order. Printed is the accuracy of the selected answer by `--select best`
and `--select cluster`. It is compared with:

* the first answer, one at random, and the best of the four models;
* the final number that most give, of equals the first (self-consistency, Wang et al. 2023);
* a choice that knows the grades.

Differences from the first answer have 95 % intervals of the paired bootstrap over questions.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import veridical
from ensembles import gsm8k

RESAMPLES = 2_000
Picks = NDArray[np.int64]


def final(text: str) -> str:
    """Return the text after ``A:``."""
    return text.rpartition("A:")[2].strip() or "none"


def selected(rows: list[dict[str, Any]], by: str, nli: str, store: Path | None) -> Picks:
    """Place of the selected answer of each row."""
    scorers = "cluster_probability" if by == "cluster" else None
    with veridical.Engine(nli=nli, store=store) as engine:
        results = list(veridical.check(rows, scorers, engine=engine, select=by))
    chosen = [r.selected for r in results]
    return np.array([0 if c is None or c.kind != "sample" else 1 + (c.index or 0) for c in chosen])


def show(name: str, right: NDArray[np.float64], picks: Picks) -> None:
    """Print a row: accuracy of the picked answers, and their difference from the first ones."""
    rows = np.arange(len(right))
    gain = right[rows, picks] - right[:, 0]
    draws = np.random.default_rng(0).integers(len(gain), size=(RESAMPLES, len(gain)))
    low, high = np.quantile(gain[draws].mean(axis=1), [0.025, 0.975])
    accuracy = right[rows, picks].mean()
    print(f"| {name} | {accuracy:.3f} | {gain.mean():+.3f} ({low:+.3f} to {high:+.3f}) |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--nli", default="auto")
    parser.add_argument("--store", type=Path)
    arguments = parser.parse_args()
    path = arguments.data / "qa" / "gsm8k_example_model_solutions.jsonl"
    rows_of_all = gsm8k(path, arguments.questions)  # each answer in turn as the response
    models = 1 + len(rows_of_all[0]["samples"])
    right = np.array([1 - row["label"] for row in rows_of_all]).reshape(-1, models)
    given = rows_of_all[::models]
    for title, text in (("whole solutions", str), ("final answers", final)):
        rows = [
            {
                "prompt": row["prompt"],
                "response": text(row["response"]),
                "samples": list(map(text, row["samples"])),
            }
            for row in given
        ]
        print(f"\n{len(rows)} questions, {title}\n\n| taken | right | less the first |")
        print("|---|---|---|")
        show("the first", right, np.zeros(len(rows), int))
        print(f"| one at random | {right.mean():.3f} | |")
        print(f"| the best model's | {right.mean(axis=0).max():.3f} | |")
        for by in ("best", "cluster"):
            show(f"`--select {by}`", right, selected(rows, by, arguments.nli, arguments.store))
        finals = [[final(answer) for answer in (r["response"], *r["samples"])] for r in given]
        voted = [own.index(Counter(own).most_common(1)[0][0]) for own in finals]
        show("the final number that most give", right, np.array(voted))
        show("by the grades", right, right.argmax(axis=1))


if __name__ == "__main__":
    main()
