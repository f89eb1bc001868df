"""Every figure of the embedded NLI model's card, in the card's tables.

    python training/nli_quality.py --data DATA [--nli SPEC] [--suites NAME ...] [--json FILE]

DATA holds the folders ``nli`` (labelled pairs as JSON Lines), ``begin``, ``halueval`` and
``wikibio_gpt3`` (public data, as ``veridical bench`` reads it). Suite ``classification`` judges the
pairs of :data:`SETS`. Suites ``begin``, ``halueval`` and ``wikibio`` measure how well scorers that
rest on the model find hallucinations. Scorers that need no model and the trivial baselines are
shown for comparison. Nothing is fitted here. Markdown goes to the standard output; FILE gets the
same figures unrounded.

Needs: this package.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import veridical
from veridical.core.protocols import LABELS, NliModel, Pair
from veridical.engine.batching import pack
from veridical.models import load_nli
from veridical.stats.metrics.calibration import ece
from veridical.stats.metrics.classification import accuracy, counts, macro_f1, per_class_f1
from veridical_lab.bench.result import Row

DEFAULT = "veridical-nli-mini"
#: Labels of rows that only tell entailment from the rest.
TWO_CLASSES = ("entailment", "not_entailment")
#: Labelled pairs that no model was trained on, and what training saw that is of their kind.
SETS = {
    "cad_snli_test": "SNLI, its counterfactual revisions",
    "textfooler_snli": "SNLI",
    "textfooler_mnli_matched": "MultiNLI premises",
    "lingnli_baseline_dev": "LingNLI",
    "conjnli_dev": "ConjNLI, labelled automatically",
    "sick_test": "nothing",
    "control_test": "nothing",
    "rte_dev": "nothing",
}


@dataclass(frozen=True)
class Detection:
    """One benchmark: a suite, its splits and scorers. ``note`` says what training saw of it."""

    suite: str
    folder: str
    splits: tuple[str, ...]
    scorers: tuple[str, ...]
    note: str
    metrics: tuple[str, ...] = ("auroc", "average_precision")


_GROUNDING = ("nli_grounding", "knowledge_f1", "support")
_CONSISTENCY = ("selfcheck_nli", "ngram", "support")
DETECTION = {
    "begin": [Detection("begin", "begin", (), _GROUNDING, "not in training")],
    "halueval": [
        Detection(
            "halueval",
            "halueval",
            ("heldout", "qa"),
            _GROUNDING,
            "last 20 % of the rows; in-domain for the NLI model, trained on the others",
        ),
        Detection(
            "halueval",
            "halueval",
            ("dialogue", "summarization"),
            _GROUNDING,
            "not in training",
        ),
    ],
    "wikibio": [
        Detection(
            "wikibio",
            "wikibio_gpt3",
            (),
            _CONSISTENCY,
            "not in training",
            ("average_precision", "pearson", "spearman"),
        )
    ],
}
#: Baselines of a benchmark, shown with the scorers.
BASELINES = ("length", "constant")


@dataclass(frozen=True)
class Classified:
    """Figures of one set of pairs, in [0, 1].

    ``f1`` is by class. ``majority_*`` are the figures of the most frequent class as a constant
    answer. ``ece`` is computed from the probability of the predicted class.
    """

    name: str
    pairs: int
    accuracy: float
    macro_f1: float
    f1: dict[str, float]
    ece: float
    majority: str
    majority_accuracy: float
    majority_macro_f1: float
    seen: str = ""

    @classmethod
    def of(
        cls, name: str, probabilities: NDArray[np.float64], labels: Sequence[str], seen: str = ""
    ) -> Classified:
        """Compute the figures from (n, 3) probabilities in the order of LABELS and n labels.

        With labels of TWO_CLASSES, neutral and contradiction are added up.

        Raises:
            ValueError: a label is of neither kind.
        """
        classes: Sequence[str] = LABELS
        if "not_entailment" in labels:
            classes = TWO_CLASSES
            entailed = probabilities[:, 0]
            probabilities = np.stack([entailed, 1 - entailed], axis=1)
        unknown = set(labels) - set(classes)
        if unknown:
            raise ValueError(f"{name}: labels {sorted(unknown)} are not of {', '.join(classes)}")
        truth = np.array([classes.index(label) for label in labels])
        said = probabilities.argmax(axis=1)
        table = counts(truth, said, len(classes))
        majority = int(np.bincount(truth).argmax())
        trivial = counts(truth, np.full_like(truth, majority), len(classes))
        confidence = np.clip(probabilities.max(axis=1), 0, 1)
        return cls(
            name=name,
            pairs=len(truth),
            accuracy=float(accuracy(table)),
            macro_f1=float(macro_f1(table)),
            f1=dict(zip(classes, per_class_f1(table).tolist(), strict=True)),
            ece=float(ece((said == truth).astype(np.float64), confidence)),
            majority=classes[majority],
            majority_accuracy=float(accuracy(trivial)),
            majority_macro_f1=float(macro_f1(trivial)),
            seen=seen,
        )


def judge(model: NliModel, pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """Compute (n, 3) probabilities of ``pairs``, in length-sorted batches."""
    windows = model.windows(pairs)
    parts = [(i, j, w) for i, own in enumerate(windows) for j, w in enumerate(own)]
    parts.sort(key=lambda part: -part[2].length)
    batches = pack(parts, model.batch_tokens)
    outputs: list[list[Any]] = [[None] * len(own) for own in windows]
    with ThreadPoolExecutor(model.workers) as threads:
        done = threads.map(lambda batch: model.run([part[2] for part in batch]), batches)
        for batch, found in zip(batches, done, strict=True):
            for (i, j, _), output in zip(batch, found, strict=True):
                outputs[i][j] = output
    joined = [model.assemble(*of_pair) for of_pair in zip(windows, outputs, strict=True)]
    return np.array([row[: len(LABELS)] for row in joined], dtype=np.float64)


def classification(model: NliModel, folder: Path, limit: int | None) -> list[Classified]:
    """Compute figures of every set, and of the parts of those that have parts."""
    found = []
    for name, seen in SETS.items():
        lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[:limit]
        rows = [json.loads(line) for line in lines]
        said = judge(model, [Pair(r["premise"], r["hypothesis"]) for r in rows])
        labels = [r["label"] for r in rows]
        found.append(Classified.of(name, said, labels, seen))
        for part in sorted({r["part"] for r in rows if "part" in r}):
            own = [i for i, r in enumerate(rows) if r["part"] == part]
            of_part = [labels[i] for i in own]
            found.append(Classified.of(f"{name}, {part}", said[own], of_part, seen))
    return found


def detection(wanted: Detection, data: Path, given: argparse.Namespace) -> list[Row]:
    """Return the rows of ``wanted``'s scorers, and of the baselines, in its metrics."""
    made = veridical.bench(
        wanted.suite,
        data / wanted.folder,
        list(wanted.scorers),
        split=list(wanted.splits) or None,
        samples=given.samples if wanted.suite == "wikibio" else None,
        limit=given.limit,
        bootstrap=given.bootstrap,
        nli=given.nli,
        store=given.store,
    )
    shown = (*wanted.scorers, *BASELINES)
    return [r for r in made.rows if r.scorer in shown and r.metric in wanted.metrics]


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def number(value: float | None) -> str:
    """Format a figure with three decimals; a dash if it is undefined."""
    return "–" if value is None or not np.isfinite(value) else f"{value:.3f}"


def classification_table(figures: Sequence[Classified]) -> str:
    """Format one line per set; F1 by entailment, neutral, contradiction, or entailment and rest."""
    head = ["set", "pairs", "accuracy", "macro-F1", "F1 by class", "ECE"]
    head += ["majority: accuracy", "macro-F1", "of its kind in training"]
    lines = [
        [
            f.name,
            str(f.pairs),
            number(f.accuracy),
            number(f.macro_f1),
            " / ".join(map(number, f.f1.values())),
            number(f.ece),
            number(f.majority_accuracy),
            number(f.majority_macro_f1),
            f.seen,
        ]
        for f in figures
    ]
    return table(head, lines)


def detection_table(rows: Sequence[Row], wanted: Detection) -> str:
    """Format one line per split and scorer: the number of scored targets, and its figures."""
    by_line: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        by_line.setdefault((row.split, row.scorer), {})[row.metric] = row
    order = (*wanted.scorers, *BASELINES)
    splits = list(dict.fromkeys(split for split, _ in by_line))
    lines = []
    for split in splits:
        for scorer in (s for s in order if (split, s) in by_line):
            own = by_line[split, scorer]
            first = next(iter(own.values()))
            tuned = " (in-domain)" if "in_domain" in first.flags else ""
            figures = [figure(own.get(metric)) for metric in wanted.metrics]
            scored = f"{first.n_scored} of {first.n_total}"
            lines.append([split, f"{scorer}{tuned}", scored, number(first.prevalence), *figures])
    names = [metric.replace("_", " ") for metric in wanted.metrics]
    return table(["split", "scorer", "scored", "positive", *names], lines)


def figure(row: Row | None) -> str:
    """Format a value with its 95 % interval, if any."""
    if row is None or row.ci_low is None or row.ci_high is None:
        return number(None if row is None else row.value)
    return f"{number(row.value)} ({number(row.ci_low)} to {number(row.ci_high)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    suites = ["classification", *DETECTION]
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--nli", default=DEFAULT, help="the model, as veridical's --nli names it")
    parser.add_argument("--suites", nargs="+", choices=suites, default=suites)
    parser.add_argument("--limit", type=int, help="maximum rows of each part, from the first")
    parser.add_argument("--samples", type=int, help="maximum samples of each WikiBio passage")
    parser.add_argument("--bootstrap", type=int, default=1000, help="resamples; 0: no intervals")
    parser.add_argument("--store", type=Path, help="folder that keeps what the model said")
    parser.add_argument("--json", type=Path, help="file for the figures, unrounded")
    given = parser.parse_args()

    model = load_nli(given.nli)
    stored: dict[str, Any] = {"model": f"{model.name}@{model.revision}", "limit": given.limit}
    stored |= {"samples": given.samples, "classification": [], "detection": []}
    print(f"Model {stored['model']}.", flush=True)
    if "classification" in given.suites:
        figures = classification(model, given.data / "nli", given.limit)
        stored["classification"] = [asdict(f) for f in figures]
        print(f"\n### Classification\n\n{classification_table(figures)}", flush=True)
    for suite in (s for s in DETECTION if s in given.suites):
        for wanted in DETECTION[suite]:
            rows = detection(wanted, given.data, given)
            kept = [r.model_dump(mode="json") for r in rows]
            stored["detection"] += [{"note": wanted.note, **r} for r in kept]
            print(f"\n### {wanted.suite}: {wanted.note}\n", flush=True)
            print(detection_table(rows, wanted), flush=True)
    if given.json:
        given.json.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
