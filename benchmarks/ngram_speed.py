"""Speed of our n-gram scorer and of the published way of working.

    python benchmarks/ngram_speed.py --data PATH/wikibio_gpt3 [--passages 10]

The published package (selfcheckgpt 0.1.7, ``SelfCheckNgram``) is used where it is installed.
Otherwise its procedure is repeated here on spaCy. The model is loaded at every call. The whole
pipeline runs on the passage and every sample to find sentences, and again on each sentence to find
its tokens. N-gram counts are joint, without smoothing. Needs the [spacy] extra. Both sides run in
one thread on the same texts; the unit is CPU seconds of this process per passage.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import pkgutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from veridical.core.evidence import score_locally
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.io import open_source


def published(record: Record) -> tuple[list[float], float]:
    """Sentence maxima and their mean, by the published procedure for n = 1."""
    name = next(m.name for m in pkgutil.iter_modules() if m.name.startswith("en_core_web_sm"))
    nlp = importlib.import_module(name).load()
    counts: Counter[str] = Counter()
    for text in [record.response, *record.sample_texts]:
        for sentence in nlp(text).sents:
            counts.update(t.text.lower() for t in nlp(sentence.text))
    total = counts.total()
    maxima = []
    for span in record.sentences:
        # A token that only another split of the passage would count is given count 1.
        tokens = [t.text.lower() for t in nlp(span.text)]
        maxima.append(max(-math.log(max(counts[t], 1) / total) for t in tokens))
    return maxima, float(np.mean(maxima))


def by_package(record: Record) -> tuple[list[float], float]:
    from selfcheckgpt.modeling_selfcheck import SelfCheckNgram

    found = SelfCheckNgram(n=1).predict(
        sentences=[s.text for s in record.sentences],
        passage=record.response,
        sampled_passages=record.sample_texts,
    )
    return (
        found["sent_level"]["max_neg_logprob"],
        float(found["doc_level"]["avg_max_neg_logprob"]),
    )


def ours(record: Record) -> tuple[list[float], float]:
    scorer = REGISTRY.bind("ngram", {"counting": "paper"})
    score = score_locally(record, [scorer])[0]
    raw: Any = score.raw
    return [u.raw or 0.0 for u in score.units], raw


def seconds(run: Any, passages: list[Record]) -> tuple[float, list[float]]:
    start = time.process_time()
    totals = [run(p)[1] for p in passages]
    return (time.process_time() - start) / len(passages), totals


def load(folder: Path, passages: int) -> list[Record]:
    source = open_source(folder / "wikibio_gpt3.jsonl", reader="wikibio")
    records = [r for r in source.rows() if isinstance(r, Record)]
    return records[:passages]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of wikibio_gpt3.jsonl")
    parser.add_argument("--passages", type=int, default=10)
    options = parser.parse_args()
    passages = load(options.data, options.passages)
    packaged = importlib.util.find_spec("selfcheckgpt") is not None
    theirs = by_package if packaged else published
    ours(passages[0])  # imports
    theirs(passages[0])
    fast, found = seconds(ours, load(options.data, options.passages))
    slow, expected = seconds(theirs, passages)
    apart = max(abs(a - b) for a, b in zip(found, expected, strict=True))
    print(f"published ({'selfcheckgpt package' if packaged else 'procedure repeated'}): ", end="")
    print(f"{slow:.3f} CPU s a passage; ours {fast:.5f}; ratio {slow / fast:.0f}x")
    print(f"{len(passages)} passages x 21 texts; largest difference of passage scores {apart:.4f}")


if __name__ == "__main__":
    main()
