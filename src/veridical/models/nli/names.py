"""Published checkpoints of fact checking as NLI models: the names they go by."""

from __future__ import annotations

from typing import Any

from veridical.core.model_names import ModelName
from veridical.errors import unknown_name

#: Names that stand for a published checkpoint, as ``--nli`` and ``nli=`` take them: its family,
#: which is the back end that runs it, and its hub id or what ``veridical models convert`` made.
PUBLISHED = {
    "alignscore-large": ("alignscore", "alignscore-large"),
    "alignscore-base": ("alignscore", "alignscore-base"),
    "hhem": ("hhem", "vectara/hallucination_evaluation_model"),
    "critic": ("critic", "McGill-NLP/roberta-large-faithcritic"),
    "minicheck-flan-t5": ("minicheck", "lytang/MiniCheck-Flan-T5-Large"),
    "minicheck-roberta": ("minicheck", "lytang/MiniCheck-RoBERTa-Large"),
    "minicheck-deberta": ("minicheck", "lytang/MiniCheck-DeBERTa-v3-Large"),
}
#: Where the published checkpoints of AlignScore are on the hub.
SOURCES = {
    "alignscore-large": "yzha/AlignScore/AlignScore-large.ckpt",
    "alignscore-base": "yzha/AlignScore/AlignScore-base.ckpt",
}
#: The model whose tokenizer HHEM-2.1-Open reads by.
FOUNDATION = "google/flan-t5-base"
#: Options after ``?``, by family.
OPTIONS: dict[str, dict[str, Any]] = {
    "alignscore": {"mode": str},
    "hhem": {"revision": str},
    "critic": {"revision": str, "labels": str},
    "minicheck": {"revision": str, "labels": str},
}


def find(name: ModelName) -> tuple[str, str] | None:
    """Family and place of the checkpoint that ``name`` means: one of :data:`PUBLISHED`, or
    ``FAMILY:HUB_ID_OR_FOLDER``. None where it means none."""
    if name.head in PUBLISHED:
        return PUBLISHED[name.head]
    return (name.kind, name.place) if name.place and name.kind in OPTIONS else None


def published_nli(spec: str) -> None:
    """Refuse an NLI model that is no published one by its bare name.

    Raises:
        UsageError: ``spec`` is a path, an address, or a model of somebody's own.
    """
    if ModelName.parse(spec).head not in PUBLISHED:
        raise unknown_name("NLI model", spec, PUBLISHED)
