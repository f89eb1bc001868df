"""Pairs for NLI models from the documents of ``checker_data.py``.

    python training/document_pairs.py CHECKER/train.jsonl OUT.jsonl [--nli mini]

Texts are read as by the engine. Documents are cut into windows (:mod:`veridical.text.passages`),
with tables and records in words. Answers become the statements that the engine judges
(:mod:`veridical.core.stated`). With one window the row's label holds. With several, a wrong
statement follows from no window; the one that shares most words with it is taken. A right statement
follows from at least one. Of the :data:`NEAREST` that share most words, the one with the largest
P(entailment) by the model ``--nli`` is taken. If that is below :data:`FOUND`, no window is taken.
All statements of a right answer are right. A
wrong answer with several is left out, as its wrong statement is not known. Other languages and
abstentions, which no NLI model reads, are left out too. So are the files that fit the default
(:data:`FITTED`) and edits of them: its members must not have learnt their labels.
P(entailment) is kept next to OUT between runs.

OUT gets rows as ``nli_pairs.py`` writes them, for ``--documents`` of ``nli_train.py``.

Needs: this package.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checker.public import GROUNDED
from checker.removal import Cached, Entailment
from checker_rows import read_rows
from typed_pairs import write

from veridical.core.records import Record
from veridical.core.stated import stated, stating_sentences
from veridical.text.decoration import undecorated
from veridical.text.passages import passages
from veridical.text.readable import readable
from veridical.text.relevance import candidates
from veridical.text.words import words_of

FOUND = 0.3
NEAREST = 2
FITTED = {name for name, _, _ in GROUNDED}
LEFT_OUT = {"language", "cross_language", "written_language", "abstention", "typed_edit"}
LABELS = {
    "supported": "entailment",
    "contradicted": "contradiction",
    "not_stated": "neutral",
    "not_supported": "not_entailment",
}
Row = dict[str, Any]


def premises(document: str) -> list[str]:
    """Cut a document into windows, as models read them."""
    return [undecorated(readable(window.text)) for window in passages(document)]


def statements(document: str, answer: str) -> list[str]:
    """Return what is judged of an answer to no question."""
    record = Record(response=answer, contexts=(document,))
    return [s.text for s in stated(record, stating_sentences(record))]


def judged(rows: Sequence[Row]) -> Iterator[tuple[Row, list[str], str]]:
    """Yield each row with the windows nearest to it, for each statement with a known label."""
    for row in rows:
        if row["kind"] in LEFT_OUT or FITTED & set(row.get("source", "").split("+")):
            continue
        made = statements(row["document"], row["statement"])
        if len(made) == 1 or row["label"] == "supported":
            windows = premises(row["document"])
            for said in made:
                yield row, nearest(windows, said), said


def nearest(windows: Sequence[str], said: str) -> list[str]:
    """Return the only window, or the :data:`NEAREST` that share most words with a statement."""
    if len(windows) == 1:
        return list(windows)
    return [windows[i] for i in candidates(tuple(windows)).nearest(words_of(said), NEAREST)]


def pairs(rows: Sequence[Row], entailment: Entailment) -> list[Row]:
    """Make rows of premise, hypothesis, label, and the source ``document_`` with the kind."""
    found = [(row, windows, said) for row, windows, said in judged(rows) if windows]
    open_ = [
        (window, said)
        for row, windows, said in found
        if row["label"] == "supported" and len(windows) > 1
        for window in windows
    ]
    known = dict(zip(open_, entailment(open_), strict=True))
    made = []
    for row, windows, said in found:
        label, premise = LABELS[row["label"]], windows[0]
        if len(windows) > 1 and label == "entailment":
            premise = max(windows, key=lambda window: known[window, said])
            if known[premise, said] < FOUND:
                continue
        elif len(windows) > 1 and label == "contradiction":
            label = "not_entailment"  # another window may be the one that contradicts
        source = f"document_{row['kind']}"
        made.append({"premise": premise, "hypothesis": said, "label": label, "source": source})
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("rows", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--nli", default="mini", help="the model that chooses windows")
    a = parser.parse_args()
    known = Cached(a.output.with_suffix(".entailment.json"), a.nli)
    write(pairs(read_rows(a.rows), known), a.output)


if __name__ == "__main__":
    main()
