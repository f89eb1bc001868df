"""Names of published fact checkers as NLI models."""

from __future__ import annotations

from typing import Any

from veridical.core.model_names import ModelName
from veridical.errors import unknown_name

#: Published checkpoints for ``--nli`` and ``nli=``, by name. Each has the family, which determines
#: the back end, and the hub id or the folder created by ``veridical models convert``.
PUBLISHED = {
    "alignscore-large": ("alignscore", "alignscore-large"),
    "alignscore-base": ("alignscore", "alignscore-base"),
    "hhem": ("hhem", "vectara/hallucination_evaluation_model"),
    "critic": ("critic", "McGill-NLP/roberta-large-faithcritic"),
    "minicheck-flan-t5": ("minicheck", "lytang/MiniCheck-Flan-T5-Large"),
    "minicheck-roberta": ("minicheck", "lytang/MiniCheck-RoBERTa-Large"),
    "minicheck-deberta": ("minicheck", "lytang/MiniCheck-DeBERTa-v3-Large"),
}
#: Hub locations of the published AlignScore checkpoints.
SOURCES = {
    "alignscore-large": "yzha/AlignScore/AlignScore-large.ckpt",
    "alignscore-base": "yzha/AlignScore/AlignScore-base.ckpt",
}
#: The model whose tokenizer HHEM-2.1-Open uses.
FOUNDATION = "google/flan-t5-base"
#: Options after ``?``, by family.
OPTIONS: dict[str, dict[str, Any]] = {
    "alignscore": {"mode": str},
    "hhem": {"revision": str},
    "critic": {"revision": str, "labels": str},
    "minicheck": {"revision": str, "labels": str},
}


def find(name: ModelName) -> tuple[str, str] | None:
    """Return family and place of the checkpoint called ``name``, or None.

    Names are those in :data:`PUBLISHED`, and ``FAMILY:HUB_ID_OR_FOLDER``.
    """
    if name.head in PUBLISHED:
        return PUBLISHED[name.head]
    return (name.kind, name.place) if name.place and name.kind in OPTIONS else None


def published_nli(spec: str) -> None:
    """Raise an error for an NLI model other than a published one by its bare name.

    Raises:
        UsageError: ``spec`` is a path, an address, or a custom model.
    """
    if ModelName.parse(spec).head not in PUBLISHED:
        raise unknown_name("NLI model", spec, PUBLISHED)
