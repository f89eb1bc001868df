"""Pairs that nobody has labelled, for a smaller model to learn from a larger one.

    python training/unlabelled_pairs.py OUT.jsonl [--seed 0]

Sentences of passages by a small language model (``training/data/wikibio_like.jsonl``), given
other passages that it wrote about the same: what self-consistency compares. Rows are
``{"premise", "hypothesis"}``.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from veridical.text.sentences import split_sentences

SOURCE = Path(__file__).parent / "data" / "wikibio_like.jsonl"
MOST = 12_000
SHORTEST = 4  # words


def make(source: Path, most: int, seed: int) -> list[dict[str, str]]:
    """At most so many pairs, drawn from all that there are, in random order."""
    found = []
    for line in source.read_text("utf-8").splitlines():
        passage = json.loads(line)
        texts = list(dict.fromkeys([passage["response"], *passage["samples"]]))
        for own in texts:
            sentences = [s.text for s in split_sentences(own) if len(s.text.split()) >= SHORTEST]
            found += [
                {"premise": other, "hypothesis": sentence}
                for other in texts
                if other != own
                for sentence in sentences
            ]
    return random.Random(seed).sample(found, min(most, len(found)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = make(SOURCE, MOST, arguments.seed)
    with arguments.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(rows)} pairs")


if __name__ == "__main__":
    main()
