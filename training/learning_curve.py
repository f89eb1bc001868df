"""Learning curve of a model of documents, by examples and kinds.

    python training/checker_data.py --data DATA --out CHECKER --most 6000
    python training/document_pairs.py CHECKER/train.jsonl TRAIN.jsonl
    python training/document_pairs.py CHECKER/dev.jsonl DEV.jsonl
    python training/nli_restore.py src/veridical/models/data/veridical-nli-mini MODEL
    python training/learning_curve.py MODEL TRAIN.jsonl DEV.jsonl --out FOLDER
        --answers benchmarks/prose/dev.jsonl

Each run trains a copy of MODEL, as ``nli_train.py --stage documents`` does, without its older
sources. Runs of ``--sizes`` learn from the first rows of one random order, those of ``--each`` from
rows of one group of kinds (:data:`GROUPS`). Longer pairs than ``--longest`` tokens are left out.
Printed is the AUROC of P(entailment) for right against wrong rows of DEV, by group. That of whole
answers (``--answers``) is by their least supported statement. A run that is in FOLDER is not
repeated.

Needs: torch, transformers, safetensors, tokenizers and this package.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from document_pairs import premises
from nli_reader import Pair, Reader, read_all, tokenized
from nli_stages import DOCUMENTS, STAGES
from nli_train import continued, schedule
from tokenizers import Tokenizer

from veridical.core.records import Record
from veridical.core.stated import stated, stating_sentences
from veridical.stats.metrics.ranking import auroc

#: Kinds of ``checker_data.py`` by what makes them; the others are human (``public``).
GROUPS = {
    "written": ["written"],
    "written_long": ["written_long"],
    "removed or edited": ["removed_marked", "removed_evidence", "two_documents", "edited_claim"],
    "tables and records": [
        *("table", "table_computed", "record", "record_computed"),
        *("data_answer", "prose", "prose_computed"),
    ],
    "rules and programs": [
        *("settings", "options", "functions", "amounts", "times", "conditions", "now", "steps"),
        *("conversation", "two_passages", "cited"),
    ],
}
GROUP_OF = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
STAGE = replace(STAGES[DOCUMENTS], mixture={DOCUMENTS: 1.0})
Unit = tuple[bool, list[list[Pair]]]
"""A row or answer: is it wrong, and the pairs of each of its statements."""


def group_of(source: str) -> str:
    """Return the group of a row of ``document_pairs.py``."""
    return GROUP_OF.get(source.removeprefix("document_"), "public")


def pairs_of(path: Path, tokenizer: Tokenizer, longest: int) -> list[Pair]:
    """Read rows of ``document_pairs.py`` with at most ``longest`` tokens, in a random order."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [p for p in tokenized(rows, tokenizer, DOCUMENTS, STAGE) if len(p.ids) <= longest]
    random.Random(0).shuffle(pairs)
    return pairs


def answers_of(path: Path, tokenizer: Tokenizer) -> Iterator[Unit]:
    """Yield labelled answers: each statement of one with every window of its contexts."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        record = Record(**{k: row[k] for k in ("prompt", "response", "contexts")})
        windows = [window for context in row["contexts"] for window in premises(context)]
        asked = [
            [{"premise": w, "hypothesis": s.text, "label": "neutral"} for w in windows]
            for s in stated(record, stating_sentences(record))
        ]
        pairs = [tokenized(rows, tokenizer, DOCUMENTS, STAGE) for rows in asked]
        if all(pairs) and pairs:
            yield bool(row["label"]), pairs


def ranked(model: Reader, units: Sequence[Unit]) -> float:
    """Compute the AUROC of wrong units by 1 - P(entailment) of the least supported statement."""
    flat = [pair for _, statements in units for pairs in statements for pair in pairs]
    entailed = iter(torch.softmax(read_all(model, flat)[0], 1)[:, 0].tolist())
    risks = [
        max(1 - max(next(entailed) for _ in pairs) for pairs in statements)
        for _, statements in units
    ]
    return float(auroc(np.array([wrong for wrong, _ in units], float), np.array(risks)))


def plans(
    train: Sequence[Pair], sizes: Sequence[int], each: int
) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the runs: a name, and the rows that it learns from."""
    yield "0", []
    for size in sizes:
        if size > len(train):
            raise SystemExit(f"--sizes {size}: only {len(train)} rows fit")
        yield str(size), list(train[:size])
    if each:
        groups: dict[str, list[Pair]] = defaultdict(list)
        for pair in train:
            groups[group_of(pair.source)].append(pair)
        for name, own in sorted(groups.items()):
            yield f"{min(each, len(own))} {name}", own[:each]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="a folder: a file for each run")
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 1000, 2000, 4000])
    parser.add_argument("--each", type=int, default=500, help="rows of each group alone; 0: none")
    parser.add_argument("--longest", type=int, default=160, help="maximum tokens of a pair")
    parser.add_argument("--held", type=int, default=150, help="maximum rows of a group to measure")
    parser.add_argument("--answers", type=Path, help="labelled records to measure also")
    a = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(a.model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    measured: dict[str, list[Unit]] = defaultdict(list)
    for pair in pairs_of(a.dev, tokenizer, a.longest):
        units = measured[group_of(pair.source)]
        if len(units) < a.held:
            units.append((pair.label != 0, [[pair]]))
    if a.answers:
        measured[a.answers.parent.name] = list(answers_of(a.answers, tokenizer))
    a.out.mkdir(parents=True, exist_ok=True)
    for name, rows in plans(pairs_of(a.train, tokenizer, a.longest), a.sizes, a.each):
        file = a.out / f"{name.replace(' ', '-')}.json"
        if not file.exists():
            torch.manual_seed(0)
            model = Reader(a.model)
            if rows:
                plan = list(schedule(range(1), {DOCUMENTS: rows}, STAGE, 0))
                file.with_suffix("").mkdir(exist_ok=True)
                continued(model, plan, STAGE, file.with_suffix(""), bf16=False)
            figures = {part: round(ranked(model, units), 4) for part, units in measured.items()}
            tokens = sum(len(p.ids) for p in rows)
            file.write_text(json.dumps({"rows": len(rows), "tokens": tokens} | figures) + "\n")
            shutil.rmtree(file.with_suffix(""), ignore_errors=True)  # its progress
        print(name, file.read_text().strip(), flush=True)


if __name__ == "__main__":
    main()
