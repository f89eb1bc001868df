"""Offline claim extractors on published answers: claims and speed.

    python benchmarks/claim_extractors.py --data DATA [--spacy 0]

``DATA`` holds the folders wikibio_gpt3, begin, halueval and refchecker. Printed per data set:

* answers, those that abstain, sentences, and claims a sentence;
* the share of sentences that are cut, and the share of claims that are triplets;
* megabytes of text a second on one core, in CPU time, with sentence splitting.

Then follows the number of RefChecker's labelled triplets with a place in their answer.
``--spacy N`` adds the parser-based extractor on N answers of each.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

from veridical import Record
from veridical.claims.claim import Extraction
from veridical.claims.extractors import find_extractor
from veridical.claims.triplets import Places
from veridical.core.evidence import LocalEvidence


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def answers(data: Path) -> dict[str, list[str]]:
    found = {"wikibio": [r["gpt3_text"] for r in rows(data / "wikibio_gpt3/wikibio_gpt3.jsonl")]}
    found["begin"] = []
    for name in ("dev_cmu", "dev_tc", "dev_wow", "test_wow"):
        with (data / "begin" / f"{name}.tsv").open(encoding="utf-8", newline="") as lines:
            table = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            found["begin"] += [r["response"] for r in table]
    for part, what in (("qa", "answer"), ("dialogue", "response"), ("summarization", "summary")):
        table = list(rows(data / "halueval" / f"dataset_halueval_{part}.jsonl"))
        found[f"halueval {part}"] = [
            r[f"{x}_{what}"] for r in table for x in ("right", "hallucinated")
        ]
    general = rows(data / "halueval/general_data.jsonl")
    found["halueval general"] = [r["chatgpt_response"] for r in general]
    labelled = rows(data / "refchecker/claims.jsonl")
    found["refchecker"] = list(dict.fromkeys(r["response"] for r in labelled))
    return {name: [t for t in texts if t.strip()] for name, texts in found.items()}


def run(coroutine: Coroutine[Any, Any, Extraction]) -> Extraction:
    """Return the result of an extractor that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise RuntimeError("an offline extractor waited")


def measure(name: str, extractor: str, texts: list[str]) -> None:
    extract = find_extractor(extractor)
    run(extract(Record(response="Ann ran."), LocalEvidence(Record(response=""))))
    records = [Record(response=t) for t in texts]
    start = time.process_time()
    found = [run(extract(r, LocalEvidence(r))) for r in records]
    seconds = time.process_time() - start
    abstained = sum(e.abstained for e in found)
    sentences = sum(len(r.sentences) for r, e in zip(records, found, strict=True) if e.claims)
    claims = [(i, c) for i, e in enumerate(found) for c in e.claims]
    cut = sum(n > 1 for n in Counter((i, c.sentence) for i, c in claims).values())
    triplets = sum(c.triplet is not None for _, c in claims)
    print(
        f"{name:24}{extractor:11}{len(texts):8}{abstained:8}{sentences:10}"
        f"{len(claims) / sentences:8.2f}{cut / sentences:8.1%}{triplets / len(claims):10.1%}"
        f"{sum(map(len, texts)) / seconds / 1e6:8.3f}"
    )


def place(path: Path) -> None:
    triplets: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row in rows(path):
        triplets[row["response"]].append(tuple(row["triplet"]))
    counts: Counter[str] = Counter()
    start = time.process_time()
    for response, given in triplets.items():
        record = Record(response=response)
        places = Places(record)
        several = len(record.sentences) > 1
        for triplet in given:
            found = places.locate(triplet) is not None
            counts.update({"all": 1, "found": found})
            counts.update({"several": several, "found of several": several and found})
    seconds = time.process_time() - start
    share = counts["found of several"] / counts["several"]
    print(
        f"\nRefChecker: places of {counts['found']} of {counts['all']} triplets "
        f"({counts['found'] / counts['all']:.2%}); where there are several sentences "
        f"{share:.2%} of {counts['several']}; {seconds:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--spacy", type=int, default=0)
    given = parser.parse_args()
    print(
        f"{'data':24}{'extractor':11}{'answers':>8}{'abstain':>8}{'sentences':>10}{'claims':>8}"
        f"{'cut':>8}{'triplets':>10}{'MB/s':>8}"
    )
    for name, texts in answers(given.data).items():
        for extractor in ("sentences", "clauses", "triplets"):
            measure(name, extractor, texts)
        if given.spacy:
            measure(name, "spacy", texts[: given.spacy])
    place(given.data / "refchecker" / "claims.jsonl")


if __name__ == "__main__":
    main()
