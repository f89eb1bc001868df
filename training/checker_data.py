"""Training data for models that check a statement by a document.

    python training/checker_data.py --data DATA --out FOLDER [--seed 0] [--most 20000]

Writes ``train.jsonl`` and ``dev.jsonl`` and prints their contents. A row has ``document``,
``statement``, ``label``, ``kind``, ``source`` and ``group``, the hash of the document before any
edit. A label is supported, contradicted, not_stated, or not_supported where the source has two
classes. Of public documents a fifth is held out, of generated ones a tenth. Rows that share eight
words in a row with an evaluation file are dropped. Every kind has as many right rows as wrong ones.
Statements alone give nothing away: the accuracy of naive Bayes over their words is printed.

Parts, in the folder ``checker``:

* ``public.py``: files of DATA/nli and DATA/grounded that may train.
* ``removal.py``: documents without the sentences that carry a claim; claims of two documents.
* ``records.py``: tables, JSON, YAML, TOML, code, SQL, XML and prose about invented records.
* ``programs.py``: settings, options, functions, amounts, times, conditions, conversations.
* ``languages.py``: German, French, Spanish, Italian, Portuguese and Dutch.
* ``edited.py``: typed edits of documents and of claims.
* ``written.py``: documents of everyday kinds, written for this purpose.

P(entailment) that decides about removals is kept in FOLDER/entailment.json for the next run.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from checker import languages, programs, records, situations
from checker.balancing import at_most, balanced, fitting, lengthened, statement_only
from checker.edited import edited_claims, edited_documents
from checker.examples import Example, part_of, tokens
from checker.overlap import Overlap
from checker.public import GROUNDED, MORE_LICENCES, NLI, public_rows
from checker.removal import (
    Cached,
    Candidate,
    Entailment,
    answered,
    candidate,
    evidence,
    joined,
    marked,
)
from checker.written import written

HELD_OUT_PUBLIC, HELD_OUT_GENERATED = 0.2, 0.1
#: The most rows of each kind; some sources have fewer.
SHARES = {
    "nli_claim": 2200, "nli_summary": 600, "nli_sentences": 1600, "relation": 2000, "reply": 500,
    "summary": 450, "removed_marked": 300, "detail": 100, "removed_evidence": 1600,
    "two_documents": 900, "typed_edit": 1200, "edited_claim": 600, "table": 600,
    "table_computed": 800, "record": 550, "record_computed": 650, "prose": 350,
    "prose_computed": 450, "abstention": 600, "data_answer": 450, "settings": 350,
    "options": 250, "functions": 300, "amounts": 500, "times": 350, "conditions": 350, "now": 300,
    "two_passages": 500, "cited": 300, "steps": 250, "conversation": 700, "language": 1000,
    "cross_language": 600, "written": 16000, "written_long": 16000,
    "written_language": 600,
}  # fmt: skip
WHOLE = 20_000
GENERATED = 2400
"""Rows requested of each generator; its kinds are cut to SHARES."""
CLAIMS_ASKED = 1500
"""Claims whose evidence is looked for by the NLI model."""
EDITED = ("nli_claim", "relation", "nli_summary", "answer")
"""Kinds of public documents in which sentences are edited."""
Generator = Callable[[random.Random, int], Iterator[Example]]
GENERATORS: tuple[Generator, ...] = (
    records.tables, records.records, records.told, records.abstentions, records.data_answers,
    programs.coded, programs.counted, programs.timed, situations.ruled, situations.current,
    situations.passages, situations.sourced, situations.stepwise, situations.talked,
    languages.languages,
)  # fmt: skip


def generated(seed: int, most: int) -> list[Example]:
    """Generate rows by program, add the written ones, with parts by group."""
    found: list[Example] = []
    for make in GENERATORS:
        name = f"{make.__module__}.{make.__name__}"
        found += make(random.Random(f"{seed}/{name}"), most)
    found += written()
    return [r.with_(part=part_of(r.group, seed, HELD_OUT_GENERATED)) for r in found]


def without_overlap(rows: Sequence[Example], overlap: Overlap) -> list[Example]:
    """Return the rows that share no run of words with an evaluation file; print the others."""
    print("\n## Rows that share eight words in a row with an evaluation file (dropped)\n")
    print("| source | rows | statements | documents | files, by rows |\n|---|---|---|---|---|")
    sources: dict[str, list[Example]] = defaultdict(list)
    for row in rows:
        sources[row.source if row.source.endswith("train") else row.kind].append(row)
    kept = []
    for source, own in sorted(sources.items()):
        overlap.hits.clear()
        statements = overlap.shared([r.statement for r in own])
        documents = overlap.shared([r.document for r in own])
        files = Counter({k: v for k, v in overlap.hits.items() if v}).most_common(3)
        shown = ", ".join(f"{name} {n}" for name, n in files)
        counts = (statements > 0).sum(), (documents > 0).sum()
        print(f"| {source} | {len(own)} | {counts[0]} | {counts[1]} | {shown} |")
        kept += [r for r, s, d in zip(own, statements, documents, strict=True) if not s + d]
    return kept


def removal_candidates(
    public: Sequence[Example], answers: Sequence[Example], rng: random.Random
) -> list[Candidate]:
    """Return claims to look for the evidence of: two thirds are answers to questions."""
    people = [r for r in public if r.right and r.kind in ("nli_claim", "relation")]
    rng.shuffle(people)
    found: list[Candidate] = []
    for rows, most in ((people, CLAIMS_ASKED // 3), (answers, CLAIMS_ASKED - CLAIMS_ASKED // 3)):
        of_rows = [c for c in map(candidate, rows) if c is not None]
        found += of_rows[:most]
    return found


def make(
    data: Path, seed: int, most: int, entailment: Entailment, claims: int = CLAIMS_ASKED
) -> list[Example]:
    """Return every row, shuffled."""
    rng = random.Random(f"{seed}/checker data")
    share = most / WHOLE
    limits = {kind: int(n * share) for kind, n in SHARES.items()}
    public = public_rows(data, seed, HELD_OUT_PUBLIC)
    wanted = {name: n for name, _, n, _ in NLI}
    overlap = Overlap.of(data)
    rows = without_overlap(
        [
            *public,
            *answered(data, random.Random(f"{seed}/answers"), seed, HELD_OUT_PUBLIC),
            *marked(data, random.Random(f"{seed}/marked"), seed, HELD_OUT_PUBLIC),
            *generated(seed, int(GENERATED * max(share, 0.02))),
        ],
        overlap,
    )
    answers = [r for r in rows if r.kind == "answer"]
    public = [r for r in rows if r.source in wanted or r.kind in ("relation", "reply", "summary")]
    asked = removal_candidates(public, answers, rng)[: int(claims * share)]
    rows = [r for r in rows if r.kind != "answer"]
    rows += evidence(asked, entailment, limits["removed_evidence"] // 2)
    short = [r for r in public if r.kind == "nli_claim"]
    documents = [r for r in [*public, *answers] if r.kind in EDITED]
    documents = rng.sample(documents, min(len(documents), 4 * limits["typed_edit"]))
    rows += edited_documents(documents, random.Random(f"{seed}/edited"))
    claims_of_people = [r for r in public if r.kind in ("nli_claim", "nli_sentences")]
    sampled = rng.sample(claims_of_people, min(len(claims_of_people), 30 * limits["edited_claim"]))
    rows += edited_claims(sampled, random.Random(f"{seed}/edited claims"))
    rows += joined(short, random.Random(f"{seed}/joined"), limits["two_documents"])
    kept: list[Example] = []
    for kind in sorted({r.kind for r in rows}):
        own = fitting([r for r in rows if r.kind == kind])
        if not all(r.paired for r in own):
            own = balanced(own, rng)
        parts: dict[str, list[Example]] = defaultdict(list)
        for row in own:
            parts[row.source if kind.startswith("nli") else ""].append(row)
        own = []
        for source, of_source in sorted(parts.items()):
            limit = int(wanted[source] * share) if source else limits[kind]
            own += halves(of_source, limit, rng)
        kept += own
    kept = fitting(lengthened(kept, rng))
    shared = overlap.shared([f"{r.document}\n{r.statement}" for r in kept])
    print(f"\nRows that share eight words only after edits (dropped): {(shared > 0).sum()}")
    kept = [r for r, n in zip(kept, shared, strict=True) if not n]
    rng.shuffle(kept)
    return kept


def halves(rows: Sequence[Example], most: int, rng: random.Random) -> list[Example]:
    """Return at most ``most`` rows; of rows that come in pairs, whole pairs."""
    if rows and all(r.paired for r in rows):
        return at_most(rows, most, rng, lambda r: r.group)
    groups = {right: [r for r in rows if r.right is right] for right in (True, False)}
    size = min(most // 2, *(len(g) for g in groups.values()))
    return [r for g in groups.values() for r in rng.sample(g, size)]


def describe(rows: Sequence[Example]) -> str:
    """Return tables of kinds, labels, lengths, sources and licences."""
    lines = ["\n## Kinds\n", "| kind | label | train | dev | tokens: quartiles, longest |"]
    lines.append("|---|---|---|---|---|")
    groups: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for row in rows:
        groups[row.kind, row.label].append(row)
    for (kind, label), own in sorted(groups.items()):
        parts = Counter(r.part for r in own)
        sizes = np.quantile(
            [tokens(r.document + " " + r.statement) for r in own], [0.25, 0.5, 0.75, 1]
        )
        shown = " / ".join(f"{s:.0f}" for s in sizes)
        lines.append(f"| {kind} | {label} | {parts['train']} | {parts['dev']} | {shown} |")
    lines += [
        "\n## Statements alone\n",
        "| kind | rows | naive Bayes | right | negated, right / wrong | words, right / wrong |",
        "|---|---|---|---|---|---|",
    ]
    kinds: dict[str, list[Example]] = defaultdict(list)
    for row in rows:
        kinds[row.kind].append(row)
    for kind, own in [*sorted(kinds.items()), ("all", list(rows))]:
        lines.append(statement_line(kind, own))
    lines += ["\n## Sources\n", "| source | rows | licence |", "|---|---|---|"]
    licences = {name: licence for name, _, _, licence in NLI}
    licences |= {name: licence for name, _, licence in GROUNDED} | MORE_LICENCES
    counts: Counter[str] = Counter()
    for row in rows:
        known = [s for s in row.source.split("+") if s in licences]
        for source in known or [row.kind]:
            counts[source] += 1
    for source, n in sorted(counts.items()):
        licence = licences.get(source, "made by program here")
        if source in ("typed_edit", "edited_claim"):
            licence = "edits of rows of the files above"
        lines.append(f"| {source} | {n} | {licence} |")
    return "\n".join(lines)


def statement_line(kind: str, rows: Sequence[Example]) -> str:
    from checker.balancing import NEGATION

    right = [r for r in rows if r.right]
    wrong = [r for r in rows if not r.right]
    negated = [
        sum(bool(NEGATION.search(r.statement)) for r in own) / max(1, len(own))
        for own in (right, wrong)
    ]
    words = [np.mean([len(r.statement.split()) for r in own] or [0]) for own in (right, wrong)]
    return (
        f"| {kind} | {len(rows)} | {statement_only(rows):.3f} | {len(right) / len(rows):.2f} "
        f"| {negated[0]:.2f} / {negated[1]:.2f} | {words[0]:.1f} / {words[1]:.1f} |"
    )


def write(rows: Sequence[Example], folder: Path) -> None:
    for part in ("train", "dev"):
        own = [json.dumps(r.row(), ensure_ascii=False) + "\n" for r in rows if r.part == part]
        (folder / f"{part}.jsonl").write_text("".join(own), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="Folder of public data sets.")
    parser.add_argument("--out", type=Path, required=True, help="Output folder.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=WHOLE, help="Approximate number of rows.")
    parser.add_argument("--nli", default="mini", help="NLI model that decides about removals.")
    parser.add_argument(
        "--claims",
        type=int,
        default=CLAIMS_ASKED,
        help="Claims whose evidence it looks for.",
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    entailment = Cached(options.out / "entailment.json", options.nli)
    rows = make(options.data, options.seed, options.most, entailment, options.claims)
    write(rows, options.out)
    print(describe(rows))


if __name__ == "__main__":
    main()
