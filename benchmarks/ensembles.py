"""Accuracy of ensembles, shipped and tuned, on answers not fitted to.

    python benchmarks/ensembles.py --data DATA [--store FOLDER] [--out FOLDER] [--part wikibio,...]
    python benchmarks/ensembles.py --data DATA --part wikibio --proxy smollm2

``DATA`` holds the folders wikibio_gpt3, begin, halueval and qa. Models are the embedded ones. All
figures are times 100, with the 95 % interval of the bootstrap over independent units (passages,
messages, questions). Every component is shown too.

The shipped ensembles are ``ensemble``, fitted on other public labels, and its ``label_free`` sets.
``wikibio``: response and samples only. The tuned ensembles are fitted to sentences, and each
passage is judged by fits to the other folds. Its risk is the mean over its sentences, as in the
scorer ``ensemble``. ``passages`` are fitted to whole passages, whose labels are the shares of them
that are wrong. The components were chosen with a view to this set.
With ``--proxy`` a small language model reads the samples too (``explained_surprisal``); ``--nli``
names the NLI model.
``begin``, ``halueval`` (last 20 % of the rows) and ``gsm8k`` are tuned on responses. ``gsm8k`` has
four models' answers to a question: one is judged, the others are its samples. The difference is
that of the tuned ensemble and the component that is best on all of the data, which favours the
component.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

import veridical
from veridical.core.registry import REGISTRY
from veridical.ensembles.ensemble_file import Method
from veridical.ensembles.fitting import Recipe, fit, folds
from veridical.ensembles.graded import UNIT, Graded, gather
from veridical.errors import UsageError
from veridical.report.results import Results
from veridical.stats.comparisons import bootstrap_p
from veridical.stats.metrics import Targets, compute
from veridical.stats.resampling import Resampler, interval
from veridical_lab.bench.datasets import begin, halueval
from veridical_lab.bench.datasets.suite import Item

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAMPLES = (
    "ngram, ngram_presence, ngram(n=2), support, checkembed, cosine, selfcheck_nli, "
    "luq(measure=entailment)"
)
CONTEXTS = (
    "nli_grounding, nli_grounding(risk=contradiction), knowledge_f1, support, "
    "rouge_l(against=contexts), sacrebleu(against=contexts), cosine(against=contexts)"
)
#: By ``--proxy``.
READ = "explained_surprisal"
#: ``summac_zs`` and ``knowledge_bertscore``, and with them the shipped ensembles, take hours on
#: HaluEval's articles.
PART_SCORERS = {
    "begin": f"summac_zs, knowledge_bertscore, {CONTEXTS}",
    "halueval": CONTEXTS,
    "gsm8k": "exact_match, ngram, ngram_presence, support, cosine, checkembed, "
    "rouge_l(against=samples), selfcheck_nli, noncontradiction",
}
#: The trivial baseline: words of the response, or the sentence.
LENGTH = "length"
METHODS = ("weighted", "logistic", "boosted", "famd")
#: The objective of weights; learned methods have their own loss.
OBJECTIVE = "auroc"
FOLDS = {"wikibio": 10, "begin": 5, "halueval": 5, "gsm8k": 5}
#: Spearman of passages, and the trapezoid areas of NonFact and Factual sentences, as published:
#: the papers print no average precision.
PUBLISHED = {
    "n-gram (Manakul 2023)": (64.91, 85.63, 58.47),
    "NLI, DeBERTa-v3-large (Manakul 2023)": (73.78, 92.50, 66.08),
    "CheckEmbed, 7B embedder (Besta 2025)": (76.2, None, None),
    "GPT-3.5 as judge (Manakul 2023)": (78.30, 93.42, 67.09),
}


class Figure(NamedTuple):
    """A metric's value and its (B,) replicates, over resamples shared by all scores."""

    value: float
    replicates: Floats

    def as_dict(self) -> dict[str, Any]:
        low, high = interval(self.replicates)
        return {"value": self.value, "ci_low": low, "ci_high": high}

    def __str__(self) -> str:
        low, high = interval(self.replicates)
        limits = "" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})"
        return f"{100 * self.value:.1f}{limits}"


class Measure(NamedTuple):
    """A metric of scores, with the truth and the independent units."""

    metric: str
    truth: Floats
    groups: Ints
    sign: float = 1.0
    bootstrap: int = 1000

    def __call__(self, score: Floats) -> Figure:
        """Compute the figure on the targets that have a score."""
        where = ~np.isnan(score)
        targets = Targets(self.truth[where], self.sign * score[where])
        resamples = Resampler(self.groups[where], self.bootstrap, 0).chunks()
        found = [np.asarray(compute([self.metric], targets, w)[self.metric]) for w in resamples]
        value = float(compute([self.metric], targets)[self.metric])
        return Figure(value, np.concatenate([np.empty(0), *found]))

    def gain(self, one: Floats, other: Floats) -> tuple[Figure, float | None]:
        """Compute how much better ``one`` is than ``other`` where both have a score.

        Also returns the two-sided p-value of the paired bootstrap.
        """
        both = ~(np.isnan(one) | np.isnan(other))
        a, b = (self(np.where(both, score, np.nan)) for score in (one, other))
        differences = a.replicates - b.replicates
        p = bootstrap_p(differences, len(np.unique(self.groups[both])))
        return Figure(a.value - b.value, differences), p


def tuned(graded: Graded, method: str, cv: int, seed: int) -> tuple[Floats, Floats]:
    """Compute (n,) risks of the targets, and (n,) mean risks of their groups.

    Each is computed by a fit to the other folds, without any label of its own fold. Risks are
    quantiles among the risks that the same fit gives all targets. Fits differ in scale, so that
    their risks cannot be ranked together as they are.
    """
    recipe = Recipe(cast(Method, method), OBJECTIVE, seed=seed)
    fold = folds(graded, cv, seed)
    risk, mean = np.full(len(graded), np.nan), np.full(len(graded), np.nan)
    for f in np.unique(fold):
        order = fit(graded.take(fold != f), recipe).order(graded)
        for made, found in ((risk, order), (mean, means(order, graded.groups))):
            made[fold == f] = quantiles(found)[fold == f]
    return risk, mean


def quantiles(risk: Floats) -> Floats:
    """Compute (n,) mid-rank quantiles; NaN stays."""
    known = np.sort(risk[~np.isnan(risk)])
    below, upto = (np.searchsorted(known, risk, side) for side in ("left", "right"))
    return np.where(np.isnan(risk), np.nan, (below + upto) / 2 / len(known))


def means(risk: Floats, groups: Ints) -> Floats:
    """Compute (n,) the mean risk of each target's group."""
    scored = ~np.isnan(risk)
    total = np.bincount(groups, weights=np.where(scored, risk, 0.0))
    count = np.bincount(groups, weights=scored.astype(np.float64))
    return (total / np.where(count > 0, count, np.nan))[groups]


def words(text: str) -> float:
    return float(len(text.split()))


def usable(graded: Graded) -> Graded:
    """Drop components that scored under half of the targets, or all of them equally."""
    kept = [
        name
        for name, column in zip(graded.scorers, graded.risks.T, strict=True)
        if np.isnan(column).mean() <= 0.5 and np.nanmax(column) > np.nanmin(column)
    ]
    return graded.select(kept)


def shipped(**named: str) -> list[str]:
    """Return the calls of the fitted default and of the label-free sets, with these parameters."""
    return [REGISTRY.bind("ensemble", named | w).call for w in ({}, {"weights": "label_free"})]


def checked(
    given: argparse.Namespace, engine: veridical.Engine, name: str, rows: Any, scorers: str
) -> Results:
    out = None if given.out is None else given.out / name.replace("/", "-")
    reader = "wikibio" if isinstance(rows, Path) else None
    return veridical.check(rows, scorers, engine=engine, out=out, reader=reader)


# WikiBio: passages and sentences


def wikibio(given: argparse.Namespace, engine: veridical.Engine) -> dict[str, Any]:
    file = given.data / "wikibio_gpt3" / "wikibio_gpt3.jsonl"
    reader = {} if given.proxy is None else {"language_model": given.proxy}
    ready = shipped(against="samples", **reader)  # half have a reference, not to be read here
    named = [*ready, given.samples or SAMPLES, *([READ] if given.proxy else [])]
    results = checked(given, engine, "wikibio", file, ", ".join(named))
    everything, _ = gather(results, level="sentence")
    own = [s for s in everything.scorers if s.removesuffix(UNIT) not in ready]
    graded = usable(everything.select(own))
    records = [r for r, _ in results.records()]
    truth = np.array([r.label for r in records], dtype=np.float64)
    passages = np.arange(len(truth))

    column = dict(zip(everything.scorers, everything.risks.T, strict=True))
    first = np.array([np.argmax(everything.rows == i) for i in passages])
    of_passage = {n: column[n][first] for n in (*own, *ready) if not n.endswith(UNIT)}
    of_sentence = {n.removesuffix(UNIT): c for n, c in column.items() if n.endswith(UNIT)}
    of_passage[LENGTH] = np.array([words(r.response) for r in records])
    parts = (r.response[u.start : u.end] for r in records for u in r.unit_labels or ())
    of_sentence[LENGTH] = np.array([words(text) for text in parts])
    for method in given.methods:
        risk, mean = tuned(graded, method, FOLDS["wikibio"], given.seed)
        of_sentence[f"tuned: {method}"] = risk
        of_passage[f"tuned: {method}"] = mean[first]
    whole, _ = gather(results)
    whole = usable(whole.select([s for s in whole.scorers if s not in ready]))
    for method in given.methods:
        of_passage[f"tuned on passages: {method}"] = tuned(
            whole, method, FOLDS["wikibio"], given.seed
        )[0]
    right = 1 - graded.labels

    def nonfact(metric: str) -> Measure:
        return Measure(metric, graded.labels, graded.groups, 1.0, given.bootstrap)

    def factual(metric: str) -> Measure:
        return Measure(metric, right, graded.groups, -1.0, given.bootstrap)

    asked: dict[str, tuple[Measure, Mapping[str, Floats]]] = {
        "Spearman": (Measure("spearman", truth, passages, 1.0, given.bootstrap), of_passage),
        "Pearson": (Measure("pearson", truth, passages, 1.0, given.bootstrap), of_passage),
        "NonFact AP": (nonfact("average_precision"), of_sentence),
        "NonFact trapezoid": (nonfact("trapezoid_pr"), of_sentence),
        "Factual AP": (factual("average_precision"), of_sentence),
        "Factual trapezoid": (factual("trapezoid_pr"), of_sentence),
    }
    figures = {
        name: {m: measure(scores[name]) for m, (measure, scores) in asked.items() if name in scores}
        for name in of_passage
        if np.nanmax(of_passage[name]) > np.nanmin(of_passage[name])
    }
    print(
        f"\n### wikibio: {len(truth)} passages, {len(graded)} sentences, {FOLDS['wikibio']} folds"
    )
    head = list(asked)
    print(f"\n| | {' | '.join(head)} |\n|---|{'---|' * len(head)}")
    for name, row in figures.items():
        print(f"| {name} | {' | '.join(str(row.get(m, '')) for m in head)} |")
    for name, (spearman, *areas) in PUBLISHED.items():
        row = (spearman, None, None, areas[0], None, areas[1])
        cells = ["" if x is None else f"{x:.1f}" for x in row]
        print(f"| published: {name} | {' | '.join(cells)} |")
    return {name: {m: f.as_dict() for m, f in row.items()} for name, row in figures.items()}


# BEGIN, HaluEval, GSM8K: responses


def rows_of(items: Iterator[Any], keep: Callable[[Item], bool]) -> dict[str, list[dict[str, Any]]]:
    """Part -> rows for ``check``; ``group`` is the independent unit."""
    found: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        if isinstance(item, Item) and keep(item):
            row = item.record.model_dump(include={"prompt", "response", "label"})
            row["contexts"] = [c.text for c in item.record.contexts]
            row["group"] = item.group
            found.setdefault(item.part, []).append(row)
    return found


def gsm8k(path: Path, prompts: int) -> list[dict[str, Any]]:
    found = []
    with path.open(encoding="utf-8") as lines:
        for number, line in zip(range(prompts), lines, strict=False):
            row = json.loads(line)
            answers = [v for v in row.values() if isinstance(v, dict)]
            for i, answer in enumerate(answers):
                found.append(
                    {
                        "prompt": row["question"],
                        "response": answer["solution"],
                        "samples": [a["solution"] for j, a in enumerate(answers) if j != i],
                        "label": 0.0 if answer["is_correct"] else 1.0,
                        "group": number,
                    }
                )
    return found


def responses(
    given: argparse.Namespace, engine: veridical.Engine, name: str, rows: list[dict[str, Any]]
) -> dict[str, Any]:
    """Compute the figures of one data set whose responses are labelled."""
    part = name.partition(" ")[0]
    ready = [] if part == "halueval" else shipped()
    results = checked(given, engine, name, rows, ", ".join([*ready, PART_SCORERS[part]]))
    everything, _ = gather(results)
    graded = usable(everything.select([s for s in everything.scorers if s not in ready]))
    column = dict(zip(everything.scorers, everything.risks.T, strict=True))
    measure = Measure("auroc", graded.labels, graded.groups, 1.0, given.bootstrap)
    components = dict(zip(graded.scorers, graded.risks.T, strict=True))
    figures = {n: measure(c) for n, c in components.items()}
    best = max(figures, key=lambda n: figures[n].value)
    figures[LENGTH] = measure(np.array([words(rows[i]["response"]) for i in graded.rows]))
    units = len(np.unique(graded.groups))
    print(
        f"\n### {name}: {len(graded)} answers to {units} prompts, {graded.positives} hallucinated, "
        f"{FOLDS[part]} folds\n\n| | AUROC | against {best} | p |\n|---|---|---|---|"
    )
    made: dict[str, Any] = {n: f.as_dict() for n, f in figures.items()}
    for n, figure in figures.items():
        print(f"| {n} | {figure} | | |")
    ensembles = {n: column[n] for n in ready}
    for method in given.methods:
        try:
            risk, _ = tuned(graded, method, FOLDS[part], given.seed)
        except UsageError as e:
            print(f"| tuned: {method} | {e} | | |")
            continue
        ensembles[f"tuned: {method}"] = risk
    for n, risk in ensembles.items():
        gain, p = measure.gain(risk, components[best])
        figure = measure(risk)
        chance = "" if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"
        print(f"| {n} | {figure} | {gain} | {chance} |")
        made[n] = {**figure.as_dict(), "gain": gain.as_dict(), "p": p, "best": best}
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("--store", type=Path, help="keeps what models said, for the next time")
    parser.add_argument("--out", type=Path, help="keeps the runs here, to be resumed")
    parser.add_argument("--part", default="wikibio,begin,halueval,gsm8k")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--samples", help="components for wikibio, instead of the default")
    parser.add_argument("--proxy", help="language model for wikibio, such as smollm2")
    parser.add_argument("--nli", help="NLI model, such as mini or base")
    parser.add_argument("--prompts", type=int, default=500, help="the first of HaluEval and GSM8K")
    parser.add_argument("--bootstrap", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="seed of folds and searches")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    given.methods = given.methods.split(",")
    figures: dict[str, Any] = {}
    models = {k: v for k in ("proxy", "nli") if (v := getattr(given, k)) is not None}
    with veridical.Engine(store=given.store, **models) as engine:
        for part in given.part.split(","):
            if part == "wikibio":
                figures[part] = wikibio(given, engine)
                continue
            if part == "gsm8k":
                file = given.data / "qa" / "gsm8k_example_model_solutions.jsonl"
                sets = {part: gsm8k(file, given.prompts)}
            else:
                suite = {"begin": begin, "halueval": halueval}[part].SUITE
                items = suite.load(given.data / part)
                loaded = rows_of(items, lambda i: i.facets.get("heldout", "yes") == "yes")
                sets = {f"{part} {name}": rows for name, rows in loaded.items()}
                sets.pop("halueval general", None)  # no contexts
                if part == "halueval":  # two answers each, one after the other
                    sets = {name: rows[: 2 * given.prompts] for name, rows in sets.items()}
            for name, rows in sets.items():
                figures[name] = responses(given, engine, name, rows)
    if given.json is not None:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
