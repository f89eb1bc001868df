"""SelfCheckGPT table 7 (n-gram rows) on WikiBio GPT-3, and our left-out form beside it.

    python benchmarks/wikibio_ngram.py --data PATH/wikibio_gpt3 [--tokenizer builtin|spacy]

Every figure comes from the shipped scorers. Labels: accurate 0, minor 0.5, major 1. The areas are
the paper's trapezoids over (recall, precision); average precision is printed beside them for our
form. Needs numpy only (and the [spacy] extra for ``--tokenizer spacy``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.evidence.evidence import score_locally
from veridical.records import Record
from veridical.registry import REGISTRY, BoundScorer

Floats = NDArray[np.float64]
Table = dict[tuple[int, str], tuple[float, ...]]

LABELS = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}
COLUMNS = ("NonFact", "NonFact*", "Factual", "Pearson", "Spearman")
#: (n, stat): the five columns of the paper's table 7.
PAPER: Table = {
    (1, "avg"): (81.52, 40.33, 41.76, 40.68, 39.22),
    (2, "avg"): (82.94, 44.38, 52.81, 58.84, 58.11),
    (3, "avg"): (83.56, 44.64, 53.99, 62.21, 63.00),
    (4, "avg"): (83.80, 43.55, 54.25, 61.98, 63.64),
    (5, "avg"): (83.45, 42.31, 53.98, 60.68, 62.96),
    (1, "max"): (85.63, 41.04, 58.47, 64.71, 64.91),
    (2, "max"): (85.26, 39.29, 58.29, 62.48, 66.04),
    (3, "max"): (84.97, 37.10, 57.08, 57.34, 60.49),
    (4, "max"): (84.49, 36.37, 55.96, 55.77, 57.25),
    (5, "max"): (84.12, 36.19, 54.89, 54.84, 55.97),
}
#: The same by the authors' released code on this copy of the data (2024-06-26, spaCy 3.8).
RELEASED: Table = {
    (1, "avg"): (81.52, 40.33, 41.78, 40.69, 39.25),
    (2, "avg"): (82.94, 44.39, 52.82, 58.86, 58.14),
    (3, "avg"): (83.57, 44.65, 54.02, 62.22, 63.00),
    (4, "avg"): (83.79, 43.54, 54.27, 61.97, 63.62),
    (5, "avg"): (83.41, 42.17, 54.05, 60.66, 63.02),
    (1, "max"): (85.62, 41.03, 58.43, 64.72, 64.91),
    (2, "max"): (85.28, 39.22, 58.33, 62.58, 66.03),
    (3, "max"): (84.98, 37.04, 57.15, 57.38, 60.45),
    (4, "max"): (84.50, 36.30, 55.95, 56.08, 57.19),
    (5, "max"): (84.13, 36.13, 54.89, 55.16, 55.90),
}
#: Forms without a published row.
OURS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ngram", {}),
    ("ngram", {"n": 2}),
    ("ngram", {"stat": "avg"}),
    ("ngram_presence", {}),
)


class Passage(NamedTuple):
    """A labelled response: ``labels`` (one a sentence) in 0 accurate .. 1 major error."""

    record: Record
    labels: Floats
    located: int  # sentences found exactly in the response


def load(folder: Path) -> list[Passage]:
    """The 238 passages with the data's own sentences as spans of the response."""
    passages = []
    with (folder / "wikibio_gpt3.jsonl").open(encoding="utf-8") as lines:
        for row, line in enumerate(lines):
            item: dict[str, Any] = json.loads(line)
            spans, at = [], 0
            for sentence in item["gpt3_sentences"]:
                start = item["gpt3_text"].find(sentence, at)
                if start >= 0:
                    at = start + len(sentence)
                    spans.append((start, at))
            record = Record(
                row=row,
                response=item["gpt3_text"],
                samples=item["gpt3_text_samples"],
                sentences=spans,
            )
            labels = np.array([LABELS[a] for a in item["annotation"]])
            passages.append(Passage(record, labels, len(spans)))
    return passages


def run(
    scorers: Sequence[BoundScorer], passages: Sequence[Passage]
) -> list[tuple[list[Floats], Floats]]:
    """Raw values of each scorer: per passage its sentences', and the passages' own."""

    rows = [score_locally(p.record, scorers) for p in passages]
    for score in chain.from_iterable(rows):
        if score.status != "scored":
            raise SystemExit(f"{score.signature}: {score.reason}")
    return [
        ([np.array([u.raw for u in s.units]) for s in scores], np.array([s.raw for s in scores]))
        for scores in zip(*rows, strict=True)
    ]


def precision_recall(positive: NDArray[np.bool_], score: Floats) -> tuple[Floats, Floats]:
    """Precision and recall at every distinct threshold, from the highest score down."""
    order = np.argsort(-score, kind="stable")
    hits = np.cumsum(positive[order])
    last = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    return hits[last] / (last + 1), hits[last] / hits[-1]


def trapezoid_pr(positive: NDArray[np.bool_], score: Floats) -> float:
    """Area of the paper: trapezoids from (recall 0, precision 1) on."""
    precision, recall = precision_recall(positive, score)
    precision, recall = np.append(1.0, precision), np.append(0.0, recall)
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))


def average_precision(positive: NDArray[np.bool_], score: Floats) -> float:
    precision, recall = precision_recall(positive, score)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def ranks(x: Floats) -> Floats:
    """Ranks from 1, ties averaged."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + 1 + ends) / 2)[inverse]


def pearson(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def columns(
    passages: Sequence[Passage], sentences: list[Floats], totals: Floats, area: Any = trapezoid_pr
) -> tuple[float, ...]:
    """NonFact, NonFact*, Factual, Pearson, Spearman in percent, as SelfCheckGPT defines them."""
    label = np.concatenate([p.labels for p in passages])
    score = np.concatenate(sentences)
    means = np.array([p.labels.mean() for p in passages])
    mixed = np.repeat(means < 0.99, [len(p.labels) for p in passages])
    return tuple(
        100 * value
        for value in (
            area(label > 0.499, score),
            area(label[mixed] > 0.99, score[mixed]),
            area(label < 0.499, -score),
            pearson(totals, means),
            pearson(ranks(totals), ranks(means)),
        )
    )


def table(
    passages: Sequence[Passage], tokenizer: str, rows: Sequence[tuple[int, str]] = tuple(PAPER)
) -> Table:
    """Our figures for ``rows`` of :data:`PAPER`."""
    same = {"counting": "paper", "tokenizer": tokenizer}
    scorers = [REGISTRY.bind("ngram", {"n": n, "stat": stat, **same}) for n, stat in rows]
    found = run(scorers, passages)
    return {row: columns(passages, *values) for row, values in zip(rows, found, strict=True)}


def differences(found: Table, published: Table) -> dict[tuple[int, str], float]:
    """Largest absolute difference from ``published`` in each row that was found."""
    return {
        row: max(abs(a - b) for a, b in zip(values, published[row], strict=True))
        for row, values in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of wikibio_gpt3.jsonl")
    parser.add_argument("--tokenizer", choices=["builtin", "spacy"], default="builtin")
    options = parser.parse_args()
    passages = load(options.data)
    total = sum(len(p.labels) for p in passages)
    located = sum(p.located for p in passages)
    print(f"{len(passages)} passages, {total} sentences, {located} located exactly in the response")
    print(f"tokenizer: {options.tokenizer}; counting=paper: published / ours / difference")
    print(f"{'':12}" + "".join(f"{c:>25}" for c in COLUMNS))
    found = table(passages, options.tokenizer)
    for (n, stat), ours in found.items():
        cells = "".join(
            f"{published:10.2f}{value:8.2f}{value - published:+7.2f}"
            for published, value in zip(PAPER[n, stat], ours, strict=True)
        )
        print(f"{n}-gram {stat}  {cells}")
    for name, published in (("the paper", PAPER), ("the released code", RELEASED)):
        apart = differences(found, published)
        print(
            f"largest difference from {name}: "
            + ", ".join(f"{n}-gram {stat} {d:.2f}" for (n, stat), d in apart.items())
        )
    print("response left out of the counts:")
    scorers = [
        REGISTRY.bind(name, {**arguments, "tokenizer": options.tokenizer})
        for name, arguments in OURS
    ]
    for bound, (sentences, totals) in zip(scorers, run(scorers, passages), strict=True):
        for name, area in (("trapezoid", trapezoid_pr), ("average precision", average_precision)):
            values = columns(passages, sentences, totals, area)
            shown = "  ".join(f"{c} {v:.2f}" for c, v in zip(COLUMNS, values, strict=True))
            print(f"  {bound.key} [{name}]: {shown}")


if __name__ == "__main__":
    main()
