"""Quantile tables behind the record's one risk. No labels are used.

    python training/quantiles.py --data ../shared/data

Texts:

* Wikipedia-like passages of a small local model (``training/data/wikibio_like.jsonl``);
* this project's example answers;
* answers of four models to GSM8K test questions (one judged, the other three as samples);
* HaluEval qa answers, right and wrong alike, with their knowledge (first 80 % of the file).

WikiBio-GPT3 and BEGIN are not used: they are for evaluation.

Every scorer's table is the mid-rank quantile of its risk, each set of texts weighing the same.
Scorers of samples have one table for each number of samples, of the sets that have as many. Where a
language model reads, it is SmolLM2.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fit_default import models_of

import veridical

HERE = Path(__file__).parent
OUT = HERE.parent / "src" / "veridical" / "engine" / "quantiles.json"
POINTS = 33
PER_SET = 300
#: Scorers of one family share one vote.
FAMILIES = {
    "exact_match": "exact",
    "ngram": "ngram",
    "ngram_presence": "ngram",
    "cosine": "embedding",
    "checkembed": "embedding",
    "bert_score": "tokens",
    "selfcheck_bertscore": "tokens",
    "support": "support",
    "knowledge_f1": "grounding",
    "rouge_l": "reference",
    "sacrebleu": "reference",
    "knowledge_bertscore": "grounding",
    "selfcheck_nli": "nli",
    "noncontradiction": "nli",
    "entailment": "nli",
    "luq": "nli",
    "matched_unit": "nli",
    "semantic_entropy": "meanings",
    "semantic_negentropy": "meanings",
    "semantic_sets": "meanings",
    "semantic_density": "meanings",
    "eigv": "meanings",
    "degree": "meanings",
    "eccentricity": "meanings",
    "kle": "meanings",
    "nli_grounding": "nli_grounding",
    "summac_zs": "nli_grounding",
    "claims": "nli_grounding",
    "explained_surprisal": "surprisal",
}
#: Scorers with which tables are fitted, if not with the defaults.
FITTED_AS = {
    "claims": "claims(against=contexts)",
    "explained_surprisal": "explained_surprisal(proxy=smollm2)",
}
#: Scorers of samples have a table for each of these numbers of samples. The expensive ones have
#: them up to 10: the number of their requests grows with the square.
SAMPLES = (1, 2, 3, 5, 10, 20)
UP_TO_10 = {name for name, family in FAMILIES.items() if family in ("nli", "meanings")}
USE_SAMPLES = {
    name
    for name, family in FAMILIES.items()
    if family not in ("grounding", "reference", "nli_grounding")
}


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as f:
        for line in f:
            yield json.loads(line)


def gsm8k(path: Path, rng: random.Random) -> list[dict[str, Any]]:
    rows = rng.sample(list(lines(path)), PER_SET)
    found = []
    for i, row in enumerate(rows):
        answers = [v["solution"] for v in row.values() if isinstance(v, dict)]
        judged = answers.pop(i % len(answers))
        found.append({"prompt": row["question"], "response": judged, "samples": answers})
    return found


def halueval(path: Path, rng: random.Random) -> list[dict[str, Any]]:
    rows = list(lines(path))
    found = []
    for i, row in enumerate(rng.sample(rows[: len(rows) * 4 // 5], PER_SET)):
        answer = row["hallucinated_answer" if i % 2 else "right_answer"]
        found.append({"response": answer, "contexts": row["knowledge"]})
    return found


def quantiles(sets: list[list[float]]) -> tuple[list[float], list[float]]:
    """Compute risks and their mid-rank quantiles, thinned, with the ends of [0, 1] where free."""
    weights: dict[float, float] = {}
    for values in sets:
        for v in values:
            weights[v] = weights.get(v, 0.0) + 1 / len(values) / len(sets)
    below = 0.0
    points = []
    for risk in sorted(weights):
        points.append((risk, below + weights[risk] / 2))
        below += weights[risk]
    keep = {round(i * (len(points) - 1) / (POINTS - 1)) for i in range(POINTS)}
    thin = [p for i, p in enumerate(points) if i in keep]
    if thin[0][0] > 0:
        thin.insert(0, (0.0, 0.0))
    if thin[-1][0] < 1:
        thin.append((1.0, 1.0))
    rounded = [(round(r, 6), round(q, 6)) for r, q in thin]
    last = [p for p, q in itertools.pairwise(rounded) if p[0] < q[0] and p[1] < q[1]]
    last.append(rounded[-1])
    return [r for r, _ in last], [q for _, q in last]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, help="keeps what models said, for the next time")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, help="leaves other tables alone")
    arguments = parser.parse_args()
    data = arguments.data
    wanted = arguments.only or list(FAMILIES)
    tables = json.loads(OUT.read_text(encoding="utf-8"))["tables"] if arguments.only else {}
    rng = random.Random(0)
    sets = {
        "wikibio_like": list(lines(HERE / "data" / "wikibio_like.jsonl")),
        "examples": [
            {k: r[k] for k in ("prompt", "response", "samples", "contexts", "reference") if k in r}
            for r in lines(HERE.parent / "examples" / "answers.jsonl")
        ],
        "gsm8k": gsm8k(data / "qa" / "gsm8k_example_model_solutions.jsonl", rng),
        "halueval_qa": halueval(data / "halueval" / "dataset_halueval_qa.jsonl", rng),
    }
    fits: dict[str, dict[int, list[list[float]]]] = {name: {} for name in wanted}
    models: dict[str, set[str]] = {name: set() for name in wanted}
    with veridical.Engine(store=arguments.store) as engine:
        for name, rows in sets.items():
            most = max((len(r.get("samples", ())) for r in rows), default=0)
            for count in [n for n in SAMPLES if n <= most] or [0]:
                asked = [name for name in wanted if count <= 10 or name not in UP_TO_10]
                named = [FITTED_AS.get(name, name) for name in asked]
                results = list(veridical.check(rows, named, engine=engine, samples=count or None))
                for scorer, key in zip(asked, named, strict=True):
                    found = fits[scorer]
                    values = [r.scores[key].risk for r in results]
                    scored = [v for v in values if v is not None]
                    models[scorer] |= models_of(results, key)
                    used = count if scorer in USE_SAMPLES else 0
                    if len(scored) >= 20 and (count in (0, most) or used):
                        found.setdefault(used, []).append(scored)
            print(name, len(rows), "samples", most)
    for scorer, by_samples in fits.items():
        columns = {str(n): quantiles(found) for n, found in sorted(by_samples.items())}
        tables[scorer] = {
            "family": FAMILIES[scorer],
            "models": sorted(models[scorer]),
            "by_samples": columns,
        }
    fitted = {name: len(rows) for name, rows in sets.items()}
    text = json.dumps({"fitted_on": fitted, "labels_used": False, "tables": tables}, indent=0)
    OUT.write_text(text + "\n", encoding="utf-8")
    print(f"{len(tables)} tables, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
