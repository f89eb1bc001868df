"""Savings of several embedding scorers in one run: tokens through the model.

    python benchmarks/shared_work.py --data PATH/wikibio_gpt3 [--limit 20]

Scores WikiBio GPT-3 passages (twenty samples, the article as context) with five scorers in one run.
Then it scores with each in a run of its own, cold and without a store. The encoder is watched:
every window that goes through it is recorded with its text. The exit status is 1 if the run of all
five sends any text twice. It is also 1 if the results of the two ways differ by more than 1e-5.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import veridical
import veridical.models
from veridical.engine.engine import Engine

SCORERS = ("cosine", "checkembed", "bert_score", "selfcheck_bertscore", "knowledge_bertscore")
TOLERANCE = 1e-5


class Watched:
    """An encoder that counts what goes through it."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self.sent: Counter[tuple[str, int]] = Counter()  # text, number of the window
        self.tokens = 0
        self._names: dict[int, tuple[str, int]] = {}
        self._kept: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def windows(self, texts: Sequence[str]) -> list[list[Any]]:
        found = self._encoder.windows(texts)
        for text, windows in zip(texts, found, strict=True):
            self._kept.extend(windows)  # an id is a name only while its object lives
            self._names.update({id(w): (text, i) for i, w in enumerate(windows)})
        return found

    def run(self, batch: Sequence[Any], tokens: bool) -> list[Any]:
        outputs = self._encoder.run(batch, tokens)
        self.sent.update(self._names[id(w)] for w in batch)
        self.tokens += sum(w.length for w in batch)
        return outputs


def load(folder: Path, limit: int) -> list[dict[str, Any]]:
    with (folder / "wikibio_gpt3.jsonl").open(encoding="utf-8") as lines:
        items = [json.loads(line) for line in islice(lines, limit)]
    return [
        {
            "response": item["gpt3_text"],
            "samples": item["gpt3_text_samples"],
            "contexts": item["wiki_bio_text"],
        }
        for item in items
    ]


def score(rows: list[dict[str, Any]], scorers: str) -> tuple[Watched, list[veridical.Result]]:
    encoder = Watched(veridical.models.load_encoder("minilm"))
    with (
        patch("veridical.models.load_encoder", lambda *_, **__: encoder),
        Engine(store=None) as engine,
    ):
        results = list(veridical.check(rows, scorers, engine=engine))
    for result in results:
        for name, s in result.scores.items():
            if s.status != "scored":
                sys.exit(f"{name}: {s.status}: {s.reason}")
    return encoder, results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=20, help="passages")
    arguments = parser.parse_args()
    rows = load(arguments.data, arguments.limit)

    together, results = score(rows, ", ".join(SCORERS))
    apart = 0
    differing = 0
    print(f"{len(results)} passages, no store     texts   windows      tokens")
    for name in SCORERS:
        encoder, own = score(rows, name)
        apart += encoder.tokens
        show(name, encoder)
        for one, two in zip(own, results, strict=True):
            a, b = one.scores[name], two.scores[name]
            same = a.status == b.status and abs((a.risk or 0) - (b.risk or 0)) <= TOLERANCE
            differing += not same
    show("all five together", together)
    twice = Counter({w: n for w, n in together.sent.items() if n > 1})
    saved = apart / together.tokens
    print(f"one by one {apart:,} tokens; together {together.tokens:,}: {saved:.2f} x")
    print(f"texts sent twice when together: {len({text for text, _ in twice})}")
    print(f"scores that differ between the two ways: {differing}")
    for (text, _), n in twice.most_common(5):
        print(f"  {n} times: {text[:80]!r}")
    return 1 if twice or differing else 0


def show(name: str, encoder: Watched) -> None:
    texts = len({text for text, _ in encoder.sent})
    print(f"{name:<24} {texts:>8,} {encoder.sent.total():>9,} {encoder.tokens:>11,}")


if __name__ == "__main__":
    sys.exit(main())
