"""Our counterparts of published figures, computed from public data without any model."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sacrebleu import corpus_bleu

from veridical import check
from veridical.stats.metrics.ranking import areas
from veridical_lab.bench import bench
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.published import Figure, selfcheckgpt
from veridical_lab.rank import Ranking, rank

#: HaluEval rows drawn for the comparison of right answers with themselves.
PAIRS = 1000
#: Numbers of samples of the n-gram curve.
CURVE = (2, 4, 6, 8, 10, 20)

UNIGRAM = "ngram(counting=paper)"
BY_REFERENCE = "ngram(against=reference,counting=paper)"
LEFT_OUT = "ngram"
PRESENCE = "ngram_presence"
SUPPORT = "support(against=samples)"
CORPUS_BLEU = "sacrebleu, corpus score"

Key = tuple[str, str, str, str, "int | None"]


@dataclass
class Measured:
    """Our counterparts of published figures.

    Attributes:
        values: figures by (suite, split, metric, scorer, samples).
        inverted: areas of inverted scores by (suite, split, scorer).
        people: rates of RefChecker's models by human labels, by (setting, model or "" for their
            mean, rate).
        at_half: WikiBio's balanced accuracies at a risk of 0.5 by (split, scorer).
    """

    values: dict[Key, float] = field(default_factory=dict)
    inverted: dict[tuple[str, str, str], float] = field(default_factory=dict)
    people: dict[tuple[str, str, str], float] = field(default_factory=dict)
    at_half: dict[tuple[str, str], float] = field(default_factory=dict)

    def add(self, found: Bench) -> None:
        """Add all figures of a benchmark."""
        for row in found.rows:
            if row.value is not None:
                key = (row.suite, row.split, row.metric, row.scorer, row.samples)
                self.values[key] = row.value
            if row.prevalence is not None:
                self.values[row.suite, row.split, "prevalence", "", None] = row.prevalence
        for split in found.splits:
            self.values[split.suite, split.split, "n_total", "", None] = split.n_total
        for aligned in found.study.alignment if found.study else ():
            for a in aligned.scorers:
                if a.area_inverted is not None:
                    self.inverted[aligned.suite, aligned.split, a.scorer] = a.area_inverted

    def add_rates(self, found: Ranking) -> None:
        """Add the rates of each part of a ranking by human labels."""
        for part in found.parts:
            rates = {"": part.mean}
            rates |= {m.model: {n: r.value for n, r in m.rates.items()} for m in part.models}
            for model, of_model in rates.items():
                for name, value in of_model.items():
                    if value is not None:
                        self.people[part.name, model, name] = value

    def get(
        self, suite: str, split: str, metric: str, scorer: str = "", samples: int | None = None
    ) -> float | None:
        """Return a figure, if there is one."""
        return self.values.get((suite, split, metric, scorer, samples))

    def of(self, f: Figure) -> float | None:
        """Return our counterpart of a published figure."""
        return self.get(f.suite, f.split, f.metric, f.scorer, f.samples)


def measure(data: Path) -> Measured:
    """Measure everything that the page shows, from the data sets in ``data``."""
    measured = Measured()
    told = {"bootstrap": 0, "as_published": True}

    def run(suite: str, folder: str, scorers: str, **more: object) -> None:
        print(f"{suite}: {scorers}", file=sys.stderr)
        measured.add(bench(suite, data / folder, scorers, **told, **more))  # type: ignore[arg-type]

    ngrams = ", ".join([*selfcheckgpt.NGRAM_ROWS, LEFT_OUT, PRESENCE])
    run("wikibio", "wikibio_gpt3", ngrams)
    run("wikibio", "wikibio_gpt3", UNIGRAM, samples=CURVE)
    by_reference = Measured()
    print(f"wikibio against references: {UNIGRAM}", file=sys.stderr)
    by_reference.add(
        bench("wikibio", data / "wikibio_gpt3", UNIGRAM, against="reference", **told)  # type: ignore[arg-type]
    )
    measured.values |= {k: v for k, v in by_reference.values.items() if k[3] == BY_REFERENCE}
    at_half = bench(
        "wikibio", data / "wikibio_gpt3", f"{PRESENCE}, support", threshold=0.5, bootstrap=0
    )
    for row in at_half.rows:
        if row.metric == "balanced_accuracy" and row.value is not None:
            measured.at_half[row.split, row.scorer] = row.value
    run("begin", "begin", "knowledge_f1", study=True)
    run("halueval", "halueval", "knowledge_f1", split="qa,dialogue", study=True)
    run("refchecker", "refchecker", "support")
    print("refchecker: people's labels", file=sys.stderr)
    settings = {"suite": "refchecker_responses", "split_by": "part", "every_prompt": True}
    measured.add_rates(rank(data / "refchecker", scorer="people", bootstrap=0, **settings))  # type: ignore[arg-type]
    run("ragtruth", "ragtruth_test", "ngram(counting=paper)")
    for part, answer in (("qa", "answer"), ("dialogue", "response")):
        print(f"halueval {part}: answers against the right ones", file=sys.stderr)
        _against_the_right(data / "halueval", part, answer, measured)
    return measured


def _against_the_right(folder: Path, part: str, answer: str, measured: Measured) -> None:
    """Add ROUGE-L and SacreBLEU of both answers against the right one, also inverted.

    The paper's BLEU seems to be the corpus score of single pairs: 0 where there is no 4-gram.
    """
    lines = (folder / f"dataset_halueval_{part}.jsonl").read_text(encoding="utf-8").splitlines()
    drawn = [json.loads(line) for line in random.Random(0).sample(lines, PAIRS)]
    records = [
        {"response": row[f"{kind}_{answer}"], "reference": row[f"right_{answer}"], "label": label}
        for row in drawn
        for label, kind in enumerate(("right", "hallucinated"))
    ]
    results = check(records, "rouge_l, sacrebleu", store=None)
    for name in ("rouge_l", "sacrebleu"):
        scored = [(r.row % 2, r.scores[name].risk) for r in results]
        kept = np.array([pair for pair in scored if pair[1] is not None], dtype=np.float64)
        turned = areas(kept[:, 0], -kept[:, 1])["trapezoid_pr"]
        as_it_is = areas(kept[:, 0], kept[:, 1])["trapezoid_pr"]
        measured.inverted["halueval", part, name] = turned
        measured.values["halueval", part, "trapezoid_pr", name, None] = as_it_is
    corpus = [corpus_bleu([r["response"]], [[r["reference"]]]).score for r in records]
    truth = np.array([r["label"] for r in records], dtype=np.float64)
    measured.inverted["halueval", part, CORPUS_BLEU] = areas(truth, np.array(corpus))[
        "trapezoid_pr"
    ]


def table(heads: list[str], rows: Iterable[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        "| " + " | ".join(x.replace("|", "\\|") for x in line) + " |" for line in lines
    )


def shown(value: float | None) -> str:
    """Format a figure with four digits, a count without, and a missing one as a dash."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value > 1 else f"{value:.4f}"
