"""Typed edits of hypotheses that people wrote.

    python training/typed_pairs.py DATA/nli OUT.jsonl [--seed 0]

The wrong words are in sentences that do not copy their premise. The hypothesis of each entailed row
of :data:`FILES` is edited (``veridical.text.typed_edits``). An edit that opposes it is contradicted
by the premise too, and one that states the same, or less, is entailed. An edit that states more is
left out: the premise may state it. Each kind has at most :data:`MOST` rows, so that the rare kinds
count, and as many right rows as wrong ones. OUT gets rows as ``nli_pairs.py`` writes them, for
``--edited`` of ``nli_train.py``.

Needs: this folder.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from veridical.text.typed_edits import Edited, edits

#: Files with hypotheses in people's own words. FEVER's claims are near copies of their evidence.
FILES = (
    "lingnli_train",
    "taxinli_train",
    "snli_pieces_train",
    "cad_snli_train",
    "fm2_train",
    "vitaminc_piece_train",
    "wice_train",
    "scifact_train",
    "summedits_train",
    "fever_rte_train",
)
MOST = 1200  # wrong rows of one kind, and as many right ones at most
WORDS = 300  # a longer premise takes more of a batch than it teaches


def rows_of(premise: str, hypothesis: str, rng: random.Random) -> list[dict[str, Any]]:
    """Make an opposed edit of one kind, and one that keeps the hypothesis true, if any."""
    found = edits(hypothesis, rng)
    wrong: dict[str, list[Edited]] = defaultdict(list)
    for edit in found:
        if edit.label == "contradiction":
            wrong[edit.rule].append(edit)
    if not wrong:
        return []
    rows = []
    for kind in sorted(wrong):
        edit = rng.choice(wrong[kind])
        rows.append(row(premise, edit, "contradiction"))
    true = [e for e in found if e.label == "entailment"]
    if true:
        rows.append(row(premise, rng.choice(true), "entailment"))
    return rows


def row(premise: str, edit: Edited, label: str) -> dict[str, Any]:
    marked = [] if label == "entailment" else [list(span) for span in edit.spans]
    made = {"premise": premise, "hypothesis": edit.text, "label": label}
    return {**made, "source": f"edited_{edit.rule}", "spans": marked}


def entailed(data: Path, words: int = WORDS) -> Iterator[dict[str, Any]]:
    """Yield the entailed rows of :data:`FILES`, with premises of at most ``words`` words."""
    for name in FILES:
        for one in map(json.loads, (data / f"{name}.jsonl").read_text("utf-8").splitlines()):
            if one["label"] == "entailment" and len(one["premise"].split()) <= words:
                yield one


def make(data: Path, seed: int) -> list[dict[str, Any]]:
    """Make all rows, the kinds balanced, shuffled."""
    rng = random.Random(f"{seed}/typed pairs")
    made = [
        made for one in entailed(data) for made in rows_of(one["premise"], one["hypothesis"], rng)
    ]
    rng.shuffle(made)
    counts: Counter[tuple[str, str]] = Counter()
    kept = []
    for one in made:
        kind = one["source"], one["label"]
        counts[kind] += 1
        if counts[kind] <= MOST:
            kept.append(one)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write(make(arguments.data, arguments.seed), arguments.out)


def write(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows as JSON Lines, and print how many there are of each source and label, and one."""
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    counts = Counter((r["source"], r["label"]) for r in rows)
    for (source, label), n in sorted(counts.items()):
        shown = next(r for r in rows if (r["source"], r["label"]) == (source, label))
        print(f"{source}/{label}: {n}\n  P: {shown['premise'][:200]}\n  H: {shown['hypothesis']}")


if __name__ == "__main__":
    main()
