"""Rows of public data sets for training, and passages of their documents."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checker.examples import STOP, Example, Label, digest, edge_keys, joined_groups, part_of

LABELS: dict[str, Label] = {
    "entailment": "supported",
    "contradiction": "contradicted",
    "neutral": "not_stated",
    "not_entailment": "not_supported",
}
#: Files of ``nli``, kind of row, the most rows of each, licence.
NLI: tuple[tuple[str, str, int, str], ...] = (
    ("wice_train", "claim", 349, "ODC-BY, text CC BY-SA"),
    ("scifact_train", "claim", 771, "CC BY 4.0"),
    ("summedits_train", "summary", 1000, "Apache-2.0"),
    ("vitaminc_piece_train", "claim", 398, "CC BY-SA 3.0"),
    ("fm2_train", "claim", 1200, "Apache-2.0"),
    ("fever_rte_train", "claim", 1000, "CC BY-SA 3.0"),
    ("lingnli_train", "sentences", 500, "none stated; models of it are published under MIT"),
    ("snli_pieces_train", "sentences", 250, "MIT, SNLI CC BY-SA 4.0"),
    ("cad_snli_train", "sentences", 250, "Apache-2.0, SNLI CC BY-SA 4.0"),
    ("taxinli_train", "sentences", 250, "C-UDA 1.0"),
    ("ambient_train", "sentences", 250, "CC BY 4.0"),
    ("negation_train", "sentences", 250, "MIT"),
    ("conjnli_auto_train", "sentences", 150, "MIT"),
    ("breaking_nli_train", "sentences", 150, "CC BY-SA 4.0"),
    ("hans_auto_train", "sentences", 150, "MIT"),
    ("med", "sentences", 150, "CC BY-SA 4.0"),
    ("help_and", "sentences", 100, "CC BY-SA 4.0"),
    ("help_or", "sentences", 50, "CC BY-SA 4.0"),
)
GROUNDED: tuple[tuple[str, str, str], ...] = (
    ("cg2c_doc_train", "relation", "MIT"),
    ("faithdial_audit_train", "reply", "MIT"),
    ("summedits_podcast_train", "summary", "Apache-2.0"),
    ("summedits_qmsumm_train", "summary", "Apache-2.0"),
)
_WRITTEN = "written by a language model for this purpose; Apache-2.0"
MORE_LICENCES = {
    "written": _WRITTEN,
    "written_long": _WRITTEN,
    "written_language": _WRITTEN,
    "wice_tokens_train": "ODC-BY, text CC BY-SA",
    "halueval_qa": "MIT, text CC BY-SA 4.0 (HotpotQA, Wikipedia); rows 0..7999",
}


#: Files whose evidence can be a sentence without the title of its page.
UNTITLED = {"fever_rte_train", "fm2_train", "vitaminc_piece_train"}


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def asked(question: str, answer: str) -> str:
    """Return an answer with its question, as ``statement_judge`` shows them."""
    return f"Question: {question.strip()}\nAnswer: {answer}"


def restored(text: str) -> str:
    """Return the text of "a tokenised corpus , with spaces" as it is written."""
    text = re.sub(r" ([,.;:?!)%])(?= |$)", r"\1", text)
    text = re.sub(r" ('s|'re|'ve|n't|'d|'ll)\b", r"\1", text)
    return re.sub(r"\( ", "(", text).replace("-LRB- ", "(").replace(" -RRB-", ")")


def names_known(statement: str, document: str) -> bool:
    """Return True if a document has a word of the statement's first name, or there is no name.

    Evidence of FEVER can lack the title of its page, and so who it is about.
    """
    for found in re.finditer(r"[A-Z][\w'-]*(?: [A-Z][\w'-]*)*", statement):
        name = [w.removesuffix("'s") for w in found[0].split() if w.lower() not in STOP]
        if name:
            return any(re.search(rf"\b{re.escape(w)}\b", document) for w in name)
    return True


def _nli(data: Path) -> Iterator[Example]:
    for name, kind, _, _ in NLI:
        for row in lines(data / "nli" / f"{name}.jsonl"):
            untitled = name in UNTITLED and not names_known(row["hypothesis"], row["premise"])
            if untitled:
                continue
            yield Example(
                restored(row["premise"]), restored(row["hypothesis"]), LABELS[row["label"]],
                f"nli_{kind}", name, "",
            )  # fmt: skip


def _grounded(data: Path, rng: random.Random) -> Iterator[Example]:
    for name, kind, _ in GROUNDED:
        wrong: Label = "not_stated" if kind == "relation" else "not_supported"
        for row in lines(data / "grounded" / f"{name}.jsonl"):
            statement = row["response"]
            if row.get("prompt") and rng.random() < 0.5:
                statement = asked(row["prompt"], statement)
            yield Example(
                "\n\n".join(row["contexts"]), statement, wrong if row["label"] else "supported",
                kind, name, "", paired=kind == "relation",
            )  # fmt: skip


def public_rows(data: Path, seed: int, held_out: float) -> list[Example]:
    """Return every row, with groups by document and parts by group."""
    rng = random.Random(f"{seed}/public")
    rows = [*_nli(data), *_grounded(data, rng)]
    # a claim and its documents stay together, and so do a document and its edited copies
    keys = [
        [*edge_keys(r.document), digest(r.document)]
        + ([digest(r.statement)] if r.kind == "relation" else [])
        for r in rows
    ]
    groups = joined_groups(keys)
    return [
        r.with_(group=g, part=part_of(g, seed, held_out)) for r, g in zip(rows, groups, strict=True)
    ]
