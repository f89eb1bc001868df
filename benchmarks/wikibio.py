"""Every scorer against the human labels of WikiBio-GPT3, and the record's one risk.

    python benchmarks/wikibio.py --data ../shared/data/wikibio_gpt3 [--limit N] [--scorers ...]

Passage level: Pearson and Spearman of the signed raw value with the mean sentence label (accurate
0, minor 0.5, major 1). Sentence level, where a scorer has sentence units: average precision of
"not factual" (label >= 0.5), beside its prevalence. A constant and the response's length stand
beside them. The quantile tables behind ``risk`` saw neither these texts nor any label.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import veridical
from veridical.io import open_source
from veridical.records import Record
from veridical.registry import resolve


def ranks(x: np.ndarray) -> np.ndarray:
    """Mid-ranks, ties averaged."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def correlations(x: list[float], y: list[float]) -> tuple[float, float]:
    """Pearson and Spearman; 0 for a constant."""
    a, b = np.array(x), np.array(y)
    if a.std() == 0:
        return 0.0, 0.0
    return float(np.corrcoef(a, b)[0, 1]), float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def average_precision(score: list[float], positive: list[bool]) -> float:
    """Step-wise area under precision-recall; tied scores count together."""
    s, p = np.array(score), np.array(positive)
    order = np.argsort(-s, kind="stable")
    s, p = s[order], p[order]
    ends = np.append(np.flatnonzero(np.diff(s)), len(s) - 1)
    hits = np.cumsum(p)[ends]
    precision, recall = hits / (ends + 1), hits / p.sum()
    return float(np.sum(np.diff(recall, prepend=0) * precision))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--scorers")
    parser.add_argument("--store")
    given = parser.parse_args()
    path = str(given.data / "wikibio_gpt3.jsonl")
    source = open_source(path, reader="wikibio")
    records = [r for r in source.rows() if isinstance(r, Record)][: given.limit]
    labels = [r.label or 0.0 for r in records]
    started = time.perf_counter()
    results = list(
        veridical.check(
            path,
            given.scorers,
            reader="wikibio",
            limit=given.limit,
            samples=given.samples,
            store=given.store,
        )
    )
    print(f"{len(results)} passages, {time.perf_counter() - started:.1f} s")
    print(f"{'scorer':42} {'n':>4} {'Pearson':>8} {'Spearman':>8} {'NonFact AP':>10}")

    def show(name: str, values: list[float | None], ap: str = "") -> None:
        kept = [(v, y) for v, y in zip(values, labels, strict=True) if v is not None]
        p, s = correlations([v for v, _ in kept], [y for _, y in kept])
        print(f"{name:42} {len(kept):4} {100 * p:8.2f} {100 * s:8.2f} {ap:>10}")

    show("constant", [0.5] * len(records))
    show("response length", [float(len(r.response)) for r in records])
    for bound in resolve(given.scorers):
        scores = [r.scores[bound.key] for r in results]
        if not any(s.status == "scored" for s in scores):
            continue
        risks: list[float] = []
        wrong: list[bool] = []
        for record, score in zip(records, scores, strict=True):
            found = {(u.start, u.end): u.risk for u in score.units if u.level == "sentence"}
            for unit in record.unit_labels or ():
                risk = found.get((unit.start, unit.end))
                if risk is not None:
                    risks.append(risk)
                    wrong.append(unit.label >= 0.5)
        ap = f"{100 * average_precision(risks, wrong):.2f}" if risks else "-"
        show(bound.key, [bound.scorer.signed_raw(s) for s in scores], ap)
        if risks:
            prevalence = f"(prevalence of NonFact among {len(wrong)} sentences"
            base = f"{prevalence}: {100 * sum(wrong) / len(wrong):.2f})"
    show("risk (quantile_mean)", [r.risk for r in results])
    if "base" in locals():
        print(base)


if __name__ == "__main__":
    main()
