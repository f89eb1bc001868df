"""Long contexts: time and accuracy with the relevance screen of `nli_grounding`.

    python benchmarks/long_contexts.py --data DATA [--part time,loss] [--quick] [--store PATH]

`time`: one news summary by a context of 147 000 characters, its document among others. Seconds,
processor seconds and tokens through models are measured for each scorer alone, with loaded models
and an empty store. Then they are measured for all that `veridical check` runs by default.

`loss`: each sentence by its screened windows and by all of them (`top=0`). Its risk is compared,
and AUROC by the labels. The sets are:

* HaluEval summarization: right and hallucinated summaries, the document among others, 40 000
  characters;
* WikiBio-GPT3: sentences, the article among other people's articles, 40 000 characters;
* BEGIN wow/dev: replies, their knowledge among 332 other passages.

Only the choice of `top` among 4, 8 and 12 was fitted to them. `--quick` takes a sixth of the items.
Results of an earlier run in `--store` are used again.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import veridical
from veridical.core.resolving import resolve
from veridical.io import open_source
from veridical.stats.metrics.ranking import areas
from veridical.text.passages import windows

LONG = 147_000  # characters of the one long context
SIZE = 40_000  # characters of the contexts that are read in full to measure the loss
SCORERS = (
    "nli_grounding(top=0), nli_grounding, claims, summac_zs, knowledge_bertscore, support, "
    "knowledge_f1"
)
Row = dict[str, Any]


def summaries(data: Path, items: int, size: int, seed: int = 0) -> Iterator[Row]:
    """Yield news summaries, right and hallucinated, each with one text of about ``size``
    characters.

    The text has the summary's document at any place among others.
    """
    with (data / "halueval" / "dataset_halueval_summarization.jsonl").open("rb") as lines:
        pool = [json.loads(line) for line in islice(lines, 2000)]
    rng = random.Random(seed)
    for item in rng.sample(pool, items):
        documents = [item["document"]]
        while sum(map(len, documents)) < size:
            documents.append(rng.choice(pool)["document"])
        rng.shuffle(documents)
        for label, name in enumerate(("right_summary", "hallucinated_summary")):
            yield {"response": item[name], "contexts": "\n\n".join(documents), "label": label}


def knowledge(data: Path, items: int, seed: int = 0) -> Iterator[Row]:
    """Yield replies of dialogue systems; their knowledge is one of all passages."""
    rows = open_source(data / "begin" / "dev_wow.tsv", reader="begin").rows()
    records = [r for r in rows if isinstance(r, veridical.Record) and r.label is not None]
    texts = sorted({r.contexts[0].text for r in records})
    rng = random.Random(seed)
    for record in rng.sample(records, items):
        contexts = list(texts)
        rng.shuffle(contexts)
        yield {"response": record.response, "contexts": contexts, "label": record.label}


def biographies(data: Path, items: int, size: int, seed: int = 0) -> Iterator[Row]:
    """Machine-written biographies, each by the article about the person among other articles:
    one text of about ``size`` characters."""
    path = data / "wikibio_gpt3" / "wikibio_gpt3.jsonl"
    rows = open_source(path, reader="wikibio").rows()
    records = [r for r in rows if isinstance(r, veridical.Record) and r.reference]
    texts = [r.reference[0] for r in records]
    rng = random.Random(seed)
    for place in rng.sample(range(len(records)), items):
        record = records[place]
        articles = [texts[place]]
        others = [t for i, t in enumerate(texts) if i != place]
        rng.shuffle(others)
        while others and sum(map(len, articles)) < size:
            articles.append(others.pop())
        rng.shuffle(articles)
        yield {
            "response": record.response,
            "contexts": "\n\n".join(articles),
            "sentences": record.given_sentences,
            "unit_labels": [u.model_dump() for u in record.unit_labels or ()],
        }


class Reading(NamedTuple):
    """A scorer's results on rows: risks of all sentences, those with labels, and judged pairs."""

    risks: list[float]
    labels: list[float]
    labelled: list[float]
    pairs: int

    @property
    def auroc(self) -> float:
        truth = np.array([label >= 0.5 for label in self.labels], float)
        return areas(truth, np.array(self.labelled))["auroc"]


def read(rows: Sequence[Row], scorer: str, store: Path | None) -> Reading:
    with veridical.Engine(processes=0, store=store) as engine:
        results = list(veridical.check(rows, scorer, engine=engine))
        (work,) = engine.work().values()
    risks, labels, labelled = [], [], []
    for row, result in zip(rows, results, strict=True):
        (score,) = result.scores.values()
        assert score.status == "scored" and score.units and score.risk is not None, score.reason
        of_units = [unit.risk for unit in score.units if unit.risk is not None]
        risks += of_units
        if "label" in row:
            labels.append(row["label"])
            labelled.append(score.risk)
            continue
        for unit, risk in zip(score.units, of_units, strict=True):
            over = [
                x["label"]
                for x in row["unit_labels"]
                if x["start"] < unit.end and unit.start < x["end"]
            ]
            if over:
                labels.append(max(over))
                labelled.append(risk)
    return Reading(risks, labels, labelled, work.requests)


def loss(name: str, rows: Sequence[Row], top: int, store: Path | None) -> None:
    """Print what the screen changes on rows."""
    sources = [c if isinstance(c, list) else [c] for c in (row["contexts"] for row in rows)]
    counts = [sum(len(windows(text)) for text in texts) for texts in sources]
    screened = read(rows, f"nli_grounding(top={top})", store)
    whole = read(rows, "nli_grounding(top=0)", store)
    before, after = np.array(whole.risks), np.array(screened.risks)
    change = abs(after - before)
    n = len(before)
    print(f"{name}: {len(rows)} records, {n} sentences, {np.mean(counts):.0f} windows a record")
    for what, one in (("all windows", whole), (f"top={top}", screened)):
        print(f"  {what:<12} {one.pairs / n:6.1f} pairs a sentence, AUROC {one.auroc:.3f}")
    print(
        f"  risk changed by over .01: {np.mean(change > 0.01):.1%} of sentences, by over .1: "
        f"{np.mean(change > 0.1):.1%}, across .5: {np.mean((before > 0.5) != (after > 0.5)):.1%}; "
        f"mean change {change.mean():.4f}; lower: {np.mean(after < before - 1e-5):.1%}",
        flush=True,
    )


def clock(row: Row, scorers: str | None) -> str:
    """Wall-clock and processor seconds and model tokens of one run, models loaded."""
    with veridical.Engine(processes=0, store=None) as engine:
        veridical.check(
            [{"response": "Models load.", "contexts": "At first."}], scorers, engine=engine
        )
        before = sum(work.tokens for work in engine.work().values())
        started, worked = time.perf_counter(), time.process_time()
        list(veridical.check([row], scorers, engine=engine))
        seconds, cpu = time.perf_counter() - started, time.process_time() - worked
        tokens = sum(work.tokens for work in engine.work().values()) - before
    return f"{seconds:8.2f} s {cpu:8.2f} s of processor {tokens:>9,} tokens"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", default="time,loss")
    parser.add_argument("--quick", action="store_true", help="a sixth of the items")
    parser.add_argument("--top", type=int, default=8)
    parser.add_argument("--store", type=Path, help="keeps what the model said, for the next run")
    arguments = parser.parse_args()
    data, share = arguments.data, 6 if arguments.quick else 1
    parts = arguments.part.split(",")
    if "time" in parts:
        row = next(summaries(data, 1, LONG))
        row["contexts"] = row["contexts"][:LONG]
        print(f"one record, context of {len(row['contexts']):,} characters")
        for bound in resolve(SCORERS):
            print(f"  {bound.key:<22} {clock(row, bound.key)}", flush=True)
        print(f"  {'by default':<22} {clock(row, None)}", flush=True)
    if "loss" in parts:
        sets = {
            "HaluEval summarization": summaries(data, 24 // share, SIZE),
            "WikiBio-GPT3": biographies(data, 16 // share, SIZE),
            "BEGIN wow/dev": knowledge(data, 24 // share),
        }
        for name, rows in sets.items():
            loss(name, list(rows), arguments.top, arguments.store)


if __name__ == "__main__":
    main()
